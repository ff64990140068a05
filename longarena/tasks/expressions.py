"""ListOps expressions as text: read the released form, draw the tree.

A token is one byte (its place in TOKENS). The released files put every pair of the tree in
parentheses, which say nothing that the brackets do not:

    ( ( ( [MAX 2 ) 9 ) ] )  is  [MAX 2 9 ]
"""

from collections.abc import Callable, Iterator
from statistics import median

from longarena.data.dataset import DiskTokens

TOKENS = ("]", "[MIN", "[MAX", "[MED", "[SM", *"0123456789")
CLOSE, FIRST_DIGIT = 0, 5
OPERATORS: dict[int, Callable[[list[int]], int]] = {
    1: min,
    2: max,
    3: lambda values: int(median(values)),
    4: lambda values: sum(values) % 10,
}
UNKNOWN = 255
# what is left when the openers have become bytes: themselves, "]" and the digits
SINGLE = {i: i for i in OPERATORS} | {ord(t): i for i, t in enumerate(TOKENS) if len(t) == 1}
TABLE = bytes(SINGLE.get(byte, UNKNOWN) for byte in range(256))


def encode(text: bytes) -> bytes:
    """Turn an expression into tokens; anything that is not a token becomes UNKNOWN.

    >>> list(encode(b"( ( ( [MAX 2 ) 9 ) ] )"))
    [2, 7, 14, 0]
    """
    for i in OPERATORS:
        text = text.replace(TOKENS[i].encode(), bytes([i]))
    return text.translate(TABLE, delete=b"() ")


def draw_tree(tokens: DiskTokens | bytes) -> str:
    r"""Draw each operator with the values of its arguments and its own.

    A value in parentheses is that of a nested expression, which follows below.

    >>> print(draw_tree(encode(b"[MAX 4 [MIN 2 9 ] 0 [SM 5 6 ] ]")))
    MAX 4 (2) 0 (1) = 4
      MIN 2 9 = 2
      SM 5 6 = 1
    """
    rest = iter(int(token) for token in tokens)
    value, lines = _draw(next(rest), rest)
    return "\n".join(lines or [str(value)])


def _draw(first: int, rest: Iterator[int]) -> tuple[int, list[str]]:
    """Return the value of the expression that `first` opens, and the lines of its tree."""
    if first >= FIRST_DIGIT:
        return first - FIRST_DIGIT, []
    values, words, below = [], [TOKENS[first].removeprefix("[")], []
    while (token := next(rest)) != CLOSE:
        value, lines = _draw(token, rest)
        values.append(value)
        words.append(f"({value})" if lines else str(value))
        below += [f"  {line}" for line in lines]
    value = OPERATORS[first](values)
    return value, [f"{' '.join(words)} = {value}", *below]
