"""A task with shuffled tokens is a variant that reads the data of the task itself."""

import pytest
from inference.models import own_recipe, trained
from tasks.own_data import reviews, write_csv
from training.runs import small_recipe

from longarena import tasks
from longarena.errors import UserError
from longarena.findings.changes import changes, command
from longarena.findings.scores import score_table
from longarena.inference.trained import TrainedModel
from longarena.recipes.recipe import build_task, override
from longarena.tasks.base import SPLITS, default_home
from longarena.tasks.expressions import TOKENS
from longarena.tasks.prepare import obtain
from longarena.training.export import exported

SHORT = {"min_length": 4, "max_length": 40}


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """The same short run of ListOps with its tokens in order and shuffled, and their home."""
    folder = tmp_path_factory.mktemp("shuffled")
    recipes = [small_recipe("linear", "steps=4", *more) for more in ([], ["task.shuffle=all"])]
    return [trained(folder, recipe) for recipe in recipes], folder / "home"


def prepared(home):
    """The names of the datasets of ListOps."""
    return sorted(path.name for path in (home / "listops").iterdir() if path.is_dir())


def test_it_is_a_variant_of_the_same_data():
    plain = tasks.build("listops", SHORT, 0.005)
    shuffled = tasks.build("listops", SHORT, 0.005, shuffle="within-8")
    assert shuffled.variant == "max_length=40,min_length=4,shuffle=within-8,size=0.005"
    first, second = (obtain(task, default_home()) for task in (plain, shuffled))
    assert (first.folder, first.fingerprint) == (second.folder, second.fingerprint)
    for name in SPLITS:
        ours, theirs = (data.split(name).sequence(0).tolist() for data in (second, first))
        assert sorted(ours) == sorted(theirs)
        assert ours != theirs


def test_it_stays_shuffled_on_other_data_and_under_other_options():
    task = tasks.build("listops", SHORT, shuffle="all")
    assert task.named("mine").variant == "mine,max_length=40,min_length=4,shuffle=all"
    assert task.changed(max_length=30).variant == "max_length=30,min_length=4,shuffle=all"
    assert task.stored.variant == "max_length=40,min_length=4"


def test_data_of_the_user_s_is_cut_and_then_shuffled(tmp_path):
    path = write_csv(tmp_path / "reviews.csv", reviews())
    recipe = override(own_recipe(path), ["task.max_length=12"])
    shuffled = override(recipe, ["task.shuffle=all"])
    split, other = (
        obtain(build_task(each), default_home()).split("train") for each in (shuffled, recipe)
    )
    assert len(split) == len(other)
    assert sorted(split.sequence(0)) == sorted(other.sequence(0))
    assert split.sequence(0).tolist() != other.sequence(0).tolist()


@pytest.mark.parametrize(
    ("name", "shuffle", "message"),
    [
        ("enwik8", "all", "enwik8 is of the track language, .* leave out task.shuffle"),
        ("recall", "across-8", "recall is of the track recall"),
        ("multi30k", "all", "multi30k is of the track translation"),
        ("image", "across-1024", "a block of 1,024 tokens holds all of an example of image"),
        ("image", "some", "'some' is no way to shuffle; choose all"),
    ],
)
def test_what_makes_no_sense_is_refused(name, shuffle, message):
    with pytest.raises(UserError, match=message):
        tasks.build(name, {}, shuffle=shuffle)


def test_the_recipe_has_an_id_and_a_command_of_its_own():
    plain = small_recipe()
    shuffled = override(plain, ["task.shuffle=across-8"])
    assert shuffled.id != plain.id
    assert "shuffle" not in plain.model_dump(exclude_defaults=True)["task"]
    assert changes(shuffled).changed.items() - changes(plain).changed.items() == {
        ("task.shuffle", "across-8")
    }
    assert "--set task.shuffle=across-8" in command(shuffled)


def test_shuffled_and_plain_runs_stand_in_two_columns_over_one_dataset(runs):
    (plain, shuffled), home = runs
    records = [run.read_record() for run in (plain, shuffled)]
    columns = score_table(records).columns
    assert {column.variant for column in columns} == {record.variant for record in records}
    assert len(columns) == 2
    assert len({column.fingerprint for column in columns}) == 1
    assert prepared(home) == [f"v1,{records[0].variant}"]


def test_a_model_of_shuffled_tokens_shuffles_what_it_is_asked(runs, monkeypatch):
    (plain, shuffled), home = runs
    monkeypatch.setenv("LONGARENA_HOME", str(home))
    record = shuffled.read_record()
    test = obtain(build_task(plain.read_recipe()), home).split("test")
    texts = [" ".join(TOKENS[token] for token in test.sequence(i)) for i in range(len(test))]
    found = TrainedModel(exported(shuffled)).predict(texts)
    assert [int(each.label) for each in found] == shuffled.read_answers(record).answers.tolist()
