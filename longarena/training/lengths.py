"""Scores at lengths that a model was not trained on, and by how deep the answer lies.

A task that can be asked at a chosen length gives examples of each (`Task.at_length`), new ones from
the stream of the split. The label of such an example is its depth: in which tenth of the sequence
the answer stands.
"""

from collections.abc import Callable, Iterable

import numpy as np

from longarena.data.dataset import Split, collect
from longarena.errors import UserError
from longarena.progress import SILENT, Progress
from longarena.records.lengths import LengthScore
from longarena.tasks.base import Task
from longarena.tasks.questions import NUM_DEPTHS
from longarena.tracks.base import Evaluation

NUM_EXAMPLES = 300
# of one batch: long sequences go through a model a few at a time
NUM_TOKENS = 16_384

Evaluate = Callable[[Split, int], Evaluation]


def score_lengths(
    task: Task,
    lengths: Iterable[int],
    evaluate: Evaluate,
    split: str = "test",
    progress: Progress = SILENT,
) -> list[LengthScore]:
    """Score a model at each length; `evaluate` takes examples and the size of a batch."""
    wanted = sorted(set(lengths))
    longest = task.signature.max_length
    if wanted and wanted[-1] > longest:
        raise UserError(
            f"this model was built for at most {longest:,} tokens; "
            f"train it with --set task.longest={wanted[-1]}"
        )
    with progress.bar("testing lengths", len(wanted)) as bar:
        found = []
        for length in wanted:
            examples = _examples(task.at_length(length), split)
            scored = evaluate(examples, max(1, NUM_TOKENS // length))
            found.append(_score(length, examples, scored))
            bar.advance(note=f"{length:,} tokens")
    return found


def _examples(task: Task, split: str) -> Split:
    chunks = (chunk for _, chunk in task.generate({split: NUM_EXAMPLES}))
    return collect(chunks, task.signature.num_sequences)


def _score(length: int, examples: Split, found: Evaluation) -> LengthScore:
    *_, weight, _ = found.tally.numbers
    # every example asks as much as any other
    values = found.scores * len(examples) / weight
    by_depth = [values[examples.labels == depth] for depth in range(NUM_DEPTHS)]
    return LengthScore(
        length=length,
        value=found.tally.mean_score,
        error=found.tally.error,
        depths=[round(float(np.mean(each)), 4) if len(each) else None for each in by_depth],
    )
