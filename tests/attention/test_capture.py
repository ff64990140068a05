"""Which mechanisms become one graph and which are exported: what the page says is so.

In a process of its own: compiled code has no room for the checks of shapes here.
"""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from longarena.attention import CARDS

PAGE = Path(__file__).parents[2] / "docs/use-a-layer.md"
SCRIPT = """
import json, logging, sys, torch
from longarena.attention import build

logging.disable(logging.CRITICAL)
torch.set_num_threads(1)
x, mask = torch.randn(2, 128, 16), torch.ones(2, 128, dtype=torch.bool)
mask[1, 100:] = False


def is_captured(run):
    torch._dynamo.reset()
    try:
        found = run()
    except Exception:
        return False
    torch.testing.assert_close(found[mask], expected[mask], atol=1e-4, rtol=1e-3)
    return True


def gradient(run):
    tokens = x.clone().requires_grad_()
    run(tokens, mask)[mask].square().sum().backward()
    return tokens.grad


found = {}
for name in sys.argv[1:]:
    mixer = build(name, width=16, num_heads=2, max_length=128).eval()
    expected = mixer(x, mask).detach()
    compiled = torch.compile(mixer, backend="eager", fullgraph=True)
    training = is_captured(lambda: compiled(x, mask).detach())
    with torch.no_grad():
        prediction = is_captured(lambda: compiled(x, mask))
        exported = is_captured(lambda: torch.export.export(mixer, (x, mask)).module()(x, mask))
    if not training:  # the compiler goes on around its breaks
        torch._dynamo.reset()
        around = gradient(torch.compile(mixer, backend="eager"))
        torch.testing.assert_close(around, gradient(mixer), atol=1e-3, rtol=1e-2)
    found[name] = [prediction, training, exported]
print(json.dumps(found))
"""


def claims():
    """What the page says of each mechanism: one graph to predict, one to train, exported."""
    found = {}
    rows = re.findall(r"^\| (`.+) \| (.+) \| (.+) \| (.+) \|$", PAGE.read_text(), re.MULTILINE)
    for names, *words in rows:
        for name in re.findall(r"`([^`]+)`", names):
            found[name] = [word in ("one graph", "yes") for word in words]
    return found


def capture(*names):
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", SCRIPT, *names],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_the_page_speaks_of_every_mechanism():
    assert claims().keys() == CARDS.keys()


@pytest.mark.slow
@pytest.mark.everywhere
def test_what_the_page_says_is_so():
    assert capture(*CARDS) == claims()
