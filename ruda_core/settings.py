"""Settings: one frozen record, read once; each value knows where it came from.

Order: `configure(...)`, then the environment (`RUDA_<KEY>`), then the nearest `ruda.toml` or
`[tool.ruda]` of a `pyproject.toml` upward from the working directory, then the default.

`settings()` shows the values; `in_use()` is what the rest of ruda calls, and from then on
`configure` is refused: half of a process on one setting and half on another helps nobody.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from enum import Enum
from types import MappingProxyType
from typing import Any, Literal, NoReturn

from ruda_core.errors import ConfigError

Source = Literal["call", "environment", "file", "default"]


class BoundsCheckMode(str, Enum):
    """What `launch_unchecked` does; `launch` is always checked."""

    AUTO = "auto"
    """Unchecked."""
    ENFORCE = "enforce"
    """Checked, as `launch` is."""
    VALIDATE = "validate"
    """Checked, and the first access out of bounds is reported as a KernelFault."""

    def __str__(self) -> str:
        return self.value


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Effective settings. `str(settings)` is a table of values and where they came from."""

    device: str | None = None
    """The device of `ruda.client()`: "cuda" or "cuda:1"; None: the best there is."""
    backends: tuple[str, ...] | None = None
    """The only backends to use, in this order; "name@distribution" chooses between two distributions."""
    disable_backends: tuple[str, ...] = ()
    """Backends that are not used; a plugin whose entry point has such a name is not even imported."""
    no_plugins: bool = False
    """Only what ruda-core itself brings."""
    bounds_check: BoundsCheckMode = BoundsCheckMode.AUTO
    pool_limit: int | None = None
    """Bytes that the memory pools of one device may hold; None: what the device has."""
    cache_dir: str | None = None
    """Where compiled kernels and tuning records are kept; None: the user's cache directory."""
    log: str | None = None
    """Level of the logger "ruda": debug, info, warning, error or off; None: as the application set it."""
    traceback: str = "short"
    """What an error in a user's kernel or call shows of ruda's own frames: short, or full."""
    sources: Mapping[str, Source] = field(default_factory=lambda: MappingProxyType({}), compare=False)
    """For each key: call, environment, file or default."""
    origins: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}), compare=False)
    """For each key that was set: the variable, the file or the call that set it."""

    def __reduce__(self) -> tuple[Any, ...]:
        plain = {f.name: getattr(self, f.name) for f in fields(self)}
        return _rebuilt, (plain | {"sources": dict(self.sources), "origins": dict(self.origins)},)

    def to_dict(self) -> dict[str, dict[str, Any]]:
        """`{key: {"value", "source", "origin"}}`, ready for JSON."""
        return {
            key: {
                "value": _plain(getattr(self, key)),
                "source": self.sources.get(key, "default"),
                "origin": self.origins.get(key),
            }
            for key in KEYS
        }

    def __str__(self) -> str:
        rows = self.to_dict().items()
        return "\n".join(
            f"{key:<17} {row['value']!s:<24} {row['source']}{' (' + row['origin'] + ')' if row['origin'] else ''}"
            for key, row in rows
        )


def _rebuilt(plain: dict[str, Any]) -> Settings:
    """Settings from what was pickled of them, since read-only mappings are not."""
    tables = {name: MappingProxyType(plain[name]) for name in ("sources", "origins")}
    return Settings(**(plain | tables))


def _plain(value: Any) -> Any:
    if isinstance(value, BoundsCheckMode):
        return value.value
    if isinstance(value, tuple):
        return list(value)
    return value


_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "kib": 1 << 10, "mib": 1 << 20, "gib": 1 << 30}
_SWITCH = {
    "1": True,
    "true": True,
    "yes": True,
    "on": True,
    "0": False,
    "false": False,
    "no": False,
    "off": False,
}
_LEVELS = ("debug", "info", "warning", "error", "off")


class _Refused(Exception):
    """What a setting takes instead; becomes a ConfigError that names the key and its origin."""


def _text(value: Any) -> str:
    if not isinstance(value, str) or not value.strip():
        raise _Refused("a name")
    return value.strip()


def _names(value: Any) -> tuple[str, ...]:
    parts = value.split(",") if isinstance(value, str) else value
    if not isinstance(parts, (list, tuple)) or not all(isinstance(part, str) for part in parts):
        raise _Refused("names with commas between them, or a list of names")
    return tuple(part.strip() for part in parts if part.strip())


def _some_names(value: Any) -> tuple[str, ...]:
    found = _names(value)
    if not found:
        raise _Refused("one name or more, with commas between them")
    return found


def _switch(value: Any) -> bool:
    found = value if isinstance(value, bool) else _SWITCH.get(str(value).strip().lower())
    if found is None:
        raise _Refused("1 or 0")
    return found


def _bounds_check(value: Any) -> BoundsCheckMode:
    try:
        return BoundsCheckMode(str(value).strip().lower())
    except ValueError:
        raise _Refused("auto, enforce or validate") from None


def _bytes(value: Any) -> int:
    wanted = _Refused("a number of bytes of 0 or more, such as 536870912 or 512MiB")
    if isinstance(value, int) and not isinstance(value, bool):
        if value < 0:
            raise wanted
        return value
    if not isinstance(value, str):
        raise wanted
    text = value.strip().lower().replace("_", "")
    digits = text.rstrip("abcdefghijklmnopqrstuvwxyz ")
    unit = text[len(digits) :].strip()
    scale = _UNITS.get(unit, _UNITS.get(unit.removesuffix("b")))
    if not digits.isdecimal() or scale is None:
        raise wanted
    return int(digits) * scale


def _directory(value: Any) -> str:
    if not isinstance(value, (str, os.PathLike)) or not os.fspath(value):
        raise _Refused("a directory")
    return os.path.expanduser(os.fspath(value))


def _level(value: Any) -> str:
    text = str(value).strip().lower()
    if text not in _LEVELS:
        raise _Refused("one of " + ", ".join(_LEVELS))
    return text


def _extent(value: Any) -> str:
    text = str(value).strip().lower()
    if text not in ("short", "full"):
        raise _Refused("short or full")
    return text


KEYS: Mapping[str, Callable[[Any], Any]] = MappingProxyType(
    {
        "device": _text,
        "backends": _some_names,
        "disable_backends": _names,
        "no_plugins": _switch,
        "bounds_check": _bounds_check,
        "pool_limit": _bytes,
        "cache_dir": _directory,
        "log": _level,
        "traceback": _extent,
    }
)
"""Every setting and what turns a given value into its own."""


_DEFAULTS: Mapping[str, Any] = MappingProxyType({f.name: f.default for f in fields(Settings)})


def _unknown(key: str, origin: str) -> NoReturn:
    from difflib import get_close_matches  # only on the way to an error

    near = get_close_matches(key, KEYS, n=1, cutoff=0.5)
    hint = f"did you mean {near[0]!r}?" if near else "there are " + ", ".join(KEYS)
    raise ConfigError(f"{origin} sets {key!r}, which is no setting of ruda: {hint}")


def _converted(key: str, value: Any, origin: str) -> Any:
    if key not in KEYS:
        _unknown(key, origin)
    if value is None:
        return _DEFAULTS[key]
    try:
        return KEYS[key](value)
    except _Refused as refused:
        raise ConfigError(f"{origin} sets {key} to {value!r}; it takes {refused}") from None


def _overlaid(
    base: Settings, values: Mapping[str, Any], source: Source, origin: Callable[[str], str]
) -> Settings:
    """`base` with `values` on top; raises ConfigError for an unknown key or a value that a key does not take."""
    clean = {key: _converted(key, value, origin(key)) for key, value in values.items()}
    sources: dict[str, Source] = {**base.sources, **dict.fromkeys(clean, source)}
    origins = {**base.origins, **{key: origin(key) for key in clean}}
    return replace(base, **clean, sources=MappingProxyType(sources), origins=MappingProxyType(origins))


def _file_values(start: str) -> tuple[str, Mapping[str, Any]] | None:
    """The nearest file with settings, and its table; a `ruda.toml` counts before a `pyproject.toml`."""
    folder, above = start, ""
    while folder != above:
        for name, marker in (("ruda.toml", ""), ("pyproject.toml", "tool.ruda")):
            path = os.path.join(folder, name)
            try:
                with open(path, encoding="utf-8") as file:
                    text = file.read()
            except (OSError, UnicodeDecodeError):
                continue
            table = _table(path, text, marker) if marker in text else None
            if table is not None:
                return path, table
        folder, above = os.path.dirname(folder), folder
    return None


def _table(path: str, text: str, marker: str) -> Mapping[str, Any] | None:
    import tomllib  # only where there is a file

    try:
        table: Any = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{path} is not valid TOML: {error}") from error
    for part in marker.split(".") if marker else ():
        table = table.get(part) if isinstance(table, dict) else None
    if table is not None and not isinstance(table, dict):
        raise ConfigError(f"{path}: {marker} is a table of settings, not {table!r}")
    return table


def _environment_values(environ: Mapping[str, str]) -> dict[str, str]:
    """Settings among the variables; an empty one counts as not set.

    Other `RUDA_…` variables belong to tools and plugins, except a near miss of a setting.
    """
    values = {key: environ[name] for key in KEYS if environ.get(name := f"RUDA_{key.upper()}")}
    for name in environ:
        key = name.removeprefix("RUDA_").lower()
        if name.startswith("RUDA_") and key not in KEYS and _is_near_miss(key):
            _unknown(key, f"the environment variable {name}")
    return values


def _is_near_miss(key: str) -> bool:
    from difflib import get_close_matches  # only where a foreign RUDA_ variable is set

    return bool(get_close_matches(key, KEYS, n=1, cutoff=0.85))


def read(environ: Mapping[str, str], directory: str | os.PathLike[str]) -> Settings:
    """The settings of this environment and working directory, without calls."""
    result = Settings(sources=MappingProxyType(dict.fromkeys(KEYS, "default")))
    found = _file_values(os.path.abspath(directory))
    if found is not None:
        path, values = found
        result = _overlaid(result, values, "file", lambda key: path)
    variables = _environment_values(environ)
    return _overlaid(result, variables, "environment", lambda key: f"RUDA_{key.upper()}")


class _Store:
    """This process's settings: read at the first look, fixed at the first use."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.value: Settings | None = None
        self.used = False

    def look(self) -> Settings:
        if self.value is None:
            try:
                directory = os.getcwd()
            except OSError:  # the working directory is gone
                directory = os.sep
            self.value = read(os.environ, directory)
        return self.value


_store = _Store()


def _after_fork() -> None:
    _store.lock = threading.Lock()  # another thread of the parent may have held it


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def settings() -> Settings:
    """The effective settings, each with its source. Looking does not fix them.

    Raises ConfigError for an unknown key or a value that a key does not take.
    """
    with _store.lock:
        return _store.look()


def in_use() -> Settings:
    """The effective settings, for use: from now on `configure` is refused."""
    with _store.lock:
        _store.used = True
        return _store.look()


def configure(**values: Any) -> Settings:
    """Set settings from the program, over the environment and files; gives the effective ones.

    Raises ConfigError for an unknown key, a value that a key does not take, or after the first
    use of a device, when it would be too late. None takes a setting back to its default.
    """
    with _store.lock:
        wanted = _overlaid(_store.look(), values, "call", lambda key: "ruda.configure()")
        if _store.used:
            raise ConfigError(
                f"configure({', '.join(values)}) comes too late: a device was already looked for with the "
                "settings before; call it first, right after the import"
            )
        _store.value = wanted
        return wanted


__all__ = ["KEYS", "BoundsCheckMode", "Settings", "Source", "configure", "in_use", "read", "settings"]
