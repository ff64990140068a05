"""`python -m longarena` is the command line."""

from longarena.cli.main import main

main()
