"""What it costs: time, memory and operations of any mechanism, on the machine at hand.

measure(["transformer", "linear"], lengths=(1024, 2048), store=Path("runs/records"))
"""

from longarena.measure.session import measure
from longarena.measure.work import SHAPES, Shape

__all__ = ["SHAPES", "Shape", "measure"]
