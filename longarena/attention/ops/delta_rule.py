"""The gated delta rule: a memory that corrects what it holds under a key, and that fades.

    S_i = a_i S_{i-1} + k_i u_i^T        u_i = b_i (v_i - a_i k_i S_{i-1})        y_i = q_i S_i

k_i S is what the memory answers to a key. u_i is the share b_i of its error, so with b_i = 1 it
answers v_i from then on. a_i and b_i are one number per head and token, both from 0 to 1. Keys and
queries become unit vectors, and queries are divided by sqrt(d).

In a chunk, which one state S reaches from before, the errors depend on each other through a
triangular matrix (the WY form of a product of Householder matrices). With A_i = a_1 ... a_i

    u_i + b_i sum_{j<i} (k_i . k_j) (A_i / A_j) u_j = b_i (v_i - A_i k_i S)
    y_i = A_i q_i S + sum_{j<=i} (q_i . k_j) (A_i / A_j) u_j

Paper:  Yang, Kautz and Hatamizadeh (2024), https://arxiv.org/abs/2412.06464 (section 3)
Cost:   time O(c (c + d) (d + e)) and memory O(c (c + d + e) + d e), per chunk of c tokens and head
        with keys of size d and values of size e.
Choice: logarithms of decays are added in double precision, and so are their gradients. In single
        precision a token that forgets nearly everything would blur the decays of its neighbours.
Choice: the inverse of the triangular matrix, by substitution. Its series of powers, which is all
        products, cancels beyond repair where keys are alike. Measured with one thread for 16 heads,
        chunks of 64 and values of 128: 192 us with the product that follows, 259 us for a solution.
Choice: no autograd, for a caller whose backward pass walks through the chunks by itself.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

# below the root of a norm, so that a vector of zeros stays one
EPSILON = 1e-6

QueriesAndKeys = Float[Tensor, "rows tokens 2 heads size"]
HeadValues = Float[Tensor, "rows tokens heads value_size"]
PerToken = Float[Tensor, "rows heads tokens"]
# the heads of all rows stand side by side
Answers = Float[Tensor, "lanes tokens value_size"]
State = Float[Tensor, "lanes size value_size"]


@dataclass(frozen=True)
class Gradients:
    """The gradients of a chunk; that of b is multiplied by b, as a sigmoid would do."""

    qk: QueriesAndKeys
    v: HeadValues
    b: PerToken
    logs: PerToken
    state: State


class DeltaChunk:
    """A chunk of a row: the answers to its queries, the state that it leaves, its gradients.

    >>> qk, v = torch.ones(1, 3, 2, 1, 1), torch.tensor([8.0, 8.0, 0.0]).reshape(1, 3, 1, 1)
    >>> half, state = torch.full((1, 1, 3), 0.5), torch.zeros(1, 1, 1)
    >>> DeltaChunk(qk, v, b=half, logs=0 * half, state=state).y.round(decimals=3).flatten().tolist()
    [4.0, 6.0, 3.0]
    """

    def __init__(
        self, qk: QueriesAndKeys, v: HeadValues, b: PerToken, logs: PerToken, state: State
    ) -> None:
        self.heads = v.shape[2]
        self.units, self.decays = _Units(qk), _Decays(logs.flatten(0, 1))
        self.state, between = state, self.decays.between
        units, k = self.units.units, self.units.k
        self.products = (units @ k.mT).view(between.shape).mul_(between)
        self.inverse = _inverse(self.products[:, 1], b.flatten(0, 1))
        self.faded = (units.view(len(k), 2, *k.shape[1:]) * self.decays.through).flatten(1, 2)
        read, known = (self.faded @ state).chunk(2, dim=1)
        errors = torch.empty(known.shape, dtype=known.dtype, device=known.device)
        torch.sub(v.transpose(1, 2), self._by_row(known), out=self._by_row(errors))
        self.written = self.inverse @ errors
        self.y: Answers = read.baddbmm_(self.products[:, 0], self.written)
        self.leaving = k * self.decays.after

    def next_state(self) -> State:
        """Let the state fade through the chunk, and add what was written."""
        faded = self.state * self.decays.whole
        return faded.baddbmm_(self.leaving.mT, self.written)

    def back(self, dy: Answers, dnext: State) -> Gradients:
        """Find the gradients, from those of the answers and of the state that leaves.

        The gradient of a decay is the sum over all that passes it, and neither it nor that of b
        needs a division, so both numbers may be zero.
        """
        decays, products, written = self.decays, self.products, self.written
        dwritten = (self.leaving @ dnext).baddbmm_(products[:, 0].mT, dy)
        dv = self.inverse.mT @ dwritten
        # of the answers to the queries, and of those to the keys, which are subtracted
        danswers = torch.cat([dy, -dv], dim=1)
        dproducts = (danswers @ written.mT).view(products.shape)
        dfaded = danswers @ self.state.mT
        dleaving = written @ dnext.mT

        pairs = dproducts * products
        of_keys = pairs.sum(-2, dtype=torch.float64)
        db = (dwritten * written).sum(-1) + of_keys[:, 1]
        left = (dleaving * self.leaving).sum(-1).double()
        dsums = pairs.sum((1, 3), dtype=torch.float64) - of_keys.sum(1) - left
        dsums += (dfaded * self.faded).sum(-1).view(of_keys.shape).sum(1)
        dsums[:, -1] += left.sum(-1) + (dnext * self.state).sum((1, 2)) * decays.whole[:, 0, 0]
        dlogs = dsums.flip(-1).cumsum(-1).flip(-1)

        between = dproducts.mul_(decays.between).flatten(1, 2)
        dunits = dfaded.view(len(dy), 2, *self.leaving.shape[1:]).mul_(decays.through).flatten(1, 2)
        dunits.baddbmm_(between, self.units.k)
        dk = dunits[:, dy.shape[1] :].baddbmm_(between.mT, self.units.units)
        dk.addcmul_(dleaving, decays.after)
        return Gradients(
            self.units.back(dunits),
            self._by_row(dv).transpose(1, 2),
            self._by_row(db.to(dy.dtype)),
            self._by_row(dlogs.to(dy.dtype)),
            (dnext * decays.whole).baddbmm_(self.faded.mT, danswers),
        )

    def _by_row(self, lanes: Tensor) -> Tensor:
        return lanes.view(-1, self.heads, *lanes.shape[1:])


class _Units:
    """Queries and keys of length 1, those of a chunk above each other."""

    def __init__(self, qk: QueriesAndKeys) -> None:
        rows, tokens, two, heads, size = qk.shape
        self.raw = qk
        norms = torch.linalg.vector_norm(qk, dim=-1, keepdim=True)
        self.inverse = norms.square_().add_(EPSILON).rsqrt_()
        self.scale = self.inverse.clone()
        self.scale[:, :, 0] *= size**-0.5
        units = qk.new_empty(rows, heads, two, tokens, size)
        torch.mul(qk, self.scale, out=units.permute(0, 3, 2, 1, 4))
        self.units = units.view(rows * heads, two * tokens, size)
        self.k = self.units[:, tokens:]

    def back(self, dunits: Float[Tensor, "lanes both size"]) -> QueriesAndKeys:
        rows, tokens, two, heads, size = self.raw.shape
        dunits = dunits.view(rows, heads, two, tokens, size).permute(0, 3, 2, 1, 4)
        # what points along the vector would change its length
        along = (dunits * self.raw).sum(-1, keepdim=True)
        along.mul_(self.inverse.square()).mul_(self.scale)
        dqk: Tensor = dunits * self.scale
        return dqk.addcmul_(self.raw, along, value=-1)


class _Decays:
    """What the decays do in a chunk; all factors are between 0 and 1.

    `between` holds those from a key to a query, which may be at the same token, and to a later key.
    `through` is from the start of the chunk through each token, `after` from each token to the end,
    `whole` from the start to the end.
    """

    def __init__(self, logs: Float[Tensor, "lanes tokens"]) -> None:
        sums, tokens = logs.double().cumsum(-1), logs.shape[-1]
        visible = torch.ones(2, tokens, tokens, dtype=logs.dtype, device=logs.device)
        visible[0].tril_()
        visible[1].tril_(-1)
        # a later token is not visible, but its decay must not overflow
        between = (sums[:, :, None] - sums[:, None]).clamp_(max=0).to(logs.dtype).exp_()
        self.between = between[:, None] * visible
        through, self.after = (
            t.exp().to(logs.dtype)[..., None] for t in (sums, sums[:, -1:] - sums)
        )
        self.through, self.whole = through[:, None], through[:, -1:]


def _inverse(
    products: Float[Tensor, "lanes tokens tokens"], b: Float[Tensor, "lanes tokens"]
) -> Float[Tensor, "lanes tokens tokens"]:
    """Make the map from the errors of the state to what is written: B (1 + products B)^-1."""
    inverse: Tensor = torch.linalg.solve_triangular(
        products * b[:, None], torch.diag_embed(b), upper=False, unitriangular=True, left=False
    )
    return inverse
