"""Workers on many machines: each run is one task of a Ray cluster, with its CPUs and GPUs.

Ray decides where a run goes, and starts it again elsewhere when its machine dies. The run goes on
from its last checkpoint that was kept, and its data comes by the same way (away.py): through a
storage that all machines reach, or through this one. The record comes back to this process, which
alone writes it: every run counts once, whichever machine finished it.

Choice: a run asks for as many CPUs as it has threads, and for one GPU if the cluster has any.
Choice: no file is taken to be shared. This process holds the lock of a run that is done elsewhere.
"""

import platform
import time
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from longarena.data.server import FileServer
from longarena.data.storage import claim, open_storage
from longarena.errors import Busy
from longarena.progress import Progress
from longarena.recipes.pretraining import start_of
from longarena.recipes.recipe import Recipe
from longarena.sweep.away import DATA, RUNS, AwayJob, carry_out_away
from longarena.sweep.cluster import RayServer, call, connect, only_on
from longarena.sweep.plan import Places, keep_record
from longarena.sweep.supply import INCOMING, Offer, incoming, offer, supply
from longarena.sweep.worker import Outcome
from longarena.tasks.base import default_home
from longarena.training.folder import RunFolder
from longarena.training.loop import lock

if TYPE_CHECKING:
    from ray import ObjectRef
    from ray.actor import ActorHandle

# how often a run is started again after its machine or its process died
MAX_RETRIES = 3
SECONDS_BETWEEN_NEWS = 1.0
# what this machine is called on the others
HOME = f"the machine of the sweep ({platform.node()})"


@dataclass(frozen=True)
class Keeping:
    """Where checkpoints are kept, a storage or else this machine, and how many minutes apart."""

    storage: str | None = None
    minutes: float = 1.0


def carry_out_text(text: str, server: "ActorHandle[FileServer]") -> str:
    """Do a job that comes as JSON; only plain text travels between machines."""
    return carry_out_away(AwayJob.model_validate_json(text), RayServer(server)).model_dump_json()


def offer_text(text: str, server: "ActorHandle[FileServer]") -> bool:
    """Send data that is wanted, if this machine has it."""
    return offer(Offer.model_validate_json(text), RayServer(server))


@dataclass(frozen=True)
class _Running:
    """A run that is done elsewhere, and its lock."""

    recipe: Recipe
    held: ExitStack


class RayCrew:
    """Tasks of a Ray cluster; use it as a context manager, which leaves the cluster."""

    def __init__(
        self, places: Places, address: str, threads: int = 1, keeping: Keeping | None = None
    ) -> None:
        self.places, self.threads = places, threads
        self.keeping = keeping or Keeping()
        storage = self.keeping.storage
        self._mark = claim(open_storage(storage)) if storage else ""
        self._running: dict[ObjectRef[str], _Running] = {}
        self._refused: list[tuple[Recipe, Outcome]] = []
        self._fingerprints: dict[str, str] = {}
        self._news_at = 0.0
        connect(address)
        import ray  # noqa: PLC0415 - an extra: see `connect`

        self._ray = ray
        has_gpus = self._resource("GPU") >= 1
        self._task = ray.remote(num_cpus=threads, num_gpus=int(has_gpus), max_retries=MAX_RETRIES)(
            carry_out_text
        )
        self._server = self._serve()

    def _serve(self) -> "ActorHandle[FileServer]":
        """Hand out the files of this machine."""
        here = self._ray.get_runtime_context().get_node_id()
        home = default_home().absolute()
        server = self._ray.remote(FileServer).options(
            num_cpus=0,
            # a machine that sends a large file does not hold up the others
            max_concurrency=8,
            scheduling_strategy=only_on(here),
        )
        roots = {RUNS: self.places.runs, DATA: home, INCOMING: incoming(home)}
        handle: ActorHandle[FileServer] = server.remote(roots)  # type: ignore[assignment]
        return handle

    def __enter__(self) -> "RayCrew":
        return self

    def __exit__(self, *_: object) -> None:
        for task, run in self._running.items():
            self._ray.cancel(task, force=True)
            run.held.close()
        self._ray.shutdown()

    @property
    def num_workers(self) -> int:
        """How many runs are done at a time."""
        return max(1, int(self._resource("CPU")) // self.threads)

    @property
    def has_room(self) -> bool:
        """Whether one more run fits; one that Ray queued could not be told from one that trains."""
        return len(self._running) < self.num_workers

    def _resource(self, name: str) -> float:
        found: dict[str, float] = self._ray.cluster_resources()  # type: ignore[no-untyped-call]
        return found.get(name, 0)

    def prepare(self, recipe: Recipe, progress: Progress) -> None:
        """Have the data of a recipe where all machines find it."""
        storage = self.keeping.storage
        found = supply(recipe, storage, lambda: self._ask_around(recipe), progress)
        self._fingerprints[_data_of(recipe)] = found

    def _ask_around(self, recipe: Recipe) -> bool:
        """Have another machine send the data of a recipe; tell whether one has it."""
        wanted = Offer(recipe=recipe, home=HOME, storage=self.keeping.storage, mark=self._mark)
        text, ask = wanted.model_dump_json(), self._ray.remote(num_cpus=0)(offer_text)
        nodes: list[Mapping[str, object]] = self._ray.nodes()  # type: ignore[no-untyped-call]
        asked = [
            partial(ask.options(scheduling_strategy=only_on(str(node["NodeID"]))).remote, text)
            for node in nodes
            if node["Alive"]
        ]
        return any(call(partial(each, self._server)) for each in asked)

    def start(self, recipe: Recipe, until: int | None = None) -> None:
        """Hand a run to the cluster, to its end or up to a step."""
        try:
            held = self._hold(recipe)
        except Busy as busy:
            self._refused.append((recipe, Outcome(state="busy", reason=str(busy))))
            return
        job = AwayJob(
            recipe=recipe,
            threads=self.threads,
            until=until,
            home=HOME,
            storage=self.keeping.storage,
            mark=self._mark,
            seconds_between=60 * self.keeping.minutes,
            fingerprint=self._fingerprints.get(_data_of(recipe), ""),
        )
        task = self._task.remote(job.model_dump_json(), self._server)
        self._running[task] = _Running(recipe, held)

    def _hold(self, recipe: Recipe) -> ExitStack:
        """Lock a run, and the one that it begins with if that has not ended."""
        runs, first = self.places.runs, start_of(recipe)
        with ExitStack() as held:
            held.enter_context(lock(RunFolder.of(runs, recipe)))
            if first and not (folder := RunFolder.of(runs, first)).record.exists():
                held.enter_context(lock(folder))
            return held.pop_all()

    def ended(self) -> list[tuple[Recipe, Outcome]]:
        """Return the runs that have ended since the last call; write their records."""
        found, self._refused = self._refused, []
        waiting = list(self._running)
        over = self._ray.wait(waiting, num_returns=len(waiting), timeout=0)[0] if waiting else []
        for task in over:
            run = self._running.pop(task)
            with run.held:
                found.append((run.recipe, self._outcome(task)))
            self._news_at = 0.0
        return found

    def _outcome(self, task: "ObjectRef[str]") -> Outcome:
        try:
            outcome = Outcome.model_validate_json(self._ray.get(task))
        except self._ray.exceptions.TaskCancelledError:
            return Outcome(state="stopped", reason="stopped before it began")
        except self._ray.exceptions.RayTaskError as error:
            return Outcome(state="failed", reason=str(error).strip().splitlines()[-1])
        except self._ray.exceptions.RayError as error:
            # Ray has tried it again already
            return Outcome(state="failed", reason=str(error).strip().splitlines()[0])
        if outcome.record is not None:
            keep_record(outcome.record, self.places)
        return outcome

    def news(self) -> list[str]:
        """Return what the runs have said; all that one said before it ended is among it."""
        if time.monotonic() - self._news_at < SECONDS_BETWEEN_NEWS:
            return []
        self._news_at = time.monotonic()
        return call(self._server.news.remote)

    def stop(self) -> None:
        """Ask every run to save itself and end."""
        for task in self._running:
            self._ray.cancel(task)


def _data_of(recipe: Recipe) -> str:
    return recipe.task.model_dump_json()
