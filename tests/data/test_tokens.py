"""Tokenisers: what goes in comes out again, and the same texts give the same tokens."""

import json
import subprocess
import sys
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from longarena.data.tokens import (
    UNKNOWN,
    BytePairs,
    ByteTokeniser,
    Words,
    read_tokeniser,
    train_byte_pairs,
    train_words,
)
from longarena.errors import UserError

TEXTS = [
    f"The {word} {i} runs, the {word} {i} sleeps." for i in range(40) for word in ("cat", "dög")
]
ODD = [
    "",
    " ",
    "  two before and after  ",
    "tab\tand\r\nline ends\u2028\x85",
    "Straße, naïve, Ελληνικά, 中文字, עברית",
    "👩🏽‍🚀 e\u0301 \u00e9 \x00 \ufeff",
    "@@ <s> </s> <unk> [PAD] Ġ Ã",
]
BPE = train_byte_pairs(TEXTS, 400)
WORDS = train_words(TEXTS, 20)
TOKENISERS = {"bpe": BPE, "bytes": ByteTokeniser()}


@pytest.fixture(params=TOKENISERS)
def tokeniser(request):
    return TOKENISERS[request.param]


@pytest.mark.parametrize("text", ODD)
def test_every_text_comes_back(tokeniser, text):
    assert tokeniser.decode(tokeniser.encode(text)) == text


@given(st.text(st.characters(codec="utf-8")))
def test_every_drawn_text_comes_back(text):
    for tokeniser in TOKENISERS.values():
        tokens = tokeniser.encode(text)
        assert tokeniser.decode(tokens) == text
        assert all(0 <= token < tokeniser.num_tokens for token in tokens)


def test_many_texts_are_encoded_like_each_of_them(tokeniser):
    texts = [*ODD, *TEXTS]
    assert tokeniser.encode_all(texts) == [tokeniser.encode(text) for text in texts]


def test_what_was_seen_often_is_one_token():
    [cat] = BPE.encode("cat")
    assert BPE.encode("cat cat") == [cat, cat]
    assert len(BPE.encode(TEXTS[0])) < len(TEXTS[0]) / 2


def test_a_vocabulary_has_its_size_or_as_much_as_the_texts_give():
    assert train_byte_pairs(TEXTS, 300).num_tokens == 300
    assert 256 < train_byte_pairs(["ab ab"], 300).num_tokens < 300


def test_the_merges_are_those_of_the_definition():
    """Join the most frequent pair of neighbours in a word, again and again, by brute force."""
    texts = ["aaa bb aab", "ab abc abcab", "cab cab"]
    words = [list(f"Ġ{word}") for text in texts for word in text.split()]
    found = train_byte_pairs(texts, 256 + 5)
    for left, right in found.merges:
        pairs = [pair for word in words for pair in pairwise(word)]
        assert pairs.count((left, right)) == max(map(pairs.count, pairs))
        words = [joined(word, left, right) for word in words]
    assert len(found.merges) == 5


def joined(word, left, right):
    done = []
    for letter in word:
        is_pair = bool(done) and (done[-1], letter) == (left, right)
        done[-1:] = [left + right] if is_pair else [*done[-1:], letter]
    return done


def test_lower_case_is_for_reading_only():
    small = train_byte_pairs(TEXTS, 300, lower_case=True)
    assert small.decode(small.encode("The DÖG")) == "the dög"
    assert ByteTokeniser(lower_case=True).encode("ÖA") == list("öa".encode())


def test_words_are_the_most_frequent_and_all_others_are_unknown():
    # of equals the first by name
    assert WORDS.words[:8] == (",", ".", "The", "cat", "dög", "runs", "sleeps", "the")
    assert WORDS.num_tokens == 20
    assert train_words(["b a b"], 300).words == ("b", "a")
    comma, cat = (WORDS.encode(word)[0] for word in (",", "cat"))
    assert WORDS.encode("cat,unheard cat") == [cat, comma, UNKNOWN, cat]
    assert WORDS.decode([cat, comma, UNKNOWN, cat]) == "cat , \ufffd cat"


def test_capital_letters_are_kept_unless_asked_otherwise():
    assert WORDS.encode("The") != WORDS.encode("the")
    small = Words(("the",), lower_case=True)
    assert small.encode("The") == small.encode("the") == [1]


@pytest.mark.parametrize("text", ODD)
def test_every_text_but_an_empty_one_has_words(text):
    tokens = WORDS.encode(text)
    assert bool(tokens) == bool(text)
    assert all(0 <= token < WORDS.num_tokens for token in tokens)


@pytest.mark.parametrize(
    "kept",
    [
        BPE,
        ByteTokeniser(),
        ByteTokeniser(True),
        BytePairs(BPE.tokens, BPE.merges, True),
        WORDS,
        Words(WORDS.words, True),
    ],
)
def test_a_tokeniser_can_be_written_and_read(kept):
    read = read_tokeniser(kept.to_json())
    assert read == kept
    assert read.encode_all(TEXTS) == kept.encode_all(TEXTS)


def test_an_unknown_kind_is_refused():
    with pytest.raises(UserError, match="kind 'pieces' is unknown"):
        read_tokeniser(json.dumps({"kind": "pieces", "lower_case": False}))


def test_what_a_model_writes_is_shown_even_if_it_is_no_text(tokeniser):
    assert ByteTokeniser().decode([104, 195, 105]) == "h\ufffdi"
    assert tokeniser.decode([tokeniser.num_tokens + 7]) == ""


def test_the_order_of_hashes_does_not_matter():
    code = (
        "import sys; from longarena.data.tokens import train_byte_pairs\n"
        "print(train_byte_pairs(sys.argv[1].split('|'), 330).to_json())"
    )
    words = [sys.executable, "-c", code, "|".join(TEXTS)]
    found = subprocess.run(
        words, capture_output=True, check=True, env={"PYTHONHASHSEED": "7", "PYTHONUTF8": "1"}
    ).stdout.decode()
    assert found.strip() == train_byte_pairs(TEXTS, 330).to_json()
