"""Prepare the data of a task: generate it, or read a source that is handed over or downloaded.

What a source holds is known only when all of it has been read. If it has the row counts of the
card, it is the official release; any other data is accepted under the name of its file, and every
folder, recipe and record carries that name. Where the task itself is generated, the release is a
variant too, named `release`.

Every failure ends in one line; nothing half-written stays, and what was there still works.
"""

from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from longarena.data.archive import data_name, num_megabytes, reading
from longarena.data.dataset import Chunk, Dataset, Writer, read_about, token_type
from longarena.data.fetch import fetch
from longarena.data.files import waiting
from longarena.errors import UserError
from longarena.options import Value, parse
from longarena.progress import SILENT, Progress
from longarena.tasks import TASKS
from longarena.tasks.base import SPLITS, Task
from longarena.tasks.own import task_by_path
from longarena.tasks.own.base import OwnData
from longarena.tasks.own.names import is_path_name, is_short, name_of
from longarena.tasks.own.write import write_data
from longarena.tasks.splits import thinned
from longarena.tasks.stream import StreamOptions
from longarena.tasks.textfile import TextFile, digest_of
from longarena.tasks.twofiles import TwoFiles, is_pair_name, keep_pair

RELEASE = "release"
GENERATED = "generated"


def prepare(
    task: Task, home: Path, source: Path | None = None, progress: Progress = SILENT
) -> Dataset:
    """Write the dataset of a task unless it exists, and open it.

    Data that turns out not to be the task's own becomes a variant; the dataset's `facts["data"]`
    is its name.
    """
    if source is not None and not source.exists():
        raise UserError(f"{source} does not exist; --source takes an archive or a folder")
    stored = task.stored
    folder = stored.named("").folder(home)

    def say() -> None:
        progress.say(f"waiting for another process that prepares {folder}")

    with waiting(folder.with_name(f".{folder.name}.lock"), say):
        try:
            found = _find(stored, home, source)
            prepared = found or _write(stored, home, source, progress)
        except OSError as error:
            where = f" ({error.filename})" if error.filename else ""
            raise UserError(
                f"preparing {task.card.name} under {home} failed: {error.strerror or error}"
                f"{where}; nothing was changed"
            ) from None
    # the fingerprint was just computed from the same bytes
    return open_prepared(task.named(prepared.data), home, verify=found is not None)


def take_in(
    name: str,
    home: Path,
    options: Mapping[str, Value] | None = None,
    progress: Progress = SILENT,
) -> tuple[str, str]:
    """Return the name and the data by which a recipe names a task.

    They are the name itself and nothing, but for a path: what lies there is prepared here, under
    the options given, because the recipe does not say where it lies. Two files of parallel text
    are only kept here; their tokens depend on options.
    """
    path = Path(name)
    if name in TASKS or not (is_path_name(name) or path.exists()):
        return name, ""
    if is_pair_name(name):
        return keep_pair(path, home)
    if not path.exists():
        if not is_short(name):
            raise UserError(f"{name} does not exist; name a task, or the path of your data")
        return name, ""  # it may have been prepared before, and is named with its data
    kind = task_by_path(name_of(path))
    if issubclass(kind, TextFile):
        text = kind(StreamOptions(), data=digest_of(path))
        if not text.folder(home).exists():
            prepare(text, home, path)
        return text.name, text.data
    # what only says how much is read belongs to the recipe
    task = kind(parse(kind.options_type, options or {}, kind.name)).stored
    task = kind(task.options, data=task.digest(path))
    if not task.folder(home).exists():
        _write_own(task, home, path, progress)
    return kind.name, task.data


def _write_own(task: OwnData, home: Path, path: Path, progress: Progress) -> None:
    """Write the dataset of a user's data."""
    folder = task.folder(home)

    def say() -> None:
        progress.say(f"waiting for another process that prepares {path}")

    with waiting(folder.with_name(f".{folder.name}.lock"), say):
        try:
            if not folder.exists():
                write_data(task, path, folder, _facts(task, _origin(path)), progress)
        except OSError as error:
            raise UserError(f"{path} cannot be prepared: {error.strerror or error}") from None


def obtain(task: Task, home: Path, progress: Progress = SILENT) -> Dataset:
    """Open the dataset of a task; make it if that takes nothing else, but download nothing."""
    if (task.is_generated and not task.data) or task.kept(home):
        return prepare(task, home, progress=progress)
    return open_prepared(task, home)


def open_prepared(task: Task, home: Path, *, verify: bool = True) -> Dataset:
    """Open the dataset of a task; say how to prepare it if it is missing."""
    stored = task.stored
    folder = stored.folder(home)
    if not folder.exists():
        raise UserError(f"{_missing(stored, folder)}{_alternatives(stored, home)}")
    dataset = stored.dataset_type(folder, verify=verify, view=task.view)
    if not _is_meant(stored, dataset.facts):
        raise UserError(
            f"{folder} holds other data than its name says; delete it and prepare again"
        )
    return dataset


def _missing(task: Task, folder: Path) -> str:
    """Say that the data of a task is missing, and how to get it."""
    if isinstance(task, OwnData):
        return task.missing
    if isinstance(task, TextFile) and not task.data:
        return f"{task.name} is neither a task nor a file here; name a text by its path"
    if isinstance(task, TwoFiles) and not task.data:
        both = " and ".join(task.files)
        return f"{task.name} means the files {both}, which are not here; name them by their path"
    return f"{task.card.name} is not prepared ({folder}); run: {command(task)}"


def command(task: Task) -> str:
    """Write the command that prepares this variant."""
    if isinstance(task, OwnData):
        return task.command
    if isinstance(task, TextFile):
        return f"longarena data prepare PATH (of {task.card.name})"
    is_own = isinstance(task, TwoFiles)
    changed = task.options.model_dump(exclude_defaults=True)
    words = [f"--set {key}={value}" for key, value in sorted(changed.items())]
    words += [f"--size {task.size}"] if task.size != 1 else []
    words += [f"--source PATH (of {task.data})"] if task.data and not is_own else []
    name = f"PATH (of {task.card.name})" if is_own else _name(task)
    return " ".join(["longarena data prepare", name, *words])


def _name(task: Task) -> str:
    """Return what a user calls a task: its name, or `module:Class` for one from outside."""
    kind = type(task)
    return task.card.name if task.card.name in TASKS else f"{kind.__module__}:{kind.__qualname__}"


def _alternatives(task: Task, home: Path) -> str:
    """Name the data that is prepared for the same options and size."""
    names = []
    for path in sorted((home / task.card.name).glob("*/dataset.json")):
        facts = _read_facts(path.parent)
        data = facts.get("data")
        if _is_meant(task, {**facts, "data": task.data}):
            names.append(f"task.data={data or repr('')}")
    return f"; or use what is there: --set {' or '.join(names)}" if names else ""


def _identity(task: Task) -> dict[str, object]:
    """Say which data a task means, as plain JSON that must not differ."""
    return {
        "task": task.card.name,
        "version": task.card.version,
        "options": task.options.model_dump(mode="json"),
        "size": task.size,
        "data": task.data,
    }


def _is_meant(task: Task, facts: Mapping[str, object]) -> bool:
    """Tell whether a dataset that says this of itself is the one that a task means.

    An option that it does not name is younger than it, and has its default there.
    """
    named, wanted = facts.get("options"), task.options.model_dump(mode="json")
    known = {*(named if isinstance(named, dict) else {})}
    known |= {*task.options.model_dump(exclude_defaults=True)}
    options = {name: value for name, value in wanted.items() if name in known}
    return facts == {**facts, **_identity(task), "options": options}


def _facts(task: Task, origin: str) -> dict[str, object]:
    """Say what a dataset tells about itself; the words of the card may change, the data may not."""
    return _identity(task) | {"origin": origin, "card": task.card.model_dump(mode="json")}


def _read_facts(folder: Path) -> dict[str, object]:
    """Read what a dataset tells about itself, without trusting its content; {} if nothing."""
    try:
        return dict(read_about(folder).facts)
    except UserError:
        return {}


def _find(task: Task, home: Path, source: Path | None) -> Task | None:
    """Return the task on the data that is there already, if it came from the same source."""
    if source is None:
        return task if task.folder(home).exists() else None
    if source.is_dir():  # its content may have changed
        return None
    if task.data not in ("", RELEASE):
        candidates = [task]
    else:
        candidates = [task.named(name) for name in (_release(task), _other(source))]
    origins = {each: _read_facts(each.folder(home)).get("origin") for each in candidates}
    return next((each for each in candidates if origins[each] == _origin(source)), None)


def _write(task: Task, home: Path, source: Path | None, progress: Progress) -> Task:
    """Write the dataset and return the task on the data that it turned out to be."""
    if source is None and task.is_generated and not task.data:
        return _write_generated(task, home, progress)
    source = source or task.kept(home)
    if source is None and task.data != _release(task):
        raise UserError(f"{task.data} cannot be downloaded; run: {command(task)}")
    if source is None:
        if task.download is None:
            raise UserError(f"{_name(task)} cannot be downloaded; add --source PATH")
        source = fetch(task.download, home / "downloads", progress)
    return _write_read(task, home, source, progress)


def _writer(task: Task, home: Path, facts: dict[str, object]) -> Writer:
    signature = task.signature
    tokens = token_type(signature.vocab_size)
    return Writer(task.folder(home), facts, signature.num_sequences, tokens)


def _write_generated(task: Task, home: Path, progress: Progress) -> Task:
    facts = _facts(task, GENERATED)
    label = f"preparing {task.card.name}"
    with (
        _writer(task, home, facts) as writer,
        progress.bar(label, total=sum(task.sizes.values())) as bar,
    ):
        for split, chunk in task.generate(task.sizes):
            writer.add(split, chunk)
            bar.advance(len(chunk.labels), note=split)
    return task


def _write_read(task: Task, home: Path, path: Path, progress: Progress) -> Task:
    # what the data is becomes known only at its end, so the writer gets its name last
    label = f"preparing {task.card.name} (MB of {path.name})"
    with (
        progress.bar(label, num_megabytes(path)) as bar,
        reading(path, bar) as source,
        _writer(task.named(""), home, {}) as writer,
    ):
        counts: Counter[str] = Counter()
        left: dict[str, Counter[str]] = {"dropped": Counter(), "cut": Counter()}
        for name, found in task.read(source):
            if not isinstance(found, Chunk):
                writer.attach(name, found)
                continue
            writer.add(name, thinned(found, counts[name], task.size))
            counts[name] += task.count(found)
            left["dropped"][name] += found.num_dropped
            left["cut"][name] += found.num_cut
        if not all(counts[split] for split in SPLITS):
            raise UserError(f"{path} is too small: {dict(counts)} leaves a split without examples")
        if task.data in ("", RELEASE):
            is_official = counts == task.card.sizes
            task = task.named(_release(task) if is_official else _other(path))
        writer.folder = task.folder(home)
        writer.facts = _facts(task, _origin(path)) | {
            what: dict(+numbers) for what, numbers in left.items() if +numbers
        }
    return task


def _release(task: Task) -> str:
    """Name the official release."""
    return RELEASE if task.is_generated else ""


def _other(source: Path) -> str:
    """Name data that is not the official release."""
    name = data_name(source)
    return f"{name}-data" if name == RELEASE else name


def _origin(source: Path) -> str:
    """Say where data came from, so that the same archive is not read twice."""
    kind = "folder" if source.is_dir() else f"{source.stat().st_size} bytes"
    return f"{source.name}, {kind}"
