"""How translations are found: the width of the beam, and what length costs."""

from pydantic import Field

from longarena.options import Options


class Decoding(Options):
    """A beam of 1 is greedy; a `length_penalty` below 1 favours short translations.

    The defaults are those of the authors of the Lite Transformer on IWSLT'14 and of fairseq.
    """

    beam: int = Field(4, ge=1, le=100)
    length_penalty: float = Field(1.0, ge=0, le=10)


GREEDY = Decoding(beam=1)
