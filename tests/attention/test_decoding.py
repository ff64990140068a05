"""Token by token a causal mixer gives what it gives for the whole sequence, and says what it keeps.

Every mixer that can be causal is tried, past blocks, segments and windows.
"""

import pytest
import torch
from attention import definitions
from attention.cases import CAUSAL_CASES, WIDTH, make, maker, over_mixers, tokens

from longarena.attention import MIXERS, build
from longarena.contract import promises
from longarena.errors import UserError

LENGTH = 61


def whole(mixer, x):
    return mixer(x, torch.ones(x.shape[:2], dtype=torch.bool))


@over_mixers(CAUSAL_CASES)
@torch.no_grad()
def test_token_by_token_it_gives_what_the_whole_gives(name, options):
    mixer = make(name, options, causal=True)
    x, _ = tokens(LENGTH, LENGTH)
    decoder = mixer.start(2)
    stepped = torch.stack([decoder.step(token) for token in x.unbind(1)], dim=1)
    torch.testing.assert_close(stepped, whole(mixer, x))


@over_mixers(CAUSAL_CASES)
@torch.no_grad()
def test_after_a_prompt_it_goes_on_as_if_it_had_stepped(name, options):
    mixer = make(name, options, causal=True)
    x, _ = tokens(LENGTH, LENGTH)
    expected = whole(mixer, x)
    for first in (1, 8, 37):
        decoder, steps = mixer.start(2), slice(first + 11, first + 22)
        parts = [decoder.read(x[:, :first]), decoder.read(x[:, first : first + 11])]
        parts += [decoder.step(token)[:, None] for token in x[:, steps].unbind(1)]
        torch.testing.assert_close(torch.cat(parts, dim=1), expected[:, : first + 22])


@over_mixers(CAUSAL_CASES)
def test_it_carries_as_many_bytes_as_it_says(name, options):
    promises.carries_what_it_says(maker(name, options))


@pytest.mark.shapes
@over_mixers(CAUSAL_CASES)
@torch.no_grad()
def test_chosen_rows_go_on_as_if_they_had_been_alone(name, options):
    mixer = make(name, options, causal=True)
    x, _ = tokens(LENGTH, LENGTH, LENGTH)
    decoder, rows = mixer.start(3), torch.tensor([2, 0, 2])
    decoder.read(x[:, :37])
    decoder.choose(rows)
    rest = decoder.read(x[rows, 37:])
    torch.testing.assert_close(rest, whole(mixer, x)[rows, 37:])


@over_mixers(CAUSAL_CASES)
@torch.no_grad()
def test_a_copy_goes_its_own_way(name, options):
    mixer = make(name, options, causal=True)
    x, _ = tokens(LENGTH)
    decoder = mixer.start(1)
    decoder.read(x[:, :5])
    copy = decoder.fork()
    for token in x[:, 5:].unbind(1):
        decoder.step(-token)
    rest = torch.stack([copy.step(token) for token in x[:, 5:].unbind(1)], dim=1)
    torch.testing.assert_close(rest, whole(mixer, x)[:, 5:])


@pytest.mark.parametrize("name", MIXERS)
def test_what_looks_both_ways_cannot_go_token_by_token(name):
    mixer = build(name, width=WIDTH, num_heads=2, max_length=64)
    with pytest.raises(UserError, match="looks both ways"):
        mixer.start(1)


@pytest.mark.parametrize("name", ["local", "reformer", "routing", "sinkhorn"])
@torch.no_grad()
def test_a_prompt_longer_than_it_was_built_for_is_read_to_its_end(name):
    mixer = make(name, definitions.of(name).SMALL, causal=True, max_length=40)
    x, _ = tokens(LENGTH, LENGTH)
    decoder = mixer.start(2)
    stepped = torch.stack([decoder.step(token) for token in x.unbind(1)], dim=1)
    torch.testing.assert_close(mixer.start(2).read(x), stepped)
    torch.testing.assert_close(stepped[:, :40], whole(mixer, x[:, :40]))
