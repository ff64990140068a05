"""What a model costs without a clock: Mult-Adds per token, and what a training step keeps.

`model/mult_adds.py` says what is counted, and to which kind of layer it belongs.

Choice: cross attention is part of attention here; only a model that translates has it.
"""

from longarena.measure.memory import allocations
from longarena.measure.work import Work
from longarena.model.model import num_parameters
from longarena.model.mult_adds import Kinds, count_kinds, mult_adds
from longarena.records.record import Cost


def count_forward(work: Work) -> Kinds:
    """Count one prediction of the batch, by kind of layer."""
    return count_kinds(work.model, lambda: work.model(work.batch.ids))


def count_cost(work: Work) -> Cost:
    """Count what a model costs per token of its batch."""
    tokens = work.batch.ids.numel()
    forward = count_forward(work)
    return Cost(
        parameters=num_parameters(work.model),
        attention=(forward.attention + forward.cross_attention) / tokens,
        convolution=forward.convolution / tokens,
        feed_forward=forward.feed_forward / tokens,
        head_and_embedding=forward.head_and_embedding / tokens,
        training_step=mult_adds(work.train) / tokens,
        activation_bytes=allocations(work.loss).kept_bytes,
    )
