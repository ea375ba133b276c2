"""Tables and JSON on standard output."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any


def print_json(value: Any) -> None:
    """One JSON value, indented."""
    print(json.dumps(value, indent=2, default=str))


def print_table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """A table with a row of headings; its last column takes the room that is left."""
    from rich.console import Console  # only where a table is printed
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="bold")
    for number, column in enumerate(columns):
        last = number == len(columns) - 1
        table.add_column(column, overflow="fold", no_wrap=not last, ratio=1 if last else None)
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    Console(soft_wrap=False).print(table)
