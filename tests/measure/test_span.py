import numpy as np
import pytest
import torch
from model.cases import SIZES
from training.runs import small_recipe

from longarena.attention import build, matrix
from longarena.data.batches import assemble
from longarena.data.dataset import collect
from longarena.data.tensors import load_tensors
from longarena.errors import UserError
from longarena.measure.span import SAMPLES, _measure, mean_distance, span
from longarena.model.config import ModelConfig
from longarena.progress import SILENT
from longarena.recipes.recipe import build_task
from longarena.records.folder import read_records, write_record
from longarena.tasks import build as build_probe
from longarena.tasks.base import default_home
from longarena.tasks.prepare import obtain
from longarena.tracks import track_of
from longarena.training.folder import RunFolder
from longarena.training.loop import train


def mixer_of(name, **options):
    return build(name, width=16, num_heads=2, max_length=64, options=options).double().eval()


def rows(*lengths):
    x = torch.randn(len(lengths), max(lengths), 16, dtype=torch.float64)
    return x, torch.arange(max(lengths)) < torch.tensor(lengths)[:, None]


@pytest.mark.parametrize("name", ["transformer", "linear", "linformer", "bigbird"])
def test_it_is_the_mean_distance_in_the_attention_matrix(name):
    mixer = mixer_of(name)
    x, mask = rows(40, 13)
    weights = matrix(mixer, x, mask).abs() * mask[:, None, None, :]
    gap = (torch.arange(40)[:, None] - torch.arange(40)).abs()
    each = (weights * gap).sum(-1) / weights.sum(-1)
    expected = torch.stack([each[row, :, :n].mean(-1) for row, n in enumerate((40, 13))])
    torch.testing.assert_close(mean_distance(mixer, x, mask), expected)


def test_uniform_attention_has_the_known_span():
    mixer = mixer_of("transformer")
    torch.nn.init.zeros_(mixer.query.weight)
    x, mask = rows(30)
    expected = (30**2 - 1) / (3 * 30)
    assert mean_distance(mixer, x, mask).tolist() == [pytest.approx([expected] * 2)]


def test_local_attention_looks_no_further_than_its_block():
    x, mask = rows(64)
    assert mean_distance(mixer_of("local", block=8), x, mask).max() < 8


def test_more_padding_changes_no_span():
    mixer = mixer_of("transformer")
    x, mask = rows(40, 13)
    longer = torch.nn.functional.pad(x, (0, 0, 0, 20), value=9.0)
    more = torch.nn.functional.pad(mask, (0, 20))
    torch.testing.assert_close(mean_distance(mixer, longer, more), mean_distance(mixer, x, mask))


def test_prepended_tokens_are_neither_queries_nor_keys():
    mixer = mixer_of("transformer")
    x, mask = rows(20)
    weights = matrix(mixer, x, mask)[..., 2:, 2:]
    gap = (torch.arange(18)[:, None] - torch.arange(18)).abs()
    expected = ((weights * gap).sum(-1) / weights.sum(-1)).mean(-1)
    torch.testing.assert_close(mean_distance(mixer, x, mask, num_prepended=2), expected)


def test_of_a_pair_only_what_the_model_reads_counts():
    task = build_probe("recall", {"length": 16, "pairs": 2, "vocabulary": 20})
    split = collect((chunk for _, chunk in task.generate({"valid": 5})), 2)
    config = ModelConfig(mixer="transformer", **SIZES)
    model = track_of(task.signature).build(config, task.signature, seed=0).eval()
    for mixer in model.backbone.encoder.mixers():
        torch.nn.init.zeros_(mixer.query.weight)
    # position i looks back evenly over 0 ... i
    expected = torch.full((SIZES["depth"], 2), np.mean([i / 2 for i in range(16)]))
    torch.testing.assert_close(_measure(model, split, np.arange(5), SILENT), expected)


def test_a_run_has_a_span_by_layer_and_head(tmp_path):
    recipe = small_recipe("longformer")
    train(recipe, tmp_path / "runs")
    record = span(RunFolder.of(tmp_path / "runs", recipe), samples=6)
    assert record.samples == 6
    assert [len(heads) for heads in record.spans] == [2, 2]
    assert 0 < record.mean_span < record.mean_length
    write_record(tmp_path / "store", record)
    assert read_records(tmp_path / "store").spans == [record]


@torch.no_grad()
def distances_by_hand(model, ids):
    """The mean distance of each layer and head for one sequence alone, by the formula."""
    cls = torch.full((model.backbone.num_prepended,), model.backbone.first_prepended)
    x = model.backbone.embedding(torch.cat([cls, ids])[None])
    found = []
    for layer in model.backbone.encoder.layers:
        mask = torch.ones(x.shape[:2], dtype=torch.bool)
        y, mixer = layer.mixer_norm(x, mask)[0], layer.mixer
        q, k = ((y @ w.weight.T).chunk(2, dim=-1) for w in (mixer.query, mixer.key))
        logits = [q[head] @ k[head].T / q[head].shape[1] ** 0.5 for head in range(2)]
        found.append([mean_distance_of(each.exp(), len(cls)) for each in logits])
        x = layer(x, mask)
    return torch.tensor(found)


def mean_distance_of(weights, num_prepended):
    rows = []
    for i in range(num_prepended, len(weights)):
        keys = range(num_prepended, len(weights))
        total = sum(float(weights[i, j]) for j in keys)
        rows.append(sum(float(weights[i, j]) * abs(i - j) for j in keys) / total)
    return sum(rows) / len(rows)


@pytest.mark.parametrize("pooling", ["mean", "cls"])
def test_the_span_of_a_run_is_what_every_sample_gives_by_itself(tmp_path, pooling):
    recipe = small_recipe("transformer", f"model.pooling={pooling}")
    train(recipe, tmp_path / "runs")
    folder = RunFolder.of(tmp_path / "runs", recipe)
    record = span(folder)

    task = build_task(recipe)
    model = track_of(task.signature).build(recipe.model, task.signature, recipe.seed).eval()
    model.load_state_dict(load_tensors(folder.best).tensors)
    valid = obtain(task, default_home(), SILENT).split("valid")
    rows = assemble(valid, np.arange(len(valid))).ids[:, 0]
    lengths = [int((row > 0).sum()) for row in rows]
    assert len(set(lengths)) > 1, "nothing was padded"
    expected = torch.stack([distances_by_hand(model, row[row > 0]) for row in rows]).mean(dim=0)
    assert record.samples == len(rows)
    torch.testing.assert_close(torch.tensor(record.spans), expected, rtol=1e-4, atol=1e-4)
    assert record.mean_span == pytest.approx(expected.mean().item(), rel=1e-4)
    assert record.mean_length == pytest.approx(np.mean(lengths))


def test_a_thousand_samples_are_taken_unless_another_number_is_asked_for():
    assert SAMPLES == 1000


def test_a_run_that_was_never_validated_has_no_span(tmp_path):
    folder = RunFolder(tmp_path / "run")
    folder.write_recipe(small_recipe())
    with pytest.raises(UserError, match="has not been validated yet"):
        span(folder)
