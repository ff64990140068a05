"""What every mixer is: tokens and a mask go in, tokens come out, and padding has no effect.

    Mixer       forward(x, mask), hooks that do nothing by default, a card and options
    Attention   a Mixer made of two halves around the four projections:
                    plan(x, mask)    everything that does not depend on the values
                    apply(plan, v)   linear in v, whose last size is free

    forward = output(merge(apply(plan(x, mask), split(value(x)))))

Queries, keys and values have `qkv_width` channels, divided among the heads; `output` maps back to
the `width` of the tokens.

Because `apply` is linear in the values, feeding it unit vectors gives the attention matrix of any
mechanism (`matrix.py`); no mechanism needs code of its own for that.

Choice: projections have no bias and start Xavier-uniform, as in the official release.
Choice: `apply` hides `nn.Module.apply(fn)`, which nothing here uses.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Generic, TypeVar

import torch
from einops import rearrange
from torch import Tensor, nn

from longarena.attention.cards import MixerCard
from longarena.attention.ops.cache import Cache
from longarena.attention.ops.choices import Choices
from longarena.attention.ops.decoder import Decoder, Token
from longarena.attention.ops.projection import projection
from longarena.attention.ops.rotary import rotate_by_position
from longarena.attention.ops.visible import all_real
from longarena.attention.own import check_result, is_own, named
from longarena.errors import UserError
from longarena.options import Options
from longarena.shapes import Heads, Mask, Tokens, Values

Plan = TypeVar("Plan")


@dataclass(frozen=True)
class Place:
    """Where a mixer stands in a model: its sizes, its layer, the number of layers, its seed."""

    width: int
    qkv_width: int
    num_heads: int
    max_length: int
    layer: int = 0
    depth: int = 1
    seed: int = 0
    causal: bool = False
    rotary: bool = False

    @property
    def head_size(self) -> int:
        """The size of one head of the queries, keys or values."""
        return self.qkv_width // self.num_heads


class Mixer(nn.Module, ABC):
    """Lets positions exchange information: (B, N, D) in and out, for any 1 <= N <= max_length."""

    card: ClassVar[MixerCard] = MixerCard()
    options_type: ClassVar[type[Options]] = Options

    # whether it knows where its tokens stand, so that no positions are added to them
    has_own_positions: ClassVar[bool] = False
    # whether it honours `Place.rotary`, that is, rotates queries and keys before comparing them
    takes_rotary: ClassVar[bool] = False
    # how many global tokens the encoder must put in front of each sequence
    num_global_tokens: int = 0

    # where to keep discrete choices; set by a caller that computes the forward pass twice
    choices: Choices | None = None

    def __init__(self, place: Place, options: Options, previous: "Mixer | None" = None) -> None:
        super().__init__()
        if place.rotary:
            self._check_rotary(place)
        if place.qkv_width != place.width and not self.card.has_qkv:
            raise UserError(
                f"{self.card.name} has no queries, keys and values that could be "
                f"{place.qkv_width} wide; leave out model.qkv_width"
            )
        self.place = place

    def __call__(self, x: Tokens, mask: Mask) -> Tokens:
        """Mix the real tokens, after a look at their number; call this and not `forward`."""
        if x.shape[1] > self.place.max_length:
            raise UserError(
                f"{type(self).__name__} was built for sequences of up to "
                f"{self.place.max_length} tokens, and this one has {x.shape[1]}; "
                f"build it with max_length={x.shape[1]}"
            )
        if not is_own(type(self)):
            mixed: Tensor = super().__call__(x, mask)
            return mixed
        with named(type(self), "forward"):
            found: Tensor = super().__call__(x, mask)
        check_result(type(self), x, found)
        return found

    @abstractmethod
    def forward(self, x: Tokens, mask: Mask) -> Tokens:
        """Mix the real tokens; the result at padded positions means nothing."""

    def mlp_width(self, asked: int) -> int:
        """Return the width of the feed-forward after this mixer, given what the recipe asks for.

        0 means that no feed-forward follows: the mixer mixes the channels itself.
        """
        return asked

    def slow_parameters(self) -> frozenset[str]:
        """Name the parameters that want a learning rate of their own and no weight decay.

        The names are relative to the mixer, as `named_parameters` gives them. A state-space model
        names its transition and its time step here: a common rate would make them unstable.
        """
        return frozenset()

    def choose(self, make: Callable[[], Tensor]) -> Tensor:
        """Make a discrete choice, such as a bucket, once for a pass that is computed twice."""
        return make() if self.choices is None else self.choices.take(make)

    def begin_step(self, step: int) -> None:
        """Draw what changes during training, as a function of (seed, layer, step)."""

    def end_step(self) -> None:
        """Update the state that no gradient trains, once per optimiser step."""

    def extra_loss(self) -> Tensor | None:
        """Return a loss of the mixer's own, a mean over examples, which is added to the task's."""
        return None

    def start(self, batch: int) -> Decoder:
        """Begin to mix token by token, `batch` rows side by side; only a causal mixer can."""
        if not self.place.causal:
            raise UserError(
                f"{type(self).__name__} looks both ways, so it cannot go token by token; "
                "build it with causal=True"
            )
        return self.decoder(batch)

    def decoder(self, batch: int) -> Decoder:
        """Make the decoder that `start` returns; one that keeps less than all tokens is better."""
        return Replay(self, batch)

    def state_bytes(self, length: int) -> int:
        """Return how much a row of so many tokens must carry to the next one."""
        return self.start(1).bytes_after(length)

    def zeros(self, *shape: int) -> Tensor:
        """Make zeros of the type and on the device of the parameters."""
        return next(self.parameters(), torch.empty(0)).new_zeros(shape)

    def _check_rotary(self, place: Place) -> None:
        if not self.takes_rotary:
            raise UserError(
                f"{type(self).__name__} cannot rotate queries and keys; choose positions=learned"
            )
        if place.head_size % 2:
            even = (place.head_size + 1) * place.num_heads
            raise UserError(
                f"rotary positions turn channels in pairs, but a head has {place.head_size}; "
                f"choose qkv_width={even} or positions=learned"
            )


class Replay(Decoder):
    """Keep all tokens, and mix them all again at each step.

    That is right for any causal mixer, and what it gets if it has nothing better.
    """

    def __init__(self, mixer: Mixer, batch: int) -> None:
        self.mixer = mixer
        self.tokens = Cache(mixer.zeros(batch, mixer.place.width))

    def step(self, x: Token) -> Token:
        return self.read(x[:, None])[:, 0]

    def read(self, x: Tokens) -> Tokens:
        tokens = self.tokens.extend(x)
        mixed: Tensor = self.mixer(tokens, all_real(tokens))
        return mixed[:, -x.shape[1] :]


class Attention(Mixer, Generic[Plan]):
    """A mixer with query, key, value and output projections around `plan` and `apply`."""

    # a mechanism whose queries are its keys too leaves out "key"
    projections: ClassVar[tuple[str, ...]] = ("query", "key", "value", "output")
    # whether `plan` looks at queries and keys alone, so that others may project them (function.py)
    is_function: ClassVar[bool] = False
    query: nn.Linear
    key: nn.Linear
    value: nn.Linear
    output: nn.Linear

    def __init__(self, place: Place, options: Options, previous: Mixer | None = None) -> None:
        super().__init__(place, options, previous)
        for name in self.projections:
            ends = place.width, place.qkv_width
            setattr(self, name, projection(*(reversed(ends) if name == "output" else ends)))

    @abstractmethod
    def plan(self, x: Tokens, mask: Mask) -> Plan:
        """Compute everything that does not depend on the values."""

    @abstractmethod
    def apply(self, plan: Plan, v: Values) -> Values:  # type: ignore[override]
        """Spread the values as planned; linear in `v`."""

    def forward(self, x: Tokens, mask: Mask) -> Tokens:
        return self.merged(self.apply(self.plan(x, mask), self.split(self.value(x))))

    def merged(self, y: Values) -> Tokens:
        """Join the answers of the heads, and project them to the width of the tokens."""
        merged: Tensor = self.output(rearrange(y, "b h n d -> b n (h d)"))
        return merged

    def queries(self, x: Tokens, first: int = 0) -> Heads:
        """Project the tokens to queries, cut into heads, and rotated where that is asked for."""
        return self.rotated(self.split(self.query(x)), first)

    def keys(self, x: Tokens, first: int = 0) -> Heads:
        """Project the tokens to keys, cut into heads, and rotated where that is asked for."""
        return self.rotated(self.split(self.key(x)), first)

    def rotated(self, t: Heads, first: int = 0) -> Heads:
        """Rotate queries or keys by their positions, from `first` on, if these are rotary."""
        return rotate_by_position(t, first=first) if self.place.rotary else t

    def split(self, x: Tokens) -> Heads:
        """Cut the channels into heads."""
        return rearrange(x, "b n (h d) -> b h n d", h=self.place.num_heads)
