import base64

from longarena import tasks
from longarena.data import png
from longarena.report.samples import samples

FOUND = {sample.card.name: sample for sample in samples()}


def test_every_task_is_described():
    assert set(FOUND) == set(tasks.TASKS)
    assert all(sample.card.question for sample in FOUND.values())


def test_what_is_generated_has_samples_and_nothing_else_has():
    assert {name for name, sample in FOUND.items() if sample.text} == {"listops"}
    with_pictures = {name for name, sample in FOUND.items() if sample.pictures}
    assert with_pictures == {"pathfinder", "pathfinder-64", "path-x"}


def test_a_picture_is_an_image_of_the_task():
    url = FOUND["pathfinder"].pictures[0].url
    pixels = png.decode(base64.b64decode(url.partition(",")[2]), "sample")
    assert pixels.shape == (32, 32)
    assert pixels.max() > 64
