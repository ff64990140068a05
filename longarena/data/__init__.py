"""From bytes to padded batches, for any task."""
