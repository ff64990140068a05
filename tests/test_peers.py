"""The peers of benchmarks/, without their packages, which no test needs."""

import re
import shlex
from pathlib import Path

import pytest

from benchmarks import peers
from longarena.attention import CARDS, Mixer
from longarena.measure.candidate import read_mixer
from longarena.measure.work import SHAPES

ROOT = Path(__file__).parent.parent
REQUIRED = re.findall(
    r"^[\w-]+", (ROOT / "benchmarks/requirements.txt").read_text(), flags=re.MULTILINE
)


@pytest.mark.parametrize(("ours", "peer"), peers.PAIRS.items())
def test_a_peer_stands_beside_a_mechanism_and_names_its_package(ours, peer):
    card = CARDS[read_mixer(ours, SHAPES["text"]).mixer]
    title, package = re.fullmatch(r"(.+) \(([\w-]+) .+\)", peer.card.title).groups()
    assert issubclass(peer, Mixer)
    assert title == card.title
    assert package in [*REQUIRED, "torch"]


def test_every_package_that_is_asked_for_has_a_peer():
    titles = " ".join(peer.card.title for peer in peers.PAIRS.values())
    assert not [package for package in REQUIRED if f"({package} " not in titles]


def test_the_command_measures_every_peer_right_after_its_mechanism():
    words = shlex.split(peers.command())
    assert words[:2] == ["longarena", "measure"]
    names = words[2 : words.index("--lengths")]
    assert names[::2] == list(peers.PAIRS)
    assert names[1::2] == [f"peers:{peer.__name__}" for peer in peers.PAIRS.values()]
