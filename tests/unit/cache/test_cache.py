from __future__ import annotations

import os
import threading
import warnings
from pathlib import Path

import pytest

from ruda_core import cache as cache_module
from ruda_core.cache import CacheUsage, DiskCache, MemoryCache, open_cache


@pytest.fixture(autouse=True)
def fresh_warnings() -> None:
    cache_module._warned.clear()


def opened(folder: Path, limit: int = 1 << 20) -> DiskCache:
    cache = open_cache(folder, limit)
    assert isinstance(cache, DiskCache)
    return cache


def test_bytes_come_back_in_another_cache_of_the_directory(tmp_path: Path) -> None:
    opened(tmp_path / "c").put("key", b"\x00data")
    again = opened(tmp_path / "c")
    assert again.get("key") == b"\x00data" and again.get("other") is None
    again.put("key", b"")
    assert again.get("key") == b""


def test_the_directory_and_its_files_are_private(tmp_path: Path) -> None:
    cache = opened(tmp_path / "deep" / "c")
    cache.put("key", b"data")
    modes = [p.stat().st_mode & 0o777 for p in (cache.folder, *cache.folder.iterdir())]
    assert modes == [0o700, 0o600]


@pytest.mark.parametrize("damage", ["truncate", "flip", "empty", "extend", "other key"])
def test_a_damaged_entry_is_a_miss_and_goes(tmp_path: Path, damage: str) -> None:
    cache = opened(tmp_path / "c")
    cache.put("key", b"data" * 100)
    (file,) = cache.folder.iterdir()
    content = file.read_bytes()
    flipped = content[:-1] + bytes([content[-1] ^ 1])
    changed = {
        "truncate": content[:-1],
        "flip": flipped,
        "empty": b"",
        "extend": content + b"x",
        "other key": content,
    }
    target = cache._path("other") if damage == "other key" else file
    target.write_bytes(changed[damage])
    asked = "other" if damage == "other key" else "key"
    assert cache.get(asked) is None
    assert not target.exists()
    cache.put(asked, b"new")
    assert cache.get(asked) == b"new"


def unusable(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path | None:
    if kind == "a file":
        (tmp_path / "c").write_text("in the way")
        return tmp_path / "c"
    if kind == "below a file":
        (tmp_path / "c").write_text("in the way")
        return tmp_path / "c" / "d"
    if kind == "home below a file":
        (tmp_path / "c").write_text("in the way")
        for name in ("HOME", "XDG_CACHE_HOME"):
            monkeypatch.setenv(name, str(tmp_path / "c" / name))
        return None
    if kind == "open to others":
        (tmp_path / "c").mkdir()
        (tmp_path / "c").chmod(0o777)
        return tmp_path / "c"
    if kind == "no home":
        monkeypatch.setattr(cache_module, "default_folder", lambda: None)
        return None
    return tmp_path / "nul\0byte"


@pytest.mark.parametrize(
    "kind", ["a file", "below a file", "home below a file", "open to others", "no home", "nul"]
)
def test_an_unusable_directory_means_memory_and_one_warning(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = unusable(kind, tmp_path, monkeypatch)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        first, second = open_cache(folder), open_cache(folder)
    assert isinstance(first, MemoryCache) and isinstance(second, MemoryCache)
    assert len(caught) == 1 and (folder is None or repr(str(folder))[1:-1] in repr(str(caught[0].message)))
    first.put("key", b"data")
    assert first.get("key") == b"data" and second.get("key") is None
    assert first.usage().path is None and first.usage().reason
    if kind == "open to others":
        assert list((tmp_path / "c").iterdir()) == []


def test_a_read_only_directory_means_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "c").mkdir(mode=0o500)
    if os.access(tmp_path / "c", os.W_OK):  # root writes where the bits say no: only the answer can be had
        monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.warns(RuntimeWarning, match="cannot be read and written"):
        assert isinstance(open_cache(tmp_path / "c"), MemoryCache)


def test_without_home_the_cache_still_opens(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HOME", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    folder = cache_module.default_folder()
    assert folder is None or folder.is_absolute()


@pytest.mark.parametrize("name", ["with space", "été-日本", "a'b\"c"])
def test_any_name_of_a_directory_will_do(tmp_path: Path, name: str) -> None:
    opened(tmp_path / name).put("ключ", b"1")
    assert opened(tmp_path / name).get("ключ") == b"1"


def test_a_directory_that_vanishes_is_one_warning_and_memory(tmp_path: Path) -> None:
    cache = opened(tmp_path / "c")
    cache.folder.rmdir()
    with pytest.warns(RuntimeWarning, match="cannot be written"):
        cache.put("key", b"data")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        cache.put("two", b"2")
        assert (cache.get("key"), cache.get("two")) == (b"data", b"2")


def test_the_oldest_unused_entries_go_when_it_is_full(tmp_path: Path) -> None:
    cache = opened(tmp_path / "c", limit=10_000)
    for number in range(8):
        cache.put(str(number), bytes(1000))
        os.utime(cache._path(str(number)), (number, number))
    assert cache.get("0") is not None, "a look makes it young again"
    for number in range(8, 12):
        cache.put(str(number), bytes(1000))
    assert cache.usage().nbytes <= 10_000
    assert cache.get("0") is not None and cache.get("11") is not None and cache.get("1") is None
    cache.put("huge", bytes(20_000))
    assert cache.get("huge") is None and cache.get("11") is not None


def test_leftovers_of_dead_processes_are_removed(tmp_path: Path) -> None:
    cache = opened(tmp_path / "c")
    old, young = cache.folder / "1-0-a.tmp", cache.folder / "2-0-b.tmp"
    for path in (old, young):
        path.write_bytes(b"half")
    os.utime(old, (1, 1))
    cache.put("key", b"data")
    assert not old.exists() and young.exists()


def test_clear_and_usage_count_entries(tmp_path: Path) -> None:
    cache = opened(tmp_path / "c")
    for number in range(3):
        cache.put(str(number), b"data")
    usage = cache.usage()
    assert isinstance(usage, CacheUsage)
    assert usage.entries == 3 and usage.nbytes > 12 and usage.path == tmp_path / "c"
    assert cache.clear() == 3
    assert cache.usage().entries == 0 and cache.get("0") is None


def test_many_writers_of_one_key_leave_one_whole_entry(tmp_path: Path) -> None:
    cache = opened(tmp_path / "c", limit=1 << 24)
    values = [bytes([k]) * 50_000 for k in range(6)]

    def write(value: bytes) -> None:
        for _ in range(10):
            cache.put("key", value)
            assert cache.get("key") in values

    threads = [threading.Thread(target=write, args=(v,)) for v in values]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert cache.get("key") in values
    assert [p.suffix for p in cache.folder.iterdir()] == [".bin"]


def test_a_memory_cache_has_a_bound() -> None:
    cache = MemoryCache(limit=100)
    for number in range(20):
        cache.put(str(number), bytes(10))
    assert cache.usage().nbytes == 100 and cache.get("0") is None and cache.get("19") is not None
    assert cache.clear() == 10
