"""The one kind of error that a user can mend: one line that says what is wrong and what to do.

The command line prints it without a traceback and ends with exit code 2.
"""

from collections.abc import Iterable
from difflib import get_close_matches

# a longer list is shown only when none of its names is near
LISTED = 20
MOST_LISTED = 100
MOST_COMPARED = 1000


class UserError(ValueError):
    """A mistake in what was asked for; the message is one line and names the remedy."""


class MixerError(UserError):
    """A mistake in a mixer of the user's own; its cause is the error that the mixer raised."""


class Busy(UserError):
    """Another process is using what was asked for; it will be free when that process ends."""


def complete(kind: str, beginning: str, known: Iterable[str]) -> str:
    """Return the one name that begins with `beginning`.

    >>> complete("run", "3f", ["3f07", "51aa"])
    '3f07'
    """
    names = sorted(known)
    found = [name for name in names if name.startswith(beginning)]
    if len(found) > 1:
        several = ", ".join(found[:LISTED]) + (", ..." if len(found) > LISTED else "")
        raise UserError(f"{beginning!r} begins several {kind}s: {several}; give more of the name")
    if not found:
        raise unknown(kind, beginning, names)
    return found[0]


def unknown(kind: str, name: str, known: Iterable[str]) -> UserError:
    """Make the error for a name that does not exist, with the nearest names that do.

    >>> print(unknown("task", "listop", ["listops", "text"]))
    unknown task 'listop'; did you mean listops? (known: listops, text)
    """
    names = sorted(known)
    # nobody mistypes one of thousands of ids so that the nearest is the one that was meant
    near = get_close_matches(name, names, n=3, cutoff=0.5) if len(names) <= MOST_COMPARED else []
    parts = [f"did you mean {' or '.join(near)}?"] if near else []
    if not near or len(names) <= LISTED:
        more = f", and {len(names) - MOST_LISTED:,} more" if len(names) > MOST_LISTED else ""
        parts.append(f"(known: {', '.join(names[:MOST_LISTED]) or 'none'}{more})")
    return UserError(f"unknown {kind} {name!r}; {' '.join(parts)}")
