"""The numbers that make a model, apart from what its task decides (vocabulary, classes, length)."""

from typing import Literal

from pydantic import Field, model_validator

from longarena.options import Options, Value


class ModelConfig(Options):
    """An encoder of `depth` layers around one kind of mixer, a pooling and a head.

    Queries, keys and values have `qkv_width` channels, None for as many as the tokens.

    `reversible` layers keep no activations (`reversible.py`); `recompute` keeps only what goes into
    each layer; with `mlp_chunks` > 1 the MLP takes a sequence in so many pieces and keeps nothing
    of them. All three save memory and cost time.
    """

    mixer: str
    options: dict[str, Value] = Field(default_factory=dict)
    width: int = Field(gt=0)
    qkv_width: int | None = Field(None, gt=0)
    depth: int = Field(gt=0)
    num_heads: int = Field(gt=0)
    mlp_width: int = Field(gt=0)
    positions: Literal["learned", "sinusoidal"]
    pooling: Literal["mean", "cls", "pma"]
    dropout: float = Field(ge=0, lt=1)
    reversible: bool = False
    recompute: bool = False
    mlp_chunks: int = Field(1, gt=0)

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
