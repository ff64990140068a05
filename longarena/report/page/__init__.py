"""The page of all records, and a small one for each run."""
