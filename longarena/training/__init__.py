"""A run: train a recipe, evaluate it, and resume it after a stop."""
