"""The backbone: ids in, one vector per token out. A head makes an answer of them."""

from typing import TypeAlias

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from longarena.attention import Mixer
from longarena.data.batches import round_up
from longarena.errors import UserError
from longarena.model.config import ModelConfig, Positions
from longarena.model.dropout import Dropout
from longarena.model.embedding import Embedding, TiedEmbedding, ValueEmbedding
from longarena.model.encoder import Encoder, build_mixers
from longarena.shapes import Ids
from longarena.tasks.signature import Signature

# longer than the ids by the CLS token, where a head asks for one
Encoded: TypeAlias = Float[Tensor, "batch encoded_length width"]
EncodedMask: TypeAlias = Bool[Tensor, "batch encoded_length"]


class Backbone(nn.Module):
    """Embedding and encoder; an id of 0 is padding, which no token ever sees.

    A mixer may ask for global tokens, and a head for a token of its own (CLS). They are put before
    each sequence, and cut off again unless the head asked for one. A model that writes tokens ties
    the vectors at its input to those at its output.
    """

    def __init__(  # noqa: PLR0913 - what tracks differ in, each by its name
        self,
        config: ModelConfig,
        signature: Signature,
        seed: int,
        *,
        causal: bool = False,
        has_cls: bool = False,
        is_tied: bool = False,
    ) -> None:
        super().__init__()
        # batches are padded to whole buckets, the longest one too
        length = round_up(signature.max_length)
        mixers, self.num_prepended = mixers_and_prepended(config, length, seed, causal, has_cls)
        # the tokens that are put before a sequence have the ids behind the vocabulary
        self.first_prepended = signature.vocab_size
        build_token = _tied_embedding if is_tied else _token_embedding
        token = build_token(config, signature, self.num_prepended)
        positions: Positions = "none" if mixers[0].has_own_positions else config.positions
        max_length = length + self.num_prepended
        self.embedding = Embedding(token, config.width, max_length, positions)
        self.dropout = Dropout(config.dropout)
        self.encoder = Encoder(config, mixers)
        self.num_cut_off = 0 if has_cls else self.num_prepended

    def forward(self, ids: Ids, mask_vector: Tensor | None = None) -> tuple[Encoded, EncodedMask]:
        """Encode ids; `mask_vector` stands in place of those that are hidden."""
        prepended = self.prepended_ids(ids.device)
        ids = torch.cat([prepended.to(ids.dtype).expand(len(ids), -1), ids], dim=1)
        x, mask = self.embedding(ids, mask_vector=mask_vector), ids != 0
        y: Tensor = self.encoder(self.dropout(x), mask)
        return y[:, self.num_cut_off :], mask[:, self.num_cut_off :]

    def prepended_ids(self, device: torch.device) -> Int[Tensor, " prepended"]:
        """Return the ids of the tokens that are put before every sequence."""
        return self.first_prepended + torch.arange(self.num_prepended, device=device)


def _token_embedding(config: ModelConfig, signature: Signature, num_prepended: int) -> nn.Module:
    """Build what turns ids into vectors, as the task allows it."""
    if config.input == "embed":
        return nn.Embedding(signature.vocab_size + num_prepended, config.width)
    if not signature.has_values:
        raise UserError(
            "the tokens of this task are not quantities that could be read as numbers; "
            "use input=embed"
        )
    return ValueEmbedding(signature.vocab_size, num_prepended, config.width)


def _tied_embedding(config: ModelConfig, signature: Signature, num_prepended: int) -> nn.Module:
    """Build vectors for a model whose output compares with them too."""
    if config.input != "embed":
        raise UserError(f"input={config.input} has no vectors to translate to; use input=embed")
    return TiedEmbedding(signature.vocab_size + num_prepended, config.width)


def mixers_and_prepended(
    config: ModelConfig, length: int, seed: int, causal: bool, has_cls: bool
) -> tuple[list[Mixer], int]:
    """Build the mixers, and count the tokens to put before a sequence: CLS or global ones.

    A mixer is built for the length with these tokens, but only a mixer that is built can tell how
    many it wants: where it wants some, it is built twice.
    """
    num_cls = int(has_cls)
    mixers = build_mixers(config, length + num_cls, seed, causal)
    wanted = max(num_cls, *(mixer.num_global_tokens for mixer in mixers))
    if wanted > num_cls:
        mixers = build_mixers(config, length + wanted, seed, causal)
    return mixers, wanted
