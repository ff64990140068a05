"""A run: train a recipe, evaluate it, survive being stopped."""
