"""Names and defaults that the help shows, written down so that it need not import their owners.

What a command does comes from the library alone; `tests/cli/test_help.py` compares the two.
"""

FORMATS = ("latex", "markdown", "csv", "svg", "png", "pdf")

SHAPES = ("text", "small")
LENGTHS = (1024, 2048, 3072, 4096)
CONTEXTS = (256, 1024, 4096, 16_384)
BATCH_SIZE = 4
SPAN_SAMPLES = 1000

PICTURE_LENGTH, PICTURE_HEADS = 64, 4
