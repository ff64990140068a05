"""What was found: one record per run or measurement, never edited."""
