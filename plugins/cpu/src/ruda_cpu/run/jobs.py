"""A launch that several threads may run."""

from __future__ import annotations

import ctypes
import struct
from typing import Any

from ruda_cpu.run.jit import Code
from ruda_cpu.words import JobWord

_WORD = struct.Struct("<Q")


class Job:
    """Compiled code, and the words of a launch of it. To enter it late, or twice, does no harm.

    It must stay while any thread may still look at it.
    """

    __slots__ = (
        "_code",
        "_groups",
        "_words",
        "address",
        "alone",
        "brief",
        "call",
        "deserted",
        "given",
        "held",
        "scratch_bytes",
        "seconds",
    )

    def __init__(
        self,
        code: Code,
        words: ctypes.Array[Any],
        groups: int,
        scratch_bytes: int,
        held: Any,
        *,
        alone: bool,
        brief: bool,
    ) -> None:
        self._code, self._words = code, words
        self.call = code.address
        self.address = ctypes.addressof(words)
        self._groups, self.scratch_bytes = groups, scratch_bytes
        self.held = held
        """What the words point to; nobody touches it once the job is complete."""
        self.alone = alone
        """True where one thread runs it."""
        self.brief = brief
        """True where who waits may lend a hand: compiled code hears of interrupts between chunks."""
        self.deserted = False
        """True once an interrupt has taken a waiter away from it."""
        self.given = False
        """True once a queue's thread has it."""
        self.seconds = 0.0
        """How long it took whoever waited; 0 where nobody lent a hand."""

    def word(self, which: JobWord) -> int:
        """The value of a word at the moment."""
        value: int = _WORD.unpack_from(self._words, 8 * which)[0]
        return value

    def complete(self) -> bool:
        """True once all groups are done."""
        return self.word(JobWord.DONE) == self._groups
