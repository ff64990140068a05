"""How large a model is before it is built, so that one beyond the machine is refused in a line.

    parameters per layer   4 width qkv_width (the projections) + 2 width mlp_width
    beside the layers      (vocabulary + positions) width

Choice: a mechanism may have somewhat fewer or more; what is refused is beyond the machine anyway.
"""

from longarena.errors import UserError
from longarena.model.config import ModelConfig
from longarena.runtime import memory_bytes

BYTES_PER_NUMBER = 4
# of every parameter: itself, its gradient and the two moments of AdamW
COPIES = 4


def estimate_parameters(config: ModelConfig, vocab_size: int, max_length: int) -> int:
    """Estimate the number of parameters of a model.

    >>> from longarena.measure import SHAPES
    >>> estimate_parameters(SHAPES["text"].with_mixer("linear", {}), 257, 4096)
    3211520
    """
    qkv_width = config.qkv_width or config.width
    layer = 4 * config.width * qkv_width + 2 * config.width * config.mlp_width
    positions = max_length if config.positions == "learned" else 0
    return config.depth * layer + (vocab_size + positions) * config.width


def check_size(config: ModelConfig, vocab_size: int, max_length: int) -> None:
    """Refuse a model that cannot be trained in the memory of this machine."""
    needed = BYTES_PER_NUMBER * COPIES * estimate_parameters(config, vocab_size, max_length)
    check_memory("this model", needed, "lower model.width, model.depth or model.mlp_width")


def check_memory(what: str, needed_bytes: int, remedy: str) -> None:
    """Refuse what needs more memory than the machine has."""
    if needed_bytes > (there := memory_bytes()):
        raise UserError(
            f"{what} needs at least {needed_bytes / 1e9:,.0f} GB of memory and this machine has "
            f"{there / 1e9:,.0f} GB; {remedy}"
        )
