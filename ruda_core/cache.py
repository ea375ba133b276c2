"""Keyed bytes on disk. A cache never decides whether work can be done.

Entries are written aside and renamed, and each begins with a digest over its key and bytes that
is checked when it is loaded: a damaged or foreign entry is a miss. The directory is private to the
user; one that is not, or that cannot be used, is left alone (one warning names it) and the bytes
are kept in this process's memory only.
"""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import os
import stat
import threading
import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from ruda_core.settings import in_use

_MAGIC = b"RUDACACHE1\n"
_HEADER = len(_MAGIC) + 32
_STALE_SECONDS = 3600.0
"""Age after which a file that was never renamed is a leftover of a process that died."""

DEFAULT_LIMIT = 1 << 30
"""Bytes that a cache may hold on disk."""
MEMORY_LIMIT = 64 << 20
"""Bytes that a cache without a directory keeps."""


class ByteStore(Protocol):
    """What the compiler, the servers and the tuner ask of a cache."""

    def get(self, key: str) -> bytes | None:
        """The bytes put under `key`, or None. Never raises for a store that cannot be used."""

    def put(self, key: str, data: bytes) -> None:
        """Keep `data` under `key`, over what was there. Never raises for a store that cannot be used."""


@dataclass(frozen=True, slots=True)
class CacheUsage:
    """What a cache holds."""

    path: Path | None
    """None: this process's memory only."""
    entries: int
    nbytes: int
    limit: int
    reason: str = ""
    """Why there is no directory."""


class MemoryCache:
    """The same for this process only; the oldest entries go when it is full."""

    def __init__(self, limit: int = MEMORY_LIMIT, reason: str = "") -> None:
        self._limit = limit
        self._reason = reason
        self._lock = threading.Lock()
        self._entries: dict[str, bytes] = {}
        self._nbytes = 0

    def get(self, key: str) -> bytes | None:
        """The bytes put under `key`, or None."""
        return self._entries.get(key)

    def put(self, key: str, data: bytes) -> None:
        """Keep `data` under `key`; an entry over the limit is not kept."""
        if len(data) > self._limit:
            return
        with self._lock:
            self._nbytes -= len(self._entries.pop(key, b""))
            while self._entries and self._nbytes + len(data) > self._limit:
                self._nbytes -= len(self._entries.pop(next(iter(self._entries))))
            self._entries[key] = bytes(data)
            self._nbytes += len(data)

    def clear(self) -> int:
        """Forget everything; gives the number of entries that there were."""
        with self._lock:
            count = len(self._entries)
            self._entries.clear()
            self._nbytes = 0
            return count

    def usage(self) -> CacheUsage:
        """Figures of this moment."""
        return CacheUsage(None, len(self._entries), self._nbytes, self._limit, self._reason)


class DiskCache:
    """Bytes in files of one private directory, shared by any number of processes."""

    def __init__(self, folder: Path, limit: int = DEFAULT_LIMIT) -> None:
        """`folder` exists and is private (see `open_cache`); `limit` in bytes."""
        self.folder = folder
        self._limit = limit
        self._lock = threading.Lock()
        self._numbers = itertools.count()
        self._estimate: int | None = None
        self._fallback: MemoryCache | None = None

    def _path(self, key: str) -> Path:
        return self.folder / (hashlib.sha256(key.encode()).hexdigest() + ".bin")

    def get(self, key: str) -> bytes | None:
        """The bytes put under `key` by any process, or None; a damaged entry is removed."""
        path = self._path(key)
        try:
            content = path.read_bytes()
        except OSError:
            return self._fallback.get(key) if self._fallback else None
        data = content[_HEADER:]
        if content[:_HEADER] != _header(key, data):
            with contextlib.suppress(OSError):
                path.unlink()
            return None
        with contextlib.suppress(OSError):
            os.utime(path)  # what is used stays when the cache is cleaned up
        return data

    def put(self, key: str, data: bytes) -> None:
        """Keep `data` under `key`; once writing fails, this process keeps new entries in memory."""
        if self._fallback is not None:
            self._fallback.put(key, data)
            return
        if _HEADER + len(data) > self._limit:
            return
        path = self._path(key)
        aside = self.folder / f"{os.getpid()}-{next(self._numbers)}-{time.time_ns():x}.tmp"
        try:
            self._write(aside, _header(key, data), data)
            os.replace(aside, path)
        except OSError as error:
            with contextlib.suppress(OSError):
                aside.unlink()
            self._give_up(error)
            self.put(key, data)
            return
        self._grown(_HEADER + len(data))

    @staticmethod
    def _write(path: Path, *parts: bytes) -> None:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.writelines(parts)

    def _give_up(self, error: OSError) -> None:
        reason = f"{self.folder} cannot be written ({error.strerror or error})"
        _warn_once(reason)
        self._fallback = MemoryCache(reason=reason)

    def _grown(self, nbytes: int) -> None:
        """Keep the total below the limit; the directory is only listed at first and when it seems full."""
        with self._lock:
            if self._estimate is not None:
                self._estimate += nbytes
            if self._estimate is None or self._estimate > self._limit:
                self._estimate = self._clean_up()

    def _clean_up(self) -> int:
        files = sorted(self._files(), key=lambda item: item[1].st_mtime)
        total = sum(status.st_size for _, status in files)
        goal = self._limit * 4 // 5 if total > self._limit else self._limit
        now = time.time()
        for path, status in files:
            leftover = path.suffix == ".tmp" and now - status.st_mtime > _STALE_SECONDS
            if not leftover and (total <= goal or path.suffix == ".tmp"):
                continue
            with contextlib.suppress(OSError):
                path.unlink()
                total -= status.st_size
        return total

    def _files(self) -> Iterator[tuple[Path, os.stat_result]]:
        try:
            listing = list(os.scandir(self.folder))
        except OSError:
            return
        for item in listing:
            if item.name.endswith((".bin", ".tmp")):
                with contextlib.suppress(OSError):  # another process removed it
                    yield Path(item.path), item.stat(follow_symlinks=False)

    def clear(self) -> int:
        """Remove every entry; gives the number of entries removed."""
        count = self._fallback.clear() if self._fallback else 0
        with self._lock:
            for path, _ in list(self._files()):
                with contextlib.suppress(OSError):
                    path.unlink()
                    count += path.suffix == ".bin"
            self._estimate = 0
        return count

    def usage(self) -> CacheUsage:
        """Figures of this moment, over all processes."""
        sizes = [status.st_size for path, status in self._files() if path.suffix == ".bin"]
        reason = self._fallback.usage().reason if self._fallback else ""
        return CacheUsage(self.folder, len(sizes), sum(sizes), self._limit, reason)


Cache = DiskCache | MemoryCache


def _header(key: str, data: bytes) -> bytes:
    name = key.encode()
    return _MAGIC + hashlib.sha256(len(name).to_bytes(8, "little") + name + data).digest()


_warned: set[str] = set()


def _warn_once(reason: str) -> None:
    if _warned:
        return
    _warned.add(reason)
    warnings.warn(
        f"ruda keeps compiled kernels in memory only: {reason}. Set RUDA_CACHE_DIR to a directory of "
        "your own (mode 0700) to keep them between runs.",
        RuntimeWarning,
        stacklevel=2,
    )


def _objection(folder: Path) -> str:
    """Make `folder` if it is not there; why it cannot be used, or ""."""
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        status = os.stat(folder)
    except (OSError, ValueError) as error:
        return f"{folder} cannot be used ({getattr(error, 'strerror', None) or error})"
    if not stat.S_ISDIR(status.st_mode):
        return f"{folder} is not a directory"
    if os.name == "posix" and status.st_uid != os.geteuid():
        return f"{folder} belongs to another user"
    if os.name == "posix" and status.st_mode & 0o077:
        return (
            f"{folder} is open to other users (mode {stat.S_IMODE(status.st_mode):04o}; chmod 700 closes it)"
        )
    if not os.access(folder, os.R_OK | os.W_OK | os.X_OK):
        return f"{folder} cannot be read and written"
    return ""


def default_folder() -> Path | None:
    """The user's cache directory for ruda, or None where the system knows of none."""
    import platformdirs  # only when a default is needed

    try:
        folder = Path(platformdirs.user_cache_dir("ruda", appauthor=False))
    except (OSError, KeyError, RuntimeError):
        return None
    return folder if folder.is_absolute() else None


def open_cache(folder: Path | None, limit: int = DEFAULT_LIMIT) -> Cache:
    """The cache in `folder` (None: the user's cache directory), made if need be; never raises.

    A directory that cannot be used, or that other users may look into, gives a MemoryCache and,
    once in a process, a RuntimeWarning that names it.
    """
    chosen = folder.absolute() if folder is not None else default_folder()
    reason = _objection(chosen) if chosen is not None else "there is no home directory"
    if chosen is not None and not reason:
        return DiskCache(chosen, limit)
    _warn_once(reason)
    return MemoryCache(reason=reason)


_shared: list[Cache] = []
_shared_lock = threading.Lock()


def shared_cache() -> Cache:
    """This process's cache, where the settings say; opened at the first call."""
    with _shared_lock:
        if not _shared:
            chosen = in_use().cache_dir
            _shared.append(open_cache(Path(chosen) if chosen is not None else None))
        return _shared[0]


__all__ = [
    "ByteStore",
    "Cache",
    "CacheUsage",
    "DiskCache",
    "MemoryCache",
    "default_folder",
    "open_cache",
    "shared_cache",
]
