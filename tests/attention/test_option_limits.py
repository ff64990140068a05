"""Options at their limits, 1, the length and beyond, change neither padding's nor a row's nature.

What a row is alone it is in any batch, noise in padding is never heard, and what is an attention
shares out one unit of attention per token, or none where it has nothing to see.
"""

import pytest
import torch
from attention.cases import make, tokens

from longarena.attention import MIXERS, Attention, matrix

LENGTHS = 17, 11, 3
LENGTH, BEYOND = 17, 50
LIMITS = (1, LENGTH, BEYOND)

OPTIONS = {
    "routing": [
        *({"clusters": n, "block": 4} for n in LIMITS),
        *({"clusters": 3, "block": n} for n in LIMITS),
        {"clusters": LENGTH, "local_share": 0.0},
    ],
    "sinkhorn": [
        *({"block": n} for n in LIMITS),
        *({"block": 4, "sort_cut": n} for n in LIMITS),
        {"block": 4, "iterations": 1, "temperature": 0.01},
    ],
    "reformer": [
        *({"bucket_size": n} for n in LIMITS),
        {"bucket_size": 1, "num_hashes": 1},
        {"bucket_size": 4, "num_hashes": 5},
    ],
    "poolingformer": [
        *({"window_1": n, "window_2": 12} for n in LIMITS),
        *({"window_1": 4, "window_2": n} for n in LIMITS),
        *({"window_1": 4, "window_2": 12, "kernel": n} for n in LIMITS),
        *({"window_1": 4, "window_2": 12, "stride": n} for n in LIMITS),
        {"window_2": 6, "stride": 8},
        {"window_2": 1, "stride": BEYOND, "kernel": BEYOND, "pool": "max"},
        {"window_2": BEYOND, "stride": LENGTH, "kernel": 1, "pool": "mean"},
    ],
    "native-sparse": [
        *({"block": n, "select": 4, "window": 4} for n in LIMITS),
        *({"block": 2, "select": n, "window": 4} for n in (4, LENGTH, BEYOND)),
        *({"block": 2, "select": 4, "window": n} for n in LIMITS),
    ],
    "sparse": [
        {"pattern": pattern, "stride": n, "summary": summary, "merged": merged}
        for pattern in ("strided", "fixed")
        for n in LIMITS
        for summary in ({1, n} if pattern == "fixed" else {1})
        for merged in ({False, summary == n})
    ],
}
CASES = [
    (name, options, causal)
    for name, several in OPTIONS.items()
    for options in several
    for causal in {False, MIXERS[name].card.causal and "sort_cut" not in options}
]
IDS = [f"{name}{options}{' causal' if causal else ''}" for name, options, causal in CASES]


@pytest.fixture(params=CASES, ids=IDS)
def mixer(request):
    name, options, causal = request.param
    return make(name, options, causal=causal)


def test_a_row_is_alone_what_it_is_in_a_batch_with_noise_in_its_padding(mixer):
    x, mask = tokens(*LENGTHS)
    y = mixer(torch.where(mask[..., None], x, 1e3 * torch.randn_like(x)), mask)
    for row, length in enumerate(LENGTHS):
        alone = mixer(x[row, None, :length], mask[row, None, :length])
        torch.testing.assert_close(y[row, None, :length], alone)


def test_a_row_of_the_matrix_sums_to_one_or_sees_nothing(mixer):
    if not isinstance(mixer, Attention):
        pytest.skip("it has no matrix")
    if mixer.card.name == "sinkhorn" and not mixer.place.causal:
        pytest.skip("the columns of its permutation sum to one, the rows nearly do")
    x, mask = tokens(*LENGTHS)
    sums = matrix(mixer, x, mask).sum(dim=-1).transpose(1, 2)[mask]
    leaves_out = mixer.card.name == "routing" and not mixer.place.causal
    expected = sums.round() if leaves_out else torch.ones_like(sums)
    torch.testing.assert_close(sums, expected)
