"""What tuning found, in memory and on disk. A record that cannot be read counts as none."""

from __future__ import annotations

import hashlib
import json
import time
from dataclasses import dataclass
from pathlib import Path

from ruda_core.cache import Cache, MemoryCache, open_cache
from ruda_core.tune.environment import RuntimeEnvironment


@dataclass(frozen=True, slots=True)
class Record:
    """The winner for one operation and key among these candidates."""

    winner: str
    candidates: tuple[str, ...]
    created: float
    """Seconds since the epoch."""


def record_key(environment: RuntimeEnvironment, operation: str, key: str) -> str:
    """Digest of all that a record depends on, save the candidates, which the record names."""
    parts = (environment.key, operation, key)
    return hashlib.sha256("".join(f"{len(p)}:{p}" for p in parts).encode()).hexdigest()


class Records:
    """Records by key: this process's, and those of a directory for environments that allow it."""

    def __init__(self, directory: Path | None) -> None:
        """`directory`: None keeps everything in memory."""
        self._disk: Cache = open_cache(directory) if directory is not None else MemoryCache()
        self._memory: dict[str, Record] = {}

    def find(
        self, key: str, candidates: tuple[str, ...], *, max_age: float, persistent: bool
    ) -> Record | None:
        """The record for exactly these candidates, if it is not older than `max_age` seconds."""
        record = self._memory.get(key) or (self._load(key) if persistent else None)
        if record is None or record.candidates != candidates or record.winner not in candidates:
            return None
        if not 0 <= time.time() - record.created <= max_age:
            return None
        self._memory[key] = record
        return record

    def keep(self, key: str, record: Record, *, persistent: bool) -> None:
        """Keep a record, on disk too where it holds for later processes."""
        self._memory[key] = record
        if persistent:
            row = {"winner": record.winner, "candidates": record.candidates, "created": record.created}
            self._disk.put(key, json.dumps(row).encode())

    def forget(self, key: str) -> bool:
        """Drop one record everywhere; True if there was one."""
        known = self._memory.pop(key, None) is not None
        if self._load(key) is not None:
            self._disk.put(key, b"null")
            known = True
        return known

    def clear(self) -> int:
        """Drop every record; gives how many there were on disk and only in memory."""
        count = max(len(self._memory), self._disk.clear())
        self._memory.clear()
        return count

    def _load(self, key: str) -> Record | None:
        data = self._disk.get(key)
        try:
            row = json.loads(data) if data else None
            return (
                Record(str(row["winner"]), tuple(map(str, row["candidates"])), float(row["created"]))
                if row
                else None
            )
        except (ValueError, TypeError, KeyError):  # written by another version
            return None
