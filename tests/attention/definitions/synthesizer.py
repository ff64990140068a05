import math

import torch
from attention.definitions.pieces import heads, masked_softmax, merge, no_later, rotated

SMALL = {"rank": 3}
VARIANTS = [
    {"trainable": False},
    {"variant": "random"},
    {"variant": "random", "trainable": False},
    {"variant": "dense"},
    {"variant": "factorized-dense"},
    {"dot_product": True},
    {"variant": "random", "dot_product": True},
    {"variant": "dense", "dot_product": True},
    {"variant": "factorized-dense", "dot_product": True},
]


def definition(x, mask, weights, place, options):
    v = heads(x, weights["value.weight"], place.num_heads)
    prefix = "scores.synthetic." if options.dot_product else "scores."
    own = {key.removeprefix(prefix): w for key, w in weights.items() if key.startswith(prefix)}
    logits = MADE_UP[options.variant](x, own, place)
    if options.dot_product:
        q, k = (
            rotated(heads(x, weights[f"scores.dot_product.{name}.weight"], place.num_heads), place)
            for name in ("query", "key")
        )
        made_up, compared = weights["scores.balance"].softmax(0)
        logits = made_up * logits + compared * (q @ k.mT) / math.sqrt(place.head_size)
    allowed = no_later(mask[:, None, None, :].expand(logits.shape), place.causal)
    return merge(masked_softmax(logits, allowed) @ v, weights["output.weight"])


def random(x, own, place):
    batch, length, _ = x.shape
    return own["table"][:, :length, :length].expand(batch, -1, -1, -1)


def factorized_random(x, own, place):
    return random(x, {"table": own["left"] @ own["right"].mT}, place)


def answer(x, own, name, place):
    hidden = torch.relu(heads(x, own[f"{name}.inner.weight"], place.num_heads))
    return hidden @ own[f"{name}.table"].mT


def dense(x, own, place):
    return answer(x, own, "answer", place)[..., : x.shape[1]]


def factorized_dense(x, own, place):
    coarse, fine = (answer(x, own, name, place) for name in ("coarse", "fine"))
    key = torch.arange(x.shape[1])
    return coarse[..., key // fine.shape[-1]] * fine[..., key % fine.shape[-1]]


MADE_UP = {
    "random": random,
    "factorized-random": factorized_random,
    "dense": dense,
    "factorized-dense": factorized_dense,
}
