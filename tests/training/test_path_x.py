"""Path-X at its full 16,384 tokens: what claims less than quadratic time takes a step there."""

import pytest

from longarena import tasks
from longarena.attention import MIXERS
from longarena.measure.memory import allocations
from longarena.measure.work import SHAPES, prepare

MOST_BYTES = 400e6  # one matrix of 16,384 x 16,384 numbers has 1,074 MB


@pytest.mark.slow
@pytest.mark.parametrize("mixer", ["linear", "local", "sinkhorn"])
def test_a_step_on_path_x_needs_no_square_of_its_length(mixer):
    assert MIXERS[mixer].card.exponent < 2
    signature = tasks.build("path-x", {}).signature
    assert signature.max_length == 16_384
    work = prepare(SHAPES["small"].with_mixer(mixer, {}), signature, batch_size=1)
    before = work.loss().item()
    assert allocations(work.train).peak_bytes < MOST_BYTES
    assert work.loss().item() < before
