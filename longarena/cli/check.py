"""longarena check: whether a mixer keeps what every mixer promises."""

from typing import Annotated

import typer

from longarena.cli.output import AsJson, Assignments, Output, Quiet, Threads
from longarena.cli.stopping import when_stopped

BROKEN = 1


@when_stopped("nothing was written")
def check(
    mixer: Annotated[str, typer.Argument(help="A mixer, or your own as module:Class.")],
    assignments: Assignments = None,
    threads: Threads = None,
    quiet: Quiet = False,
    json: AsJson = False,
) -> None:
    """Try what every mixer promises: lengths, padding, causality, device, growth of cost."""
    from longarena.contract.check import PROMISES
    from longarena.contract.check import check as check_mixer
    from longarena.options import read_assignments
    from longarena.runtime import set_up

    out = Output(quiet, json)
    set_up(threads)
    options = read_assignments(assignments or [], section="model")
    found = []
    with out.progress.bar(f"checking {mixer}", len(PROMISES)) as bar:
        for outcome in check_mixer(mixer, options):
            found.append(outcome)
            bar.advance(1, outcome.promise)
    broken = [each for each in found if each.state == "broken"]
    out.result(
        {
            "mixer": mixer,
            "promises": [
                {"promise": each.promise, "state": each.state, "reason": each.reason}
                for each in found
            ],
        }
    )
    rows = [[each.promise, each.state, each.reason] for each in found]
    out.table(mixer, ["promise", "", "why"], rows)
    out.say(f"{mixer}: {len(broken)} of {len(found)} promises are broken")
    if broken:
        raise typer.Exit(BROKEN)
    out.next(f"longarena train listops {mixer}")
