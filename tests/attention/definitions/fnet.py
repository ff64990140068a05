"""Two discrete Fourier transforms, written as matrices.

Paper arXiv 2105.03824, eq. 3: the real part of the transform over positions of the transform over
channels. Repository google-research/google-research: f_net/layers.py, FourierTransform;
f_net/fourier.py, two_dim_matmul, has the two matrices. Neither is normalised. There padding is
transformed like any token; here a row has its real tokens alone, and a transform of that length.
"""

import math

import torch

SMALL = {}
VARIANTS = []


def definition(x, mask, weights, place, options):
    rows = []
    for row, length in zip(x, mask.sum(1).tolist(), strict=True):
        tokens = row[:length].to(torch.complex128)
        mixed = (fourier(length) @ tokens @ fourier(place.width)).real
        rows.append(torch.cat([mixed, torch.zeros_like(row[length:])]))
    return torch.stack(rows)


def fourier(size):
    """The matrix with the entries e^(-2 pi i j k / size)."""
    index = torch.arange(size)
    # whole turns are taken out while the numbers are exact
    turns = (index[:, None] * index % size).double() / size
    return torch.exp(-2j * math.pi * turns)
