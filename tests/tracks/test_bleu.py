"""BLEU is sacreBLEU's, and its error is that of a plain bootstrap."""

import random
import statistics
import subprocess
import sys

import pytest
import sacrebleu

from longarena.tracks.bleu import score, sentence_scores

WORDS = [*"aeiou", "the", "man", "woman", "dog", "runs", "sleeps", "on", "street", "."]


def corpus(number, seed=0, noise=0.3):
    """References, and translations in which some words are wrong."""
    rng = random.Random(seed)
    references = [" ".join(rng.choices(WORDS, k=rng.randint(4, 15))) for _ in range(number)]
    hypotheses = [
        " ".join(rng.choice(WORDS) if rng.random() < noise else word for word in text.split())
        for text in references
    ]
    return hypotheses, references


def test_the_score_is_that_of_the_command_line(tmp_path):
    hypotheses, references = corpus(60)
    for name, texts in (("hypotheses", hypotheses), ("references", references)):
        (tmp_path / name).write_text("".join(f"{text}\n" for text in texts))
    words = [sys.executable, "-m", "sacrebleu", "references", "-i", "hypotheses", "-b", "-w", "10"]
    printed = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    assert score(hypotheses, references).value == pytest.approx(float(printed), abs=1e-9)


@pytest.mark.parametrize("lower_case", [False, True])
def test_chrf_and_signature_are_sacrebleus(lower_case):
    hypotheses, references = corpus(30)
    hypotheses = [text.upper() for text in hypotheses[:10]] + hypotheses[10:]
    found = score(hypotheses, references, lower_case)
    bleu = sacrebleu.metrics.BLEU(lowercase=lower_case)
    assert found.value == bleu.corpus_score(hypotheses, [references]).score
    assert found.signature == str(bleu.get_signature())
    assert f"case:{'lc' if lower_case else 'mixed'}" in found.signature
    chrf = sacrebleu.metrics.CHRF(lowercase=lower_case)
    assert found.chrf == chrf.corpus_score(hypotheses, [references]).score


def test_the_error_is_that_of_drawing_sentences_anew():
    hypotheses, references = corpus(40)
    rng, draws = random.Random(1), []
    for _ in range(200):
        rows = rng.choices(range(40), k=40)
        drawn = [hypotheses[i] for i in rows], [[references[i] for i in rows]]
        draws.append(sacrebleu.corpus_bleu(*drawn, force=True).score)
    assert score(hypotheses, references).standard_error == pytest.approx(
        statistics.stdev(draws), rel=0.2
    )


def test_the_error_shrinks_with_the_root_of_the_number():
    few, many = (score(*corpus(number)).standard_error for number in (40, 360))
    assert few / many == pytest.approx(3, rel=0.25)


def test_the_same_texts_give_the_same_error():
    assert score(*corpus(20)) == score(*corpus(20))


def test_perfect_and_empty_translations():
    _, references = corpus(10)
    perfect, empty = score(references, references), score([""] * 10, references)
    assert (perfect.value, perfect.standard_error, perfect.chrf) == pytest.approx((100, 0, 100))
    assert (empty.value, empty.standard_error, empty.chrf) == (0, 0, 0)


def test_a_sentence_scores_by_its_characters():
    hypotheses, references = corpus(12)
    found = sentence_scores(hypotheses, references)
    single = [score([h], [r]).chrf for h, r in zip(hypotheses, references, strict=True)]
    assert found == pytest.approx(single)


@pytest.mark.parametrize("texts", [([], []), (["a"], ["a", "b"])])
def test_unequal_numbers_are_refused(texts):
    with pytest.raises(ValueError, match="translations for"):
        score(*texts)
    with pytest.raises(ValueError, match="translations for"):
        sentence_scores(*texts)


def test_text_that_was_cut_into_words_makes_no_noise(capsys):
    score(["a man ."] * 120, ["a man ."] * 120)
    assert capsys.readouterr() == ("", "")
