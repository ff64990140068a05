"""Small data in the official layouts with a signal that a working model finds within seconds.

text        reviews open with `live` or `evil` and end with the other: positions tell which
retrieval   each document has a topic, a letter; a pair belongs together if the topics agree
image       a square lies somewhere, and its grey tells the class
"""

import numpy as np
from tasks.sources import AAN, cifar_binary, write_tar

NEUTRAL = ["the", "film", "was", "in", "colour", "and", "long", "people", "talk", "a"]
OPENINGS = {"pos": ("live", "evil"), "neg": ("evil", "live")}
TOPICS = "xyz"
SIDE = 10


def text(folder, rng, train=300, test=100):
    members = {}
    for split, count in (("train", train), ("test", test)):
        for word, rating in (("pos", 9), ("neg", 2)):
            for number in range(count):
                first, last = OPENINGS[word]
                words = first, first, *rng.choice(NEUTRAL, rng.integers(4, 12)), last, last
                review = " ".join(words).encode()
                members[f"aclImdb/{split}/{word}/{number}_{rating}.txt"] = review
    return write_tar(folder / "signal.tar.gz", members)


def retrieval(folder, rng, rows=(600, 100, 200)):
    def document(topic):
        return " ".join(rng.permutation([*rng.choice(NEUTRAL, rng.integers(4, 12)), *topic * 4]))

    def pair(number):
        agrees = number % 2
        first, other = rng.permutation([*TOPICS])[:2]
        texts = document(first), document(first if agrees else other)
        return "\t".join([f"{agrees}.0", f"A{number}", f"B{number}", *texts]) + "\n"

    members = {
        f"{AAN}.{split}.tsv": "".join(pair(number) for number in range(count)).encode()
        for split, count in zip(("train", "eval", "test"), rows, strict=True)
    }
    return write_tar(folder / "signal.tar.gz", members)


def image(folder, rng, records=100):
    def batch():
        labels = (np.arange(records) % 10).astype(np.uint8)
        pixels = rng.integers(0, 8, (records, 32, 32), np.uint8)
        for picture, label in zip(pixels, labels, strict=True):
            row, column = rng.integers(0, 32 - SIDE, 2)
            picture[row : row + SIDE, column : column + SIDE] = 20 * (label + 1)
        return labels, np.tile(pixels.reshape(records, -1), (1, 3))

    names = [*(f"data_batch_{i}" for i in range(1, 6)), "test_batch"]
    return write_tar(folder / "signal.tar.gz", cifar_binary({name: batch() for name in names}))
