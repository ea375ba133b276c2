"""What one launch of the corpus asks: operations over the same operands, and how they are judged."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

from ruda_core.capabilities import Requirement
from ruda_core.conformance.numbers.expected import Oracle
from ruda_core.conformance.numbers.values import Operands

CONTRACT_CONTROL = Requirement("flag", "contract_control")
FMA = Requirement("flag", "fma")

Shape = Literal["unary", "binary", "ternary", "columns"]


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation: the device's function and the host's."""

    name: str
    function: Any
    """What a kernel calls: an intrinsic or a `ruda.func`."""
    oracle: Oracle
    bound: float = 0.0
    """Largest error in ULP; 0: equal to the bit."""
    zero_signs: bool = True
    """Whether 0.0 and -0.0 differ."""
    only: frozenset[str] | None = None
    """Dtypes that have it; None: all of the battery's."""


@dataclass(frozen=True, slots=True, eq=False)
class Battery:
    """Operations that a kernel does together."""

    group: str
    """Heading of its rows."""
    shape: Shape
    dtypes: tuple[str, ...]
    operands: Callable[[str], Operands]
    """The operands for a dtype."""
    operations: tuple[Operation, ...]
    result: str | None = None
    """Dtype of the results; None: that of the operands."""
    contract: bool = True
    """False: the kernel forbids contraction to fma."""
    needs: Callable[[str], tuple[Requirement, ...]] = field(default=lambda dtype: ())
    """What a device must have beside the arithmetic of the dtype; without, refusing is right."""
    together: int = 12
    """Operations in one kernel."""
    suffix: str = ""
    """Text after each operation's name, such as a second operand's dtype."""

    def applicable(self, dtype: str) -> tuple[Operation, ...]:
        """The operations that `dtype` has."""
        return tuple(o for o in self.operations if o.only is None or dtype in o.only)
