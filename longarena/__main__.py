"""`python -m longarena` and the command `longarena`.

Ctrl-C ends with one line and no traceback from the first moment on, so the commands are imported
inside the function.
"""

import sys

STOPPED = 130


def main() -> None:
    """Run the command line."""
    try:
        from longarena.cli.main import main as run  # noqa: PLC0415
    except KeyboardInterrupt:
        sys.stderr.write("longarena: stopped before anything was done\n")
        # makes Python forget the interrupt; else it would end by the signal, not by the exit code
        exec("")
        sys.exit(STOPPED)
    run()


if __name__ == "__main__":
    main()
