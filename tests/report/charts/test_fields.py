"""The chart of scores over the receptive field."""

from report.charts.test_probes import draw, values
from report.examples import run_record


def run(mixer, accuracy, task=(), **options):
    """A run of two layers; it names the variant of its data as its task does."""
    record = run_record(mixer, accuracy=accuracy, sets=task)
    model = record.recipe.model.model_copy(update={"options": options})
    recipe = record.recipe.model_copy(update={"model": model})
    variant = ",".join([record.variant, *(change.removeprefix("task.") for change in task)])
    return record.model_copy(update={"recipe": recipe, "id": recipe.id, "variant": variant})


PLAIN = [
    run("transformer", 0.5),
    run("convolution", 0.3, kernel=3),
    run("convolution", 0.45, kernel=7),
    run("longformer", 0.4, window=6, global_tokens=0),
    run("linear", 0.35),
]


def test_scores_stand_over_the_field_and_full_attention_is_a_level_line():
    drawn = draw(*PLAIN)["fields"]
    points = zip(*(values(drawn, field) for field in ("mixer", "x", "y")), strict=True)
    assert sorted(points) == [
        ("Convolution", 5, 30.0),
        ("Convolution", 13, 45.0),
        ("Longformer", 13, 40.0),
        ("Transformer", 5, 50.0),
        ("Transformer", 13, 50.0),
    ]


def test_shuffled_tokens_have_a_panel_of_their_own():
    shuffled = ["task.shuffle=all"]
    others = [run("convolution", 0.2, shuffled, kernel=kernel) for kernel in (3, 7, 15)]
    drawn = draw(*PLAIN, *others)["fields"]
    panels = zip(values(drawn, "panel"), values(drawn, "y"), strict=True)
    assert {y for panel, y in panels if panel == 1} == {20.0}
    assert values(drawn, "panel").count(1) == 3


def test_one_field_of_each_is_no_chart():
    assert "fields" not in draw(*PLAIN[:2], *PLAIN[3:])
