"""Mega: a moving average carries every token far, then one gated attention head looks around.

    a          = silu(average(x) + omega x)                   `ops/moving_average.py`
    u, z, r, c = W a                                          update, shared, reset, candidate
    q, k, v    = gamma_1 s + beta_1, gamma_2 s + beta_2, silu(W x)       s = silu(z)
    o_i        = sum_j f(L_ij) v_j                            `ops/distance_bias.py`
    y          = sigmoid(u) (silu(c + W (silu(r) o)) - x)

With `softmax`, f is that over the keys, and L_ij = q_i . k_j / sqrt(z) + bias_(j - i). With
`laplace`, f is a smooth threshold for each key by itself, and q_i . k_j is divided by the number of
keys. With `chunk`, a token sees its own piece of c tokens (Mega-chunk); the average reaches beyond.

Paper:  Ma et al. (2022), https://arxiv.org/abs/2209.10655, and the authors' code
        (facebookresearch/mega, fairseq/modules/moving_average_gated_attention.py)
Cost:   time O(N^2 (z + h)), or O(N c (z + h)) in chunks, for values of size h; memory O(N (D + h)).
Choice: the authors' layer has a residual path of its own, x + sigmoid(u) (h - x). Here the encoder
        adds x and norms before the mixer, which returns the rest; its x is the normed one.
Choice: the bias is the authors' `simple` table, one number for each distance, as in their commands
        for the arena; their language models have the `rotary` one.
Choice: the last chunk may be short, where the authors refuse the length. A chunk longer than
        `max_length` is as long as that, and so is its table.
Choice: weights start normal with a deviation of 0.02, and biases at zero, as in the authors' code.
        No parameter is slow: they train the moving average at the common rate.
Choice: what passes the reset gate is computed again in the backward pass, which saves a sixth of
        the memory.
"""

import math
from collections.abc import Callable
from functools import partial
from typing import ClassVar, Literal

import torch
import torch.nn.functional as F
from jaxtyping import Float
from pydantic import Field
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from longarena.attention.base import Mixer, Place
from longarena.attention.cards import CARDS
from longarena.attention.ops.blocks import cut, cut_mask, join
from longarena.attention.ops.cache import Cache
from longarena.attention.ops.decoder import Decoder, Token
from longarena.attention.ops.distance_bias import (
    Answers,
    Logits,
    Points,
    Queries,
    Said,
    Seen,
    View,
    Weighing,
    attend_by_distance,
)
from longarena.attention.ops.moving_average import MovingAverage
from longarena.attention.ops.visible import all_real, visible_keys
from longarena.options import Options
from longarena.shapes import Mask, Tokens

Shared = Float[Tensor, "batch length z"]
Hidden = Float[Tensor, "batch length hidden"]

# from queries, keys and values to answers
Attend = Callable[[Tensor, Tensor, Tensor], Tensor]

STANDARD_DEVIATION = 0.02


class Softmax(Weighing):
    """Weights that add up to 1."""

    def scaled(self, q: Queries, seen: Seen, causal: bool) -> Queries:
        return q / math.sqrt(q.shape[-1])

    def weights(self, logits: Logits) -> Logits:
        return logits.softmax(dim=-1)

    def slopes(self, logits: Logits, weights: Logits, dweights: Logits) -> Logits:
        along = (weights * dweights).sum(dim=-1, keepdim=True)
        return dweights.sub_(along).mul_(weights)


class Laplace(Weighing):
    """A smooth threshold: the distribution function of a normal variable.

    Its mean and deviation make it touch the parabola x^2 at x = sqrt(1/2).
    """

    MEAN: ClassVar[float] = 0.707107
    DEVIATION: ClassVar[float] = 0.282095

    def scaled(self, q: Queries, seen: Seen, causal: bool) -> Queries:
        # no normaliser divides the weights by the number of keys, so this does
        count = seen.cumsum(dim=1)[:, -q.shape[1] :] if causal else seen.sum(dim=1, keepdim=True)
        return q / count[..., None]

    def weights(self, logits: Logits) -> Logits:
        standard = (logits - self.MEAN).div_(self.DEVIATION * math.sqrt(2))
        return standard.erf_().add_(1).mul_(0.5)

    def slopes(self, logits: Logits, weights: Logits, dweights: Logits) -> Logits:
        standard = (logits - self.MEAN).div_(self.DEVIATION)
        density = standard.square_().mul_(-0.5).exp_()
        return density.mul_(dweights).div_(self.DEVIATION * math.sqrt(2 * math.pi))


class MegaOptions(Options):
    """`ema` states average every channel; `z` is the size of q and k, `hidden` that of the values.

    `hidden=0` is twice the width. Attention stays inside chunks of `chunk` tokens; 0 is no limit.
    """

    ema: int = Field(16, gt=0)
    z: int = Field(64, gt=0)
    hidden: int = Field(0, ge=0)
    attention: Literal["softmax", "laplace"] = "softmax"
    chunk: int = Field(0, ge=0)


class Mega(Mixer):
    """Single-head gated attention over a moving average."""

    card = CARDS["mega"]
    options_type = MegaOptions
    has_own_positions = True

    def __init__(self, place: Place, options: MegaOptions, previous: Mixer | None = None) -> None:
        super().__init__(place, options, previous)
        width, hidden = place.width, options.hidden or 2 * place.width
        self.sizes = [width, options.z, hidden, width]
        self.reach = min(options.chunk or place.max_length, place.max_length)
        self.weighing = Softmax() if options.attention == "softmax" else Laplace()
        self.ema = MovingAverage(width, options.ema, place.causal)
        self.value = _linear(width, hidden)
        self.mixed = _linear(width, sum(self.sizes))
        self.output = _linear(hidden, width)
        self.gamma = nn.Parameter(STANDARD_DEVIATION * torch.randn(2, options.z))
        self.beta = nn.Parameter(torch.zeros(2, options.z))
        self.bias = nn.Parameter(STANDARD_DEVIATION * torch.randn(2 * self.reach - 1))

    def forward(self, x: Tokens, mask: Mask) -> Tokens:
        return self.mix(x, self.ema(x, mask), partial(self.attend_in_chunks, mask=mask))

    def mix(self, x: Tokens, averages: Tokens, attend: Attend) -> Tokens:
        """Attend to the averages, and gate what was read."""
        update, z, reset, candidate = self.mixed(averages).split(self.sizes, dim=-1)
        shared = F.silu(z)
        q, k = (shared * gamma + beta for gamma, beta in zip(self.gamma, self.beta, strict=True))
        read = attend(q, k, F.silu(self.value(x)))
        told = checkpoint(self.tell, reset, read, use_reentrant=False, preserve_rng_state=False)
        y: Tensor = update.sigmoid() * (F.silu(candidate + told) - x)
        return y

    def attend_in_chunks(self, q: Shared, k: Shared, v: Hidden, mask: Mask) -> Hidden:
        """Let every token read the values of its chunk."""
        batch, length = mask.shape
        chunk = min(self.reach, length)
        q, k, v = (cut(t[:, None], chunk)[:, 0] for t in (q, k, v))
        seen = visible_keys(cut_mask(mask, chunk)[:, 0, 0])
        return join(self.attend(q, k, v, seen)[:, None], batch, length)[:, 0]

    def attend(self, q: Queries, k: Points, v: Said, seen: Seen) -> Answers:
        """Let the last tokens of pieces that are not longer than a chunk read their values."""
        length = k.shape[1]
        biases = self.bias[self.reach - length : self.reach + length - 1]
        view = View(biases, seen, self.place.causal, self.weighing)
        return attend_by_distance(q, k, v, view)

    def attend_from_last(self, q: Queries, k: Points, v: Said) -> Answers:
        """Let the last token of a piece read all of it, without blocks and hidden keys."""
        q = self.weighing.scaled(q, all_real(k), causal=True)
        biases = self.bias[self.reach - k.shape[1] : self.reach]
        return self.weighing.weights(torch.baddbmm(biases, q, k.mT)) @ v

    def place_in_chunk(self, length: int) -> int:
        """Say how many of the first `length` tokens are in the chunk of the last one."""
        return length - max(0, length - 1) // self.reach * self.reach

    def decoder(self, batch: int) -> Decoder:
        return MegaDecoder(self, batch)

    def tell(self, reset: Hidden, read: Hidden) -> Tokens:
        """Let what was read through the reset gate, and back to the width of the tokens."""
        y: Tensor = self.output(F.silu(reset) * read)
        return y


class MegaDecoder(Decoder):
    """Carry the moving average, and the keys and values of the chunk that is being read."""

    def __init__(self, mixer: Mega, batch: int) -> None:
        self.mixer = mixer
        self.average = mixer.ema.decoder(batch)
        _, z, hidden, _ = mixer.sizes
        self.k, self.v = (
            Cache(mixer.zeros(batch, size), rows_of=mixer.place_in_chunk) for size in (z, hidden)
        )

    def step(self, x: Token) -> Token:
        averages = self.average.step(x)
        return self.mixer.mix(x[:, None], averages[:, None], self.attend)[:, 0]

    def read(self, x: Tokens) -> Tokens:
        return self.mixer.mix(x, self.average.read(x), self.attend)

    def attend(self, q: Shared, k: Shared, v: Hidden) -> Hidden:
        """Attend in the chunk that is open, then in those that follow, all at once."""
        if len(self.k) == self.mixer.reach:
            self.k.clear()
            self.v.clear()
        room = self.mixer.reach - len(self.k)
        answers = [self.attend_in_open_chunk(*(t[:, :room] for t in (q, k, v)))]
        if q.shape[1] > room:
            q, k, v = (t[:, room:] for t in (q, k, v))
            answers.append(self.mixer.attend_in_chunks(q, k, v, all_real(q)))
            self.keep_last_chunk(k, v)
        return torch.cat(answers, dim=1)

    def attend_in_open_chunk(self, q: Shared, k: Shared, v: Hidden) -> Hidden:
        """Add tokens to the chunk, and let them read it."""
        keys, values = self.k.extend(k), self.v.extend(v)
        if q.shape[1] > 1:
            return self.mixer.attend(q, keys, values, all_real(keys))
        return self.mixer.attend_from_last(q, keys, values)

    def keep_last_chunk(self, k: Shared, v: Hidden) -> None:
        """Go on with the last of the chunks, full or not."""
        kept = self.mixer.place_in_chunk(k.shape[1])
        for cache, rows in ((self.k, k), (self.v, v)):
            cache.clear()
            cache.extend(rows[:, -kept:])


def _linear(width_in: int, width_out: int) -> nn.Linear:
    """Make a linear map that starts small, with a bias of zero."""
    linear = nn.Linear(width_in, width_out)
    nn.init.normal_(linear.weight, std=STANDARD_DEVIATION)
    nn.init.zeros_(linear.bias)
    return linear
