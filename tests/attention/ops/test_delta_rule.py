import pytest
import torch

from longarena.attention.ops.delta_rule import DeltaRule

ROWS, TOKENS, HEADS, SIZE, VALUES = 2, 12, 3, 4, 5
over_chunks = pytest.mark.parametrize(("tokens", "chunk"), [(1, 1), (2, 2), (13, 13), (12, 4)])


def draw(*shape, seed):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=generator, dtype=torch.float64).requires_grad_()


def inputs(tokens=TOKENS):
    """Queries and keys, values, b before its sigmoid, logarithms of decays, and a state."""
    qk, v = draw(ROWS, HEADS, 2, tokens, SIZE, seed=1), draw(ROWS, HEADS, tokens, VALUES, seed=2)
    b, logs = (draw(ROWS, HEADS, tokens, seed=seed) for seed in (3, 4))
    logs = (-logs.detach().square()).requires_grad_()
    return [qk, v, b, logs, draw(ROWS * HEADS, SIZE, VALUES, seed=5)]


def step_by_step(qk, v, b, logs, state):
    """The recurrence: what the queries find, and the state at the end."""
    q, k = (qk / (qk.square().sum(-1, keepdim=True) + 1e-6).sqrt()).unbind(2)
    state, answers = state.view(ROWS, HEADS, SIZE, VALUES), []
    for i in range(v.shape[2]):
        state = logs[:, :, i].exp()[..., None, None] * state
        error = v[:, :, i] - torch.einsum("bhd,bhde->bhe", k[:, :, i], state)
        written = b[:, :, i, None] * error
        state = state + torch.einsum("bhd,bhe->bhde", k[:, :, i], written)
        answers.append(torch.einsum("bhd,bhde->bhe", q[:, :, i], state) / SIZE**0.5)
    return torch.stack(answers, dim=2), state.flatten(0, 1)


def cut(t, chunk, axis):
    """Put the chunks first."""
    return t.unflatten(axis, (-1, chunk)).movedim(axis, 0)


def join(t, axis):
    """Put the chunks, which come first, behind each other."""
    return t.movedim(0, axis).flatten(axis, axis + 1)


def write(qk, v, b, logs, state, *, chunk=None):
    """The memory that the chunks have written; without a size, one chunk."""
    chunk = chunk or v.shape[2]
    rule = DeltaRule(cut(qk, chunk, 3), cut(logs, chunk, 2))
    return rule.write(cut(v, chunk, 2), cut(b, chunk, 2), state)


def answers(memory):
    return join(memory.y().view(*memory.rule.shape, -1), 2)


def back(memory, dy, dnext):
    """The gradients of queries and keys, values, b, logarithms and the state."""
    lanes = cut(dy, memory.rule.shape[-1], 2).flatten(0, 2).contiguous()
    found = memory.back(lanes, dnext)
    axes = ((found.qk, 3), (found.v, 2), (found.b, 2), (found.logs, 2))
    return [join(t, axis) for t, axis in axes] + [found.state]


@over_chunks
def test_chunks_are_the_recurrence(tokens, chunk):
    qk, v, b, logs, state = inputs(tokens)
    with torch.no_grad():
        expected, left = step_by_step(qk, v, b.sigmoid(), logs, state)
        memory = write(qk, v, b.sigmoid(), logs, state, chunk=chunk)
    torch.testing.assert_close(answers(memory), expected)
    torch.testing.assert_close(memory.states[-1], left)


@over_chunks
def test_gradients_are_those_of_the_recurrence(tokens, chunk):
    given = inputs(tokens)
    qk, v, b, logs, state = given
    expected, left = step_by_step(qk, v, b.sigmoid(), logs, state)
    directions = draw(*expected.shape, seed=6).detach(), draw(*left.shape, seed=7).detach()
    wanted = torch.autograd.grad((expected, left), given, directions)
    with torch.no_grad():
        found = back(write(qk, v, b.sigmoid(), logs, state, chunk=chunk), *directions)
        found[2] *= 1 - b.sigmoid()
    torch.testing.assert_close(found, list(wanted))


def test_a_memory_is_made_again_from_what_was_written():
    qk, v, b, logs, state = (t.detach() for t in inputs())
    memory = write(qk, v, b.sigmoid(), logs, state, chunk=4)
    again = memory.rule.remember(memory.written, state)
    torch.testing.assert_close(again.y(), memory.y())
    dy, dnext = torch.ones_like(answers(memory)), torch.ones_like(state)
    torch.testing.assert_close(back(again, dy, dnext), back(memory, dy, dnext))


def constant(value, tokens):
    return torch.full((1, 1, tokens), value, dtype=torch.float64)


def test_orthonormal_keys_are_recalled_exactly():
    """Every value is written once and then asked for, with nothing forgotten."""
    keys = torch.linalg.qr(draw(8, 8, seed=1).detach()).Q
    asked = torch.cat([keys, keys.flip(0)])
    values = torch.cat([draw(8, 5, seed=2).detach(), torch.zeros(8, 5, dtype=torch.float64)])
    writes = torch.tensor([1.0] * 8 + [0.0] * 8, dtype=torch.float64)[None, None]
    qk, nothing = asked.expand(1, 1, 2, -1, -1), constant(0.0, 16)
    memory = write(qk, values[None, None], writes, nothing, torch.zeros(1, 8, 5).double())
    expected = values[:8].flip(0) / 8**0.5
    torch.testing.assert_close(memory.y()[0, 8:], expected, rtol=1e-5, atol=1e-5)


def test_what_is_written_under_a_key_replaces_what_was_there():
    """Even in single precision, over 64 tokens that are all alike."""
    v = draw(1, 1, 64, 5, seed=2).detach().float()
    one, state = constant(1.0, 64).float(), torch.zeros(1, 4, 5)
    memory = write(torch.ones(1, 1, 2, 64, 4), v, one, 0 * one, state)
    torch.testing.assert_close(memory.y()[0], v[0, 0] / 2, rtol=1e-5, atol=1e-5)


def test_where_nothing_is_written_the_state_fades():
    qk, v, b, logs, state = (t.detach() for t in inputs())
    memory = write(qk, v, 0 * b, logs, state, chunk=4)
    faded = logs.sum(-1).exp().flatten()[:, None, None] * state
    torch.testing.assert_close(memory.states[-1], faded)
    _, dv, db, _, _ = back(memory, torch.ones_like(answers(memory)), torch.ones_like(state))
    assert not dv.any()
    assert not db.any()


def test_without_decay_it_is_the_plain_delta_rule():
    """Each token multiplies the state by a projection, and adds a product."""
    qk, v, b, _, state = (t.detach() for t in inputs())
    memory = write(qk, v, b.sigmoid(), torch.zeros_like(b), state, chunk=4)
    k = torch.nn.functional.normalize(qk[0, 0, 1], dim=-1)
    expected = state[0]
    for key, value, share in zip(k, v[0, 0], b[0, 0].sigmoid(), strict=True):
        expected = expected - share * torch.outer(key, key) @ expected
        expected = expected + share * torch.outer(key, value)
    torch.testing.assert_close(memory.states[-1, 0], expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("log", [-1e4, -1e30])
def test_a_token_that_forgets_everything_leaves_no_error_behind(log):
    qk, v, b, _, state = (t.detach().float() for t in inputs())
    logs = torch.full((ROWS, HEADS, TOKENS), -0.01)
    logs[..., 6] = log
    memory = write(qk, v, b.sigmoid(), logs, state)
    after = qk[:, :, :, 6:], v[:, :, 6:], b[..., 6:].sigmoid(), logs[..., 6:]
    rest = write(*after, torch.zeros_like(state))
    torch.testing.assert_close(answers(memory)[:, :, 6:], answers(rest))
    torch.testing.assert_close(memory.states[-1], rest.states[-1])
    dlogs = back(memory, torch.ones_like(answers(memory)), torch.ones_like(state))[3]
    assert not dlogs[..., 6].any()
    assert dlogs.isfinite().all()


def test_vectors_of_zeros_stay_zeros():
    qk, v, b, logs, state = (t.detach() for t in inputs())
    memory = write(0 * qk, v, b.sigmoid(), logs, state, chunk=4)
    assert not memory.y().any()
    dqk = back(memory, torch.ones_like(answers(memory)), torch.ones_like(state))[0]
    assert dqk.isfinite().all()
