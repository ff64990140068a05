"""Written segment by segment: the slots, the memory and the segment itself stand in one line."""

import math

import torch
from attention.definitions.pieces import heads, masked_softmax, merge
from attention.definitions.transformer_xl import distance_vectors

SMALL = {"segment": 8, "memory": 8, "compressed": 4, "rate": 4}
VARIANTS = [
    {"segment": 8, "memory": 16, "compressed": 3, "rate": 2, "compression": "mean"},
    {"segment": 6, "memory": 6, "compressed": 50, "rate": 3, "compression": "max"},
    {"segment": 8, "memory": 8, "compressed": 6, "rate": 4, "compression": "most-used"},
    {"segment": 8, "memory": 16, "compressed": 16, "rate": 2, "compression": "conv"},
    {"segment": 128, "memory": 128, "compression": "mean"},
]


def definition(x, mask, weights, place, options):
    outputs = []
    for start in range(0, x.shape[1], options.segment):
        own = torch.arange(start, min(start + options.segment, x.shape[1]))
        memory = torch.arange(max(0, start - options.memory), start)
        last_slot = max(0, start - options.memory) // options.rate
        slots = torch.arange(max(0, last_slot - options.compressed), last_slot)
        states = torch.cat(
            [
                *(slot_state(x, mask, int(s), weights, (place, options)).detach() for s in slots),
                x[:, memory].detach(),
                x[:, own],
            ],
            dim=1,
        )
        # slot s stands as many places before the memory as it has slots behind it
        place_of_slots = start - options.memory - last_slot + slots
        position = torch.cat([place_of_slots, memory, own])
        real = torch.cat([mask[:, slots * options.rate], mask[:, memory], mask[:, own]], dim=1)
        allowed = real[:, None, None, :].expand(-1, -1, len(own), -1)
        if place.causal:
            allowed = allowed & (position <= own[:, None])
        logits, v = compare(x[:, own], states, own[:, None] - position, weights, place)
        outputs.append(masked_softmax(logits, allowed) @ v)
    return merge(torch.cat(outputs, dim=2), weights["output.weight"])


def compare(x, states, distance, weights, place):
    """The relative logits of queries and states, and the values of the states."""
    q = heads(x, weights["query.weight"], place.num_heads)
    k, v = (heads(states, weights[f"{name}.weight"], place.num_heads) for name in ("key", "value"))
    r = distance_vectors(distance, weights["positions.distance.weight"], place)
    by_token = (q + weights["positions.token_bias"][:, None]) @ k.transpose(-1, -2)
    by_distance = torch.einsum(
        "bhid,ijhd->bhij", q + weights["positions.distance_bias"][:, None], r
    )
    return (by_token + by_distance) / math.sqrt(q.shape[-1]), v


def slot_state(x, mask, slot, weights, where):
    """One compressed state, (B, 1, D); a group that any query sees is all real."""
    _, options = where
    group = x[:, slot * options.rate : (slot + 1) * options.rate]
    if options.compression == "mean":
        return group.mean(1, keepdim=True)
    if options.compression == "max":
        return group.amax(1, keepdim=True)
    if options.compression == "conv":
        return (group.flatten(1) @ weights["convolution.weight"].T)[:, None]
    rows = zip(x, mask, strict=True)
    return torch.stack([kept(row, real, slot, weights, where) for row, real in rows])


def kept(row, real, slot, weights, where):
    """The slot's share of the most used states of its segment, as the last to see it used them."""
    place, options = where
    per_segment = options.segment // options.rate
    segment, number = divmod(slot, per_segment)
    old = row[None, segment * options.segment : (segment + 1) * options.segment]
    first = segment * options.segment + options.memory
    judges = row[None, first : first + options.segment][:, real[first : first + options.segment]]
    q = heads(judges, weights["query.weight"], place.num_heads)
    k = heads(old, weights["key.weight"], place.num_heads)
    usage = (q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])).softmax(-1).sum((0, 1, 2))
    best = usage.argsort(descending=True)[:per_segment].sort().values
    return old[0, best[number]][None]
