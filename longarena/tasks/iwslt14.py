"""IWSLT14: talks in German and English, as fairseq prepares them.

    iwslt14.tokenized.de-en/{train,valid,test}.{de,en}

`prepare-iwslt14.sh` of fairseq writes these files: lower case, cut into words by Moses, and into
byte pairs, which are marked by "@@ " and joined again here. In the script's folder `tmp` lie the
same sentences before that.

Data:   Cettolo et al. (2014); prepared by https://github.com/facebookresearch/fairseq
Choice: ten thousand byte pairs for both languages, as Lite Transformer has them.
Choice: words stay as Moses cut them, in the references too. So a score is not that of plain text;
        the published ones, of cut words as well, come from another program than sacreBLEU.
"""

from typing import ClassVar, Literal

from pydantic import Field

from longarena.data.archive import Source
from longarena.data.tokens import NUM_BYTES
from longarena.tasks.base import TaskCard
from longarena.tasks.sentences import Pair, joined, read_splits
from longarena.tasks.translation import Translation, TranslationOptions


class Iwslt14Options(TranslationOptions):
    """From which language into which; None as `max_length` means 256 byte pairs or 1,024 bytes."""

    usual_length: ClassVar[int] = 256

    vocabulary: int = Field(10_000, gt=NUM_BYTES, le=1 << 16)
    direction: Literal["de-en", "en-de"] = "de-en"


class Iwslt14(Translation):
    """Translation of talks."""

    options_type = Iwslt14Options
    options: Iwslt14Options

    @property
    def direction(self) -> str:
        return self.options.direction

    @property
    def card(self) -> TaskCard:
        return TaskCard(
            name="iwslt14",
            version=1,
            title=f"IWSLT14 ({' to '.join(self.languages)})",
            question="What does this sentence of a talk say in the other language?",
            sizes={"train": 160_239, "valid": 7_283, "test": 6_750},
            splits=f"those of fairseq; {self.left_out}",
            source="the output of fairseq's examples/translation/prepare-iwslt14.sh",
            licence="Creative Commons BY-NC-ND, by the terms of TED",
            citation="Cettolo et al. (2014), https://aclanthology.org/2014.iwslt-evaluation.1",
        )

    def pairs(self, source: Source) -> dict[str, list[Pair]]:
        return joined(read_splits(source, self.languages))
