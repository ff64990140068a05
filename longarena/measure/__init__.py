"""What it costs: time, memory and operations of any mechanism, on the machine at hand.

measure(["transformer", "linear"], lengths=(1024, 2048), store=Path("runs/records"))
measure_generation(["linear"], contexts=(256, 4096), store=Path("runs/records"))
count(["transformer", "linear"], lengths=(1024, 2048))   the operations alone, without a clock
count_recipes([recipe])                                  the same for whole recipes
"""

from longarena.measure.counting import count, count_recipes
from longarena.measure.session import measure, measure_generation
from longarena.measure.speed import StoppingRule
from longarena.measure.work import SHAPES, Shape

__all__ = [
    "SHAPES",
    "Shape",
    "StoppingRule",
    "count",
    "count_recipes",
    "measure",
    "measure_generation",
]
