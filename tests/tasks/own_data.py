"""Small data in every format that users have; every function returns the path of some."""

import csv
import io
import json

import numpy as np
from tasks.sources import wav, write_tree

CLASSES = ("bad", "good")


def reviews(count=40):
    """Rows of (text, label), all different, in two classes of equal size."""
    return [(f'review {i}, "quoted"\nand é {"!" * (i % 7)}', CLASSES[i % 2]) for i in range(count)]


def write_csv(path, rows, header=("text", "label"), delimiter=",", encoding="utf-8"):
    content = io.StringIO()
    table = csv.writer(content, delimiter=delimiter)
    table.writerows([header, *rows] if header else rows)
    path.write_bytes(content.getvalue().encode(encoding))
    return path


def write_tsv(path, rows, header=("text", "label")):
    lines = ["\t".join(row) for row in (header, *((t.replace("\n", " "), n) for t, n in rows))]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def write_jsonl(path, rows):
    lines = [json.dumps({"id": i, "text": t, "label": n}) for i, (t, n) in enumerate(rows)]
    path.write_text("\n".join(lines) + "\n\n", encoding="utf-8")
    return path


def write_parquet(path, rows):
    import pyarrow  # noqa: PLC0415 - an extra
    from pyarrow import parquet  # noqa: PLC0415

    texts, labels = zip(*rows, strict=True)
    parquet.write_table(pyarrow.table({"text": texts, "label": labels}), path)
    return path


def write_folder(folder, rows):
    files = {f"{label}/{i}.txt": text.encode() for i, (text, label) in enumerate(rows)}
    return write_tree(folder, files | {".git/config": b"hidden"})


def series(count=40, length=30, seed=0):
    """Series of unequal length, filled up with NaN, and their classes."""
    rng = np.random.default_rng(seed)
    x, y = rng.normal(5, 2, (count, length)), np.arange(count) % 2
    for i in range(count):
        x[i, length - i % 5 :] = np.nan
    return x, y


def write_recordings(folder, count=40, **how):
    rng = np.random.default_rng(0)
    sounds = [wav(rng.integers(-9000, 9000, 50 + i), **how) for i in range(count)]
    return write_tree(folder, {f"{i % 2}/{i}.wav": sound for i, sound in enumerate(sounds)})
