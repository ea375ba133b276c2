"""`ruda new-backend NAME`: a plugin that is listed, moves bytes, and says what is left to write."""

from __future__ import annotations

import argparse
import re
from pathlib import Path

from ruda_core.errors import ConfigError

_SKELETON = Path(__file__).parent / "skeleton"
FILES = {
    "pyproject.toml": "pyproject.toml.txt",
    "README.md": "README.md.txt",
    "src/@PACKAGE@/__init__.py": "init.py.txt",
    "src/@PACKAGE@/probe.py": "probe.py.txt",
    "src/@PACKAGE@/driver.py": "driver.py.txt",
    "src/@PACKAGE@/dialect.py": "dialect.py.txt",
    "tests/conftest.py": "conftest.py.txt",
    "tests/test_backend.py": "test_backend.py.txt",
}
"""Each file of the new distribution, and the template of it."""
TAKEN = ("reference", "cpu", "opencl", "wgpu", "cuda", "core")
"""Names after ruda- that are distributions already."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """`NAME [--directory DIR]`."""
    parser.add_argument("name", help="the backend's name, in lower case: users write ruda.client(NAME)")
    parser.add_argument("--directory", type=Path, default=Path(), help="where to put it (default: here)")


def run(arguments: argparse.Namespace) -> int:
    """Write the skeleton; raises ConfigError for a name that cannot be one or a folder that is there."""
    folder = write(arguments.name, arguments.directory)
    print(f"{folder} is written. Next: pip install -e '{folder}[test]' && (cd {folder} && pytest)")
    return 0


def write(name: str, directory: Path) -> Path:
    """Write the distribution `ruda-NAME` into a new folder of `directory`; gives the folder."""
    if not re.fullmatch(r"[a-z][a-z0-9]*(-[a-z0-9]+)*", name):
        raise ConfigError(
            f"{name!r} cannot name a backend: lower-case letters and digits, perhaps with - between"
        )
    if name in TAKEN:
        raise ConfigError(f"{name!r} is a backend of ruda's own; choose another name")
    folder = directory / f"ruda-{name}"
    if folder.exists():
        raise ConfigError(f"{folder} is there already; choose another name or --directory")
    words = {
        "@NAME@": name,
        "@PACKAGE@": f"ruda_{name.replace('-', '_')}",
        "@CLASS@": "".join(part.capitalize() for part in name.split("-")),
    }
    for place, template in FILES.items():
        path = folder / _filled(place, words)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(_filled((_SKELETON / template).read_text(encoding="utf-8"), words), encoding="utf-8")
    return folder


def _filled(text: str, words: dict[str, str]) -> str:
    for mark, word in words.items():
        text = text.replace(mark, word)
    return text
