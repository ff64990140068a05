"""The answer in words: a sentence, a reason for every place, and what is missing."""

import json

from findings.contestants import findings, runs, scored
from findings.test_answer import MEASUREMENTS, SCORES
from report.arena import arena
from report.examples import MACHINE, VERSIONS, measure_record

from longarena.attention import CARDS
from longarena.findings.answer import Question
from longarena.records.folder import Records
from longarena.records.record import GenerationRecord
from longarena.report.answer.fragments import fragments
from longarena.report.answer.sentence import speak
from longarena.report.findings import Findings
from longarena.report.page.answers import records_answer


def said(found, which=0, **question):
    return speak(found, fragments(found), Question(**question), which)


def say(scores=SCORES, measurements=MEASUREMENTS, which=0, **question):
    return said(findings(scores, measurements), which, **question)


def generation(mixer, context, state):
    model = measure_record(mixer).model
    return GenerationRecord(
        id=f"{mixer}-{context}",
        session="g",
        model=model,
        context=context,
        batch_size=1,
        seconds_per_token=[0.001],
        read_seconds=[0.1],
        state_bytes=state,
        machine=MACHINE,
        versions=VERSIONS,
        finished_at="2026-01-01T00:00:00+00:00",
    )


def test_the_sentence_takes_the_fastest_of_those_tied():
    assert say().sentence == (
        "Take Linear Transformer: tied with the best average of 2 tasks (Transformer) and the "
        "fastest of the 2 tied, 54.5% (53.0 to 56.0); 1.5 times as fast as the Transformer at 1K, "
        "with about its memory (1.0 MiB)."
    )


def test_who_is_too_large_says_so_wherever_it_is_named():
    large = [scored("mega", 0.6, task, parameters=168_000) for task in ("listops", "text")]
    found = Findings.of(Records(runs=[*runs(SCORES), *large], measurements=MEASUREMENTS))
    size = "1.68 times the parameters of the Transformer"
    assert f"; {size}; speed and memory not measured" in said(found).sentence
    assert [size in each.words for each in said(found).ranked] == [True, False, False, False]
    (mega, _) = said(found, must_keep_budget=True).aside
    assert (mega.title, mega.words) == ("Mega", size)


def test_the_best_says_whether_others_are_tied_with_it():
    scores = {name: SCORES[name] for name in ("transformer", "fnet")}
    assert "the best average of 2 tasks, tied with no other, 55.0%" in say(scores).sentence
    ranked = {each.title: each.words for each in say().ranked}
    assert ranked["Transformer"].startswith("55.0% (53.5 to 56.5), the best, tied with 1 other; ")
    assert "10.0 behind the best (Transformer)" in ranked["FNet"]


def test_one_task_is_called_by_its_name():
    assert "the best on ListOps" in say(which=1).sentence


def test_another_is_named_for_those_who_want_speed_as_much():
    scores = SCORES | {"fnet": {"listops": 0.37, "text": 0.67}, "linear": SCORES["fnet"]}
    found = say(scores, speed_share=0.0)
    assert found.sentence.startswith("Take Transformer")
    assert found.other.startswith("Where speed matters as much, take FNet: 52.0%")
    assert say(scores, speed_share=0.5).other == ""
    assert say().other == ""


def test_every_place_has_score_standing_costs_and_decoding():
    fnet = say().ranked[-1]
    assert (fnet.title, fnet.family) == ("FNet", "no attention")
    assert fnet.words == (
        "45.0% (43.5 to 46.5), 10.0 behind the best (Transformer); 4.5 times as fast as the "
        "Transformer at 1K, with about its memory (1.0 MiB); cannot decode"
    )
    weighed = say(speed_share=0.5).ranked
    assert "place 3 of 3 by score, 1 by speed" in next(
        e.words for e in weighed if e.title == "FNet"
    )


def test_who_is_set_aside_says_why():
    excuses = {each.title: each.words for each in say(must_decode=True).aside}
    assert excuses["FNet"] == "cannot decode: its Fourier transform mixes all positions"
    assert "no better than an answer without a model (33.8%) beyond error" in excuses["Luna"]
    limited = say(length=4096, max_memory_bytes=2**20)
    assert limited.sentence == "Take none: no mechanism meets these conditions."
    assert all(each.words.startswith("above the limit") for each in limited.aside[:3])


def test_where_nobody_has_learnt_nobody_is_taken():
    found = say(dict.fromkeys(("transformer", "linear"), SCORES["luna"]))
    assert found.sentence.startswith("Take none yet: no mechanism is better than an answer without")


def test_what_generation_carries_is_said_at_the_nearest_context():
    made = findings(
        SCORES,
        MEASUREMENTS,
        generations=[
            *(generation("linear", context, context * 1024) for context in (1024, 4096)),
        ],
    )
    assert said(made, must_decode=True).sentence.endswith("decodes, carrying 1.0 MiB after 1K.")
    assert "carrying 4.0 MiB after 4K" in said(made, must_decode=True, length=9999).ranked[0].words
    notes = [note.command for note in said(made, must_decode=True).notes]
    assert "longarena measure --generate" not in notes


def notes(spoken):
    return {note.words: note.command for note in spoken.notes}


def test_notes_say_both_lengths_and_how_to_measure_nearer():
    found = notes(say(length=100_000))
    assert any("examples of 1,000 to 2,000 tokens" in words for words in found)
    assert found["No score is of examples of 100,000 tokens; ask your own data"].endswith(
        "YOUR_DATA"
    )
    (measured,) = (words for words in found if words.startswith("Speed and memory"))
    assert "at 4K tokens" in measured
    assert measured.endswith("of the measured lengths the nearest to 100,000")
    assert found[measured] == "longarena measure all --batch 8 --lengths 1024,4096,100000"


def test_notes_say_who_was_not_measured():
    only = [each for each in MEASUREMENTS if each.model.mixer in ("transformer", "fnet")]
    found = notes(say(measurements=only, which=1))
    (measured,) = (words for words in found if words.startswith("Speed and memory"))
    assert measured.endswith("not measured: Linear Transformer")
    assert found[measured] == "longarena measure all --batch 8 --lengths 1024,4096"
    assert notes(say(measurements=[]))["No speed or memory was measured"] == "longarena measure all"


def test_notes_say_that_one_seed_is_one_seed():
    one = "one seed each, whose luck is not in them"
    assert any(one in words for words in notes(say()))
    runs = [scored(name, 0.4, seed=seed) for name in ("transformer", "linear") for seed in (0, 1)]
    assert not any(one in words for words in notes(said(Findings.of(Records(runs=runs)))))


def test_the_command_runs_what_is_missing():
    found = say(SCORES | {"local": {"text": 0.9}})
    (absent,) = found.absent
    assert (absent.title, absent.why) == ("Local Attention", "not run on ListOps")
    missing = f"Not run here: {len(CARDS) - 5} of {len(CARDS)}"
    words = next(words for words in notes(found) if words.startswith(missing))
    assert words.endswith("too few have a score to compare on Retrieval, Image and Pathfinder")
    tasks = "listops,text,retrieval,image,pathfinder"
    assert notes(found)[words] == f"longarena sweep --tasks {tasks} --mixers all --preset small"


def test_the_words_for_every_question_are_few():
    data = records_answer(Findings.of(arena())).data
    assert len(data["mechanisms"]) > 30
    assert len(json.dumps(data)) < 60_000
