import torch
from attention.definitions.pieces import merge, no_later, projected

SMALL = {"features": 12}
VARIANTS = [{"features": 5}, {"features": 12, "kernel": "relu"}]


def definition(x, mask, weights, place, options):
    q, k, v = projected(x, weights, place)
    q, k = q / place.head_size**0.25, k / place.head_size**0.25
    phi = {"softmax": softmax_features, "relu": relu_features}[options.kernel]
    similarity = phi(q, weights["projection"]) @ phi(k, weights["projection"]).mT
    similarity = torch.where(no_later(mask[:, None, None, :], place.causal), similarity, 0.0)
    normaliser = similarity.sum(-1, keepdim=True).clamp_min(1e-300)
    return merge(similarity @ v / normaliser, weights["output.weight"])


def softmax_features(x, projection):
    """Without any stabiliser: in float64 and for small x it is not needed."""
    return torch.exp(x @ projection.T - x.square().sum(-1, keepdim=True) / 2)


def relu_features(x, projection):
    return torch.relu(x @ projection.T) + 1e-3
