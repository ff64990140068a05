"""Multi30k: captions of photographs in German and English, each by somebody who writes it.

    multi30k/{train,val,test}.{de,en}      a caption in every line

31,014 captions of Flickr30k and their translations by professionals. The sentences are short and
plain; a small model learns to translate them within half an hour of a CPU.

Data:   Elliott et al. (2016), https://github.com/multi30k/dataset (data/task1/raw)
Choice: the test is that of 2016, called test, test2016 or test_2016_flickr.
"""

from typing import Literal

from longarena.data.archive import Source
from longarena.tasks.base import TaskCard
from longarena.tasks.sentences import NAMES, Pair, read_splits
from longarena.tasks.translation import Translation, TranslationOptions

FILES = NAMES | {"test2016": "test", "test_2016": "test", "test_2016_flickr": "test"}


class Multi30kOptions(TranslationOptions):
    """From which language into which."""

    direction: Literal["de-en", "en-de"] = "de-en"


class Multi30k(Translation):
    """Translation of captions."""

    options_type = Multi30kOptions
    options: Multi30kOptions

    @property
    def direction(self) -> str:
        return self.options.direction

    @property
    def card(self) -> TaskCard:
        return TaskCard(
            name="multi30k",
            version=1,
            title=f"Multi30k ({' to '.join(self.languages)})",
            question="What does this caption say in the other language?",
            sizes={"train": 29_000, "valid": 1_014, "test": 1_000},
            splits=f"official, tested on 2016; {self.left_out}",
            source="data/task1/raw of https://github.com/multi30k/dataset",
            licence="research use, by its authors' terms",
            citation="Elliott et al. (2016), https://aclanthology.org/W16-3210",
        )

    def pairs(self, source: Source) -> dict[str, list[Pair]]:
        return read_splits(source, self.languages, FILES)
