"""Peers: layers of other packages as mixers, so that `longarena measure` times them beside ours.

A peer does the job of one mechanism here, with the sizes that this has by default: the same number
of channels, heads, and blocks, features, landmarks or states. It is the layer alone, without
dropout, norm and feed-forward; what is around it is the same model for all. `PAIRS` says which peer
stands beside which mechanism, and this file, called, prints the command that measures them.

Choice: a peer that has no output projection gets one, as all mechanisms here have it.
Choice: sizes are those of the mechanism; `chunk`s, which change nothing but speed, the fastest.
Choice: the mask is handed on where a peer takes one, and padding is zero for all of them. Full
        rows, which is what `measure` has, are handed on as they are.
Choice: a package is imported when its layer is built, so that a worker holds no other in memory and
        one that is not installed is missed by its own peer only.
"""

import math
import shlex
import sys
from importlib.metadata import PackageNotFoundError, version
from itertools import chain

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.utils.parametrize import register_parametrization

from longarena.attention import Mixer, Place
from longarena.attention.cards import CARDS, MixerCard
from longarena.options import Options

MODULE = "peers"
LENGTH, BATCH_SIZE = 4096, 1


def card_beside(mechanism: str, package: str) -> MixerCard:
    """Make the card of a peer: that of its mechanism, under the name and version of its package."""
    try:
        installed = version(package)
    except PackageNotFoundError:
        installed = "not installed"
    ours = CARDS[mechanism]
    return MixerCard(
        title=f"{ours.title} ({package} {installed})",
        paper=ours.paper,
        year=ours.year,
        exponent=ours.exponent,
        # other widths of queries are refused
        has_qkv=False,
    )


def fitted(x: Tensor, mask: Tensor, multiple: int = 1) -> tuple[Tensor, Tensor | None]:
    """Set padding to zero and add some up to a multiple; full rows that fit have no mask."""
    extra = -x.shape[1] % multiple
    if not extra and mask.all():
        return x, None
    silent = x.masked_fill(~mask[..., None], 0.0)
    return F.pad(silent, (0, 0, 0, extra)), F.pad(mask, (0, extra))


class TorchAttention(Mixer):
    """`torch.nn.MultiheadAttention`, which uses the fused kernel."""

    card = card_beside("transformer", "torch")

    def __init__(self, place: Place, options: Options, previous: Mixer | None = None) -> None:
        super().__init__(place, options, previous)
        self.layer = nn.MultiheadAttention(
            place.width, place.num_heads, bias=False, batch_first=True
        )

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        x, mask = fitted(x, mask)
        hidden = None if mask is None else ~mask
        return self.layer(x, x, x, key_padding_mask=hidden, need_weights=False)[0]


class LocalAttention(Mixer):
    """`local_attention.LocalMHA` that looks at its own block only, without rotary positions."""

    card = card_beside("local", "local-attention")

    def __init__(self, place: Place, options: Options, previous: Mixer | None = None) -> None:
        super().__init__(place, options, previous)
        from local_attention import LocalMHA

        self.layer = LocalMHA(
            dim=place.width,
            window_size=64,
            dim_head=place.head_size,
            heads=place.num_heads,
            look_backward=0,
            look_forward=0,
            exact_windowsize=False,
            use_rotary_pos_emb=False,
        )

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        x, mask = fitted(x, mask)
        return self.layer(x, mask=mask)


class Longformer(Mixer):
    """`transformers.LongformerSelfAttention`; the first token is global, where ours adds one."""

    card = card_beside("longformer", "transformers")
    window = 128

    def __init__(self, place: Place, options: Options, previous: Mixer | None = None) -> None:
        super().__init__(place, options, previous)
        from transformers import LongformerConfig
        from transformers.models.longformer.modeling_longformer import LongformerSelfAttention

        config = LongformerConfig(
            hidden_size=place.width,
            num_attention_heads=place.num_heads,
            attention_window=[self.window],
            attention_probs_dropout_prob=0.0,
        )
        self.layer = LongformerSelfAttention(config, layer_id=0)
        self.output = nn.Linear(place.width, place.width, bias=False)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        length = x.shape[1]
        x, mask = fitted(x, mask, self.window)
        is_real = torch.ones(x.shape[:2], dtype=torch.bool) if mask is None else mask
        is_global = torch.zeros_like(is_real)
        is_global[:, 0] = True
        # as the library has it: below zero is hidden, above zero global
        seen = (is_global.to(x.dtype) - (~is_real).to(x.dtype)) * 10_000
        y = self.layer(
            x,
            attention_mask=seen,
            is_index_masked=~is_real,
            is_index_global_attn=is_global,
            is_global_attn=True,
        )[0]
        return self.output(y[:, :length])


class BigBird(Mixer):
    """`transformers.BigBirdBlockSparseAttention`; the first and the last block are global.

    Below eleven blocks and a token it cannot be used, and the library takes full attention, too.
    """

    card = card_beside("bigbird", "transformers")
    block, random = 64, 3

    def __init__(self, place: Place, options: Options, previous: Mixer | None = None) -> None:
        super().__init__(place, options, previous)
        from transformers import BigBirdConfig
        from transformers.models.big_bird import modeling_big_bird as library

        config = BigBirdConfig(
            hidden_size=place.width,
            num_attention_heads=place.num_heads,
            block_size=self.block,
            num_random_blocks=self.random,
            max_position_embeddings=place.max_length,
            attention_probs_dropout_prob=0.0,
            use_bias=False,
        )
        self.masks = library.BigBirdModel.create_masks_for_block_sparse_attn
        self.layer = library.BigBirdBlockSparseAttention(config, seed=place.layer)
        self.output = nn.Linear(place.width, place.width, bias=False)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        length = x.shape[1]
        if length <= (5 + 2 * self.random) * self.block:
            return self.output(self.attend_to_all(x, mask))
        x, mask = fitted(x, mask, self.block)
        real = torch.ones(x.shape[:2]) if mask is None else mask.to(x.dtype)
        blocks, band, queries, keys = self.masks(real, self.block)
        y = self.layer(
            x,
            band_mask=band,
            from_mask=queries,
            to_mask=keys,
            from_blocked_mask=blocks,
            to_blocked_mask=blocks,
        )[0]
        return self.output(y[:, :length])

    def attend_to_all(self, x: Tensor, mask: Tensor) -> Tensor:
        """Attend with the fused kernel."""
        size = (self.place.num_heads, self.place.head_size)
        q, k, v = (
            project(x).unflatten(-1, size).transpose(1, 2)
            for project in (self.layer.query, self.layer.key, self.layer.value)
        )
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=mask[:, None, None])
        return y.transpose(1, 2).flatten(2)


class Linformer(Mixer):
    """`linformer.LinformerSelfAttention` with one E and one F for all heads; it takes no mask."""

    card = card_beside("linformer", "linformer")

    def __init__(self, place: Place, options: Options, previous: Mixer | None = None) -> None:
        super().__init__(place, options, previous)
        from linformer import LinformerSelfAttention

        self.layer = LinformerSelfAttention(
            place.width, place.max_length, k=128, heads=place.num_heads
        )

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        return self.layer(fitted(x, mask)[0])


class Reformer(Mixer):
    """`reformer_pytorch.LSHSelfAttention`: a token sees all of its chunk and the one before it.

    A pair that several rounds show counts several times.
    """

    card = card_beside("reformer", "reformer-pytorch")
    bucket_size = 64

    def __init__(self, place: Place, options: Options, previous: Mixer | None = None) -> None:
        super().__init__(place, options, previous)
        from reformer_pytorch import LSHSelfAttention

        self.layer = LSHSelfAttention(
            place.width,
            heads=place.num_heads,
            bucket_size=self.bucket_size,
            n_hashes=2,
        )

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        length = x.shape[1]
        x, mask = fitted(x, mask, 2 * self.bucket_size)
        return self.layer(x, input_mask=mask)[:, :length]


class Sinkhorn(Mixer):
    """`sinkhorn_transformer.SinkhornSelfAttention`: products of mean queries and keys sort."""

    card = card_beside("sinkhorn", "sinkhorn-transformer")
    block = 64

    def __init__(self, place: Place, options: Options, previous: Mixer | None = None) -> None:
        super().__init__(place, options, previous)
        from sinkhorn_transformer.sinkhorn_transformer import SinkhornSelfAttention

        self.layer = SinkhornSelfAttention(
            place.width,
            self.block,
            place.max_length,
            heads=place.num_heads,
            non_permutative=False,
            sinkhorn_iter=8,
            temperature=0.7,
        )

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        length = x.shape[1]
        x, mask = fitted(x, mask, self.block)
        return self.layer(x, input_mask=mask)[:, :length]


class Routing(Mixer):
    """`routing_transformer.SelfAttention`: half of the heads local, half of them routed.

    Its loss that pulls queries and keys towards their centroids is left out, as it is in ours.
    """

    card = card_beside("routing", "routing-transformer")
    block = 64

    def __init__(self, place: Place, options: Options, previous: Mixer | None = None) -> None:
        super().__init__(place, options, previous)
        from routing_transformer.routing_transformer import SelfAttention

        clusters = max(1, round(math.sqrt(place.max_length) / 2))
        window = math.ceil(place.max_length / clusters)
        self.layer = SelfAttention(
            place.width,
            place.depth,
            clusters * window,
            heads=place.num_heads,
            local_attn_heads=place.num_heads // 2,
            window_size=window,
            local_attn_window_size=self.block,
            rel_pos_emb=False,
        )

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        length = x.shape[1]
        x, mask = fitted(x, mask, self.block)
        return self.layer(x, input_mask=mask)[0][:, :length]

    def end_step(self) -> None:
        kmeans = self.layer.global_attn.kmeans
        if kmeans.new_means is not None:
            kmeans.update()


class LinearAttention(Mixer):
    """`linear_attention_transformer.SelfAttention`: softmax features, where ours has elu + 1."""

    card = card_beside("linear", "linear-attention-transformer")

    def __init__(self, place: Place, options: Options, previous: Mixer | None = None) -> None:
        super().__init__(place, options, previous)
        from linear_attention_transformer.linear_attention_transformer import SelfAttention

        self.layer = SelfAttention(place.width, place.num_heads)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        x, mask = fitted(x, mask)
        return self.layer(x, input_mask=mask)


class Performer(Mixer):
    """`performer_pytorch.SelfAttention`, whose features are never drawn anew."""

    card = card_beside("performer", "performer-pytorch")

    def __init__(self, place: Place, options: Options, previous: Mixer | None = None) -> None:
        super().__init__(place, options, previous)
        from performer_pytorch import SelfAttention

        self.layer = SelfAttention(
            place.width,
            heads=place.num_heads,
            dim_head=place.head_size,
            nb_features=128,
        )

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        x, mask = fitted(x, mask)
        return self.layer(x, mask=mask)


class SetTransformer(Mixer):
    """`isab_pytorch.ISAB`, whose points have no feed-forward; its heads have 64 channels."""

    card = card_beside("set-transformer", "isab-pytorch")

    def __init__(self, place: Place, options: Options, previous: Mixer | None = None) -> None:
        super().__init__(place, options, previous)
        from isab_pytorch import ISAB

        self.layer = ISAB(dim=place.width, heads=place.num_heads, num_latents=64)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        x, mask = fitted(x, mask)
        return self.layer(x, mask=mask)[0]


class Complex(nn.Module):
    """A complex parameter kept as two real ones, since the optimiser takes no other."""

    def forward(self, real: Tensor, imaginary: Tensor) -> Tensor:
        return torch.complex(real, imaginary)

    def right_inverse(self, number: Tensor) -> tuple[Tensor, Tensor]:
        return number.real.clone(), number.imag.clone()


class S5(Mixer):
    """`s5.S5` with the gate of ours behind it; it keeps all states, so it gets half of them.

    It takes no mask.
    """

    card = card_beside("s5", "s5-pytorch")
    has_own_positions = True

    def __init__(self, place: Place, options: Options, previous: Mixer | None = None) -> None:
        super().__init__(place, options, previous)
        from s5 import S5 as Layer

        self.layer = Layer(place.width, state_width=place.width // 2, bidir=True)
        for name in ("Lambda", "C"):
            register_parametrization(self.layer.seq, name, Complex(), unsafe=True)
        self.gate = nn.Linear(place.width, place.width)

    def mlp_width(self, asked: int) -> int:
        return 0

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        z = F.gelu(self.layer(fitted(x, mask)[0]))
        return z * self.gate(z).sigmoid()


class Retention(Mixer):
    """`yet_another_retnet.MultiScaleRetention`, chunk by chunk; it looks back only.

    It takes no mask.
    """

    card = card_beside("retention", "yet-another-retnet")
    has_own_positions = True
    chunk = 128

    def __init__(self, place: Place, options: Options, previous: Mixer | None = None) -> None:
        super().__init__(place, options, previous)
        from yet_another_retnet.retention import MultiScaleRetention

        self.layer = MultiScaleRetention(place.width, place.num_heads, bias=False)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        answers, state = [], None
        for index, piece in enumerate(fitted(x, mask)[0].split(self.chunk, dim=1)):
            first = index * self.chunk
            y, state = self.layer.forward_chunkwise(piece, piece, piece, first, state)
            answers.append(y)
        return torch.cat(answers, dim=1)


class Mamba2(Mixer):
    """`transformers.Mamba2Mixer`; it looks back only, and so convolves 4 tokens and not 7."""

    card = card_beside("mamba2", "transformers")
    has_own_positions = True

    def __init__(self, place: Place, options: Options, previous: Mixer | None = None) -> None:
        super().__init__(place, options, previous)
        from transformers import Mamba2Config
        from transformers.models.mamba2.modeling_mamba2 import Mamba2Mixer

        config = Mamba2Config(
            hidden_size=place.width,
            num_hidden_layers=1,
            expand=2,
            head_dim=64,
            num_heads=2 * place.width // 64,
            state_size=64,
            n_groups=1,
            chunk_size=64,
        )
        self.layer = Mamba2Mixer(config, layer_idx=0)

    def mlp_width(self, asked: int) -> int:
        return 0

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        x, mask = fitted(x, mask)
        return self.layer(x, attention_mask=mask)


class GatedDeltaNet(Mixer):
    """`transformers.Qwen3NextGatedDeltaNet`; it looks back only."""

    card = card_beside("gated-deltanet", "transformers")
    has_own_positions = True

    def __init__(self, place: Place, options: Options, previous: Mixer | None = None) -> None:
        super().__init__(place, options, previous)
        from transformers import Qwen3NextConfig
        from transformers.models.qwen3_next.modeling_qwen3_next import Qwen3NextGatedDeltaNet

        config = Qwen3NextConfig(
            hidden_size=place.width,
            num_hidden_layers=1,
            linear_num_key_heads=place.num_heads,
            linear_num_value_heads=place.num_heads,
            linear_key_head_dim=3 * place.head_size // 4,
            linear_value_head_dim=3 * place.head_size // 2,
            linear_conv_kernel_dim=4,
        )
        self.layer = Qwen3NextGatedDeltaNet(config, layer_idx=0)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        x, mask = fitted(x, mask)
        return self.layer(x, attention_mask=mask)


class FNet(Mixer):
    """`transformers.FNetBasicFourierTransform`, which transforms padding, too."""

    card = card_beside("fnet", "transformers")

    def __init__(self, place: Place, options: Options, previous: Mixer | None = None) -> None:
        super().__init__(place, options, previous)
        from transformers import FNetConfig
        from transformers.models.fnet.modeling_fnet import FNetBasicFourierTransform

        self.layer = FNetBasicFourierTransform(FNetConfig(hidden_size=place.width))

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        return self.layer(fitted(x, mask)[0])[0]


class Nystrom(Mixer):
    """`nystrom_attention.NystromAttention`."""

    card = card_beside("nystrom", "nystrom-attention")

    def __init__(self, place: Place, options: Options, previous: Mixer | None = None) -> None:
        super().__init__(place, options, previous)
        from nystrom_attention import NystromAttention

        self.layer = NystromAttention(
            place.width,
            dim_head=place.head_size,
            heads=place.num_heads,
            num_landmarks=64,
            residual_conv_kernel=33,
        )

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        x, mask = fitted(x, mask)
        return self.layer(x, mask=mask)


class HTransformer(Mixer):
    """`h_transformer_1d.HAttention1D`, in which the block beside one's own is not always exact."""

    card = card_beside("h-transformer", "h-transformer-1d")
    block = 16

    def __init__(self, place: Place, options: Options, previous: Mixer | None = None) -> None:
        super().__init__(place, options, previous)
        from h_transformer_1d.h_transformer_1d import HAttention1D

        self.layer = HAttention1D(
            place.width, heads=place.num_heads, dim_head=place.head_size, block_size=self.block
        )

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        length = x.shape[1]
        # fewer than four blocks are refused
        x, mask = fitted(x, mask, 4 * self.block)
        return self.layer(x, mask=mask)[:, :length]


# a mechanism, with options where the peer has other ones than its defaults, and its peer
PAIRS: dict[str, type[Mixer]] = {
    "transformer": TorchAttention,
    "local": LocalAttention,
    "longformer": Longformer,
    "bigbird": BigBird,
    "linformer[sharing=headwise]": Linformer,
    "reformer": Reformer,
    "sinkhorn": Sinkhorn,
    "routing": Routing,
    "linear": LinearAttention,
    "performer": Performer,
    "set-transformer": SetTransformer,
    "s5": S5,
    "retention[value_expansion=1]": Retention,
    "mamba2": Mamba2,
    "gated-deltanet": GatedDeltaNet,
    "fnet": FNet,
    "nystrom": Nystrom,
    "h-transformer": HTransformer,
}


def command() -> str:
    """Write the command that measures all pairs, each peer right after its mechanism."""
    pairs = ((ours, f"{MODULE}:{peer.__name__}") for ours, peer in PAIRS.items())
    sizes = ["--lengths", str(LENGTH), "--batch", str(BATCH_SIZE)]
    return shlex.join(["longarena", "measure", *chain.from_iterable(pairs), *sizes])


if __name__ == "__main__":
    sys.stdout.write(command() + "\n")
