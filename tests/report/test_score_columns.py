"""How the tables of scores name their columns."""

import pytest
from report.examples import run_record

from longarena.recipes.presets import preset
from longarena.records.folder import Records
from longarena.report.findings import Findings
from longarena.report.formatting import task_title
from longarena.report.tables import TABLES

IMAGE = preset("image", "transformer", "cpu").task


def short_names(*variants):
    runs = [run_record(preset="cpu", task=IMAGE, variant=variant) for variant in variants]
    (table,) = TABLES["scores"].make(Findings.of(Records(runs)))
    return [column.short for column in table.columns[1:]]


def test_the_data_of_the_preset_goes_without_saying():
    assert short_names("side=16,size=0.5")[0] == "Image"


def test_the_data_of_the_task_itself_is_said_where_the_preset_has_less():
    assert short_names("")[-1] == "Image, the task's own data"


def test_of_a_variant_what_the_preset_does_not_have_is_said():
    assert short_names("shuffle=all,side=16,size=0.5")[-1] == "Image, shuffle=all"


def test_of_a_variant_that_lacks_what_the_preset_has_this_is_said():
    assert short_names("side=16")[-1] == "Image, size=1"
    assert short_names("size=0.5")[-1] == "Image, side=default"


@pytest.mark.parametrize(
    ("name", "variant", "title"),
    [
        ("pathfinder", "", "Pathfinder (32 x 32)"),
        ("pathfinder", "difficulty=3,side=16,size=0.25", "Pathfinder (16 x 16)"),
        ("text", "max_length=256,tokens=bpe,vocabulary=1000", "Text (IMDb, byte pairs)"),
        ("retrieval", "aan-mini,shuffle=all", "Retrieval (AAN, bytes)"),
        # whatever a record from elsewhere says
        ("pathfinder", "side=17,=,side", "Pathfinder (32 x 32)"),
        ("mine:Task", "side=16", "mine:Task"),
    ],
)
def test_a_task_is_called_what_it_is_with_the_options_of_the_variant(name, variant, title):
    assert task_title(name, variant) == title
