"""What records say: pure functions of records, independent of how the result is shown."""
