from report.tunings import PRESET_RATE, at_rate, tuning_record

from longarena.findings.boards import boards
from longarena.findings.families import family_table
from longarena.findings.scores import Row, score_table
from longarena.recipes.presets import preset
from longarena.records.folder import Records

WORDS = "optimiser.rate of 0.0025, 0.01, 0.04"


def board_list(runs, tunings):
    return boards(score_table(runs, tunings))


def rows(lines):
    return [line.row.mixer for line in lines]


def test_the_rate_of_these_examples_is_the_presets():
    assert preset("listops", "linear").optimiser.rate == PRESET_RATE


def test_tuned_runs_are_compared_with_each_other_on_a_board_of_their_own():
    runs = [at_rate(0.0025), at_rate(0.04, "linear")]
    tunings = [tuning_record(0.0025), tuning_record(0.04, "linear")]
    (board,) = board_list(runs, tunings)
    assert board.tuning.words == WORDS
    assert rows(board.comparable) == ["transformer", "linear"]
    assert board.free == ()
    scores = [score for line in board.comparable for score in line.scores.values()]
    assert [score.tuned for score in scores] == ["optimiser.rate=0.0025", "optimiser.rate=0.04"]


def test_without_the_tuning_the_same_runs_are_free():
    (board,) = board_list([at_rate(0.0025), at_rate(0.04, "linear")], [])
    assert (rows(board.comparable), rows(board.free)) == ([], ["transformer", "linear"])
    assert board.tuning.words == ""


def test_a_run_that_was_tuned_to_the_presets_own_values_stands_beside_untuned_ones_too():
    tuned_run, untuned = at_rate(PRESET_RATE), at_rate(PRESET_RATE, "linear")
    plain, tuned = board_list([tuned_run, untuned], [tuning_record(PRESET_RATE)])
    assert (plain.tuning.words, tuned.tuning.words) == ("", WORDS)
    assert rows(plain.comparable) == ["transformer", "linear"]
    assert rows(tuned.comparable) == ["transformer"]
    # without any untuned one the board would show those alone that chose the preset's values
    (only,) = board_list([tuned_run], [tuning_record(PRESET_RATE)])
    assert only.tuning.words == WORDS


def test_the_choice_holds_for_every_seed():
    runs = [at_rate(0.04, seed=seed, accuracy=0.3 + seed / 100) for seed in range(3)]
    (board,) = board_list(runs, [tuning_record(0.04)])
    (line,) = board.comparable
    (score,) = line.scores.values()
    assert len(score.values) == 3


def test_other_values_are_another_board():
    runs = [at_rate(0.0025), at_rate(0.04, "linear")]
    tunings = [tuning_record(0.0025), tuning_record(0.04, "linear", rates=(0.01, 0.04))]
    assert len(board_list(runs, tunings)) == 2


def test_a_recipe_that_differs_in_more_than_was_tuned_is_free():
    sets = ("model.depth=4",)
    runs = [at_rate(0.04), at_rate(0.04, sets=sets)]
    tunings = [tuning_record(0.04), tuning_record(0.04, sets=sets)]
    (board,) = board_list(runs, tunings)
    assert [(line.row, line.changes) for line in board.free] == [
        (Row("transformer"), "model.depth=4")
    ]
    assert rows(board.comparable) == ["transformer"]


def test_only_the_later_of_two_equal_tunings_counts():
    runs = [at_rate(0.0025), at_rate(0.04)]
    later = tuning_record(0.04, finished_at="2026-01-01T00:00:00+00:00")
    tuned, plain = board_list(runs, [later, tuning_record(0.0025)])
    assert [line.changes for line in plain.free] == ["optimiser.rate=0.0025"]
    ((score,),) = (line.scores.values() for line in tuned.comparable)
    assert score.tuned == "optimiser.rate=0.04"


def test_families_are_ranked_where_the_most_was_compared():
    mixers = ("transformer", "linear")
    runs = [at_rate(PRESET_RATE, "transformer"), *(at_rate(0.04, mixer) for mixer in mixers)]
    table = family_table(Records(runs, tunings=[tuning_record(0.04, mixer) for mixer in mixers]))
    ranked = {member.mixer: member.score for member in table.members if member.score}
    assert set(ranked) == set(mixers)
    assert table.preset == "quick, tuned"
