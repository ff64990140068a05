"""A trained model without the training: read from a folder, given raw input, asked for answers."""
