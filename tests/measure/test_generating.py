"""Generation is timed right after its context, and says what it carries."""

import json
from contextlib import nullcontext
from importlib import import_module
from pathlib import Path

import pytest
import torch

from longarena.attention import build
from longarena.measure import SHAPES, StoppingRule, measure_generation
from longarena.measure.candidate import read_mixer
from longarena.measure.generating import TOKENS, Generation
from longarena.records.folder import read_records

SMALL = SHAPES["small"]
HASTY = StoppingRule(turn_seconds=0.02, min_turns=1, max_turns=1)


def generation(mixer, context=20, batch_size=1):
    return Generation(read_mixer(mixer, SMALL), context, batch_size)


def test_every_timing_is_at_the_same_context():
    found = generation("transformer")
    lengths = []
    for _ in range(3):
        found.put_back()
        lengths.append(found.going_on.num_read)
        found.generate()
    start = found.model.backbone.num_prepended
    assert lengths == [20 + start] * 3
    assert found.going_on.num_read == 20 + start + TOKENS


def test_after_the_context_it_goes_on_as_the_whole_model_would():
    found = generation("linear", batch_size=2)
    found.put_back()
    with torch.no_grad():
        whole = found.model(torch.cat([found.context, found.tokens[:, :1]], dim=1)[:, None])
    logits = found.going_on.read(found.tokens[:, :1])
    torch.testing.assert_close(logits, whole[:, -1])


@pytest.mark.parametrize("name", ["transformer", "linear"])
def test_the_state_is_that_of_all_layers_for_one_text(name):
    found = generation(name, batch_size=3)
    mixer = build(name, width=64, num_heads=2, max_length=64, causal=True)
    length = 20 + found.model.backbone.num_prepended
    assert found.state_bytes == SMALL.depth * mixer.state_bytes(length)


def test_a_fork_goes_its_own_way():
    found = generation("mamba2")
    found.put_back()
    before = [value.clone() for value in tensors(found.after_context)]
    found.generate()
    after = tensors(found.after_context)
    assert all(torch.equal(old, new) for old, new in zip(before, after, strict=True))


def tensors(stepper):
    return [t for d in stepper.decoders for t in vars(d).values() if isinstance(t, torch.Tensor)]


@pytest.fixture(scope="module")
def records(tmp_path_factory, fork_server):
    store = tmp_path_factory.mktemp("store")
    with pytest.MonkeyPatch.context() as patch:
        session = import_module("longarena.measure.session")
        patch.setattr(session, "fork_server", lambda: nullcontext(fork_server()))
        made = measure_generation(
            ["transformer", "linear", "measure.own_mixers:BrokenCausal"],
            contexts=(16, 64),
            shape=SMALL,
            store=store,
            stopping_rule=HASTY,
        )
    return store, made


@pytest.mark.everywhere
def test_a_session_records_every_mechanism_at_every_context(records):
    store, made = records
    assert [(r.model.mixer, r.context) for r in made if r.status == "measured"] == [
        ("transformer", 16),
        ("linear", 16),
        ("transformer", 64),
        ("linear", 64),
    ]
    by_place = {(r.model.mixer, r.context): r for r in made}
    grown = by_place["transformer", 64].state_bytes / by_place["transformer", 16].state_bytes
    assert grown > 3
    assert by_place["linear", 64].state_bytes == by_place["linear", 16].state_bytes
    assert all(r.seconds_per_token and r.read_seconds for r in made if r.status == "measured")
    # what failed by its own mistake is tried again next time
    assert len(read_records(store).generations) == 4


@pytest.mark.everywhere
def test_a_mechanism_that_breaks_is_a_result(records):
    _, made = records
    broken = [record for record in made if "Broken" in record.model.mixer]
    assert {record.status for record in broken} == {"failed"}
    assert all(record.seconds_per_token == [] for record in broken)


@pytest.mark.everywhere
@pytest.mark.parametrize("name", ["generation", "reading", "state"])
def test_the_records_become_tables(records, run, name):
    store, _ = records
    code, output, errors = run("export", name, "--format", "csv", "--store", store)
    assert code == 0, errors
    text = Path(output.strip()).read_text()
    assert "Linear Transformer" in text
    assert "64" in text.splitlines()[0]


def test_the_command_says_what_does_not_go_together(run):
    code, _, errors = run("measure", "linear", "--generate", "--lengths", "64")
    assert code == 2
    assert "--lengths means nothing with --generate" in errors
    code, _, errors = run("measure", "linear", "--contexts", "64")
    assert code == 2
    assert "add --generate" in errors


def test_what_cannot_be_causal_is_refused_in_one_line(run):
    code, _, errors = run("measure", "fnet", "--generate", "--contexts", "16", "--shape", "small")
    assert code == 2
    assert "fnet cannot be causal" in errors
    assert len(errors.strip().splitlines()) == 1


def test_the_command_prints_numbers_as_json(run, hasty):
    words = ["linear", "--generate", "--contexts", "16", "--shape", "small", "--json"]
    code, output, errors = run("measure", *words)
    assert code == 0, errors
    [found] = json.loads(output)
    assert found["context"] == 16
    assert found["seconds_per_token"][0] > 0
