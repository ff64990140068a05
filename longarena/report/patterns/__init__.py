"""Pictures of who attends to whom."""
