"""A store of many varied records, small enough to be written in a moment."""

import os

from report.examples import MACHINE, VERSIONS, measure_record, run_record
from report.tunings import RATES, at_rate, tuning_record

from longarena.records.folder import record_path
from longarena.records.record import FailureRecord

MIXERS = ("transformer", "linear", "performer", "mine:Own")
CONFUSION = {"confusion": [[30, 20, 10], [5, 60, 15], [1, 2, 99]] * 12}
# before anything else is written, so that an index takes it for settled
LONG_AGO = 1_000_000_000


def many_records(seeds=6):
    """Runs of several mechanisms, settings and machines, and a few records of other kinds."""
    runs = [
        *(_run(mixer, seed) for mixer in MIXERS for seed in range(seeds)),
        *(at_rate(rate, mixer, seed=1) for mixer in MIXERS[:3] for rate in RATES),
        run_record("linear", 0, None),
        run_record("linear", 0, 0.45, ["steps=1500"], variant="max_length=128"),
    ]
    failed = run_record("local", 3)
    others = [
        tuning_record(RATES[1], "linear"),
        measure_record(),
        measure_record("linear", speed=8.0),
        FailureRecord(
            id=failed.id,
            recipe=failed.recipe,
            variant=failed.variant,
            error="no memory",
            machine=MACHINE,
            versions=VERSIONS,
            finished_at=failed.finished_at,
        ),
    ]
    return [*runs, *others]


def _run(mixer, seed):
    record = run_record(mixer, seed, 0.2 + 0.03 * MIXERS.index(mixer) + 0.01 * seed)
    details = {"context": 512, "levels": {"gzip": 0.3}, **(CONFUSION if seed % 2 else {})}
    machine = record.machine.model_copy(update={"threads": 1 + seed % 2})
    metrics = record.metrics.model_copy(update={"details": details})
    return record.model_copy(update={"metrics": metrics, "machine": machine})


def write_many(store, records):
    """Write records as they would be after a while."""
    for number, record in enumerate(records):
        path = record_path(store, record)
        path = path.with_name(f"{path.stem}-{number}.json") if path.exists() else path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(record.model_dump_json(indent=2))
        os.utime(path, (LONG_AGO, LONG_AGO))
    return store
