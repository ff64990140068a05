"""Workers on many machines: each run is one task of a Ray cluster, with its CPUs and GPUs.

Ray decides where a run goes, and starts it again elsewhere when its machine dies. The run then goes
on from its checkpoint if the machines share the folder of the runs, and starts over if they do not.
The record comes back to this process, which alone writes it: every run counts once, whichever
machine finished it.

Choice: a run asks for as many CPUs as it has threads, and for one GPU if the cluster has any.
Choice: a machine writes to the same paths as this one, so that a shared folder just works.
Choice: Ray reports nothing to anybody and starts no dashboard.
"""

import logging
import os
from typing import TYPE_CHECKING

from longarena.errors import UserError
from longarena.recipes.recipe import Recipe
from longarena.records.folder import write_record
from longarena.sweep.plan import Places
from longarena.sweep.worker import Job, Outcome, carry_out

if TYPE_CHECKING:
    from ray import ObjectRef

# how often a run is started again after its machine or its process died
MAX_RETRIES = 3
LOOPBACK = "127.0.0.1"
# on Linux, too, this makes Ray use loopback as the machine's address and listen nowhere else
STAY_ON_LOOPBACK = {"RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0"}


def carry_out_text(text: str) -> str:
    """Do a job that comes as JSON; only plain text travels between machines."""
    return carry_out(Job.model_validate_json(text)).model_dump_json()


class RayCrew:
    """Tasks of a Ray cluster; use it as a context manager, which leaves the cluster."""

    is_local = False

    def __init__(self, places: Places, address: str, threads: int = 1) -> None:
        self.places, self.threads = places, threads
        self._running: dict[ObjectRef[str], Recipe] = {}
        connect(address)
        import ray  # noqa: PLC0415 - an extra: see `connect`

        self._ray = ray
        has_gpus = self._resource("GPU") >= 1
        self._task = ray.remote(num_cpus=threads, num_gpus=int(has_gpus), max_retries=MAX_RETRIES)(
            carry_out_text
        )

    def __enter__(self) -> "RayCrew":
        return self

    def __exit__(self, *_: object) -> None:
        for task in self._running:
            self._ray.cancel(task, force=True)
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

    def start(self, recipe: Recipe, until: int | None = None) -> None:
        """Hand a run to the cluster, to its end or up to a step."""
        runs = self.places.runs
        job = Job(
            recipe=recipe,
            runs=runs,
            store=runs / "records",
            threads=self.threads,
            until=until,
        )
        self._running[self._task.remote(job.model_dump_json())] = recipe

    def ended(self) -> list[tuple[Recipe, Outcome]]:
        """Return the runs that have ended since the last call; write their records."""
        if not self._running:
            return []
        waiting = list(self._running)
        over, _ = self._ray.wait(waiting, num_returns=len(waiting), timeout=0)
        return [(self._running.pop(task), self._outcome(task)) for task in over]

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
            write_record(self.places.store, outcome.record)
        return outcome

    def stop(self) -> None:
        """Ask every run to save itself and end."""
        for task in self._running:
            self._ray.cancel(task)


def connect(address: str) -> None:
    """Join a Ray cluster as a driver."""
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    is_here = address.removeprefix("ray://").partition(":")[0] == LOOPBACK
    if is_here:
        os.environ.update(STAY_ON_LOOPBACK)
    try:
        import ray  # noqa: PLC0415 - an extra that most never need
    except ImportError:
        raise UserError(
            "--on ray needs Ray; run: pip install 'longarena[ray]', or leave --on ray out"
        ) from None
    try:
        ray.init(
            address=address,
            log_to_driver=False,
            logging_level=logging.ERROR,
            _node_ip_address=LOOPBACK if is_here else None,
        )
    except (ConnectionError, ValueError, RuntimeError) as error:
        reason = " ".join(str(error).split())[:200]
        raise UserError(f"no Ray cluster at {address}: {reason}; start one, see docs") from None
