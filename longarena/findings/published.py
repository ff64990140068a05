"""The numbers of the papers as they were printed, each with its source.

They were obtained with other code, data details, sizes and machines than the records of this
project, so they are kept apart: our numbers are compared with our numbers.

Choice: averages are computed, because there are two rules and one printed average is wrong. The
        paper leaves Path-X out; later papers count a failure there as 50 %, which is chance.
Choice: `recalled` marks numbers that are quoted from memory and could not be checked.
"""

from dataclasses import dataclass
from statistics import fmean
from typing import Literal

# presets that train a published model in full, on the data of the papers
PRESETS = ("small", "paper", "own")
TASKS = ("listops", "text", "retrieval", "image", "pathfinder", "path-x")
CHANCE_ON_PATH_X = 50.0
COST_LENGTHS = (1024, 2048, 3072, 4096)

# a percentage, a failure to beat chance, or a number that nobody printed
Accuracy = float | Literal["fail"] | None


@dataclass(frozen=True)
class PublishedScores:
    """One system's accuracies in the order of `TASKS`, and the average printed with them."""

    system: str
    accuracies: tuple[Accuracy, ...]
    printed_average: float | None = None
    note: str = ""

    @property
    def average(self) -> float | None:
        """The average without Path-X; None where one of the five is missing."""
        numbers = [accuracy for accuracy in self.accuracies[:5] if isinstance(accuracy, float)]
        return fmean(numbers) if len(numbers) == 5 else None

    @property
    def average_with_path_x(self) -> float | None:
        """The average of all six, a failure on Path-X counted as chance."""
        path_x = self.accuracies[5] if len(self.accuracies) == 6 else None
        if self.average is None or path_x is None:
            return None
        return (5 * self.average + (CHANCE_ON_PATH_X if path_x == "fail" else path_x)) / 6


@dataclass(frozen=True)
class PublishedTable:
    """Systems that were reported together."""

    title: str
    source: str
    address: str
    rows: tuple[PublishedScores, ...]
    short: str = ""
    recalled: bool = False
    note: str = ""


@dataclass(frozen=True)
class PublishedCost:
    """One system's training steps per second and peak gigabytes at each of `COST_LENGTHS`."""

    system: str
    steps_per_second: tuple[float, ...]
    gigabytes: tuple[float, ...]

    def ratio_to(self, base: "PublishedCost", length: int) -> "PublishedRatio | None":
        """Divide by another system at one length; None at a length that was not printed."""
        if length not in COST_LENGTHS:
            return None
        at = COST_LENGTHS.index(length)
        return PublishedRatio(
            self.system,
            self.steps_per_second[at] / base.steps_per_second[at],
            self.gigabytes[at] / base.gigabytes[at],
        )


@dataclass(frozen=True)
class PublishedRatio:
    """One system's speed and memory on Text, each divided by the Transformer's."""

    system: str
    speed: float
    memory: float


def _paper(system: str, *five: float, printed: float, note: str = "") -> PublishedScores:
    return PublishedScores(system, (*five, "fail"), printed, note)


PAPER = PublishedTable(
    title="Long Range Arena (2021)",
    source="Tay et al., the table of the paper and of the leaderboard",
    address="https://arxiv.org/abs/2011.04006",
    short="paper",
    note="Last row of the paper, mean (standard deviation) over systems: ListOps 29 (9.7), "
    "Text 61 (4.6), Retrieval 55 (2.6), Image 41 (1.8), Pathfinder 72 (3.7), average 52 (2.4).",
    rows=(
        _paper("Transformer", 36.37, 64.27, 57.46, 42.44, 71.40, printed=54.39),
        _paper("Local Attention", 15.82, 52.98, 53.39, 41.46, 66.63, printed=46.06),
        _paper("Sparse Transformer", 17.07, 63.58, 59.59, 44.24, 71.71, printed=51.24),
        _paper("Longformer", 35.63, 62.85, 56.89, 42.22, 69.71, printed=53.46),
        _paper("Linformer", 35.70, 53.94, 52.27, 38.56, 76.34, printed=51.36),
        _paper("Reformer", 37.27, 56.10, 53.40, 38.07, 68.50, printed=50.67),
        _paper(
            *("Sinkhorn Transformer", 33.67, 61.20, 53.83, 41.23, 67.45),
            printed=51.29,
            note="51.39 in some copies; its five numbers average 51.48",
        ),
        _paper("Synthesizer", 36.99, 61.68, 54.67, 41.61, 69.45, printed=52.88),
        _paper("BigBird", 36.05, 64.02, 59.29, 40.83, 74.87, printed=55.01),
        _paper("Linear Transformer", 16.13, 65.90, 53.09, 42.34, 75.30, printed=50.55),
        _paper("Performer", 18.01, 65.40, 53.82, 42.77, 77.05, printed=51.41),
    ),
)

EXTERNAL = PublishedTable(
    title="Sent in to the leaderboard",
    source="README of the official repository, rows that others contributed",
    address="https://github.com/google-research/long-range-arena",
    rows=(
        PublishedScores("IGLOO", (39.23, 82.0, 75.5, 47.0, 67.50, None)),
        PublishedScores("TLB", (37.05, 81.88, 76.91, 57.51, 79.06, None)),
    ),
)

NYSTROMFORMER = PublishedTable(
    title="Nyströmformer's re-run in PyTorch (2021)",
    source="Xiong et al., a small model of two layers of width 64",
    address="https://arxiv.org/abs/2102.03902",
    short="re-run",
    recalled=True,
    note="Its Retrieval numbers are about 20 points above the paper's; nobody has explained why.",
    rows=(
        PublishedScores("Transformer", (37.10, 65.02, 79.35, 38.20, 74.16, None), 58.77),
        PublishedScores("Nyströmformer", (37.15, 65.52, 79.56, 41.58, 70.94, None), 58.95),
        PublishedScores("Reformer", (19.05, 64.88, 78.64, 43.29, 69.36, None)),
        PublishedScores("Linformer", (37.25, 55.91, 79.37, 37.84, 67.60, None)),
        PublishedScores("Performer", (18.80, 63.81, 78.62, 37.07, 69.87, None)),
    ),
)

SKYFORMER = PublishedTable(
    title="Skyformer's re-run in PyTorch, quoted with PolaFormer (2025)",
    source="README of PolaFormer's repository (Meng et al.), without its rows of the first paper",
    address="https://github.com/ZacharyMeng/PolaFormer",
    note="The re-run is that of Chen et al. (2021), https://arxiv.org/abs/2111.00035; cosFormer, "
    "Hedgehog and PolaFormer were added to it.",
    rows=(
        PublishedScores("Transformer", (38.71, 61.55, 80.93, 39.14, 70.39, None), 58.14),
        PublishedScores("Informer", (37.05, 62.13, 79.35, 37.86, 56.44, None), 54.57),
        PublishedScores("Linformer", (36.44, 57.29, 77.85, 38.43, 65.39, None), 55.08),
        PublishedScores("Kernelized Attention", (38.46, 60.02, 82.11, 32.63, 69.86, None), 56.62),
        PublishedScores("cosFormer", (37.2, 63.54, 80.28, 35.84, 70.00, None), 57.37),
        PublishedScores("Nyströmformer", (37.95, 62.36, 80.89, 38.94, 69.34, None), 57.90),
        PublishedScores("Skyformer", (38.69, 64.70, 82.06, 40.77, 70.73, None), 59.39),
        PublishedScores("Hedgehog", (37.15, 64.60, 82.24, 40.15, 74.16, None), 59.66),
        PublishedScores("PolaFormer", (37.35, 73.06, 80.50, 42.15, 70.53, None), 60.72),
    ),
)

MEGA = "Mega, arXiv 2209.10655, table 2"
LION = "LION paper, table 7"
METALA = "MetaLA, arXiv 2411.10741, table 7"
MAMBA360 = "README of github.com/badripatro/mamba360, compiled from the HGRN and S5 papers"
LATER = PublishedTable(
    title="Later systems",
    source="read in the places named in the rows of Later systems",
    address="https://arxiv.org/abs/2209.10655",
    short="theirs",
    rows=(
        PublishedScores("Transformer", (37.11, 65.21, 79.14, 42.94, 71.83, "fail"), 59.24, MEGA),
        PublishedScores("Luna-256", (37.98, 65.78, 79.56, 47.86, 78.55, "fail"), 61.95, MEGA),
        PublishedScores(
            "Luna-256, its authors", (37.25, 64.57, 79.29, 47.38, 77.72, "fail"), note=MAMBA360
        ),
        PublishedScores("S4 v1", (58.35, 76.02, 87.09, 87.26, 86.05, 88.10), 80.48, MEGA),
        PublishedScores("S4 v2", (59.60, 86.82, 90.90, 88.65, 94.20, 96.35), 86.09, MEGA),
        PublishedScores("Mega", (63.14, 90.43, 91.25, 90.44, 96.01, 97.98), 88.21, MEGA),
        PublishedScores("Mega-chunk", (58.76, 90.19, 90.97, 85.80, 94.41, 93.81), 85.66, MEGA),
        PublishedScores("S5", (62.15, 89.31, 91.40, 88.00, 95.33, 98.58), 87.46, LION),
        PublishedScores("DSS", (57.6, 76.6, 87.6, 85.8, 84.1, 85.0), 79.45, LION),
        PublishedScores("DSS-softmax", (60.6, 84.8, 87.8, 85.7, 84.6, 87.8), 81.88, METALA),
        PublishedScores("FNet", (35.33, 65.11, 59.61, 38.67, 77.80, "fail"), 55.30, LION),
        PublishedScores("Nyströmformer", (37.15, 65.52, 79.56, 41.58, 70.94, "fail"), 58.95, LION),
        PublishedScores(
            "H-Transformer-1D", (49.53, 78.69, 63.99, 46.05, 68.78, "fail"), 61.41, LION
        ),
        PublishedScores(
            *("LRU", (60.2, 89.4, 89.9, 89.0, 95.1, 94.2), 86.3),
            "LRU paper, table 3; its images are coloured",
        ),
        PublishedScores("S4D-LegS", (60.47, 86.18, 89.46, 88.19, 93.06, 91.95), 84.89, MAMBA360),
        PublishedScores("Liquid-S4", (62.75, 89.02, 91.20, 89.50, 94.80, 96.66), 87.32, MAMBA360),
        PublishedScores("SGConv", (61.45, 89.20, 91.11, 87.97, 95.46, 97.83), 87.17, METALA),
        PublishedScores("TNN", (61.04, 87.90, 90.97, 88.24, 93.00, 96.10), 86.21, METALA),
        PublishedScores("HGRN", (59.95, 88.14, 94.23, 88.69, 92.92, 97.50), 86.91, METALA),
        PublishedScores("MetaLA", (59.34, 89.27, 91.28, 91.88, 91.66, 96.57), 86.67, METALA),
        PublishedScores(
            *("ChordMixer", (59.89, 88.87, 90.38, 89.95, 96.67, 98.63)),
            note="README of github.com/RuslanKhalitov/ChordMixer",
        ),
        PublishedScores(
            *("cosFormer", (36.50, 67.70, 83.15, 51.23, 71.96, None)),
            note=f"{MAMBA360}; its average there, 51.76, counts Path-X as 0",
        ),
        PublishedScores(
            *("LION-S", (62.25, 88.10, 90.35, 86.14, 91.30, 97.99)),
            note=f"{LION}; started with a long memory",
        ),
        PublishedScores(
            *("LION-S, started without", (36.34, 60.87, 55.0, 42.6, 74.2, "fail")), note=LION
        ),
        PublishedScores(
            *("Mamba, quoted by LION", (32.5, None, 90.2, 68.9, 99.2, None)),
            note=f"{LION}; not the numbers in MetaLA's table",
        ),
        PublishedScores(
            "Mamba, in MetaLA", (38.02, 82.98, 72.14, 69.82, 69.26, 67.32), 66.59, METALA
        ),
        PublishedScores(
            "xLSTM", (41.1, None, 90.6, 69.5, 91.9, None), note=f"quoted by the {LION}"
        ),
        PublishedScores(
            *("S4 repository", (59.5, 86.5, 91.0, 88.5, 94.0, 96.0)),
            note="the sanity table of github.com/state-spaces/s4",
        ),
        PublishedScores("S4D, tuned frequency bias", (), 88.26, "abstract, ICLR 2025"),
        PublishedScores("Rotary Transformer, self-pretrained", (), 86.2, "arXiv 2310.02980"),
    ),
)

TABLES = (PAPER, EXTERNAL, NYSTROMFORMER, SKYFORMER, LATER)

# what the paper calls the mechanisms of this project
SYSTEMS = {
    "transformer": "Transformer",
    "local": "Local Attention",
    "sparse": "Sparse Transformer",
    "longformer": "Longformer",
    "linformer": "Linformer",
    "reformer": "Reformer",
    "sinkhorn": "Sinkhorn Transformer",
    "synthesizer": "Synthesizer",
    "bigbird": "BigBird",
    "linear": "Linear Transformer",
    "performer": "Performer",
}
# and what later papers call theirs
LATER_SYSTEMS = {
    "s4d": "S4D-LegS",
    "s5": "S5",
    "lru": "LRU",
    "mega": "Mega",
    "nystrom": "Nyströmformer",
    "luna": "Luna-256",
    "fnet": "FNet",
    "h-transformer": "H-Transformer-1D",
    "cosformer": "cosFormer",
}


def accuracy(table: PublishedTable, mixer: str, task: str) -> Accuracy:
    """Look up what a table printed for a mechanism on a task; None if it has no such number."""
    rows = {row.system: row.accuracies for row in table.rows}
    found = rows.get((SYSTEMS | LATER_SYSTEMS).get(mixer, ""), ())
    return found[TASKS.index(task)] if found and task in TASKS else None


def best_accuracy(table: PublishedTable, task: str) -> float | None:
    """Return the highest number that a table printed for a task, whatever the mechanism."""
    found = [row.accuracies[TASKS.index(task)] for row in table.rows if row.accuracies]
    return max((each for each in found if isinstance(each, float)), default=None)


COST_SOURCE = (
    "Tay et al. (2021), quoted from memory: byte-level Text, batch 32 on 16 TPU v3 chips; peak "
    "memory per device. Longformer and Sparse were not timed"
)
PAPER_COSTS = (
    PublishedCost("Transformer", (8.1, 4.9, 2.3, 1.4), (0.85, 2.65, 5.51, 9.48)),
    PublishedCost("Local Attention", (9.2, 8.4, 7.4, 7.4), (0.42, 0.76, 1.06, 1.37)),
    PublishedCost("Linformer", (9.3, 9.1, 8.5, 7.7), (0.37, 0.55, 0.99, 0.99)),
    PublishedCost("Reformer", (4.4, 2.2, 1.5, 1.1), (0.48, 0.99, 1.53, 2.28)),
    PublishedCost("Sinkhorn Transformer", (9.1, 7.9, 6.6, 5.3), (0.47, 0.83, 1.13, 1.48)),
    PublishedCost("Synthesizer", (8.7, 5.7, 6.6, 1.9), (0.65, 1.98, 4.09, 6.99)),
    PublishedCost("BigBird", (7.4, 3.9, 2.7, 1.5), (0.77, 1.49, 2.18, 2.88)),
    PublishedCost("Linear Transformer", (9.1, 9.3, 8.6, 7.8), (0.37, 0.57, 0.80, 1.03)),
    PublishedCost("Performer", (9.5, 9.4, 8.7, 8.0), (0.37, 0.59, 0.82, 1.06)),
)


def cost_ratio(mixer: str, length: int) -> PublishedRatio | None:
    """Return the paper's ratios to its own Transformer; None for what it did not time."""
    rows = {row.system: row for row in PAPER_COSTS}
    found = rows.get(SYSTEMS.get(mixer, ""))
    return found.ratio_to(rows["Transformer"], length) if found else None


@dataclass(frozen=True)
class PublishedBits:
    """One language model's bits per byte of a test split, and its millions of parameters."""

    system: str
    millions: float | None
    bits: float
    source: str


DEEPER, XL = "arXiv 1808.04444", "arXiv 1901.02860"
SPAN, LONGFORMER = "arXiv 1905.07799", "arXiv 2004.05150"
BITS_TITLE = "enwik8"
BITS_SOURCE = (
    "Test bits per byte of the last five million bytes; context and overlap of the evaluation "
    "differ from paper to paper"
)
ENWIK8_BITS = (
    PublishedBits("Transformer, 12 layers", 44, 1.11, DEEPER),
    PublishedBits("Transformer, 64 layers", 235, 1.06, DEEPER),
    PublishedBits("Transformer-XL, 12 layers", 41, 1.06, XL),
    PublishedBits("Transformer-XL, 18 layers", 88, 1.03, XL),
    PublishedBits("Transformer-XL, 24 layers", 277, 0.99, XL),
    PublishedBits("Adaptive span, small", 38, 1.02, SPAN),
    PublishedBits("Adaptive span, large", 209, 0.98, SPAN),
    PublishedBits("All-attention", 39, 1.01, "arXiv 1907.01470"),
    PublishedBits("Sparse Transformer, 30 layers", 95, 0.99, "arXiv 1904.10509"),
    PublishedBits("Reformer, 12 layers", None, 1.05, "arXiv 2001.04451, longer tuned run"),
    PublishedBits("Compressive Transformer, 24 layers", 277, 0.97, "arXiv 1911.05507"),
    PublishedBits("Longformer, small", 41, 1.00, LONGFORMER),
    PublishedBits("Longformer, large", 102, 0.99, LONGFORMER),
    PublishedBits("SHA-LSTM", 63, 1.07, "arXiv 1911.11423"),
    PublishedBits("AWD-LSTM", 47, 1.23, "arXiv 1803.08240"),
)


RATIO_SOURCE = f"{MEGA}: Text at 4K, relative to the Transformer"
LATER_RATIOS = (
    PublishedRatio("Reformer", 0.8, 0.24),
    PublishedRatio("BigBird", 1.1, 0.30),
    PublishedRatio("Mega", 2.9, 0.31),
    PublishedRatio("S4", 4.8, 0.14),
    PublishedRatio("Luna-256", 4.9, 0.16),
    PublishedRatio("Linformer", 5.5, 0.10),
    PublishedRatio("Mega-chunk", 5.5, 0.13),
    PublishedRatio("Performer", 5.7, 0.11),
)
