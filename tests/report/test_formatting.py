from dataclasses import replace

from report.examples import run_record

from longarena.findings.scores import Row, score_table
from longarena.report.formatting import card, column_name, row_name

COLUMN = score_table([run_record()]).columns[0]


def test_a_mechanism_is_called_as_its_card_says():
    assert row_name(Row("linear")) == "Linear Transformer"
    assert row_name(Row("transformer", "materialised=true")) == "Transformer (materialised=true)"


def test_a_class_that_only_a_record_names_is_not_imported():
    assert card("antigravity:fly").title == "antigravity:fly"


def test_a_column_is_named_by_its_data_only_where_others_differ_in_nothing_else():
    twin = replace(COLUMN, fingerprint="0123456789")
    assert column_name(COLUMN, [COLUMN]) == (
        "ListOps, version 1, quick, max_depth=6, max_length=256, min_length=32"
    )
    assert column_name(twin, [COLUMN, twin]).endswith(", data 01234567")
