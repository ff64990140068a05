"""A mixer becomes a classifier."""
