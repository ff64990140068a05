"""What a model is made of, apart from what its task decides: vocabulary, classes and length."""

from typing import Literal

from pydantic import Field, model_validator

from longarena.attention.cards import MixerCard, OwnMixer, card_of
from longarena.options import Natural, Options, Positive, Values

MAX_NAME = 200  # a name is part of a path
# rotary positions are added to no token: the mixers turn queries and keys by them
Positions = Literal["learned", "sinusoidal", "rotary", "none"]


class ModelConfig(Options):
    """An encoder of `depth` layers around one kind of mixer, a pooling and a head.

    Queries, keys and values have `qkv_width` channels; None means as many as the tokens have. With
    an `mlp_width` of 0 the layers have no feed-forward. `norm` is one of `norms.py`. `input` says
    how ids become vectors: `embed` looks each one up, `value` reads it as a number, for tasks whose
    tokens are quantities (`embedding.py`). Where a model translates, `decoder` names the mechanism
    of the half that writes, which must be a causal one, with its default options; None means the
    same mechanism as in the half that reads.

    `reversible` layers keep no activations (`reversible.py`); `recompute` keeps only what goes into
    each layer; `mlp_chunks` > 1 runs the MLP on that many pieces of a sequence, one after the
    other, and keeps none of its activations. All three save memory and cost time.

    `own` is what was noted of a mixer from outside (`recipes/recipe.py`).
    """

    mixer: str = Field(min_length=1, max_length=MAX_NAME)
    options: Values = Field(default_factory=dict)
    width: Positive
    qkv_width: Positive | None = None
    depth: Positive
    num_heads: Positive
    mlp_width: Natural
    positions: Positions
    pooling: Literal["mean", "cls", "pma"]
    dropout: float = Field(ge=0, lt=1)
    norm: Literal["layer", "rms", "batch"] = "layer"
    input: Literal["embed", "value"] = "embed"
    decoder: str | None = None
    reversible: bool = False
    recompute: bool = False
    mlp_chunks: Positive = 1
    own: OwnMixer | None = Field(None, repr=False)

    @property
    def card(self) -> MixerCard:
        """The card of the mixer, as far as it is known without importing anything."""
        return card_of(self.mixer, self.own)

    @model_validator(mode="after")
    def _heads_divide_the_widths(self) -> "ModelConfig":
        for name, channels in (("width", self.width), ("qkv_width", self.qkv_width or self.width)):
            if channels % self.num_heads:
                raise ValueError(
                    f"{name} {channels} is not a multiple of num_heads {self.num_heads}"
                )
        return self

    @model_validator(mode="after")
    def _one_way_to_save_layers(self) -> "ModelConfig":
        if self.reversible and self.recompute:
            raise ValueError(
                "reversible layers keep nothing to compute again; choose one of the two"
            )
        return self

    @model_validator(mode="after")
    def _batch_norm_runs_once(self) -> "ModelConfig":
        if self.norm == "batch" and (self.reversible or self.recompute):
            raise ValueError(
                "norm=batch would move its running values twice where layers are computed again; "
                "use norm=layer or norm=rms, or keep the activations"
            )
        return self
