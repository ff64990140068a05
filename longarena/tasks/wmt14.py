"""WMT14: news, debates and pages of the web, between English and German or French.

    {train,newstest2013,newstest2014}.{en,de}     or train, valid and test, as fairseq names them

Both the files that Google prepared (`train.tok.clean.bpe.32000.en` and so on) and those that the
scripts of fairseq write are taken; byte pairs, which are marked by "@@ ", are joined again.

Data:   Bojar et al. (2014), https://www.statmt.org/wmt14/translation-task.html
Choice: 32 thousand byte pairs for both languages, as Lite Transformer has them for German.
Choice: words that Moses cut stay so; give plain text to be scored on plain text.
"""

from typing import ClassVar, Literal

from pydantic import Field

from longarena.data.archive import Source
from longarena.data.tokens import NUM_BYTES
from longarena.tasks.base import TaskCard
from longarena.tasks.sentences import NAMES, Pair, joined, read_splits
from longarena.tasks.translation import Translation, TranslationOptions

FILES = NAMES | {"newstest2013": "valid", "newstest2014": "test"}
SIZES = {
    # of Google's files
    "de": {"train": 4_500_966, "valid": 3_000, "test": 3_003},
    # of fairseq's, which holds out a part of the training pairs
    "fr": {"train": 35_482_654, "valid": 26_663, "test": 3_003},
}


class Wmt14Options(TranslationOptions):
    """From which language into which; None as `max_length` means 256 byte pairs or 1,024 bytes."""

    usual_length: ClassVar[int] = 256

    vocabulary: int = Field(32_000, gt=NUM_BYTES, le=1 << 16)
    direction: Literal["en-de", "de-en", "en-fr", "fr-en"] = "en-de"


class Wmt14(Translation):
    """Translation of news."""

    options_type = Wmt14Options
    options: Wmt14Options

    @property
    def direction(self) -> str:
        return self.options.direction

    @property
    def card(self) -> TaskCard:
        [other] = set(self.languages) - {"en"}
        return TaskCard(
            name="wmt14",
            version=1,
            title=f"WMT14 ({' to '.join(self.languages)})",
            question="What does this sentence of the news say in the other language?",
            sizes=SIZES[other],
            splits=f"valid: newstest2013 (fr: of train), test: newstest2014; {self.left_out}",
            source="wmt16_en_de_bpe32k.tar.gz, or the output of fairseq's prepare-wmt14en2*.sh",
            licence="research use, by the terms of the workshop",
            citation="Bojar et al. (2014), https://aclanthology.org/W14-3302",
        )

    def pairs(self, source: Source) -> dict[str, list[Pair]]:
        return joined(read_splits(source, self.languages, FILES))
