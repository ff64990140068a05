"""Small models, and the bytes that live while one takes a step."""

import torch
from torch.profiler import ProfilerActivity, profile

from longarena.model.config import ModelConfig
from longarena.tasks.signature import Signature
from longarena.tracks.classification import Classification

SIZES = {
    "width": 16,
    "depth": 3,
    "num_heads": 2,
    "mlp_width": 32,
    "positions": "learned",
    "pooling": "mean",
    "dropout": 0.0,
}


def signature(**changes):
    plain = {"vocab_size": 20, "max_length": 128, "num_classes": 4, "has_values": True}
    return Signature(**(plain | changes))


def classifier(mixer, task=None, seed=0, **changes):
    """A model for a task of 20 words, quantities if need be, and 4 classes."""
    config = ModelConfig(mixer=mixer, **(SIZES | changes))
    return Classification().build(config, task or signature(), seed)


def ids(*lengths, seed=0):
    """Random sequences of these lengths, in one batch."""
    generator = torch.Generator().manual_seed(seed)
    words = torch.randint(1, 20, (len(lengths), 1, max(lengths)), generator=generator)
    return words * (torch.arange(max(lengths)) < torch.tensor(lengths)[:, None, None])


def gradients(model, sequences):
    """The gradient of every parameter after one step, with the same dropout each time."""
    torch.manual_seed(0)
    model.begin_step(0)
    model.zero_grad()
    model(sequences).square().sum().backward()
    return {name: p.grad for name, p in model.named_parameters()}


def peak_bytes(model, sequences):
    """The most bytes that live at once during a step, above those that lived before."""
    gradients(model, sequences)
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as profiler:
        gradients(model, sequences)
    events = profiler.profiler.kineto_results.events()
    changes = sorted((e.start_ns(), e.nbytes()) for e in events if e.name() == "[memory]")
    live = torch.tensor([nbytes for _, nbytes in changes]).cumsum(0)
    return live.max().item()
