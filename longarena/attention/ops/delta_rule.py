"""The gated delta rule: a memory that corrects what it holds under a key, and that fades.

    S_i = a_i S_{i-1} + k_i u_i^T        u_i = b_i (v_i - a_i k_i S_{i-1})        y_i = q_i S_i

k_i S is what the memory answers to a key. u_i is the share b_i of its error, so with b_i = 1 it
answers v_i from then on. a_i and b_i are one number per head and token, both from 0 to 1. Keys and
queries become unit vectors, and queries are divided by sqrt(d).

In a chunk, which one state S reaches from before, the errors depend on each other through a
triangular matrix (the WY form of a product of Householder matrices). With A_i = a_1 ... a_i

    u_i + b_i sum_{j<i} (k_i . k_j) (A_i / A_j) u_j = b_i (v_i - A_i k_i S)
    y_i = A_i q_i S + sum_{j<=i} (q_i . k_j) (A_i / A_j) u_j

Several chunks go through each operation at once, unless it depends on the state.

Paper:  Yang, Kautz and Hatamizadeh (2024), https://arxiv.org/abs/2412.06464 (section 3)
Cost:   time O(c (c + d) (d + e)) and memory O(c (c + d + e) + d e), per chunk of c tokens and head
        with keys of size d and values of size e.
Choice: logarithms of decays are added in double precision, and so are their gradients. In single
        precision a token that forgets nearly everything would blur the decays of its neighbours.
Choice: the inverse of the triangular matrix, by substitution. Its series of powers, which is all
        products, cancels beyond repair where keys are alike.
Choice: no autograd, for a caller whose backward pass walks through the chunks by itself. It keeps
        what was written, and how; the states between the chunks are made again from that.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

# below the root of a norm, so that a vector of zeros stays one
EPSILON = 1e-6

QueriesAndKeys = Float[Tensor, "chunks *heads 2 tokens size"]
HeadValues = Float[Tensor, "chunks *heads tokens value_size"]
PerToken = Float[Tensor, "chunks *heads tokens"]
# a lane is a head of a row; elsewhere the lanes of all chunks stand side by side
Keys = Float[Tensor, "all tokens size"]
Answers = Float[Tensor, "all tokens value_size"]
Matrices = Float[Tensor, "all tokens tokens"]
State = Float[Tensor, "lanes size value_size"]
States = Float[Tensor, "chunks lanes size value_size"]


@dataclass(frozen=True)
class Written:
    """What is written under every key, and the maps that make it of the errors."""

    values: Answers
    inverse: Matrices


@dataclass(frozen=True)
class Gradients:
    """The gradients of some chunks; that of b is multiplied by b, as a sigmoid would do."""

    qk: QueriesAndKeys
    v: HeadValues
    b: PerToken
    logs: PerToken
    state: State


class DeltaRule:
    """Some chunks, one after the other: what goes on in each, whatever the memory holds.

    >>> qk, v = torch.ones(1, 1, 2, 3, 1), torch.tensor([8.0, 8.0, 0.0]).view(1, 1, 3, 1)
    >>> half, state = torch.full((1, 1, 3), 0.5), torch.zeros(1, 1, 1)
    >>> memory = DeltaRule(qk, logs=torch.zeros(1, 1, 3)).write(v, half, state)
    >>> memory.y().round(decimals=3).flatten().tolist()
    [4.0, 6.0, 3.0]
    """

    def __init__(self, qk: QueriesAndKeys, logs: PerToken) -> None:
        self.shape, tokens = logs.shape, logs.shape[-1]
        self.units, self.decays = _Units(qk), _Decays(logs.reshape(-1, tokens))
        units, between = self.units.units, self.decays.between
        self.k = units[:, tokens:]
        self.products = (units @ self.k.mT).view(between.shape).mul_(between)
        self.faded = (torch.unflatten(units, 1, (2, tokens)) * self.decays.through).flatten(1, 2)
        self.leaving = self.k * self.decays.after

    @property
    def faded_q(self) -> Keys:
        """Queries, faded from the start of their chunk."""
        return self.faded[:, : self.shape[-1]]

    @property
    def faded_k(self) -> Keys:
        """Keys, faded from the start of their chunk."""
        return self.faded[:, self.shape[-1] :]

    def write(self, v: HeadValues, b: PerToken, state: State) -> "Memory":
        """Let every chunk correct what the memory answers to its keys."""
        inverse = _inverse(self.products[:, 1], b.reshape(-1, b.shape[-1]))
        written = Written(v.new_empty(len(inverse), *v.shape[-2:]), inverse)
        memory = Memory(self, written, state)
        errors = torch.empty_like(v[0], memory_format=torch.contiguous_format)
        keys, inverses, values = map(self.by_chunk, (self.faded_k, inverse, written.values))
        for i, answer in enumerate(v):
            known = keys[i] @ memory.states[i]
            torch.sub(answer, known.view(errors.shape), out=errors)
            torch.bmm(inverses[i], errors.view(known.shape), out=values[i])
            memory.leave(i)
        return memory

    def remember(self, written: Written, state: State) -> "Memory":
        """Make the memory again, given what was written; the state that is left is not made."""
        memory = Memory(self, written, state)
        for i in range(self.shape[0] - 1):
            memory.leave(i)
        return memory

    def by_chunk(self, t: Tensor) -> tuple[Tensor, ...]:
        """Separate the chunks."""
        return torch.unflatten(t, 0, (self.shape[0], -1)).unbind()


class Memory:
    """The states that the chunks find, what they write there, and its gradients."""

    def __init__(self, rule: DeltaRule, written: Written, state: State) -> None:
        self.rule, self.written = rule, written
        self.states: States = state.new_empty(rule.shape[0] + 1, *state.shape)
        self.states[0] = state
        self.found = self.states[:-1].flatten(0, 1)
        self.parts = [
            rule.by_chunk(t) for t in (rule.decays.whole, rule.leaving.mT, written.values)
        ]

    def leave(self, i: int) -> None:
        """Let the state fade through a chunk, and add what was written."""
        whole, leaving, values = (part[i] for part in self.parts)
        torch.mul(self.states[i], whole, out=self.states[i + 1])
        self.states[i + 1].baddbmm_(leaving, values)

    def y(self) -> Answers:
        """Return what the queries find."""
        rule = self.rule
        return (rule.faded_q @ self.found).baddbmm_(rule.products[:, 0], self.written.values)

    def back(self, dy: Answers, dnext: State) -> Gradients:
        """Find the gradients, from those of the answers and of the state that is left."""
        rule, values = self.rule, self.written.values
        dwritten, dv, dstates = self._walk_back(dy, dnext)
        # of the answers to the queries, and of those to the keys, which are subtracted
        danswers = torch.cat([dy, -dv], dim=1)
        dproducts = (danswers @ values.mT).view(rule.products.shape)
        dfaded = danswers @ self.found.mT
        dleft = dstates[1:].flatten(0, 1)
        dleaving = values @ dleft.mT

        pairs = dproducts * rule.products
        of_keys = pairs.sum(-2, dtype=torch.float64)
        db = dwritten.mul_(values).sum(-1) + of_keys[:, 1]
        left = (dleaving * rule.leaving).sum(-1).double()
        dsums = pairs.sum((1, 3), dtype=torch.float64) - of_keys.sum(1) - left
        dsums += (dfaded * rule.faded).sum(-1).view(of_keys.shape).sum(1)
        of_whole = (dleft * self.found).sum((1, 2)) * rule.decays.whole[:, 0, 0]
        dsums[:, -1] += left.sum(-1) + of_whole
        dlogs = dsums.flip(-1).cumsum(-1).flip(-1)
        return Gradients(
            rule.units.back(self._of_units(dproducts, dfaded, dleaving)),
            dv.view(*rule.shape, -1),
            db.to(dy.dtype).view(rule.shape),
            dlogs.to(dy.dtype).view(rule.shape),
            dstates[0],
        )

    def _walk_back(self, dy: Answers, dnext: State) -> tuple[Answers, Answers, States]:
        """Return the gradients of what was written, of the values, and of all states."""
        rule, dv = self.rule, torch.empty_like(dy)
        dwritten = rule.products[:, 0].mT @ dy
        dstates = torch.empty_like(self.states)
        dstates[-1] = dnext
        torch.bmm(rule.faded_q.mT, dy, out=dstates[:-1].flatten(0, 1))
        tensors = rule.leaving, self.written.inverse.mT, dwritten, dv, rule.faded_k.mT
        leaving, inverse, dw, dvalues, keys = map(rule.by_chunk, tensors)
        whole = self.parts[0]
        for i in reversed(range(rule.shape[0])):
            dw[i].baddbmm_(leaving[i], dstates[i + 1])
            torch.bmm(inverse[i], dw[i], out=dvalues[i])
            dstates[i].addcmul_(dstates[i + 1], whole[i])
            dstates[i].baddbmm_(keys[i], dvalues[i], alpha=-1)
        return dwritten, dv, dstates

    def _of_units(
        self, dproducts: Tensor, dfaded: Tensor, dleaving: Keys
    ) -> Float[Tensor, "all both size"]:
        """Return the gradient of queries and keys above each other; all arguments are used up."""
        rule, decays = self.rule, self.rule.decays
        between = dproducts.mul_(decays.between).flatten(1, 2)
        dunits = torch.unflatten(dfaded, 1, (2, -1)).mul_(decays.through).flatten(1, 2)
        dunits.baddbmm_(between, rule.k)
        dunits[:, rule.shape[-1] :] += (between.mT @ rule.units.units).addcmul_(
            dleaving, decays.after
        )
        return dunits


class _Units:
    """Queries and keys of length 1, those of a chunk above each other."""

    def __init__(self, qk: QueriesAndKeys) -> None:
        self.raw = qk
        norms = torch.linalg.vector_norm(qk, dim=-1, keepdim=True)
        self.inverse = norms.square_().add_(EPSILON).rsqrt_()
        self.scale = self.inverse.clone()
        self.scale[..., 0, :, :] *= qk.shape[-1] ** -0.5
        units = torch.mul(qk, self.scale, out=qk.new_empty(qk.shape))
        self.units = units.view(-1, 2 * qk.shape[-2], qk.shape[-1])

    def back(self, dunits: Float[Tensor, "all both size"]) -> QueriesAndKeys:
        """Return the gradient of the vectors, whatever their length."""
        dunits = dunits.view(self.raw.shape)
        # what points along the vector would change its length
        along = (dunits * self.raw).sum(-1, keepdim=True)
        along.mul_(self.inverse.square()).mul_(self.scale)
        return dunits.mul_(self.scale).addcmul_(self.raw, along, value=-1)


class _Decays:
    """What the decays do in a chunk; all factors are between 0 and 1.

    `between` holds those from a key to a query, which may be at the same token, and to a later key.
    `through` is from the start of the chunk through each token, `after` from each token to the end,
    `whole` from the start to the end.
    """

    def __init__(self, logs: Float[Tensor, "all tokens"]) -> None:
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


def _inverse(products: Matrices, b: Float[Tensor, "all tokens"]) -> Matrices:
    """Make the map from the errors of the state to what is written: B (1 + products B)^-1."""
    inverse: Tensor = torch.linalg.solve_triangular(
        products * b[:, None], torch.diag_embed(b), upper=False, unitriangular=True, left=False
    )
    return inverse
