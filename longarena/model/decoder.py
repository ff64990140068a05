"""The decoder: depth x [norm, causal mixer, norm, cross attention, norm, MLP], each part added.

    x = x + dropout(mixer(norm(x)))               what was written so far
    x = x + dropout(cross(norm(x), source))       softmax attention to all tokens of the source
    x = x + mlp(norm(x))

Every other part is that of the encoder (`encoder.py`): one file serves both halves of a model that
translates. Keys and values of the source are computed once per sentence, however many tokens and
hypotheses read them.

Paper:  Vaswani et al. (2017), https://arxiv.org/abs/1706.03762
Choice: pre-norm and a last norm, as in the encoder here; fairseq's models for this are post-norm.
Choice: cross attention is softmax for every mechanism, with the heads and widths of the recipe:
        what is compared is how the positions of one language talk.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import torch
import torch.nn.functional as F
from einops import rearrange
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from longarena.attention import Mixer
from longarena.attention.ops.projection import projection
from longarena.attention.ops.visible import visible_keys
from longarena.errors import UserError
from longarena.model.config import ModelConfig
from longarena.model.dropout import Dropout
from longarena.model.embedding import Embedding
from longarena.model.encoder import Layer, build_layer
from longarena.model.norms import NORMS
from longarena.shapes import Ids, Mask, Tokens

LongerIds: TypeAlias = Int[Tensor, "batch longer_length"]
Source: TypeAlias = Float[Tensor, "sentences source_length width"]
SourceMask: TypeAlias = Bool[Tensor, "sentences source_length"]
SourceHeads: TypeAlias = Float[Tensor, "sentences heads source_length size"]


@dataclass(frozen=True)
class Memory:
    """The keys and values of a source, as one layer reads them."""

    k: SourceHeads
    v: SourceHeads
    mask: SourceMask

    def of(self, sentences: Int[Tensor, " chosen"]) -> "Memory":
        """Keep some sentences, in this order."""
        parts = (self.k, self.v, self.mask)
        return Memory(*(part.index_select(0, sentences) for part in parts))


class SourceReader(nn.Module):
    """The half of cross attention that depends on the source alone."""

    def __init__(self, width: int, qkv_width: int, num_heads: int) -> None:
        super().__init__()
        self.num_heads = num_heads
        self.key, self.value = (projection(width, qkv_width) for _ in range(2))

    def forward(self, source: Source, mask: SourceMask) -> Memory:
        k, v = (_split(part(source), self.num_heads) for part in (self.key, self.value))
        return Memory(k, v, mask)


class CrossAttention(nn.Module):
    """Softmax attention from the tokens of the target to those of the source."""

    def __init__(self, width: int, qkv_width: int, num_heads: int) -> None:
        super().__init__()
        self.num_heads = num_heads
        self.query, self.output = projection(width, qkv_width), projection(qkv_width, width)

    def forward(self, x: Tokens, memory: Memory) -> Tokens:
        seen = visible_keys(memory.mask)[:, None, None, :]
        q = _split(self.query(x), self.num_heads)
        y = F.scaled_dot_product_attention(q, memory.k, memory.v, attn_mask=seen)
        merged: Tensor = self.output(rearrange(y, "b h n d -> b n (h d)"))
        return merged


def _split(x: Tensor, num_heads: int) -> Tensor:
    return rearrange(x, "b n (h d) -> b h n d", h=num_heads)


class DecoderLayer(nn.Module):
    """A layer of the encoder with cross attention between its two halves."""

    def __init__(self, config: ModelConfig, mixer: Mixer) -> None:
        super().__init__()
        self.own = build_layer(config, mixer)
        self.cross_norm = NORMS[config.norm](config.width)
        sizes = (config.width, config.qkv_width or config.width, config.num_heads)
        self.reader, self.cross = SourceReader(*sizes), CrossAttention(*sizes)
        self.dropout = Dropout(config.dropout)

    def forward(self, x: Tokens, mask: Mask, memory: Memory) -> Tokens:
        x = x + self.own.mix(x, mask)
        x = x + self.look(x, mask, memory)
        return self.finish(x, mask)

    def look(self, x: Tokens, mask: Mask, memory: Memory) -> Tokens:
        """Run the part that reads the source."""
        y: Tensor = self.dropout(self.cross(self.cross_norm(x, mask), memory))
        return y

    def finish(self, x: Tokens, mask: Mask) -> Tokens:
        """Add the part that changes each position by itself, if there is one."""
        return x + self.own.feed(x, mask) if isinstance(self.own, Layer) else x


class TargetDecoder(nn.Module):
    """Embedding and layers of the half that writes; `prepended` ids come before all others."""

    prepended: Int[Tensor, " prepended"]

    def __init__(
        self,
        config: ModelConfig,
        mixers: Sequence[Mixer],
        embedding: Embedding,
        prepended: Int[Tensor, " prepended"],
    ) -> None:
        super().__init__()
        if config.reversible:
            raise UserError(
                "reversible layers have two parts, and a layer that reads a source has three; "
                "use reversible=false"
            )
        self.embedding = embedding
        self.register_buffer("prepended", prepended, persistent=False)
        self.dropout = Dropout(config.dropout)
        self.layers = nn.ModuleList(DecoderLayer(config, mixer) for mixer in mixers)
        self.norm = NORMS[config.norm](config.width)
        self.recompute = config.recompute

    def forward(self, ids: Ids, memories: Sequence[Memory]) -> Tokens:
        ids = self.begun(ids)
        x, mask = self.dropout(self.embedding(ids)), ids != 0
        for layer, memory in zip(self.layers, memories, strict=True):
            x = self._run(layer, x, mask, memory)
        y: Tensor = self.norm(x, mask)
        return y[:, len(self.prepended) :]

    def begun(self, ids: Ids) -> LongerIds:
        """Put the tokens that the mixers ask for before every row."""
        return torch.cat([self.prepended.to(ids.dtype).expand(len(ids), -1), ids], dim=1)

    def remember(self, source: Source, mask: SourceMask) -> list[Memory]:
        """Compute what each layer reads of a source."""
        layers: list[DecoderLayer] = [*self.layers]
        return [layer.reader(source, mask) for layer in layers]

    def mixers(self) -> Iterator[Mixer]:
        """Yield the mixer of every layer, lowest first."""
        for layer in self.layers:
            yield layer.own.mixer  # type: ignore[union-attr,misc]

    def _run(self, layer: nn.Module, x: Tokens, mask: Mask, memory: Memory) -> Tokens:
        """Run a layer; with `recompute`, keep only its inputs and compute the rest again later."""
        if not self.recompute:
            y: Tensor = layer(x, mask, memory)
        else:
            y = checkpoint(layer, x, mask, memory, use_reentrant=False)
        return y
