"""A model that translates: a backbone reads the source, a decoder writes the target.

    source    s1 s2 s3 END
    read      END t1 t2            what the decoder is given when it is trained (teacher forcing)
    asked     t1 t2 END            what it has to say at each of these positions

There is one end token. It has the id behind the vocabulary, ends both sentences and begins the
target, as in fairseq; a dataset holds neither begin nor end. Source, target and output share one
table of vectors (`TiedEmbedding`).

Paper:  Vaswani et al. (2017), https://arxiv.org/abs/1706.03762; shared vectors: Press and Wolf
        (2017), https://arxiv.org/abs/1608.05859
Choice: the two halves have the same widths and depth, and the same mechanism unless the recipe
        names another in `decoder`, which an encoder that cannot be causal needs.
"""

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import TypeAlias

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, arange, nn

from longarena.attention import Mixer
from longarena.model.backbone import Backbone, mixers_and_prepended
from longarena.model.config import ModelConfig, Positions
from longarena.model.decoder import LongerIds, Memory, TargetDecoder
from longarena.model.embedding import Embedding, TiedEmbedding
from longarena.model.model import Model
from longarena.model.mult_adds import Kinds, count_kinds
from longarena.seeding import derive
from longarena.shapes import Ids, SequenceIds, TokenLogits, Tokens
from longarena.tasks.signature import Signature

# of every target token and the end behind them
AskedLogits: TypeAlias = Float[Tensor, "batch asked vocabulary"]

SOURCE, TARGET = 0, 1  # the two sequences of an example
# batches are padded to a multiple of so many tokens: sentences are short
BUCKET = 4
# what the Lite Transformer's paper counts the cost of
SENTENCE = 30


class TiedHead(nn.Module):
    """Compare every token with the vectors of the vocabulary and of the end token."""

    def __init__(self, token: TiedEmbedding, end: int) -> None:
        super().__init__()
        self.token, self.end = token, end

    def forward(self, x: Tokens) -> TokenLogits:
        return self.token.logits(x, self.end)


class TranslationModel(Model):
    """Ids of source and target in, the logits of every target token and of the end out.

    The class of an id is one less: padding has none.
    """

    def __init__(self, config: ModelConfig, signature: Signature, seed: int) -> None:
        end = signature.vocab_size
        # with the end token, a padded row is longer than any sentence by at most a bucket
        length = signature.max_length + BUCKET
        mixers, num_prepended = mixers_and_prepended(
            _decoder_config(config), length, derive(seed, "decoder"), causal=True, has_cls=False
        )
        # ids: padding and vocabulary, end, what the decoder and then the encoder put before a row
        first_prepended = end + 1
        num_ids = first_prepended + num_prepended
        changed = {"vocab_size": num_ids, "max_length": length}
        backbone = Backbone(config, signature.model_copy(update=changed), seed, is_tied=True)
        token = backbone.embedding.token
        if not isinstance(token, TiedEmbedding):
            raise TypeError("the vectors of a model that translates are tied")
        super().__init__(backbone, TiedHead(token, end))
        positions: Positions = "none" if mixers[0].has_own_positions else config.positions
        embedding = Embedding(token, config.width, length + num_prepended, positions)
        prepended = first_prepended + arange(num_prepended)
        self.decoder = TargetDecoder(config, mixers, embedding, prepended)
        self.end, self.max_length = end, signature.max_length

    def forward(self, ids: SequenceIds) -> AskedLogits:
        memories = self.read(ids[:, SOURCE])
        written: Tensor = self.decoder(begin(ids[:, TARGET], self.end), memories)
        logits: Tensor = self.head(written)
        return logits

    def read(self, source: Ids) -> Sequence[Memory]:
        """Encode sentences; return what each layer of the decoder reads of them."""
        return self.decoder.remember(*self.backbone(finish(source, self.end)))

    def example_cost(self) -> Kinds:
        """Count one pass over a sentence and its translation of 30 tokens each, ends included."""
        tokens = min(SENTENCE - 1, self.max_length)
        device = next(self.parameters()).device
        ids = torch.ones(1, 2, tokens, dtype=torch.int64, device=device)
        return count_kinds(self, lambda: self(ids))

    def mixers(self) -> Iterator[Mixer]:
        return chain(super().mixers(), self.decoder.mixers())


def finish(ids: Ids, end: int) -> LongerIds:
    """Put the end token behind the last token of every row.

    >>> finish(torch.tensor([[5, 6, 7], [5, 0, 0]]), end=9).tolist()
    [[5, 6, 7, 9], [5, 9, 0, 0]]
    """
    lengths = (ids != 0).sum(dim=1, keepdim=True)
    return F.pad(ids, (0, 1)).scatter(1, lengths, end)


def begin(ids: Ids, end: int) -> LongerIds:
    """Put the end token before every row.

    >>> begin(torch.tensor([[5, 6, 7], [5, 0, 0]]), end=9).tolist()
    [[9, 5, 6, 7], [9, 5, 0, 0]]
    """
    return F.pad(ids, (1, 0), value=end)


def translation_model(model: nn.Module) -> TranslationModel:
    """Return the model that translates inside what devices wrapped around it."""
    return next(part for part in model.modules() if isinstance(part, TranslationModel))


def _decoder_config(config: ModelConfig) -> ModelConfig:
    """Return the model whose mixers the decoder takes."""
    if config.decoder is None or config.decoder == config.mixer:
        return config
    return config.model_copy(update={"mixer": config.decoder, "options": {}})
