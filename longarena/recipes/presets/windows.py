"""Windows, blocks and memories in proportion to a short task.

The defaults of the mechanisms are made for thousands of tokens. A block of 64 in a sequence of 64,
or 128 compressed keys for 128 tokens, is full attention by another name: a short task would not
tell these mechanisms from the Transformer. So where a preset shortens a task, it divides what an
option counts in tokens by the same number, counted from the 1,024 tokens of Image and Pathfinder,
the shortest tasks of the arena.

Choice: what counts neither tokens nor blocks of them stays: features, ranks, hashes, kernels of
        convolutions, the number of blocks that are seen. So do chunks, which change no result.
"""

from longarena.options import Values

FULL_LENGTH = 1024
# the defaults of every option that is a number of tokens, or of vectors that stand for tokens
TOKENS = {
    "bigbird": {"block": 64},
    "compressive": {"segment": 128, "memory": 128, "compressed": 128},
    "h-transformer": {"block": 16},
    "image-transformer": {"block": 128, "memory": 256},
    "linformer": {"k": 128},
    "local": {"block": 64},
    "longformer": {"window": 128},
    "luna": {"packed": 64},
    "native-sparse": {"block": 32, "window": 256},
    "nystrom": {"landmarks": 64},
    "poolingformer": {"window_1": 128, "window_2": 512},
    "reformer": {"bucket_size": 64},
    "routing": {"block": 64},
    "set-transformer": {"inducing": 64},
    "sinkhorn": {"block": 64},
    "transformer-xl": {"segment": 128, "memory": 128},
}
SMALLEST = 2


def options_at(length: int, mixer: str) -> Values:
    """Return the options of a mixer for sequences of some length; none where the defaults fit."""
    by = FULL_LENGTH // length
    return {
        name: max(SMALLEST, tokens // by)
        for name, tokens in TOKENS.get(mixer, {}).items()
        if by > 1
    }
