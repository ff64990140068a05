"""What a track adds to a record beside its score; read with care, since a record may say anything.

context, overlap    in which windows a stream was scored (the track `language`)
levels              what others than models reach on the same data, such as compressors
beam, length_penalty, averaged, chrF, signature, translations
                    how translations were found and scored, and some of them (`translation`)
"""

from pydantic import TypeAdapter, ValidationError

from longarena.options import Options
from longarena.records.summary import Run

CONDITIONS = ("context", "overlap", "beam", "averaged")
_LEVELS = TypeAdapter(dict[str, float])


class Translated(Options):
    """A sentence, what it means by a person, and what it means by a model."""

    source: str
    reference: str
    translation: str


_TRANSLATIONS = TypeAdapter(list[Translated])


def conditions(record: Run) -> list[str]:
    """Say under which conditions a score was obtained, as far as its track states them."""
    found = {key: record.metrics.details.get(key) for key in CONDITIONS}
    return [f"{key} {value:,}" for key, value in found.items() if isinstance(value, int)]


def other_levels(record: Run) -> dict[str, float]:
    """Return what else than a model was scored on the test split, by its name."""
    try:
        return _LEVELS.validate_python(record.metrics.details.get("levels", {}))
    except ValidationError:
        return {}


def scoring(record: Run) -> list[str]:
    """Say what else a translation was scored by: chrF, and how BLEU was computed."""
    details = record.metrics.details
    chrf, signature = details.get("chrF"), details.get("signature")
    found = [f"chrF {chrf:.1f}"] if isinstance(chrf, float) else []
    return [*found, signature] if isinstance(signature, str) else found


def translations(record: Run) -> list[Translated]:
    """Return the translations that a record shows."""
    try:
        return _TRANSLATIONS.validate_python(record.metrics.details.get("translations", []))
    except ValidationError:
        return []
