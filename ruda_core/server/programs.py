"""Programs: compiled once a server, found in memory, then among bytes kept by someone else."""

from __future__ import annotations

import hashlib
import itertools
import threading
import time
from collections.abc import Callable
from typing import Any, Protocol

from ruda_core.artifact import KernelSource
from ruda_core.driver import Driver
from ruda_core.errors import BackendCompileError, RudaError


class CodeStore(Protocol):
    """Bytes by key that outlive the process; a damaged or missing entry is None, never an error."""

    def get(self, key: str) -> bytes | None: ...

    def put(self, key: str, data: bytes) -> None: ...


class Program:
    """A loaded kernel. Compared by identity: the driver's own object may not hash, or hash slowly."""

    __slots__ = ("native", "number", "source")

    def __init__(self, native: Any, source: KernelSource, number: int) -> None:
        self.native = native
        self.source = source
        self.number = number
        """What fault records call it."""

    def __repr__(self) -> str:
        return f"Program({self.source.location}, {self.source.mode})"


Compiled = Callable[[KernelSource, float], None]
"""`compiled(source, seconds)`: the target's compiler has run."""


class ProgramCache:
    """The programs of one server. Loading is slow and holds no lock but that of its own key."""

    def __init__(self, driver: Driver, store: CodeStore | None, compiled: Compiled | None) -> None:
        self._driver = driver
        self._store = store
        self._compiled = compiled
        self._lock = threading.Lock()
        self._gates: dict[str, threading.Lock] = {}
        self._programs: dict[str, Program] = {}
        self._by_number: dict[int, Program] = {}
        self._numbers = itertools.count(1)

    def load(self, source: KernelSource) -> Program:
        """The program of a source; the same one for the same digest. Raises BackendCompileError."""
        if not source.digest:
            return self._load(source)
        program = self._programs.get(source.digest)
        if program is not None:
            return program
        with self._lock:
            gate = self._gates.setdefault(source.digest, threading.Lock())
        with gate:
            program = self._programs.get(source.digest)
            if program is None:
                program = self._programs[source.digest] = self._load(source)
        return program

    def numbered(self, number: int) -> Program | None:
        """The program that fault records call `number`."""
        return self._by_number.get(number)

    def _load(self, source: KernelSource) -> Program:
        key = self._key(source)
        stored = self._store.get(key) if self._store is not None and key else None
        start = time.perf_counter()
        try:
            native = self._driver.load(source, stored)
        except RudaError:
            raise
        except Exception as error:
            raise BackendCompileError(
                f"{source.location}: {type(error).__name__}: {error}",
                log=str(error),
                source=source.text,
                file=source.file,
                line=source.line,
            ) from error
        if stored is None:
            self._keep(source, key, native, time.perf_counter() - start)
        program = Program(native, source, next(self._numbers))
        self._by_number[program.number] = program
        return program

    def _keep(self, source: KernelSource, key: str, native: Any, seconds: float) -> None:
        if self._store is not None and key:
            binary = self._driver.binary(native)
            if binary is not None:
                self._store.put(key, binary)
        if self._compiled is not None:
            self._compiled(source, seconds)

    def _key(self, source: KernelSource) -> str:
        """Digest of all that the binary depends on; empty where nothing may be kept."""
        if not source.digest:
            return ""
        properties = self._driver.properties
        parts = (source.digest, properties.fingerprint, properties.driver, type(self._driver).__qualname__)
        return hashlib.sha256("\0".join(parts).encode()).hexdigest()
