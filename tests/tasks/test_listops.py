import numpy as np
import pytest
from tasks.sources import LISTOPS, listops, write_tar

from longarena.errors import UserError
from longarena.tasks import build
from longarena.tasks.base import default_home
from longarena.tasks.expressions import TOKENS, draw_tree, encode
from longarena.tasks.prepare import prepare

HEADER = b"Source\tTarget\n"


def read(path, options=None):
    return prepare(build("listops", options or {}), default_home(), path)


def evaluate(tokens):
    """Evaluate an expression by its definition, on words."""
    words = [TOKENS[token] for token in tokens]
    stack = [[]]
    for word in words:
        if word == "]":
            operator, *values = stack.pop()
            by_name = {
                "[MIN": np.min,
                "[MAX": np.max,
                "[MED": lambda values: np.floor(np.median(values)),
                "[SM": lambda values: np.sum(values) % 10,
            }
            stack[-1].append(int(by_name[operator](values)))
        elif word.isdigit():
            stack[-1].append(int(word))
        else:
            stack.append([word])
    ((value,),) = stack
    return value


@pytest.fixture(scope="module")
def generated(tmp_path_factory):
    return prepare(build("listops", {}, 0.002), tmp_path_factory.mktemp("home"))


def test_generated_answers_are_right(generated):
    train = generated.split("train")
    answers = [evaluate(train.sequence(i)) for i in range(len(train))]
    assert answers == train.labels.tolist()
    assert len(train) == 192


def test_generated_lengths_are_the_official_ones(generated):
    lengths = generated.split("train").lengths
    assert 501 <= lengths.min() < lengths.max() <= 1999
    assert 950 < lengths.mean() < 1170  # 1,062 in the original


def test_the_tree_ends_in_the_answer(generated):
    test = generated.split("test")
    tree = build("listops", {}).describe([test.sequence(0)], int(test.labels[0]))
    assert tree.splitlines()[0].endswith(f" = {test.labels[0]}")
    operators = sum(1 <= token <= 4 for token in test.sequence(0))
    assert len(tree.splitlines()) == operators


@pytest.mark.parametrize("options", [{"max_depth": 1}, {"max_length": 501, "max_depth": 2}])
def test_too_few_expressions_are_reported(options, monkeypatch):
    monkeypatch.setattr("longarena.tasks.generate.listops.draw_accepted", lambda *arguments: (0, 0))
    with pytest.raises(UserError, match="too few expressions"):
        prepare(build("listops", options), default_home())


def test_the_released_tables_are_read_without_parentheses(tmp_path):
    store = read(write_tar(tmp_path / "mini.tar.gz", listops()))
    assert store.sizes == {"train": 5, "valid": 2, "test": 2}
    train = store.split("train")
    words = [TOKENS[token] for token in train.sequence(2)]
    assert " ".join(words) == "[MAX 2 [MIN 4 9 ] 3 ]"
    assert train.labels.tolist() == [0, 1, 2, 3, 4]
    assert TOKENS[store.split("valid").sequence(0)[0]] == "[SM"


def test_options_of_the_generator_do_not_go_with_a_source(tmp_path):
    with pytest.raises(UserError, match="leave out --set or --source"):
        read(write_tar(tmp_path / "mini.tar.gz", listops()), {"max_depth": 3})


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (b"( [MAX 2 ) ]\t2\n", "does not begin with the columns Source and Target"),
        (b"", "does not begin with the columns"),
        (HEADER + b"[MAX 2 3 ]\n", "line 2: 1 columns instead of 2"),
        (HEADER + b"[MAX 2 3 ]\t3\n[AVG 2 3 ]\t2\n", "line 3: this is not an expression"),
        (HEADER + b"\t2\n", "line 2: this is not an expression of 1 to 1999 tokens"),
        (HEADER + b"[MAX " + b"1 " * 2000 + b"]\t1\n", "not an expression of 1 to 1999 tokens"),
        (HEADER + b"[MAX 2 3 ]\t12\n", "the answer '12' is not a digit"),
        (HEADER + b"[MAX 2 3 ]\tx\n", "the answer 'x' is not a digit"),
        (HEADER, "has no rows"),
    ],
)
def test_a_bad_table_is_named(tmp_path, table, message):
    members = listops() | {f"{LISTOPS}_val.tsv": table}
    with pytest.raises(UserError, match=rf"basic_val\.tsv.*{message}"):
        read(write_tar(tmp_path / "mini.tar.gz", members))


@pytest.mark.parametrize(
    ("expression", "first"),
    [
        (b"[MED 1 2 ]", "MED 1 2 = 1"),
        (b"[MED 9 2 4 ]", "MED 9 2 4 = 4"),
        (b"[SM 9 9 [MAX 1 5 ] ]", "SM 9 9 (5) = 3"),
        (b"7", "7"),
    ],
)
def test_the_tree_shows_the_values(expression, first):
    assert draw_tree(encode(expression)).splitlines()[0] == first
