"""Count what models cost for one example, without a clock.

    count(["linear"], lengths=(1024, 2048))      mechanisms in a shape, at several lengths
    count_recipes([recipe])                      the model of a recipe at the length of its task

An example is one sequence of full length, or two of them where a task compares a pair.
"""

from collections.abc import Iterable, Sequence

from longarena.measure.candidate import name_mixer, read_mixers
from longarena.measure.cost import count_cost
from longarena.measure.session import LENGTHS, TEXT, check_sizes
from longarena.measure.work import Shape, byte_signature, prepare
from longarena.model.config import ModelConfig
from longarena.options import Options
from longarena.progress import SILENT, Progress
from longarena.recipes.recipe import Recipe, build_task
from longarena.records.record import Cost
from longarena.tasks.signature import Signature

Subject = tuple[ModelConfig, Signature]


class Count(Options):
    """What one model costs at one length; `mult_adds` are those of a prediction for one example."""

    mixer: str
    length: int
    mult_adds: int
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
    return _count([(model, byte_signature(n)) for n in lengths for model in models], progress)


def count_recipes(
    recipes: Iterable[Recipe],
    *,
    lengths: Sequence[int] | None = None,
    progress: Progress = SILENT,
) -> list[Count]:
    """Count the operations of recipes, at the longest length of their task or at the given ones."""
    subjects = [(recipe.model, build_task(recipe).signature) for recipe in recipes]
    if lengths is not None:
        check_sizes(1, lengths)
        subjects = [
            (model, signature.model_copy(update={"max_length": n}))
            for n in lengths
            for model, signature in subjects
        ]
    return _count(subjects, progress)


def _count(subjects: Sequence[Subject], progress: Progress) -> list[Count]:
    found = []
    with progress.bar("counting", total=len(subjects)) as bar:
        for model, signature in subjects:
            name = name_mixer(model)
            bar.advance(0, f"{name} at {signature.max_length}")
            work = prepare(model, signature, batch_size=1)
            cost = count_cost(work)
            mult_adds = round(cost.forward * work.batch.ids.numel())
            found.append(
                Count(mixer=name, length=signature.max_length, mult_adds=mult_adds, cost=cost)
            )
            bar.advance()
    return found
