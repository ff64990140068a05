"""Draw and evaluate random ListOps expressions, compiled.

A node at depth d (the root has depth 1) is an operator with probability 1/4 and a digit otherwise;
at the greatest depth it is always a digit. An operator takes 2 to 10 arguments and is one of

    MIN, MAX, MED (the mean of the two middle values, rounded down, if their number is even),
    SM (the sum modulo ten).

The length counts digits, openers and closers, not the parentheses of the released files.
An expression is drawn depth first, so that its tokens come out in reading order and each value
is known when its closer is written.

Choice: tokens on disk are 0 = "]", 1..4 = the openers, 5..14 = the digits.
"""

import numpy as np
from numba import njit

CLOSE, FIRST_OPERATOR, FIRST_DIGIT = 0, 1, 5
MIN, MAX, MED, SM = range(4)
OPERATOR_PROBABILITY = 0.25
MAX_ARGUMENTS = 10
# more than 99 of 100 draws are refused for their length; a stretch this long without one that
# fits means that none exists
PATIENCE = 20_000_000


@njit(cache=True)
def evaluate(operator, values, count):  # type: ignore[no-untyped-def]
    """Apply an operator to the first `count` values."""
    if operator == MIN:
        return values[:count].min()
    if operator == MAX:
        return values[:count].max()
    if operator == SM:
        return values[:count].sum() % 10
    ordered = np.sort(values[:count])
    return (ordered[(count - 1) // 2] + ordered[count // 2]) // 2


@njit(cache=True)
def draw_expression(rng, max_depth, tokens):  # type: ignore[no-untyped-def]
    """Draw one expression into `tokens`; return its length (0 if it does not fit) and value."""
    operators = np.zeros(max_depth + 1, np.int64)
    wanted = np.zeros(max_depth + 1, np.int64)
    counts = np.zeros(max_depth + 1, np.int64)
    values = np.zeros((max_depth + 1, MAX_ARGUMENTS), np.int64)
    wanted[0] = 1  # level 0 holds the value of the root
    level, length = 0, 0
    while True:
        if counts[level] == wanted[level]:
            if level == 0:
                return length, values[0, 0]
            value, token = evaluate(operators[level], values[level], counts[level]), CLOSE
            level -= 1
        elif level + 1 < max_depth and rng.random() < OPERATOR_PROBABILITY:
            value, token = -1, FIRST_OPERATOR + rng.integers(0, 4)
        else:
            value = rng.integers(0, 10)
            token = FIRST_DIGIT + value
        if length == len(tokens):
            return 0, 0
        tokens[length] = token
        length += 1
        if value >= 0:
            values[level, counts[level]] = value
            counts[level] += 1
        else:
            level += 1
            operators[level] = token - FIRST_OPERATOR
            wanted[level] = rng.integers(2, MAX_ARGUMENTS + 1)
            counts[level] = 0


@njit(cache=True)
def draw_accepted(rng, max_depth, min_length, tokens):  # type: ignore[no-untyped-def]
    """Draw until an expression has min_length .. len(tokens) tokens; (0, 0) if patience ends."""
    for _ in range(PATIENCE):
        length, value = draw_expression(rng, max_depth, tokens)
        if length >= min_length:
            return length, value
    return 0, 0
