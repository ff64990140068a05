"""The table of the mechanisms: one card each, readable without computing anything.

A card says what a reader must know of a mechanism, and where its class is. Whoever needs names or
facts reads `CARDS`, which is fast; `MIXERS` (in `table.py`) imports the class when it is asked for.
A new mechanism is one file beside this one and one entry here.
"""

from typing import Literal

from pydantic import Field

from longarena.options import Options, Value

Family = Literal[
    "fixed patterns",
    "combination of patterns",
    "learnable patterns",
    "memory",
    "low rank",
    "kernels",
    "recurrence",
    "state space",
    "convolution",
    "gated recurrence",
    "no attention",
    "full attention",
    "your own",
]


class MixerCard(Options):
    """What a reader must know of a mechanism.

    `at` is the place of its class, `module:Class` in this folder. `exponent` is the claimed growth
    of the time with the length. `decodes` says whether it can decode at all, by the survey of Tay
    et al. (2020), and `causal` whether it can here. `has_qkv` says whether it has queries, keys and
    values, whose width can differ from that of the tokens. `sketch` holds the options under which
    the pattern shows when only 64 positions are drawn.
    """

    name: str = "your own"
    at: str = ""
    title: str = "A mixer of your own"
    family: Family = "your own"
    paper: str = ""
    year: int = 0
    time: str = "not stated"
    memory: str = "not stated"
    exponent: float = 2.0
    decodes: bool = False
    causal: bool = False
    has_qkv: bool = True
    sketch: dict[str, Value] = Field(default_factory=dict)


_ALL = (
    MixerCard(
        name="transformer",
        at="transformer:Transformer",
        title="Transformer",
        family="full attention",
        paper="https://arxiv.org/abs/1706.03762",
        year=2017,
        time="N^2",
        memory="N (fused), N^2 (materialised)",
        exponent=2.0,
        decodes=True,
        causal=True,
    ),
    MixerCard(
        name="local",
        at="local:Local",
        title="Local Attention",
        family="fixed patterns",
        paper="https://arxiv.org/abs/2011.04006",
        year=2021,
        time="N b",
        memory="N",
        exponent=1.0,
        decodes=True,
        causal=True,
        sketch={"block": 8},
    ),
    MixerCard(
        name="sparse",
        at="sparse:Sparse",
        title="Sparse Transformer",
        family="fixed patterns",
        paper="https://arxiv.org/abs/1904.10509",
        year=2019,
        time="N sqrt(N)",
        memory="N (divided), N sqrt(N) (merged)",
        exponent=1.5,
        decodes=True,
        causal=True,
        sketch={"stride": 8, "summary": 2},
    ),
    MixerCard(
        name="longformer",
        at="longformer:Longformer",
        title="Longformer",
        family="combination of patterns",
        paper="https://arxiv.org/abs/2004.05150",
        year=2020,
        time="N w",
        memory="N",
        exponent=1.0,
        decodes=True,
        sketch={"window": 12},
    ),
    MixerCard(
        name="linformer",
        at="linformer:Linformer",
        title="Linformer",
        family="low rank",
        paper="https://arxiv.org/abs/2006.04768",
        year=2020,
        time="N k",
        memory="N + k",
        exponent=1.0,
        sketch={"k": 16},
    ),
    MixerCard(
        name="reformer",
        at="reformer:Reformer",
        title="Reformer",
        family="learnable patterns",
        paper="https://arxiv.org/abs/2001.04451",
        year=2020,
        time="N log N",
        memory="N",
        exponent=1.0,
        decodes=True,
        sketch={"bucket_size": 8},
    ),
    MixerCard(
        name="sinkhorn",
        at="sinkhorn:Sinkhorn",
        title="Sinkhorn Transformer",
        family="learnable patterns",
        paper="https://arxiv.org/abs/2002.11296",
        year=2020,
        time="N b + N^2 / b",
        memory="N + (N / b)^2",
        exponent=1.5,
        decodes=True,
        sketch={"block": 8},
    ),
    MixerCard(
        name="synthesizer",
        at="synthesizer:Synthesizer",
        title="Synthesizer",
        family="low rank",
        paper="https://arxiv.org/abs/2005.00743",
        year=2020,
        time="N^2 by nature",
        memory="N; random: max_length^2 parameters per head",
        exponent=2.0,
        decodes=True,
    ),
    MixerCard(
        name="bigbird",
        at="bigbird:BigBird",
        title="BigBird",
        family="combination of patterns",
        paper="https://arxiv.org/abs/2007.14062",
        year=2020,
        time="N b",
        memory="N",
        exponent=1.0,
        sketch={"block": 4, "global_blocks": 1, "random": 2},
    ),
    MixerCard(
        name="linear",
        at="linear:LinearAttention",
        title="Linear Transformer",
        family="kernels",
        paper="https://arxiv.org/abs/2006.16236",
        year=2020,
        time="N d^2",
        memory="N d + d^2",
        exponent=1.0,
        decodes=True,
        causal=True,
    ),
    MixerCard(
        name="performer",
        at="performer:Performer",
        title="Performer",
        family="kernels",
        paper="https://arxiv.org/abs/2009.14794",
        year=2020,
        time="N m d (large q and k need far more features m)",
        memory="N m + m d",
        exponent=1.0,
        decodes=True,
        causal=True,
    ),
    MixerCard(
        name="routing",
        at="routing:Routing",
        title="Routing Transformer",
        family="learnable patterns",
        paper="https://arxiv.org/abs/2003.05997",
        year=2020,
        time="N k + N^2 / k (N sqrt(N) for k about sqrt(N))",
        memory="N k",
        exponent=1.5,
        decodes=True,
        sketch={"block": 4},
    ),
    MixerCard(
        name="transformer-xl",
        at="transformer_xl:TransformerXL",
        title="Transformer-XL",
        family="recurrence",
        paper="https://arxiv.org/abs/1901.02860",
        year=2019,
        time="N (s + m)",
        memory="N (s + m)",
        exponent=1.0,
        decodes=True,
        causal=True,
        sketch={"segment": 8, "memory": 8},
    ),
    MixerCard(
        name="compressive",
        at="compressive:Compressive",
        title="Compressive Transformer",
        family="recurrence",
        paper="https://arxiv.org/abs/1911.05507",
        year=2020,
        time="N (s + m + c)",
        memory="N (s + m + c)",
        exponent=1.0,
        decodes=True,
        causal=True,
        sketch={"segment": 8, "memory": 8, "compressed": 8, "rate": 2},
    ),
    MixerCard(
        name="set-transformer",
        at="set_transformer:SetTransformer",
        title="Set Transformer",
        family="memory",
        paper="https://arxiv.org/abs/1810.00825",
        year=2019,
        time="N m",
        memory="N + m",
        exponent=1.0,
        decodes=False,
    ),
    MixerCard(
        name="image-transformer",
        at="image_transformer:ImageTransformer",
        title="Image Transformer",
        family="fixed patterns",
        paper="https://arxiv.org/abs/1802.05751",
        year=2018,
        time="N m",
        memory="N",
        exponent=1.0,
        decodes=True,
        causal=True,
        sketch={"block": 8, "memory": 24},
    ),
    MixerCard(
        name="poolingformer",
        at="poolingformer:Poolingformer",
        title="Poolingformer",
        family="combination of patterns",
        paper="https://arxiv.org/abs/2105.04371",
        year=2021,
        time="N (w_1 + w_2 / s)",
        memory="N",
        exponent=1.0,
    ),
    MixerCard(
        name="lite-transformer",
        at="lite_transformer:LiteTransformer",
        title="Lite Transformer",
        family="combination of patterns",
        paper="https://arxiv.org/abs/2004.11886",
        year=2020,
        time="N^2 on a part of the channels",
        memory="N",
        exponent=2.0,
        decodes=True,
    ),
    MixerCard(
        name="retention",
        at="retention:Retention",
        title="Retention",
        family="gated recurrence",
        paper="https://arxiv.org/abs/2307.08621",
        year=2023,
        time="N c",
        memory="N",
        exponent=1.0,
        decodes=True,
        causal=True,
    ),
    MixerCard(
        name="gla",
        at="gla:GatedLinearAttention",
        title="Gated Linear Attention",
        family="gated recurrence",
        paper="https://arxiv.org/abs/2312.06635",
        year=2023,
        time="N c",
        memory="N",
        exponent=1.0,
        decodes=True,
        causal=True,
    ),
)

CARDS: dict[str, MixerCard] = {card.name: card for card in _ALL}
