"""What every mixer is: tokens and a mask go in, tokens come out, and padding does not exist.

    Mixer       forward(x, mask), three hooks that do nothing by default, a card and options
    Attention   a Mixer made of two halves around the four projections:
                    plan(x, mask)    all that does not depend on the values
                    apply(plan, v)   linear in v, whose last size is free

    forward = output(merge(apply(plan(x, mask), split(value(x)))))

Queries, keys and values have `qkv_width` channels, shared out among the heads; `output` leads back
to the `width` of the tokens.

Because `apply` is linear in the values, feeding it unit vectors gives the attention matrix of any
mechanism (`matrix.py`); no mechanism writes code for that.

Choice: projections have no bias and start Xavier-uniform, as in the official release.
Choice: `apply` hides `nn.Module.apply(fn)`, which nothing here uses.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Generic, Literal, TypeVar

from einops import rearrange
from pydantic import Field
from torch import Tensor, nn

from longarena.attention.choices import Choices
from longarena.options import Options, Value
from longarena.shapes import Heads, Mask, Tokens, Values

Family = Literal[
    "fixed patterns",
    "combination of patterns",
    "learnable patterns",
    "memory",
    "low rank",
    "kernels",
    "recurrence",
    "full attention",
    "your own",
]
Plan = TypeVar("Plan")


class MixerCard(Options):
    """What a reader must know of a mechanism.

    `exponent` is the claimed growth of the time with the length. `decodes` says whether it can
    decode at all, by the survey of Tay et al. (2020), and `causal` whether it can here. `sketch`
    holds the options under which the pattern shows when only 64 positions are drawn.
    """

    name: str = "your own"
    title: str = "A mixer of your own"
    family: Family = "your own"
    paper: str = ""
    year: int = 0
    time: str = "not stated"
    memory: str = "not stated"
    exponent: float = 2.0
    decodes: bool = False
    causal: bool = False
    sketch: dict[str, Value] = Field(default_factory=dict)


@dataclass(frozen=True)
class Place:
    """Where a mixer stands: its sizes, its layer among how many, its seed."""

    width: int
    qkv_width: int
    num_heads: int
    max_length: int
    layer: int = 0
    depth: int = 1
    seed: int = 0
    causal: bool = False

    @property
    def head_size(self) -> int:
        """The size of one head of the queries, keys or values."""
        return self.qkv_width // self.num_heads


class Mixer(nn.Module, ABC):
    """Lets positions talk: (B, N, D) in, (B, N, D) out, at any 1 <= N <= max_length."""

    card: ClassVar[MixerCard] = MixerCard()
    options_type: ClassVar[type[Options]] = Options

    # a mixer that knows where its tokens stand wants no positions added to them
    has_own_positions: ClassVar[bool] = False
    # how many tokens the encoder must put before each sequence for this mixer to see all by
    num_global_tokens: int = 0

    # where to keep discrete choices, set by whoever will compute the forward pass again
    choices: Choices | None = None

    def __init__(self, place: Place, options: Options, previous: "Mixer | None" = None) -> None:
        super().__init__()
        self.place = place

    @abstractmethod
    def forward(self, x: Tokens, mask: Mask) -> Tokens:
        """Mix the real tokens; what stands at padded positions of the result means nothing."""

    def mlp_width(self, asked: int) -> int:
        """Return the width of the feed-forward behind this mixer, where the recipe asks for one."""
        return asked

    def choose(self, make: Callable[[], Tensor]) -> Tensor:
        """Make a discrete choice, such as a bucket, once for a pass that is computed twice."""
        return make() if self.choices is None else self.choices.take(make)

    def begin_step(self, step: int) -> None:
        """Draw what changes during training, as a function of (seed, layer, step)."""

    def end_step(self) -> None:
        """Move state that no gradient trains, once per optimiser step."""

    def extra_loss(self) -> Tensor | None:
        """Return a loss of the mixer's own, a mean over examples, to be added to the task's."""
        return None


class Attention(Mixer, Generic[Plan]):
    """A mixer with query, key, value and output projections around `plan` and `apply`."""

    # a mechanism whose queries serve as keys leaves the key out
    projections: ClassVar[tuple[str, ...]] = ("query", "key", "value", "output")
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
        """Compute all that does not depend on the values."""

    @abstractmethod
    def apply(self, plan: Plan, v: Values) -> Values:  # type: ignore[override]
        """Spread the values as planned; linear in `v`."""

    def forward(self, x: Tokens, mask: Mask) -> Tokens:
        y = self.apply(self.plan(x, mask), self.split(self.value(x)))
        merged: Tensor = self.output(rearrange(y, "b h n d -> b n (h d)"))
        return merged

    def split(self, x: Tokens) -> Heads:
        """Cut the channels into heads."""
        return rearrange(x, "b n (h d) -> b h n d", h=self.place.num_heads)


def projection(width_in: int, width_out: int) -> nn.Linear:
    """Make a linear map without bias, Xavier-uniform."""
    linear = nn.Linear(width_in, width_out, bias=False)
    nn.init.xavier_uniform_(linear.weight)
    return linear


def visible_keys(mask: Mask) -> Mask:
    """Tell which keys a softmax may see: the real ones, or all of a row that has none.

    A softmax over nothing is not a number; a row that is all padding means nothing anyway.
    """
    return mask | ~mask.any(dim=1, keepdim=True)
