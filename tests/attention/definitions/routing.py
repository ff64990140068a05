"""Algorithm 1 of Roy et al. (2020), one row and head at a time, one softmax per cluster.

The authors' code is google-research/google-research, routing_transformer/utils.py. Both ways
(`transformer_encoder_layers`: share_qk=False) a cluster is the `window` queries and the `window`
keys nearest to its centroid (`gather_cluster_attention_items`), after a norm without parameters
(`clustered_local_attention_helper`); what its clusters answer a query is averaged
(`scatter_cluster_items`). Local heads are plain: a query's block and the two beside it
(`break_into_memory_blocks_nd`).

From left to right routed heads have K <- Q (lines 4 and 5). A cluster of the best `window` of the
whole sequence would tell an earlier token about a later one, so here a token has the cluster of its
nearest centroid, and sees the last `window` members of it up to itself.
"""

import math

import torch
from attention.definitions.pieces import heads, masked_softmax, merge, rotated

SMALL = {"clusters": 8, "block": 8}
VARIANTS = [
    {"clusters": 3, "local_share": 0.0},
    {"clusters": 1, "local_share": 0.0},
    {"clusters": 100, "block": 5},
]


def definition(x, mask, weights, place, options):
    num_local = int(options.local_share * place.num_heads)
    num_keys = num_local if place.causal else place.num_heads
    q = heads(x, weights["query.weight"], place.num_heads)
    v = heads(x, weights["value.weight"], place.num_heads)
    k = heads(x, weights["key.weight"], num_keys) if num_keys else q[:, :0]
    near_q, near_k = rotated(q[:, :num_local], place), rotated(k[:, :num_local], place)
    far_q = normed(q[:, num_local:])
    far_k = far_q if place.causal else normed(k[:, num_local:])
    near_logits, far_logits = (
        a @ b.transpose(-1, -2) / math.sqrt(a.shape[-1])
        for a, b in ((near_q, near_k), (rotated(far_q, place), rotated(far_k, place)))
    )
    rows = []
    for b in range(len(x)):
        local = [near(logits, mask[b], options.block, place.causal) for logits in near_logits[b]]
        routed = []
        for h, centroids in enumerate(weights["centroids"]):
            scores = [t[b, h].detach() @ centroids.detach().T for t in (far_q, far_k)]
            if place.causal:
                window = math.ceil(place.max_length / len(centroids))
                seen = last_of_own_cluster(scores[0], mask[b], window)
                routed.append(masked_softmax(far_logits[b, h], seen))
            else:
                queries, keys = (nearest(score, mask[b]) for score in scores)
                routed.append(mean_over_clusters(far_logits[b, h], queries, keys))
        rows.append(torch.stack(local + routed))
    return merge(torch.stack(rows) @ v, weights["output.weight"])


def normed(t):
    t = t - t.mean(-1, keepdim=True)
    return t / torch.sqrt(t.square().mean(-1, keepdim=True) + 1e-6)


def near(logits, mask, block, causal):
    position = torch.arange(len(mask))
    distance = position[:, None] // block - position // block
    shown = (distance >= 0) & (distance <= 1) if causal else distance.abs() <= 1
    if causal:
        shown = shown & (position <= position[:, None])
    return masked_softmax(logits, mask & shown)


def nearest(scores, mask):
    """The positions of every cluster."""
    real = mask.nonzero().flatten().tolist()
    window = math.ceil(len(real) / scores.shape[1])
    columns = scores.T.tolist()
    return [sorted(real, key=lambda i: -column[i])[:window] for column in columns]


def mean_over_clusters(logits, queries, keys):
    total = torch.zeros_like(logits)
    count = torch.zeros(len(logits), 1, dtype=logits.dtype)
    for some_queries, some_keys in zip(queries, keys, strict=True):
        is_query, is_key = torch.zeros(2, len(logits), dtype=torch.bool)
        is_query[some_queries], is_key[some_keys] = True, True
        total = total + masked_softmax(logits, is_query[:, None] & is_key[None, :])
        count[some_queries] += 1
    return total / count.clamp_min(1)


def last_of_own_cluster(scores, mask, window):
    cluster = scores.argmax(dim=1).tolist()
    seen = torch.zeros(len(mask), len(mask), dtype=torch.bool)
    for i in mask.nonzero().flatten().tolist():
        members = [j for j in range(i + 1) if mask[j] and cluster[j] == cluster[i]]
        seen[i, members[-window:]] = True
    return seen
