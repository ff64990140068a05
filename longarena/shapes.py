"""Names of tensor shapes, so that a signature says what goes in and what comes out.

jaxtyping gives them meaning: `pytest` checks every annotated call, in use they cost nothing.
`mask` is True at real tokens everywhere; an id of 0 is padding everywhere.
"""

from typing import TypeAlias

from jaxtyping import Bool, Float, Int
from torch import Tensor

Ids: TypeAlias = Int[Tensor, "batch length"]
Mask: TypeAlias = Bool[Tensor, "batch length"]
Tokens: TypeAlias = Float[Tensor, "batch length width"]
Heads: TypeAlias = Float[Tensor, "batch heads length size"]
# the values that a mixer spreads may be of any size: its own, or unit vectors for its matrix
Values: TypeAlias = Float[Tensor, "batch heads length value_size"]
Matrix: TypeAlias = Float[Tensor, "batch heads length length"]

Pooled: TypeAlias = Float[Tensor, "batch width"]
Labels: TypeAlias = Int[Tensor, " batch"]
Logits: TypeAlias = Float[Tensor, "batch classes"]
# a task asks about one sequence or about a pair of them
SequenceIds: TypeAlias = Int[Tensor, "batch sequences length"]
PooledSequences: TypeAlias = Float[Tensor, "batch sequences width"]
