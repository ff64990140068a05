"""Buckets by argmax [q R, -q R], one row, head and round at a time; then one masked softmax."""

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
                    union(q[b, h], mask[b], weights["rotations"][h], options)
                    for h in range(place.num_heads)
                ]
            )
            for b in range(len(x))
        ]
    )
    return merge(masked_softmax(q @ k.transpose(-1, -2), shown) @ v, weights["output.weight"])


def union(q, mask, rotations, options):
    """What any round shows, without the token itself unless it would see nothing."""
    shown = torch.zeros(len(q), len(q), dtype=torch.bool)
    real = mask.nonzero().flatten().tolist()
    for rotation in rotations:
        buckets = {i: bucket(q[i], rotation, len(real), options.bucket_size) for i in real}
        order = sorted(real, key=lambda i: (buckets[i], i))
        chunk = {i: place // options.bucket_size for place, i in enumerate(order)}
        for i in real:
            for j in real:
                shown[i, j] |= buckets[i] == buckets[j] and chunk[i] - chunk[j] in (0, 1)
    shown.fill_diagonal_(False)
    alone = ~shown.any(dim=1)
    shown[alone, alone] = True
    return shown


def bucket(q, rotation, length, bucket_size):
    wanted = math.ceil(length / bucket_size)
    high = even(math.ceil(wanted / 64))
    low = even(math.ceil(wanted / high))
    return (digit(q @ rotation[:, 32:], high), digit(q @ rotation[:, :32], low))


def even(count):
    return 1 if count <= 1 else 2 * math.ceil(count / 2)


def digit(rotated, count):
    if count == 1:
        return 0
    rotated = rotated[: count // 2]
    return int(torch.cat([rotated, -rotated]).argmax())
