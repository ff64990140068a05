"""The two attentions written out: the packed tokens read the sequence, the sequence reads that.

Repository XuezheMax/fairseq-apollo, fairseq/modules/luna_attention.py, LunarMultiheadAttention:
packing in _compute_pcontext, unpacking in forward. The packed context has no output projection; it
is what the layer adds to the packed tokens, and keys and values of unpacking are maps of it as it
is (fairseq/modules/luna_sentence_encoder.py, LunaSentenceEncoderLayer.forward). Each attention has
keys and values of its own: the arena's models are built with `tie_kv=False`
(fairseq/models/luna_lra/model.py), where the paper, arXiv 2106.01540, shares one map for both. Both
attentions have the same number of heads there.

There a row shorter than its packed tokens drops those beyond its length. Here none is dropped,
unless it is padding itself.
"""

import math

import torch
from attention.definitions.pieces import heads, masked_softmax

SMALL = {"packed": 5}
VARIANTS = [{"packed": 2}, {"packed": 16}]


def definition(x, mask, weights, place, options):
    packed, tokens = x[:, : options.packed], x[:, options.packed :]
    is_packed, is_token = mask[:, : options.packed], mask[:, options.packed :]
    q, k, v = projected("pack_", packed, tokens, weights, place)
    context = attention(q, k, v, is_token)
    q, k, v = projected("", tokens, context, weights, place)
    y = attention(q, k, v, is_packed)
    return torch.cat([context, y @ weights["output.weight"].T], dim=1)


def projected(prefix, readers, tokens, weights, place):
    sources = {"query": readers, "key": tokens, "value": tokens}
    for name, source in sources.items():
        yield heads(source, weights[f"{prefix}{name}.weight"], place.num_heads)


def attention(q, k, v, mask):
    """What queries read of the keys that are real, heads joined; of none of them, zero."""
    if not k.shape[2]:
        return torch.zeros_like(q).transpose(1, 2).flatten(2)
    logits = q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])
    weighed = masked_softmax(logits, mask[:, None, None, :]) @ v
    return weighed.transpose(1, 2).flatten(2)
