import pytest
import torch

from longarena.attention.ops.delta_rule import DeltaChunk

ROWS, TOKENS, HEADS, SIZE, VALUES = 2, 13, 3, 4, 5


def draw(*shape, seed):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=generator, dtype=torch.float64).requires_grad_()


def inputs(tokens=TOKENS):
    """Queries and keys, values, b before its sigmoid, logarithms of decays, and a state."""
    qk, v = draw(ROWS, tokens, 2, HEADS, SIZE, seed=1), draw(ROWS, tokens, HEADS, VALUES, seed=2)
    b, logs = (draw(ROWS, HEADS, tokens, seed=seed) for seed in (3, 4))
    logs = (-logs.detach().square()).requires_grad_()
    return [qk, v, b, logs, draw(ROWS * HEADS, SIZE, VALUES, seed=5)]


def step_by_step(qk, v, b, logs, state):
    """The recurrence: what the queries find, and the state at the end."""
    q, k = (qk / (qk.square().sum(-1, keepdim=True) + 1e-6).sqrt()).unbind(2)
    state, answers = state.view(ROWS, HEADS, SIZE, VALUES), []
    for i in range(v.shape[1]):
        state = logs[:, :, i].exp()[..., None, None] * state
        error = v[:, i] - torch.einsum("bhd,bhde->bhe", k[:, i], state)
        written = b[:, :, i, None] * error
        state = state + torch.einsum("bhd,bhe->bhde", k[:, i], written)
        answers.append(torch.einsum("bhd,bhde->bhe", q[:, i], state) / SIZE**0.5)
    return torch.stack(answers, dim=2).flatten(0, 1), state.flatten(0, 1)


@pytest.mark.parametrize("tokens", [1, 2, TOKENS])
def test_a_chunk_is_the_recurrence(tokens):
    qk, v, b, logs, state = inputs(tokens)
    with torch.no_grad():
        expected, left = step_by_step(qk, v, b.sigmoid(), logs, state)
        chunk = DeltaChunk(qk, v, b.sigmoid(), logs, state)
    torch.testing.assert_close(chunk.y, expected)
    torch.testing.assert_close(chunk.next_state(), left)


@pytest.mark.parametrize("tokens", [1, 2, TOKENS])
def test_gradients_are_those_of_the_recurrence(tokens):
    given = inputs(tokens)
    qk, v, b, logs, state = given
    answers, left = step_by_step(qk, v, b.sigmoid(), logs, state)
    directions = draw(*answers.shape, seed=6).detach(), draw(*left.shape, seed=7).detach()
    wanted = torch.autograd.grad((answers, left), given, directions)
    with torch.no_grad():
        found = DeltaChunk(qk, v, b.sigmoid(), logs, state).back(*directions)
    torch.testing.assert_close(found.qk, wanted[0])
    torch.testing.assert_close(found.v, wanted[1])
    torch.testing.assert_close(found.b * (1 - b.sigmoid()), wanted[2])
    torch.testing.assert_close(found.logs, wanted[3])
    torch.testing.assert_close(found.state, wanted[4])


def constant(value, tokens):
    return torch.full((1, 1, tokens), value, dtype=torch.float64)


def test_orthonormal_keys_are_recalled_exactly():
    """Every value is written once and then asked for, with nothing forgotten."""
    keys = torch.linalg.qr(draw(8, 8, seed=1).detach()).Q
    asked = torch.cat([keys, keys.flip(0)])
    values = torch.cat([draw(8, 5, seed=2).detach(), torch.zeros(8, 5, dtype=torch.float64)])
    writes = torch.tensor([1.0] * 8 + [0.0] * 8, dtype=torch.float64)[None, None]
    qk, nothing = asked[None, :, None, None].expand(-1, -1, 2, -1, -1), constant(0.0, 16)
    state = torch.zeros(1, 8, 5, dtype=torch.float64)
    chunk = DeltaChunk(qk, values[None, :, None], writes, nothing, state)
    expected = values[:8].flip(0) / 8**0.5
    torch.testing.assert_close(chunk.y[0, 8:], expected, rtol=1e-5, atol=1e-5)


def test_what_is_written_under_a_key_replaces_what_was_there():
    """Even in single precision, over 64 tokens that are all alike."""
    v = draw(1, 64, 1, 5, seed=2).detach().float()
    one, state = constant(1.0, 64).float(), torch.zeros(1, 4, 5)
    chunk = DeltaChunk(torch.ones(1, 64, 2, 1, 4), v, one, 0 * one, state)
    torch.testing.assert_close(chunk.y[0], v[0, :, 0] / 2, rtol=1e-5, atol=1e-5)


def test_where_nothing_is_written_the_state_fades():
    qk, v, _, logs, state = (t.detach() for t in inputs())
    chunk = DeltaChunk(qk, v, torch.zeros(ROWS, HEADS, TOKENS, dtype=v.dtype), logs, state)
    faded = logs.sum(-1).exp().flatten()[:, None, None] * state
    torch.testing.assert_close(chunk.next_state(), faded)
    gradients = chunk.back(torch.ones_like(chunk.y), torch.ones_like(state))
    assert not gradients.v.any()
    assert not gradients.b.any()


def test_without_decay_it_is_the_plain_delta_rule():
    """Each token multiplies the state by a projection, and adds a product."""
    qk, v, b, _, state = (t.detach() for t in inputs())
    chunk = DeltaChunk(qk, v, b.sigmoid(), torch.zeros_like(b), state)
    k = torch.nn.functional.normalize(qk[0, :, 1, 0], dim=-1)
    expected = state[0]
    for key, value, share in zip(k, v[0, :, 0], b[0, 0].sigmoid(), strict=True):
        expected = expected - share * torch.outer(key, key) @ expected
        expected = expected + share * torch.outer(key, value)
    torch.testing.assert_close(chunk.next_state()[0], expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("log", [-1e4, -1e30])
def test_a_token_that_forgets_everything_leaves_no_error_behind(log):
    qk, v, b, _, state = (t.detach().float() for t in inputs())
    logs = torch.full((ROWS, HEADS, TOKENS), -0.01)
    logs[..., 6] = log
    chunk = DeltaChunk(qk, v, b.sigmoid(), logs, state)
    rest = DeltaChunk(
        qk[:, 6:], v[:, 6:], b[..., 6:].sigmoid(), logs[..., 6:], torch.zeros_like(state)
    )
    torch.testing.assert_close(chunk.y[:, 6:], rest.y)
    torch.testing.assert_close(chunk.next_state(), rest.next_state())
    dlogs = chunk.back(torch.ones_like(chunk.y), torch.ones_like(state)).logs
    assert not dlogs[..., 6].any()
    assert dlogs.isfinite().all()


def test_vectors_of_zeros_stay_zeros():
    _, v, b, logs, state = (t.detach() for t in inputs())
    chunk = DeltaChunk(
        torch.zeros(ROWS, TOKENS, 2, HEADS, SIZE, dtype=v.dtype), v, b.sigmoid(), logs, state
    )
    assert not chunk.y.any()
    assert chunk.back(torch.ones_like(chunk.y), torch.ones_like(state)).qk.isfinite().all()
