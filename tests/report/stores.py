"""A store made by hand, with names that every language would misread."""

from report.examples import measure_record, run_record

from longarena.records.folder import write_record
from longarena.records.record import Cost

HTML = "my_own:Mixer<b>50%&|"
ACCURACIES = {"transformer": (0.36, 0.38), "linear": (0.31, 0.30), HTML: (0.33, 0.34)}
SPEEDS = {
    ("transformer", 1024): 4.0,
    ("transformer", 4096): 0.5,
    ("linear", 1024): 5.0,
    ("linear", 4096): 1.25,
    (HTML, 1024): 3.0,
    (HTML, 4096): None,
}
PEAKS = {"transformer": 2**29, "linear": 2**27, HTML: 2**28}


def runs():
    return [
        run_record(mixer, seed=seed, accuracy=accuracy)
        for mixer, found in ACCURACIES.items()
        for seed, accuracy in enumerate(found)
    ]


def measurements():
    return [
        measure_record(mixer, length, speed, PEAKS[mixer] * length // 1024, cost=cost(length))
        for (mixer, length), speed in SPEEDS.items()
    ]


def cost(length):
    """Mult-Adds of a mixer that grows with the square of the length."""
    return Cost(
        parameters=80_000,
        attention=float(length),
        convolution=0.0,
        feed_forward=2000.0,
        head_and_embedding=10.0,
        training_step=3.0 * length,
        activation_bytes=1000 * length,
    )


def write_store(folder):
    for record in [*runs(), *measurements()]:
        write_record(folder, record)
    return folder
