"""Mult-Adds of every mechanism, counted by hand: a mechanism without a hand count fails here.

N tokens, width D in H heads of d, one layer, one sequence. A linear map of N tokens takes N D D, a
comparison of n queries with m keys n m D over all heads, and so does a weighted sum of m values.
"""

import math

import pytest

from longarena.attention import MIXERS, build
from longarena.measure.cost import count_forward
from longarena.measure.work import Shape, byte_signature, prepare

N, D, H, MLP, CLASSES = 96, 32, 4, 64, 2
d = D // H
SHAPE = Shape(width=D, depth=1, num_heads=H, mlp_width=MLP)
PROJECTIONS = 4 * N * D**2


def attend(queries, keys, channels=D):
    """Scores and weighted sum."""
    return 2 * queries * keys * channels


def longformer(window, block=64):
    # one global token stands before the others; the last of two blocks is filled up
    tokens, padded = N + 1, 2 * block
    windows = 4 * tokens * D**2 + attend(padded, block + window + 1)
    # its query, to every head's tokens and back, its value and its output; keys are tokens
    return windows + 4 * D**2 + attend(1, tokens, H * D)


def sinkhorn(block):
    blocks = N // block
    network = blocks * D * d + blocks * D * blocks
    sorting = 2 * blocks * N * D  # of keys and of values
    return PROJECTIONS + network + sorting + attend(N, 2 * block)


def linear():
    # values and answers are projected by the state: D numbers for each of D features
    state = N * D**2 + 2 * D * d * D
    return 2 * N * D**2 + state + N * D**2


def performer(features):
    features_of_q_and_k = 2 * N * features * D
    normaliser = N * features * H
    return PROJECTIONS + features_of_q_and_k + 2 * N * features * D + normaliser


def cosformer():
    # twice as many features as channels, and in every head a normaliser
    return PROJECTIONS + 2 * N * 2 * d * D + N * 2 * d * H


def nystrom(landmarks):
    means = 2 * landmarks * N * D
    inverse = landmarks**2 * D + 6 * 4 * landmarks**3 * H + landmarks**2 * D
    return PROJECTIONS + means + inverse + attend(landmarks, N) + attend(N, landmarks)


def routing(clusters, block):
    members = N // clusters
    scores = 2 * clusters * N * D // 2  # of queries and of keys
    far = attend(clusters * members, members, D // 2)
    near = attend(N, 3 * block, D // 2)
    return PROJECTIONS + scores + far + near


def segments(segment, keys):
    # every distance between a query and a key, both ways, has a vector
    distances = keys + segment
    return distances * D**2 + attend(N, keys) + N * distances * D


def set_transformer(points):
    think = points * D**2
    points_read = 2 * points * D**2 + 2 * N * D**2 + attend(points, N)
    tokens_read = 2 * N * D**2 + 2 * points * D**2 + attend(N, points)
    return points_read + think + tokens_read


def poolingformer(window_1, window_2, stride, block=64):
    padded = 2 * block
    slots = (block + window_2) // stride + 2
    return 7 * N * D**2 + attend(padded, block + window_1) + attend(padded, slots)


def transforms(points=192):
    """The transforms of x, of the kernel and back, of two times N points."""
    transform = round(5 * D * points * math.log2(points)) // 2
    return 3 * transform // 2


def long_convolution():
    """The transforms and the gate."""
    return transforms() + N * D * 2 * D


def mega(z, hidden, chunk):
    maps = N * D * hidden + N * D * (2 * D + z + hidden) + N * hidden * D
    return maps + N * chunk * (z + hidden)


def system(numbers):
    """Into a state of so many real numbers, and out of it twice: both ways."""
    return 3 * N * D * numbers


def fourier():
    """A transform of all tokens and channels, for the row has no padding."""
    return round(5 * N * D * math.log2(N * D)) // 2


def retention(values=2 * D):
    # one chunk holds all tokens; its decays are multiplied pair by pair in every head, both ways
    chunk = 128
    maps = 2 * N * D**2 + 3 * N * D * values
    inside = chunk * chunk * (D + values) + H * chunk * (chunk - 1)
    # into a state and out of it, both ways
    return maps + inside + 4 * chunk * d * values


def gla(keys=D // 2, rank=16, chunk=64):
    padded = 2 * chunk
    maps = N * D * (2 * keys + 3 * D) + N * rank * (D + 2 * keys)
    inside = padded * (chunk - 1) * keys + padded * chunk * D
    return maps + inside + 4 * padded * (keys // H) * D


def mamba2(state, chunk, inner=2 * D):
    # one head: a gate, values, keys and queries of both directions, and two time steps
    maps = N * D * (2 * inner + 4 * state + 2) + N * inner + N * inner * D
    scan = N * chunk * (state + inner) + 2 * N * state * inner
    return maps + 2 * scan


def luna(packed):
    # packed vectors stand before the tokens, and are maps of keys, values and queries as these are
    tokens = N + packed
    maps = 4 * tokens * D**2 + 3 * packed * D**2
    return maps + attend(packed, tokens) + attend(tokens, packed)


def h_transformer(block):
    # twelve blocks of tokens, then six, three and two of cells; of the blocks of all heads in one
    # line, the first has nothing before it and the last nothing after it
    met = 3 * 12 * H - 2 + sum(2 * blocks * H - 2 for blocks in (6, 3, 2))
    return PROJECTIONS + met * attend(block, block, d)


def gated_deltanet(chunk, keys=3 * D // 4, values=3 * D // 2):
    # queries, keys, values, a gate, and two numbers per head
    maps = N * D * (2 * keys + 2 * values + 2 * H) + N * values * D
    # queries and keys with keys, the triangular matrix, its inverse and the scores with values
    inside = N * chunk * 2 * keys + N * chunk**2 * H // 2 + 2 * N * chunk * values
    # queries and keys read the state, and keys write it
    return 2 * (maps + inside + 3 * N * (keys // H) * values)


def native_sparse(block, select, window):
    blocks, chunk = N // block, block * select // 4
    maps = 8 * N * D**2 + N * D * 3 * H
    # keys and values: tokens, positions, these of every block, and the outer map
    compression = 2 * (N * D * d + block * d**2 + N * d + blocks * D * d)
    # a block's last chunk is filled up, and one chunk is always empty
    chunks = (N * select + blocks * (chunk - 1)) // chunk + 1
    selected = blocks * N * D + attend(chunks * chunk, block)
    # the window's problems have 64 queries; two of them hold all
    return maps + compression + attend(N, blocks) + selected + attend(2 * 64, 64 + window)


# mechanism: its options, the Mult-Adds of attention, those of convolution
HAND_COUNTS = {
    "transformer": ({}, PROJECTIONS + attend(N, N), 0),
    "local": ({"block": 16}, PROJECTIONS + attend(N, 16), 0),
    # half of the heads see three strides, the others their column
    "sparse": (
        {"stride": 8},
        PROJECTIONS + attend(N, 3 * 8, D // 2) + attend(N, N // 8, D // 2),
        0,
    ),
    "longformer": ({"window": 16}, longformer(16), 0),
    "linformer": ({"k": 16}, 2 * N * D**2 + 16 * N * D + 2 * 16 * D**2 + attend(N, 16), 0),
    # two rounds of 8 buckets, the signs of 4 directions (of the 128 tokens that the model is built
    # for); a chunk is two buckets, and sees itself and the one before
    "reformer": (
        {"bucket_size": 16, "num_hashes": 2},
        3 * N * D**2 + 2 * N * D * 4 + 2 * attend(N, 2 * 2 * 16),
        0,
    ),
    "sinkhorn": ({"block": 16}, sinkhorn(16), 0),
    # logits of rank 8; beside the values there is a one, for the normaliser
    "synthesizer": ({"rank": 8}, 2 * N * D**2 + N * N * H * (8 + d + 1), 0),
    # a global block sees all, the others five blocks
    "bigbird": (
        {"block": 8, "window": 3, "random": 1, "global_blocks": 1},
        PROJECTIONS + attend(8, N) + attend(N - 8, 5 * 8),
        0,
    ),
    "linear": ({}, linear(), 0),
    "performer": ({"features": 16}, performer(16), 0),
    "routing": ({"clusters": 6, "block": 16}, routing(6, 16), 0),
    "transformer-xl": ({"segment": 16, "memory": 16}, PROJECTIONS + segments(16, 32), 0),
    # slots of four tokens are made by one map of 4 D to D, and have keys and values of their own
    "compressive": (
        {"segment": 16, "memory": 16, "compressed": 16, "rate": 4},
        PROJECTIONS + 2 * N // 4 * D**2 + segments(16, 48),
        N // 4 * 4 * D * D,
    ),
    "set-transformer": ({"inducing": 8}, set_transformer(8), 0),
    "image-transformer": ({"block": 16, "memory": 32}, PROJECTIONS + attend(N, 32), 0),
    # keys and values: three weights for each of N / 2 slots are predicted, then applied
    "poolingformer": (
        {"window_1": 16, "window_2": 32, "kernel": 3, "stride": 2},
        poolingformer(16, 32, 2),
        2 * 2 * N // 2 * 3 * D,
    ),
    # half of the channels each; a band of 32 + 3 - 1 columns, between a GLU and a linear map
    "lite-transformer": (
        {"kernel": 3},
        PROJECTIONS // 4 + attend(N, N, D // 2),
        3 * N * (D // 2) ** 2 + N * (32 + 3 - 1) * D // 2,
    ),
    # for every channel and direction, ten stretches of ten positions from the state
    "s4d": ({"state": 8}, 0, long_convolution() + 2 * D * 10 * 8 * 10),
    "long-conv": ({}, 0, long_convolution()),
    # a band of 64 + 5 - 1 columns for N tokens, filled up to two blocks; a GLU and a linear map
    "convolution": ({"kernel": 5}, 0, 3 * N * D**2 + 2 * 64 * (64 + 5 - 1) * D),
    # for every channel and direction, ten stretches of ten positions from four averages
    "mega": (
        {"ema": 4, "z": 8, "chunk": 16},
        mega(8, 2 * D, 16),
        transforms() + 2 * D * 10 * 4 * 10,
    ),
    # a state of 24 has 12 complex numbers; the gate is one map
    "s5": ({"state": 24}, system(24) + N * D**2, 0),
    # a state of 24 complex numbers; the gated unit is two maps
    "lru": ({"state": 24}, system(48) + 2 * N * D**2, 0),
    "fnet": ({}, fourier(), 0),
    "cosformer": ({}, cosformer(), 0),
    "retention": ({}, retention(), 0),
    "gla": ({}, gla(), 0),
    # the short convolution multiplies element by element, which does not count
    "mamba2": ({"state": 8, "chunk": 32}, mamba2(8, 32), 0),
    # nor here
    "gated-deltanet": ({"chunk": 32}, gated_deltanet(32), 0),
    # a band of 32 + 5 - 1 columns
    "nystrom": ({"landmarks": 16, "conv": 5}, nystrom(16), N * (32 + 5 - 1) * D),
    "luna": ({"packed": 16}, luna(16), 0),
    "h-transformer": ({"block": 8}, h_transformer(8), 0),
    "native-sparse": ({"block": 16, "select": 4, "window": 16}, native_sparse(16, 4, 16), 0),
}


def counted(mixer, options):
    return count_forward(prepare(SHAPE.with_mixer(mixer, options), byte_signature(N), batch_size=1))


@pytest.mark.parametrize("mixer", MIXERS)
def test_the_counter_finds_what_was_counted_by_hand(mixer):
    options, attention, convolution = HAND_COUNTS[mixer]
    found = counted(mixer, options)
    assert (found.attention, found.convolution) == (attention, convolution)


def test_a_convolution_among_the_options_of_a_mechanism_is_one():
    # 128 positions have room for 16 windows of 8, of which N tokens fill 12
    found = counted("linformer", {"k": 16, "projection": "conv"})
    assert found.attention == 2 * N * D**2 + 2 * 12 * D**2 + attend(N, 12)
    assert found.convolution == N * D


def test_a_convolution_operator_in_a_mixer_of_your_own_is_one():
    found = counted("measure.own_mixers:Convolving", {})
    assert (found.attention, found.convolution) == (N * D**2, 3 * N * D**2)


@pytest.mark.parametrize("mixer", MIXERS)
def test_the_layers_around_a_mixer_are_counted_apart(mixer):
    found = counted(mixer, HAND_COUNTS[mixer][0])
    built = build(mixer, width=D, num_heads=H, max_length=N, options=HAND_COUNTS[mixer][0])
    tokens = N + built.num_global_tokens
    assert found.feed_forward == 2 * tokens * D * built.mlp_width(MLP)
    assert found.head_and_embedding == D * MLP + MLP * CLASSES
