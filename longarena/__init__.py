"""The Long Range Arena for efficient Transformers."""
