"""Beam search against all translations there are, and against its rules in plain Python."""

from itertools import product

import pytest
import torch
from model.translations import build, sentences, signature

from longarena.model import beam_search
from longarena.model.beam_search import translate
from longarena.model.decoding import GREEDY, Decoding

WORDS, END = (1, 2, 3), 4  # of a language with three words
LONGEST = 4
TINY = signature(vocab_size=END, max_length=LONGEST)
SOURCES = sentences((4, 1), (2, 1), (1, 1), vocab_size=END)[:, 0]


@pytest.fixture(scope="module", params=["transformer", "lite-transformer"])
def model(request):
    model = build(request.param, asked=TINY, seed=3)
    # so that translations differ in probability, and not all have one length
    with torch.no_grad():
        model.head.token.weight *= 3
    return model


@pytest.fixture(scope="module")
def log_ps(model):
    """For every source, the log-probabilities of the ids 1 ... END after every beginning."""
    return [tabulate(model, source[source != 0]) for source in SOURCES]


@torch.no_grad()
def tabulate(model, source):
    table = {}
    for length in range(LONGEST + 1):
        beginnings = list(product(WORDS, repeat=length))
        pairs = torch.zeros(len(beginnings), 2, max(len(source), length), dtype=torch.int64)
        pairs[:, 0, : len(source)] = source
        pairs[:, 1, :length] = torch.tensor(beginnings, dtype=torch.int64)
        after = model(pairs)[:, length].log_softmax(dim=-1).tolist()
        table |= zip(beginnings, after, strict=True)
    return table


def score(log_p, ids, penalty):
    whole = sum(log_p[ids[:at]][each - 1] for at, each in enumerate((*ids, END)))
    return whole / (len(ids) + 1) ** penalty


def plain_search(log_p, decoding):
    """The rules of beam search, a candidate at a time."""
    beam, complete = [((), 0.0)], []
    for length in range(LONGEST + 1):
        candidates = []
        for ids, before in beam:
            for each, more in enumerate(log_p[ids], start=1):
                is_allowed = (length > 0) if each == END else (length < LONGEST)
                if is_allowed:
                    candidates.append((before + more, ids, each))
        candidates.sort(reverse=True)
        for total, ids, each in candidates[: decoding.beam]:
            if each == END and len(complete) < decoding.beam:
                complete.append((total / (length + 1) ** decoding.length_penalty, list(ids)))
        going_on = [each for each in candidates[: 2 * decoding.beam] if each[2] != END]
        beam = [((*ids, each), total) for total, ids, each in going_on[: decoding.beam]]
        if len(complete) == decoding.beam:
            break
    return max(complete)


@pytest.mark.parametrize("penalty", [0.0, 0.6, 1.0, 2.0])
def test_a_wide_beam_finds_the_best_of_all_translations(model, log_ps, penalty):
    # 3 + 9 + 27 + 81 translations: with a place for each of them, nothing is lost
    decoding = Decoding.model_construct(beam=130, length_penalty=penalty)
    everything = [ids for n in range(1, 5) for ids in product(WORDS, repeat=n)]
    for found, log_p in zip(translate(model, SOURCES, decoding), log_ps, strict=True):
        best = max(everything, key=lambda ids: score(log_p, ids, penalty))
        assert found.ids == list(best)
        assert found.score == pytest.approx(score(log_p, best, penalty))


@pytest.mark.parametrize("beam", [1, 2, 3, 5])
@pytest.mark.parametrize("penalty", [0.0, 1.0])
def test_a_narrow_beam_follows_its_rules(model, log_ps, beam, penalty):
    decoding = Decoding(beam=beam, length_penalty=penalty)
    for found, log_p in zip(translate(model, SOURCES, decoding), log_ps, strict=True):
        expected, ids = plain_search(log_p, decoding)
        assert found.ids == ids
        assert found.score == pytest.approx(expected)


def test_greedy_takes_the_likeliest_token_every_time(model, log_ps):
    for found, log_p in zip(translate(model, SOURCES, GREEDY), log_ps, strict=True):
        ids = ()
        while len(ids) < LONGEST:
            allowed = log_p[ids] if ids else log_p[ids][:-1]
            likeliest = max(range(len(allowed)), key=allowed.__getitem__) + 1
            if likeliest == END:
                break
            ids = (*ids, likeliest)
        assert found.ids == list(ids)


@pytest.mark.parametrize("mixer", ["lite-transformer", "mamba2"])
def test_a_sentence_is_translated_alone_as_among_others(mixer):
    model = build(mixer, seed=1)
    sources = sentences((9, 1), (3, 1), (6, 1), (1, 1), seed=2)[:, 0]
    together = translate(model, sources, Decoding(beam=3))
    for found, source in zip(together, sources, strict=True):
        [alone] = translate(model, source[source != 0][None], Decoding(beam=3))
        assert alone.ids == found.ids
        assert alone.score == pytest.approx(found.score)


def test_a_wider_beam_never_has_a_worse_answer_without_a_penalty(model):
    widths = [1, 2, 4, 16, 64]
    scores = [
        [each.score for each in translate(model, SOURCES, Decoding(beam=b, length_penalty=0.0))]
        for b in widths
    ]
    # not a law of narrow beams, but of these models; the widest holds everything
    for narrow in scores:
        assert all(a <= b + 1e-9 for a, b in zip(narrow, scores[-1], strict=True))


def test_a_translation_ends_at_its_limit_and_is_never_empty(monkeypatch):
    model = build(seed=1)
    with torch.no_grad():
        model.head.token.weight[model.end] = 0.0
        model.head.token.weight[5] *= 40  # it would say this word for ever
    monkeypatch.setattr(beam_search, "MORE", 1)
    sources = sentences((3, 1), (1, 1))[:, 0]
    found = translate(model, sources, GREEDY)
    assert [len(each.ids) for each in found] == [7, 3]
    eager = build(seed=1)
    with torch.no_grad():
        eager.decoder.norm.weight.zero_()
        eager.decoder.norm.bias.copy_(eager.head.token.weight[eager.end])
    assert [len(each.ids) for each in translate(eager, sources, Decoding(beam=2))] == [1, 1]


def test_a_model_without_numbers_answers_nothing():
    model = build()
    with torch.no_grad():
        model.head.token.weight.fill_(float("nan"))
    assert [each.ids for each in translate(model, SOURCES, Decoding())] == [[], [], []]
