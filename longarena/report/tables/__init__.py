"""Every table, made of findings: one entry per kind.

    scores       test scores, one per suite and preset; `scores-...-free` has free results,
                 `scores-...-changed` those of a preset that was changed alike for all,
                 `scores-...-tuned` those with tuned values
    answer       everybody in the order in which to take them, one per average and task
    agreement    whether tasks order the mechanisms alike, and as the paper does, one per board
    tuning       the values that each mechanism wanted, one per preset and grid
    choices      who was compared on some data, and which one to take, one per question
    minutes      validation scores after 1, 5 and 20 minutes of training, one per board and task
    seeds        how many seeds of a mechanism learn, and when, one per board and task
    speed        training steps per second by length, one per session, the latest first
    memory       peak of live tensors by length
    predictions  predictions per second by length
    limit        operations of a step as a share of the machine's matrix rate
    cost         Mult-Adds per token by kind of layer, one per length
    growth       exponents of time, memory and Mult-Adds with the length, beside the claim
    generation   milliseconds per token after a context, one per session
    reading      seconds to read the context at once
    state        bytes that a text carries to its next token
    variations   what changes to a mechanism, its data or its training do, one per task and preset
    translation  BLEU beside the Mult-Adds of a sentence, one per comparison
    families     the mechanisms by family, and where each stands here
    ratios       speed and memory relative to the Transformer, here and in the paper
    beside       scores and costs here beside those of the papers
    anchors      runs of other recipes on official data, beside the same
    published    the numbers of the papers
    runs         every run that has ended
    curves       the validation scores of every run, over steps and seconds

The name of a kind means all of its tables: `cost` is `cost-1024` and `cost-4096`.
"""

from collections.abc import Mapping

from longarena.report.remedies import (
    AGREE,
    CHOOSE,
    COMPARE,
    GENERATE,
    MEASURE,
    SEEDS,
    TRAIN,
    TRANSLATE,
    TUNE,
    VARY,
)
from longarena.report.tables.agreement import agreement_tables
from longarena.report.tables.anchors import anchor_tables
from longarena.report.tables.answer import answer_tables
from longarena.report.tables.beside import beside_tables
from longarena.report.tables.choice import choice_tables
from longarena.report.tables.costs import (
    growth_table,
    limit_table,
    memory_table,
    of_sessions,
    prediction_table,
    speed_table,
)
from longarena.report.tables.counts import count_tables
from longarena.report.tables.families import family_tables
from longarena.report.tables.generation import (
    of_generations,
    reading_table,
    state_table,
    token_table,
)
from longarena.report.tables.kind import TableKind
from longarena.report.tables.minutes import minute_tables
from longarena.report.tables.published import published_tables
from longarena.report.tables.ratios import ratio_table
from longarena.report.tables.runs import curve_tables, run_tables
from longarena.report.tables.scores import score_tables
from longarena.report.tables.seeds import seed_tables
from longarena.report.tables.translation import translation_tables
from longarena.report.tables.tuning import tuning_tables
from longarena.report.tables.variations import variation_tables

TABLES: Mapping[str, TableKind] = {
    "scores": TableKind(score_tables, TRAIN),
    "answer": TableKind(answer_tables, COMPARE),
    "agreement": TableKind(agreement_tables, AGREE),
    "tuning": TableKind(tuning_tables, TUNE),
    "choices": TableKind(choice_tables, CHOOSE),
    "minutes": TableKind(minute_tables, TRAIN),
    "seeds": TableKind(seed_tables, SEEDS),
    "speed": TableKind(of_sessions(speed_table), MEASURE),
    "memory": TableKind(of_sessions(memory_table), MEASURE),
    "predictions": TableKind(of_sessions(prediction_table), f"{MEASURE} --inference"),
    "limit": TableKind(of_sessions(limit_table), MEASURE),
    "cost": TableKind(count_tables, MEASURE),
    "growth": TableKind(of_sessions(growth_table), MEASURE),
    "generation": TableKind(of_generations(token_table), GENERATE),
    "reading": TableKind(of_generations(reading_table), GENERATE),
    "state": TableKind(of_generations(state_table), GENERATE),
    "variations": TableKind(variation_tables, VARY),
    "translation": TableKind(translation_tables, TRANSLATE),
    "families": TableKind(family_tables, TRAIN),
    "ratios": TableKind(of_sessions(ratio_table), MEASURE),
    "beside": TableKind(beside_tables, f"{TRAIN} --preset small"),
    "anchors": TableKind(anchor_tables, f"{TRAIN} --preset small --steps 1000"),
    "published": TableKind(published_tables, TRAIN),
    "runs": TableKind(run_tables, TRAIN),
    "curves": TableKind(curve_tables, TRAIN),
}
