"""Read examples that a trained model is to answer: the formats of one's own data, without labels.

    .csv .tsv .jsonl .parquet    a text in every row, or the two of a pair
    .txt, standard input         an example in every line; a pair has a tab between its texts
    .npy .npz                    a row of values for each example
    .wav                         one recording
    a folder                     every file in it: recordings, or whole texts

Which of them a model reads follows from its kind of raw input (`tasks/raw_input.py`).
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from longarena.data.npy import array_names, open_array
from longarena.data.wav import Samples, decode
from longarena.errors import UserError
from longarena.inference.config import ExportedConfig
from longarena.tasks.own.arrays import check_values
from longarena.tasks.own.folders import read_whole
from longarena.tasks.own.names import visible_files
from longarena.tasks.own.recordings import MAX_BYTES, MAX_SAMPLES
from longarena.tasks.own.rows import FORMATS, MAX_FIELD, lines_of
from longarena.tasks.raw_input import LoudnessInput, Raw, TextInput, ValueInput

FOLDER = "a folder"
# what is read, by the kind of raw input
READ: Mapping[str, tuple[str, ...]] = {
    "text": (*FORMATS, ".txt", FOLDER),
    "expression": (*FORMATS, ".txt", FOLDER),
    "values": (".npy", ".npz", ".wav", FOLDER),
    "loudness": (".npy", ".npz", ".wav", FOLDER),
    "tokens": (".txt", ".npy", ".npz"),
}


@dataclass(frozen=True)
class Given:
    """An example as it was given: where it stands, for messages, and its one or two sequences."""

    place: str
    parts: tuple[Raw, ...]


def read_file(path: Path, config: ExportedConfig, columns: str | None = None) -> Iterator[Given]:
    """Read the examples of a file or folder; `columns` are those of the texts in a table."""
    if not path.exists():
        raise UserError(f"{path} does not exist; give a file, a folder, or - for standard input")
    ending, kind = path.suffix.lower(), config.raw_input.kind
    form = FOLDER if path.is_dir() else ending
    if form not in READ[kind]:
        raise UserError(f"{path}: this model reads {kind} from {', '.join(READ[kind])}")
    if columns is not None:
        if form not in FORMATS:
            raise UserError(f"{path} is not a table; leave out --text")
        return _table(path, config, tuple(columns.split(",")))
    return READERS[form](path, config)


def given_lines(lines: Iterable[str], name: str, config: ExportedConfig) -> Iterator[Given]:
    """Take an example from every line; a pair has a tab between its texts."""
    wanted = config.signature.num_sequences
    for number, line in enumerate(lines, start=1):
        place = f"{name}, line {number}".removeprefix(", ")
        parts = line.split("\t") if wanted == 2 else [line]
        if len(parts) != wanted:
            raise UserError(f"{place}: a pair has one tab between its texts")
        yield Given(place, tuple(parts))


def _table(
    path: Path, config: ExportedConfig, columns: tuple[str, ...] | None = None
) -> Iterator[Given]:
    raw, wanted = config.raw_input, config.signature.num_sequences
    usual = raw if isinstance(raw, TextInput) else TextInput()
    chosen = [name.strip() for name in columns or usual.columns]
    if len(chosen) != wanted:
        form = "pairs: --text COLUMN,COLUMN" if wanted == 2 else "one text: --text COLUMN"
        raise UserError(f"{path}: this model reads {form}")
    rows = FORMATS[path.suffix.lower()](path, chosen, usual.has_header)
    return (Given(place, tuple(values)) for place, values in rows)


def _lines(path: Path, config: ExportedConfig) -> Iterator[Given]:
    lines = (line.rstrip("\r\n") for line in lines_of(path))
    return given_lines(lines, path.name, config)


def _array(path: Path, config: ExportedConfig) -> Iterator[Given]:
    raw = config.raw_input
    name = raw.array if isinstance(raw, ValueInput) else "x"
    names = array_names(path) if path.suffix.lower() == ".npz" else [""]
    # a single array needs no name
    values = open_array(path, names[0] if len(names) == 1 else name)
    check_values(values)
    for number, row in enumerate(values.rows(), start=1):
        yield Given(f"{values.name}, row {number}", (row,))


def _recording(path: Path, config: ExportedConfig) -> Iterator[Given]:
    yield Given(path.name, (_samples(path, path.name, config),))


def _samples(path: Path, place: str, config: ExportedConfig) -> Samples:
    raw = config.raw_input
    found = decode(read_whole(path, place, MAX_BYTES), place, MAX_SAMPLES)
    rate = raw.rate if isinstance(raw, ValueInput | LoudnessInput) else None
    return found.at_rate(rate or found.rate, place).samples


def _folder(path: Path, config: ExportedConfig) -> Iterator[Given]:
    is_text = ".wav" not in READ[config.raw_input.kind]
    files = sorted(each for each in visible_files(path) if is_text or each.suffix.lower() == ".wav")
    if not files:
        raise UserError(f"{path} has no {'files' if is_text else '.wav files'}")
    for file in files:
        place = file.relative_to(path).as_posix()
        if is_text and file.suffix.lower() in FORMATS:
            raise UserError(f"{path} has a table in it; name that: {file}")
        content: Raw = (
            read_whole(file, place, MAX_FIELD) if is_text else _samples(file, place, config)
        )
        yield Given(place, (content,))


READERS: Mapping[str, Callable[[Path, ExportedConfig], Iterator[Given]]] = {
    **dict.fromkeys(FORMATS, _table),
    ".txt": _lines,
    ".npy": _array,
    ".npz": _array,
    ".wav": _recording,
    FOLDER: _folder,
}
