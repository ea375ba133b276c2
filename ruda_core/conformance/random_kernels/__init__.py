"""Random kernels: valid programs of the language from a seed, as source text.

The programs are closed under the language's own rules (typed expressions, bounded loops, barriers only
where all units pass) and use only operations whose result is defined to the bit, so that any difference
between two devices is a fault of one of them. Left out, because the bits are open: the payload and sign of
NaN, which of two zeros `min` gives, the order of a float sum over a vector.
"""

from __future__ import annotations

from ruda_core.conformance.random_kernels.generator import ATOMICS, Generator, RandomKernel

__all__ = ["ATOMICS", "Generator", "RandomKernel"]
