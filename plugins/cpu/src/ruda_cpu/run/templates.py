"""Templates of LLVM's text, and the parts that stand in several."""

from __future__ import annotations

import enum
import time

from ruda_cpu.target import PAUSE

PAUSING = f"call void @{PAUSE[0]}({', '.join(f'{t} {v}' for t, v in PAUSE[1:])})" if PAUSE else ""
"""How a thread that looks again and again leaves the processor to others, and the declaration for it."""
PAUSE_DECLARED = f"declare void @{PAUSE[0]}({', '.join(t for t, _ in PAUSE[1:])})" if PAUSE else ""


def words_of(base: str, words: type[enum.IntEnum]) -> str:
    """Pointers to words, named after them."""
    return "\n  ".join(f"%{base}.{w.name} = getelementptr i64, ptr %{base}, i64 {w.value}" for w in words)


def time_of(clock: str, name: str) -> str:
    """Nanoseconds of the clock, as `%name`; 0 without one."""
    if not clock:
        return f"%{name} = add i64 0, 0"
    return f"""%{name}.known = call i32 {clock}(i32 {time.CLOCK_MONOTONIC}, ptr %clock)
  %{name}.s = load i64, ptr %clock
  %{name}.at = getelementptr i64, ptr %clock, i64 1
  %{name}.n = load i64, ptr %{name}.at
  %{name}.m = mul i64 %{name}.s, 1000000000
  %{name} = add i64 %{name}.m, %{name}.n"""


def passed(clock: str, name: str, nanoseconds: int) -> str:
    """Whether so much time has passed since `%a`, as `%name`; always, without a clock."""
    if not clock:
        return f"%{name} = icmp eq i64 0, 0"
    return f"""{time_of(clock, f"{name}.now")}
  %{name}.for = sub i64 %{name}.now, %a
  %{name} = icmp uge i64 %{name}.for, {nanoseconds}"""


def filled(template: str, parts: dict[str, str]) -> str:
    """The text of a template: `<name>` stands for the part of that name."""
    for name, part in parts.items():
        template = template.replace(f"<{name}>", part)
    return template
