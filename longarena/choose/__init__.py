"""Which mechanism to take for some data: measured, trained and compared in the minutes given.

    question = Question("reviews.csv", minutes=30, assignments=("task.label=stars",))
    record = choose(question, Path("choose/reviews"))
    print(record.taken)

    question.py   who may enter              speed.py        what each takes on this machine
    budget.py     how many steps fit         planning.py     what is decided before training
    race.py       who goes on                contest.py      the training, rung by rung
    ties.py       who cannot be told apart   verdict.py      which one to take
    plan.py       the decisions on disk      conclusion.py   the record

The same call goes on where an earlier one was stopped, and only reads an answer that is there.
"""

from functools import partial
from pathlib import Path

from rich.console import Console

from longarena.choose.conclusion import conclude
from longarena.choose.contest import Clock, hold
from longarena.choose.plan import read_plan, write_plan
from longarena.choose.planning import make_plan
from longarena.choose.question import Question, gather, question_id
from longarena.choose.speed import Ruler, look_at
from longarena.progress import SILENT, Progress, duration
from longarena.records.choice import ChoiceRecord, Constraints
from longarena.records.folder import find_choice_record, write_record
from longarena.runtime import set_up
from longarena.sweep import local
from longarena.sweep.workplace import OpenCrew, open_workplace

__all__ = ["Constraints", "Question", "choose"]


def choose(  # noqa: PLR0913 - the one call from outside: all but the question by name
    question: Question,
    folder: Path,
    *,
    crew: OpenCrew | None = None,
    threads: int | None = None,
    progress: Progress = SILENT,
    console: Console | None = None,
) -> ChoiceRecord:
    """Answer a question; its runs, records and plan are kept in a folder.

    `threads` are those of one run, with which speeds are measured too.
    """
    clock, found = Clock(), gather(question, progress)
    name, store = question_id(question, found), folder / "records"
    known = find_choice_record(store, found.any_recipe.task.name, name)
    if known is not None:
        progress.say(f"answered before, on {known.finished_at[:10]}: the record is in {store}")
        return known
    set_up(threads)
    data = look_at(found.any_recipe, progress)
    ruler = Ruler(f"choose-{name}", store.absolute(), data, progress)
    with open_workplace(folder / "runs", store, crew or local(), progress, console) as workplace:
        plan = read_plan(folder, name)
        if plan is None:
            plan = make_plan(question, found, ruler, workplace.crew.num_workers, clock)
            write_plan(folder, plan)
        finished = hold(plan, workplace, clock, partial(write_plan, folder))
        record = conclude(question, plan, finished, workplace.places, ruler)
    write_record(store, record)
    progress.say(f"done after {duration(clock.seconds)}")
    return record
