"""What was found: one record per run, never edited."""
