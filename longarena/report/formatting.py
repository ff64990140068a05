"""How mechanisms, tasks, columns and quantities are written.

Titles come from the tables of mixers and tasks alone. A record may name a user's own class, and
showing a record must never import what it names.
"""

from collections.abc import Iterable, Sequence

from longarena import tasks
from longarena.attention.cards import MixerCard, card_of
from longarena.errors import UserError
from longarena.findings.boards import has_own_data, own_variant
from longarena.findings.scores import Column, Row
from longarena.findings.translation import Setting
from longarena.findings.tuning import Procedure
from longarena.options import Values, read_value
from longarena.tracks.metric import Metric

# the data of a task as it is, where the preset has a smaller variant
OFFICIAL = "the task's own data"
KILO = 1024
UNITS = ("bytes", "KiB", "MiB", "GiB", "TiB")


def card(mixer: str) -> MixerCard:
    """Return the card of a mechanism of the table, or a plain one."""
    return card_of(mixer)


def row_name(row: Row) -> str:
    """Name a row in one line."""
    return f"{row.card.title} ({row.words})" if row.words else row.card.title


def metric_name(metric: Metric) -> str:
    """Name a metric in the middle of a sentence, with its unit.

    >>> from longarena.tracks.metric import ACCURACY
    >>> metric_name(ACCURACY), metric_name(ACCURACY.model_copy(update={"title": "BLEU"}))
    ('accuracy, %', 'BLEU, %')
    """
    is_acronym = metric.title[1:2].isupper()
    title = metric.title if is_acronym else metric.title[:1].lower() + metric.title[1:]
    return f"{title}, {metric.unit}" if metric.unit else title


def scores_name(metrics: Iterable[Metric]) -> str:
    """Name what several scores are: their metric if they share one, and else just scores."""
    names = {metric_name(metric) for metric in metrics}
    return names.pop() if len(names) == 1 else "scores"


def task_title(name: str, variant: str = "") -> str:
    """Return the title of a task, as it calls itself with the options of a variant."""
    if name not in tasks.TASKS:
        return name
    values = dict(part.partition("=")[::2] for part in variant.split(","))
    known = tasks.find(name).options_type.model_fields
    options = {key: read_value(value) for key, value in values.items() if key in known}
    try:
        return tasks.build(name, options).card.title
    except UserError:  # a record from elsewhere says what it likes
        return tasks.build(name, {}).card.title


def setting_title(found: Setting) -> str:
    """Name what the models of one comparison of translations have in common."""
    parts = [
        task_title(found.task, found.variant),
        found.variant.replace(",", ", "),
        found.preset,
        found.changes,
    ]
    return ", ".join(filter(None, parts))


def column_parts(column: Column, among: Sequence[Column]) -> list[str]:
    """Describe a column; name its data only where other columns differ in them."""
    variant = column.variant.replace(",", ", ")
    parts = [
        f"version {column.version}, {column.preset}",
        variant,
        column.changes,
        tuned(column.tuning),
    ]
    same = [other for other in among if _plain(other) == _plain(column)]
    if len({other.fingerprint for other in same}) > 1:
        parts.append(f"data {column.fingerprint[:8]}")
    return [part for part in parts if part]


def tuned(procedure: Procedure) -> str:
    """Say what was tuned; empty if nothing was."""
    return f"tuned {procedure.words}" if procedure.words else ""


def data_parts(column: Column, among: Sequence[Column]) -> list[str]:
    """Describe the data of a board's column: its kind, version, variant, and which build."""
    parts = [task_title(column.task, column.variant).partition(" (")[2].rstrip(")")]
    if column.version > 1 or len({other.version for other in among}) > 1:
        parts.append(f"version {column.version}")
    parts.append(column.variant.replace(",", ", "))
    same = [other for other in among if _plain(other) == _plain(column)]
    if len({other.fingerprint for other in same}) > 1:
        parts.append(f"data {column.fingerprint[:8]}")
    return [part for part in parts if part]


def other_data(column: Column, options: Values | None = None) -> list[str]:
    """Say how a column's data differs from what its preset asks for; nothing if it does not.

    A variant leaves out what a task does by default; `options` says what that is, where the preset
    asks for something else.
    """
    if has_own_data(column):
        return []
    expected, found = (
        dict(part.partition("=")[::2] for part in variant.split(",") if part)
        for variant in (own_variant(column.preset, column.task) or "", column.variant)
    )
    if not found:
        return [OFFICIAL]
    known = {"size": 1} | (options or {})
    usual = {key: str(known.get(key, "default")) for key in expected if key not in found}
    changed = {key: value for key, value in found.items() if expected.get(key) != value}
    return ["=".join(filter(None, pair)) for pair in sorted((changed | usual).items())]


def task_word(name: str) -> str:
    """Return the title of a task without the part in brackets."""
    return task_title(name).partition(" (")[0]


def column_name(column: Column, among: Sequence[Column]) -> str:
    """Name a column in one line."""
    title = task_title(column.task, column.variant)
    return ", ".join([title, *column_parts(column, among)])


def _plain(column: Column) -> tuple[str, int, str, str, str, Procedure]:
    task, preset = (column.task, column.version, column.variant), (column.preset, column.changes)
    return *task, *preset, column.tuning


def length_name(length: int) -> str:
    """Name a length as the papers do.

    >>> length_name(1024), length_name(1536), length_name(1000)
    ('1K', '1.5K', '1000')
    """
    return f"{length / KILO:g}K" if length % 256 == 0 and length >= KILO else str(length)


def range_name(numbers: Iterable[int]) -> str:
    """Write the least and the greatest of some numbers; nothing if there are none.

    >>> range_name([1024, 71, 256]), range_name([512, 512]), range_name([])
    ('71 to 1,024', '512', '')
    """
    found = sorted(numbers)
    return " to ".join(f"{end:,}" for end in dict.fromkeys((*found[:1], *found[-1:])))


def bytes_name(count: float) -> str:
    """Write a number of bytes with three digits.

    >>> bytes_name(512), bytes_name(3 * 2**29), bytes_name(2**20 * 1023.99)
    ('512 bytes', '1.5 GiB', '1.0 GiB')
    """
    unit = 0
    while round(count, 1) >= KILO and unit < len(UNITS) - 1:
        count, unit = count / KILO, unit + 1
    return (
        f"{count:.0f} {UNITS[unit]}" if unit == 0 or count >= 100 else f"{count:.1f} {UNITS[unit]}"
    )


def digits(number: float) -> str:
    """Write a number with three significant digits and without powers of ten.

    >>> digits(1234.5), digits(12.345), digits(0.012345)
    ('1,234', '12.3', '0.0123')
    """
    if abs(number) >= 100 or number == 0:
        return f"{number:,.0f}"
    return f"{number:#.3g}"


def percent(share: float) -> str:
    """Write a share of 1 in percent.

    >>> percent(0.3349)
    '33.5'
    """
    return f"{100 * share:.1f}"


def short(number: float) -> str:
    """Write a large count with three digits and a letter for its size.

    >>> short(1_234_567), short(35_900), short(12)
    ('1.23M', '35.9K', '12')
    """
    for letter, size in (("G", 1e9), ("M", 1e6), ("K", 1e3)):
        if number >= size:
            return f"{number / size:.3g}{letter}"
    return f"{number:.3g}"


def many(count: int, noun: str) -> str:
    """Count things.

    >>> many(1, "seed"), many(3, "seed")
    ('1 seed', '3 seeds')
    """
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def ratio(number: float) -> str:
    """Write how many times as much."""
    return f"{number:.2f}\N{MULTIPLICATION SIGN}"
