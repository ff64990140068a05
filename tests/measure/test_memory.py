import pytest
import torch

from longarena.measure.memory import allocations, free_memory_bytes, total_bytes
from longarena.measure.work import SHAPES, byte_signature, prepare
from longarena.runtime import machine

MEGABYTE = 1 << 20


def block(megabytes):
    return torch.ones(megabytes * MEGABYTE, dtype=torch.uint8)


def test_the_peak_is_what_was_alive_at_once():
    def step():
        first = block(4)
        second = block(2)
        del first
        third = block(3)
        return second, third

    found = allocations(step)
    assert found.peak_bytes == 6 * MEGABYTE
    assert found.kept_bytes == 5 * MEGABYTE


def test_what_an_operation_needs_for_itself_counts():
    a = torch.ones(1024, 1024)
    assert allocations(lambda: (a + a) * (a + a)).peak_bytes >= 3 * 4 * MEGABYTE


def test_a_step_needs_exactly_as_much_when_it_is_repeated():
    work = prepare(SHAPES["small"].with_mixer("linear", {}), byte_signature(64), batch_size=2)
    work.train()
    assert allocations(work.train) == allocations(work.train)


def test_a_step_leaves_nothing_behind():
    work = prepare(SHAPES["small"].with_mixer("transformer", {}), byte_signature(64), batch_size=2)
    work.train()
    assert allocations(work.train).kept_bytes == 0


@pytest.mark.parametrize("options", [{}, {"materialised": True}])
def test_the_matrix_shows_in_the_peak(options):
    length, batch_size, num_heads = 512, 2, SHAPES["small"].num_heads
    work = prepare(
        SHAPES["small"].with_mixer("transformer", options), byte_signature(length), batch_size
    )
    work.train()
    matrix_bytes = batch_size * num_heads * length**2 * 4
    # weights of two layers, and the gradient of one of them
    assert (allocations(work.train).peak_bytes > 3 * matrix_bytes) == bool(options)


def test_standing_tensors_are_parameters_moments_and_batch():
    work = prepare(SHAPES["small"].with_mixer("transformer", {}), byte_signature(64), batch_size=2)
    work.train()
    numbers = sum(p.numel() for p in work.model.parameters())
    tables = sum(b.numel() for b in work.model.buffers())
    batch_bytes = 8 * (2 * 64 + 2)
    predicting = total_bytes(work.standing_tensors(training=False))
    assert predicting == 4 * (numbers + tables) + batch_bytes
    moments = total_bytes(work.standing_tensors(training=True)) - predicting
    steps = 4 * len(list(work.model.parameters()))
    assert moments == 2 * 4 * numbers + steps


def test_a_storage_counts_once():
    a = block(1)
    assert total_bytes([a, a.view(2, -1), a[: MEGABYTE // 2]]) == MEGABYTE


def test_free_memory_is_part_of_the_machine():
    assert 0 < free_memory_bytes() < machine().memory_bytes
