"""The one kind of error that is the user's to mend: a line that says what, why and the remedy.

The command line prints it without a traceback and ends with exit code 2.
"""

from collections.abc import Iterable
from difflib import get_close_matches

# a longer list is shown only when no name in it is near
LISTED = 20


class UserError(ValueError):
    """A mistake in what was asked for; the message is one line and names the remedy."""


class Busy(UserError):
    """Another process has what was asked for; it will be free when that one ends."""


def complete(kind: str, beginning: str, known: Iterable[str]) -> str:
    """Return the one name that begins so.

    >>> complete("run", "3f", ["3f07", "51aa"])
    '3f07'
    """
    names = sorted(known)
    found = [name for name in names if name.startswith(beginning)]
    if len(found) > 1:
        several = ", ".join(found)
        raise UserError(f"{beginning!r} begins several {kind}s: {several}; give more of the name")
    if not found:
        raise unknown(kind, beginning, names)
    return found[0]


def unknown(kind: str, name: str, known: Iterable[str]) -> UserError:
    """Describe a name that does not exist by the nearest ones that do.

    >>> print(unknown("task", "listop", ["listops", "text"]))
    unknown task 'listop'; did you mean listops? (known: listops, text)
    """
    names = sorted(known)
    near = get_close_matches(name, names, n=3, cutoff=0.5)
    parts = [f"did you mean {' or '.join(near)}?"] if near else []
    if not near or len(names) <= LISTED:
        parts.append(f"(known: {', '.join(names) or 'none'})")
    return UserError(f"unknown {kind} {name!r}; {' '.join(parts)}")
