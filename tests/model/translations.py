"""Small models that translate, and sentences for them."""

import torch

from longarena.model.config import ModelConfig
from longarena.tasks.signature import Signature
from longarena.tracks.translation import Translation

SIZES = {
    "width": 16,
    "depth": 2,
    "num_heads": 2,
    "mlp_width": 32,
    "positions": "sinusoidal",
    "pooling": "mean",
    "dropout": 0.1,
}


def signature(vocab_size=12, max_length=20):
    return Signature(
        vocab_size=vocab_size, max_length=max_length, num_sequences=2, track="translation"
    )


def config(mixer="transformer", **changes):
    return ModelConfig(mixer=mixer, **(SIZES | changes))


def build(mixer="transformer", seed=0, asked=None, **changes):
    model = Translation().build(config(mixer, **changes), asked or signature(), seed)
    return model.double().eval()


def sentences(*lengths, vocab_size=12, seed=0):
    """Pairs of padded rows of random ids: source and target of these lengths."""
    rng = torch.Generator().manual_seed(seed)
    ids = torch.zeros(len(lengths), 2, max(max(pair) for pair in lengths), dtype=torch.int64)
    for row, pair in enumerate(lengths):
        for side, length in enumerate(pair):
            ids[row, side, :length] = torch.randint(1, vocab_size, (length,), generator=rng)
    return ids
