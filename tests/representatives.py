"""The mechanisms that stand for all where a test is dear; `make test-all` leaves none out.

One for each thing that processes and training could get wrong:

transformer        nothing of its own: the plain case
bigbird            blocks, and draws that stay
routing            state that moves without a gradient, and must agree between processes
compressive        a memory, and a loss of its own
lite-transformer   no Attention: a convolution beside it, and a feed-forward of another width
"""

import pytest

REPRESENTATIVES = ("transformer", "bigbird", "routing", "compressive", "lite-transformer")


def mark_others(values, representatives=REPRESENTATIVES):
    """Parametrise by mechanisms or others; all but the representatives wait for `make test-all`.

    A tuple is the values of several parameters.
    """
    return [
        value
        if value in representatives
        else pytest.param(
            *(value if isinstance(value, tuple) else [value]), marks=pytest.mark.everywhere
        )
        for value in values
    ]
