"""The options that say where the runs of a sweep are done, and how they are kept there."""

from typing import TYPE_CHECKING, Annotated, Literal

import typer

from longarena.errors import UserError

if TYPE_CHECKING:
    from longarena.sweep.workplace import OpenCrew

KEEP_MINUTES = 1.0

Workers = Annotated[int | None, typer.Option(min=1, help="How many runs at a time.")]
RunThreads = Annotated[int | None, typer.Option(min=1, help="CPU threads for each run.")]
On = Annotated[Literal["local", "ray"], typer.Option(help="Where the work is done.")]
Address = Annotated[str, typer.Option(help="The Ray cluster, as HOST:PORT.")]
Storage = Annotated[
    str | None,
    typer.Option(
        metavar="FOLDER_OR_ADDRESS",
        help="With --on ray, keep checkpoints and data here (s3://... or what fsspec knows), "
        "and not on this machine.",
    ),
]
KeepEvery = Annotated[
    float | None,
    typer.Option(
        metavar="MINUTES",
        min=0,
        help="With --on ray, how often a run's checkpoint is kept for other machines.",
        show_default=f"{KEEP_MINUTES:g}",
    ),
]


def crew_of(
    on: Literal["local", "ray"],
    address: str,
    workers: int | None,
    threads: int | None,
    storage: str | None,
    keep_every: float | None,
) -> "OpenCrew":
    """Choose the crew that the options ask for."""
    from longarena.sweep import local, on_ray

    if on == "ray":
        minutes = KEEP_MINUTES if keep_every is None else keep_every
        return on_ray(address, threads or 1, storage, minutes)
    for option, value in (("--storage", storage), ("--keep-every", keep_every)):
        if value is not None:
            raise UserError(f"{option} belongs to --on ray; runs on this machine keep themselves")
    return local(workers, threads)
