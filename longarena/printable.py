"""What may reach a terminal: text, not what steers it."""

import unicodedata


def printable(text: str) -> str:
    r"""Replace what could steer a terminal; names, records and models may hold anything.

    >>> printable("one\n\x1b[2J")
    'one\n�[2J'
    """
    return text if text.isprintable() else "".join(c if _is_plain(c) else "\ufffd" for c in text)


def _is_plain(character: str) -> bool:
    # there are spaces that Python does not call printable
    is_space = character in "\n\t" or unicodedata.category(character) == "Zs"
    return is_space or character.isprintable()
