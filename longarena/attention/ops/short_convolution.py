"""A short convolution: every channel is filtered by itself, over a few neighbours.

    y_i = bias + sum_k w_k x_(i + k - before)        k = 0 .. size - 1

When causal, the kernel ends at the token itself, else the token is in its middle; a kernel of even
size reaches one token further back than ahead. Beyond the ends of a sequence are zeros.

Paper:  Dao and Gu (2024), https://arxiv.org/abs/2405.21060 (section 7)
Cost:   time O(N size) and memory O(N) per channel.
"""

from torch import Tensor, nn

from longarena.shapes import Tokens


class ShortConvolution(nn.Conv1d):
    """Filter every channel by a kernel and a bias of its own."""

    def __init__(self, channels: int, size: int, causal: bool) -> None:
        before = size - 1 if causal else size // 2
        super().__init__(channels, channels, size, padding=before, groups=channels)

    def forward(self, x: Tokens) -> Tokens:
        y: Tensor = super().forward(x.mT)
        # as many zeros stand after the tokens as before them; what they alone give is cut off
        return y[..., : x.shape[1]].mT.contiguous()
