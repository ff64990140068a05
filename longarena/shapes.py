"""Names of tensor shapes, so that a signature says what goes in and what comes out.

jaxtyping gives them meaning: `pytest` checks every annotated call, and in use they cost nothing.
`mask` is True at real tokens everywhere; an id of 0 is padding everywhere.
"""

from typing import TypeAlias

from jaxtyping import Bool, Float, Int
from torch import Tensor

Ids: TypeAlias = Int[Tensor, "batch length"]
Mask: TypeAlias = Bool[Tensor, "batch length"]
Tokens: TypeAlias = Float[Tensor, "batch length width"]
Heads: TypeAlias = Float[Tensor, "batch heads length size"]
# values may be of any size: a mixer's own, or unit vectors, which give its matrix
Values: TypeAlias = Float[Tensor, "batch heads length value_size"]
Matrix: TypeAlias = Float[Tensor, "batch heads length length"]

Pooled: TypeAlias = Float[Tensor, "batch width"]
Labels: TypeAlias = Int[Tensor, " batch"]
# an example may have two sequences, each of which is a row of the batch
Logits: TypeAlias = Float[Tensor, "examples classes"]
# what may follow after each position
TokenLogits: TypeAlias = Float[Tensor, "batch length vocabulary"]
# a task asks about one sequence or about a pair of them
SequenceIds: TypeAlias = Int[Tensor, "batch sequences length"]
PooledSequences: TypeAlias = Float[Tensor, "batch sequences width"]
