"""Count what mechanisms cost at several lengths, for one sequence, without a clock."""

from collections.abc import Sequence

from longarena.measure.candidate import name_mixer, read_mixers
from longarena.measure.cost import count_cost
from longarena.measure.session import LENGTHS, TEXT, check_sizes
from longarena.measure.work import Shape, prepare
from longarena.options import Options
from longarena.progress import SILENT, Progress
from longarena.store.record import Cost


class Count(Options):
    """What one mechanism costs at one length."""

    mixer: str
    length: int
    cost: Cost


def count(
    mixers: Sequence[str] = (),
    *,
    lengths: Sequence[int] = LENGTHS,
    shape: Shape = TEXT,
    progress: Progress = SILENT,
) -> list[Count]:
    """Count the operations of mechanisms, all of the table if none is named."""
    check_sizes(1, lengths)
    models = read_mixers(mixers, shape)
    found = []
    with progress.bar("counting", total=len(models) * len(lengths)) as bar:
        for length in lengths:
            for model in models:
                bar.advance(0, f"{name_mixer(model)} at {length}")
                cost = count_cost(prepare(model, length, batch_size=1))
                found.append(Count(mixer=name_mixer(model), length=length, cost=cost))
                bar.advance()
    return found
