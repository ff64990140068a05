"""Kitaev et al. (2020), one row, head and round at a time; then one softmax over what all show.

Equations 3 to 6: a query sees the keys of its own bucket among those of its chunk of m sorted
tokens and of the chunk before; m = 2 l / n_buckets. k = q / |q|, and a token sees itself only if it
sees nothing else ("Causal masking for shared-QK attention"). Numbers of buckets as in google/trax,
trax/layers/research/efficient_attention.py, `LSHSelfAttention.hash_vectors`: one rotation up to 128
buckets, beyond that two digits.

Chunks of sorted tokens would tell an earlier token how many later ones share its bucket. So, from
left to right, a query sees the last m tokens before it in its own bucket, and the number of buckets
follows the longest sequence, not this one.
"""

import math

import torch
from attention.definitions.pieces import heads, masked_softmax, merge, rotated

SMALL = {"bucket_size": 8}
VARIANTS = [{"bucket_size": 8, "num_hashes": 1}, {"bucket_size": 3, "num_hashes": 4}]


def definition(x, mask, weights, place, options):
    q = rotated(heads(x, weights["query.weight"], place.num_heads), place)
    v = heads(x, weights["value.weight"], place.num_heads)
    k = q / q.norm(dim=-1, keepdim=True)
    shown = torch.stack(
        [
            torch.stack(
                [
                    union(q[b, h], mask[b], weights["rotations"][h], place, options)
                    for h in range(place.num_heads)
                ]
            )
            for b in range(len(x))
        ]
    )
    return merge(masked_softmax(q @ k.transpose(-1, -2), shown) @ v, weights["output.weight"])


def union(q, mask, rotations, place, options):
    """What any round shows, without the token itself unless it would see nothing."""
    shown = torch.zeros(len(q), len(q), dtype=torch.bool)
    real = mask.nonzero().flatten().tolist()
    length = place.max_length if place.causal else len(real)
    chunk = 2 * options.bucket_size
    for rotation in rotations:
        buckets = {i: bucket(q[i] @ rotation, length / options.bucket_size) for i in real}
        for i, j in seen_before(buckets, chunk) if place.causal else chunks(buckets, chunk):
            shown[i, j] = True
    shown.fill_diagonal_(False)
    alone = ~shown.any(dim=1)
    shown[alone, alone] = True
    return shown


def chunks(buckets, size):
    """Equation 5, of which equation 3 keeps the pairs of the same bucket."""
    order = sorted(buckets, key=lambda i: (buckets[i], i))
    chunk = {i: place // size for place, i in enumerate(order)}
    for i in order:
        for j in order:
            if buckets[i] == buckets[j] and chunk[i] - chunk[j] in (0, 1):
                yield i, j


def seen_before(buckets, size):
    for i in buckets:
        before = [j for j in buckets if j < i and buckets[j] == buckets[i]]
        for j in before[-size:]:
            yield i, j


def bucket(rotated, wanted):
    wanted = math.ceil(wanted)
    high = even(math.ceil(wanted / 128))
    low = even(math.ceil(wanted / high))
    return digit(rotated[64:], high), digit(rotated[:64], low)


def even(count):
    return 1 if count <= 1 else 2 * math.ceil(count / 2)


def digit(rotated, count):
    if count == 1:
        return 0
    rotated = rotated[: count // 2]
    return int(torch.cat([rotated, -rotated]).argmax())
