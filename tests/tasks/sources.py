"""Small sources in the official layouts, so that tests need no download."""

import io
import pickle
import struct
import tarfile
import wave

import numpy as np

AAN = "lra_release/lra_release/tsv_data/new_aan_pairs"
LISTOPS = "lra_release/lra_release/listops-1000/basic"


def write_tar(path, members, mode="w:gz"):
    """Write a tar with these members, a dictionary of name -> bytes, in their order."""
    with tarfile.open(path, mode) as archive:
        for name, content in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return path


def write_tree(folder, members):
    """Write the same members as files under a folder."""
    for name, content in members.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    return folder


def imdb(train=20, test=6):
    """Reviews in each of pos and neg, all different, among files that are none."""
    members = {"aclImdb/README": b"about", "aclImdb/train/unsup/0_0.txt": b"unlabelled"}
    for split, count in (("train", train), ("test", test)):
        for number in range(count):
            for word, rating in (("pos", 9), ("neg", 2)):
                text = f"{split} {word} {number} <br />café".encode() * (1 + number)
                members[f"aclImdb/{split}/{word}/{number}_{rating}.txt"] = text
    return members


def colour_batches(records=20, seed=0):
    """Six batches of (labels, pixels) of random colour images, two of each class in twenty."""
    rng = np.random.default_rng(seed)
    names = [*(f"data_batch_{i}" for i in range(1, 6)), "test_batch"]
    labels = np.arange(records, dtype=np.uint8) % 10
    return {name: (labels, rng.integers(0, 256, (records, 3072), np.uint8)) for name in names}


def cifar_binary(batches):
    return {
        f"cifar-10-batches-bin/{name}.bin": np.concatenate([labels[:, None], pixels], 1).tobytes()
        for name, (labels, pixels) in batches.items()
    }


def cifar_python(batches, dump=None):
    """The pickles of the Python archive, as Python 2 wrote them unless `dump` says otherwise."""
    dump = dump or python_2_pickle
    return {
        f"cifar-10-batches-py/{name}": dump({b"data": pixels, b"labels": labels.tolist()})
        for name, (labels, pixels) in batches.items()
    }


def python_2_pickle(batch):
    """Pickle {data: array, labels: list} with the opcodes of Python 2's protocol 2."""
    pixels, labels = batch[b"data"], batch[b"labels"]
    minus_one = pickle.BININT + struct.pack("<i", -1)
    shape = b"".join(pickle.BININT + struct.pack("<i", n) for n in pixels.shape) + pickle.TUPLE2
    dtype = b"cnumpy\ndtype\n" + _old("u1") + b"K\x00K\x01\x87R"
    dtype += b"(K\x03" + _old("|") + b"NNN" + minus_one * 2 + b"K\x00tb"
    array = (
        b"cnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\nK\x00\x85" + _old("b") + b"\x87R"
    )
    array += b"(K\x01" + shape + dtype + pickle.NEWFALSE
    array += pickle.BINSTRING + struct.pack("<i", pixels.size) + pixels.tobytes() + b"tb"
    numbers = b"](" + b"".join(b"K" + bytes([label]) for label in labels) + b"e"
    return b"\x80\x02}(" + _old("data") + array + _old("labels") + numbers + b"u."


def _old(text):
    return pickle.SHORT_BINSTRING + bytes([len(text)]) + text.encode()


def grey_npz(path, train=20, test=10, **changed):
    rng = np.random.default_rng(1)
    arrays = {}
    for split, count in (("train", train), ("test", test)):
        arrays[f"x_{split}"] = rng.integers(0, 256, (count, 32, 32), np.uint8)
        arrays[f"y_{split}"] = np.arange(count, dtype=np.uint8) % 10
    np.savez(path, **(arrays | changed))
    return path


def aan(rows=(7, 3, 2)):
    """Pairs of papers in the three tables of the release."""
    return {
        f"{AAN}.{split}.tsv": b"".join(_pair(split, i) for i in range(count))
        for split, count in zip(("train", "eval", "test"), rows, strict=True)
    }


def _pair(split, i):
    texts = f'a "{split} paper {i}', f"another {split} paper" * i
    return "\t".join([f"{i % 2}.0", f"A{i}", f"B{i}", *texts]).encode() + b"\n"


def listops(rows=(5, 2, 2)):
    """Expressions of the release, with its parentheses, all different."""
    return {
        f"{LISTOPS}_{split}.tsv": b"Source\tTarget\n"
        + b"".join(
            f"( ( ( ( [{operator} {i % 10} ) ( ( ( [MIN 4 ) 9 ) ] ) ) 3 ) ] )\t{i % 10}\n".encode()
            for i in range(count)
        )
        for (split, operator), count in zip(
            (("train", "MAX"), ("val", "SM"), ("test", "MED")), rows, strict=True
        )
    }


def parallel(rows=(60, 8, 6), languages=("de", "en"), names=("train", "val", "test")):
    """Sentences in two languages, all different, a file for each split and language."""
    words = {
        "de": ("Dort läuft jemand", "Straße"),
        "en": ("A man is running", "street"),
        "fr": ("Un homme court", "rue"),
    }
    return {
        f"corpus/{name}.{language}": "".join(
            f"{words[language][0]} {i} {name} {words[language][1]}.\n" for i in range(count)
        ).encode()
        for name, count in zip(names, rows, strict=True)
        for language in languages
    }


# its splits differ from each other
TEXT = "".join(f"line {i} of a text, with café\n" for i in range(200)).encode()


def write_text(path):
    path.write_bytes(TEXT)
    return path


def wav(samples, rate=8000, width=2, channels=1):
    """Write samples, whole numbers or bytes of any width, as a WAV file."""
    content = io.BytesIO()
    with wave.open(content, "wb") as file:
        file.setnchannels(channels)
        file.setsampwidth(width)
        file.setframerate(rate)
        file.writeframes(
            samples if isinstance(samples, bytes) else np.array(samples, "<i2").tobytes()
        )
    return content.getvalue()


def spoken_digits(speakers=("anna", "bert"), indices=range(3, 12)):
    """Recordings of noise in the layout of the Free Spoken Digit Dataset."""
    rng = np.random.default_rng(0)
    return {
        f"fsdd/recordings/{digit}_{speaker}_{index}.wav": wav(
            rng.integers(-900, 900, 40 + 2 * digit + index)
        )
        for digit in range(10)
        for speaker in speakers
        for index in indices
    }


SMALL = {
    "digits": lambda folder: write_tar(folder / "small.tar.gz", spoken_digits()),
    "enwik8": lambda folder: write_text(folder / "small.txt"),
    "text": lambda folder: write_tar(folder / "small.tar.gz", imdb()),
    "image": lambda folder: write_tar(folder / "small.tar.gz", cifar_binary(colour_batches())),
    "retrieval": lambda folder: write_tar(folder / "small.tar.gz", aan()),
    "multi30k": lambda folder: write_tar(folder / "small.tar.gz", parallel()),
    "iwslt14": lambda folder: write_tar(folder / "small.tar.gz", parallel()),
    "wmt14": lambda folder: write_tar(folder / "small.tar.gz", parallel()),
}
