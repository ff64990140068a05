"""What a track adds to a record beside its score; read with care, since a record may say anything.

context, overlap    in which windows a stream was scored (the track `language`)
levels              what others than models reach on the same data, such as compressors
"""

from pydantic import TypeAdapter, ValidationError

from longarena.records.record import RunRecord

CONDITIONS = ("context", "overlap")
_LEVELS = TypeAdapter(dict[str, float])


def conditions(record: RunRecord) -> list[str]:
    """Say under which conditions a score was obtained, as far as its track states them."""
    found = {key: record.metrics.details.get(key) for key in CONDITIONS}
    return [f"{key} {value:,}" for key, value in found.items() if isinstance(value, int)]


def other_levels(record: RunRecord) -> dict[str, float]:
    """Return what else than a model was scored on the test split, by its name."""
    try:
        return _LEVELS.validate_python(record.metrics.details.get("levels", {}))
    except ValidationError:
        return {}
