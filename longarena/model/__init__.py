"""From a mixer to a model: embedding, encoder and head."""
