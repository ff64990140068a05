"""Bytes to padded batches; knows no task."""
