"""The commands, and the manners: a user's mistake is one line and exit code 2."""

import sys
from typing import Annotated

import typer

from longarena.cli import data, show, store
from longarena.cli.check import check
from longarena.cli.choose import choose
from longarena.cli.compare import compare
from longarena.cli.draw import draw
from longarena.cli.evaluate import evaluate
from longarena.cli.export import export, fill
from longarena.cli.extend import extend
from longarena.cli.generate import generate
from longarena.cli.lists import list_
from longarena.cli.measure import measure
from longarena.cli.predict import predict
from longarena.cli.report import report
from longarena.cli.span import span
from longarena.cli.stopping import was_interrupted
from longarena.cli.sweep import sweep
from longarena.cli.tour import tour
from longarena.cli.train import train
from longarena.cli.translate import translate
from longarena.errors import UserError
from longarena.printable import printable
from longarena.training.stop import Interrupted

USER_MISTAKE, STOPPED = 2, 130

app = typer.Typer(
    name="longarena",
    help="The Long Range Arena for efficient Transformers: train, measure, compare.",
    no_args_is_help=True,
    # boxes around the help would cost as much time as all the rest of it
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


def _print_version(is_asked: bool) -> None:
    if is_asked:
        from longarena.version import __version__

        sys.stdout.write(f"longarena {__version__}\n")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option(
            "--version", help="Print the version and end.", callback=_print_version, is_eager=True
        ),
    ] = False,
) -> None:
    """Take what stands before the command."""


app.command("list")(list_)
app.add_typer(data.app, name="data")
app.add_typer(show.app, name="show")
app.add_typer(store.app, name="store")
for command in (
    *(train, extend, evaluate, predict, generate, translate, sweep, choose, compare),
    *(measure, span, draw, check),
    *(report, export, fill, tour),
):
    app.command()(command)

# the command line's own complaints: a missing argument, an unknown option
_UsageError: type[Exception] = typer.BadParameter.__mro__[1]


def main() -> None:
    """Run a command; end with one line where the user can mend it."""
    try:
        code = app(standalone_mode=False)
    except (UserError, _UsageError) as error:
        _end(_one_line(error), USER_MISTAKE)
    except OSError as error:
        _end(f"{error.strerror or error}: {error.filename or ''}".rstrip(": "), USER_MISTAKE)
    except Interrupted as stop:
        _end(str(stop), STOPPED)
    except (KeyboardInterrupt, typer.Abort):
        _end("stopped", STOPPED)
    except Exception as error:
        if not was_interrupted(error):
            raise
        _end("stopped", STOPPED)
    if code == STOPPED:
        _end("stopped", STOPPED)
    sys.exit(code if isinstance(code, int) else 0)


def _one_line(error: Exception) -> str:
    describe = getattr(error, "format_message", error.__str__)
    return " ".join(describe().split())


def _end(line: str, code: int) -> None:
    sys.stderr.write(f"longarena: {printable(line)}\n")
    # Python remembers a KeyboardInterrupt that went through an exec (a dataclass is made by one)
    # and would end by the signal instead of by the code; the next exec makes it forget
    exec("")
    sys.exit(code)
