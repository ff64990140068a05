"""The linear map of the mechanisms: no bias, Xavier-uniform at the start."""

from torch import nn


def projection(width_in: int, width_out: int) -> nn.Linear:
    """Make a linear map without bias, Xavier-uniform."""
    linear = nn.Linear(width_in, width_out, bias=False)
    nn.init.xavier_uniform_(linear.weight)
    return linear
