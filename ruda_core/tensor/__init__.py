"""RudaTensor, and the small records that name storage in calls."""

from __future__ import annotations

from ruda_core.tensor.arguments import ArrayArg, CopyDescriptor, TensorArg, TensorLayout
from ruda_core.tensor.elements import alignment_of, element_type, host_dtype, host_elements, placed
from ruda_core.tensor.shapes import shape_of
from ruda_core.tensor.tensor import RudaTensor

__all__ = [
    "ArrayArg",
    "CopyDescriptor",
    "RudaTensor",
    "TensorArg",
    "TensorLayout",
    "alignment_of",
    "element_type",
    "host_dtype",
    "host_elements",
    "placed",
    "shape_of",
]
