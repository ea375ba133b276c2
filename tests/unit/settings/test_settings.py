from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from ruda_core.errors import ConfigError
from ruda_core.settings import KEYS, BoundsCheckMode, Settings, read


def from_(directory: Path, **environ: str) -> Settings:
    return read(environ, directory)


def test_without_anything_every_value_is_its_default(tmp_path: Path) -> None:
    found = from_(tmp_path)
    assert found == Settings()
    assert set(found.sources.values()) == {"default"} and set(found.sources) == set(KEYS)


def test_the_environment_goes_over_the_file_and_says_so(tmp_path: Path) -> None:
    (tmp_path / "ruda.toml").write_text('pool_limit = 5\ndevice = "cpu:0"\n')
    found = from_(tmp_path, RUDA_POOL_LIMIT="7")
    assert (found.pool_limit, found.device) == (7, "cpu:0")
    assert (found.sources["pool_limit"], found.sources["device"]) == ("environment", "file")
    assert found.origins["device"] == str(tmp_path / "ruda.toml")
    assert found.origins["pool_limit"] == "RUDA_POOL_LIMIT"


def test_the_file_is_found_upward_and_the_nearest_counts(tmp_path: Path) -> None:
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    (tmp_path / "pyproject.toml").write_text('[tool.ruda]\nbounds_check = "validate"\n')
    assert from_(inner).bounds_check is BoundsCheckMode.VALIDATE
    (tmp_path / "a" / "pyproject.toml").write_text('[project]\nname = "x"\n')
    assert from_(inner).bounds_check is BoundsCheckMode.VALIDATE, (
        "a pyproject without the table is passed over"
    )
    (tmp_path / "a" / "ruda.toml").write_text('bounds_check = "enforce"\n')
    assert from_(inner).bounds_check is BoundsCheckMode.ENFORCE


@pytest.mark.parametrize(
    "key, text, value",
    [
        ("backends", "cuda, opencl@my-dist", ("cuda", "opencl@my-dist")),
        ("disable_backends", "wgpu", ("wgpu",)),
        ("no_plugins", "1", True),
        ("no_plugins", "off", False),
        ("pool_limit", "512MiB", 512 << 20),
        ("pool_limit", "2 GB", 2 * 10**9),
        ("cache_dir", "/some where/é", "/some where/é"),
        ("log", "DEBUG", "debug"),
        ("traceback", "Full", "full"),
        ("device", "", None),
    ],
)
def test_values_are_read_from_text(tmp_path: Path, key: str, text: str, value: object) -> None:
    assert getattr(from_(tmp_path, **{f"RUDA_{key.upper()}": text}), key) == value


@pytest.mark.parametrize(
    "variables, words",
    [
        ({"RUDA_POOL_LIMIT": "lots"}, ["RUDA_POOL_LIMIT", "'lots'", "bytes"]),
        ({"RUDA_POOL_LIMIT": "-1"}, ["RUDA_POOL_LIMIT"]),
        ({"RUDA_BOUNDS_CHECK": "maybe"}, ["auto, enforce or validate"]),
        ({"RUDA_NO_PLUGINS": "perhaps"}, ["no_plugins"]),
        ({"RUDA_LOG": "loud"}, ["debug"]),
        ({"RUDA_TRACEBACK": "long"}, ["short or full"]),
        ({"RUDA_BACKEND": "cuda"}, ["RUDA_BACKEND", "'backends'"]),
    ],
)
def test_a_wrong_variable_is_refused_with_its_name(
    tmp_path: Path, variables: dict[str, str], words: list[str]
) -> None:
    with pytest.raises(ConfigError) as caught:
        read(variables, tmp_path)
    assert all(word in str(caught.value) for word in words), caught.value


def test_variables_of_other_tools_are_left_alone(tmp_path: Path) -> None:
    assert from_(tmp_path, RUDA_CHECK_DEVICES="cpu", RUDA_AUTOTUNE_DRIVER_TAG="x") == Settings()


@pytest.mark.parametrize(
    "text, words",
    [
        ("pool_limt = 3", ["pool_limt", "did you mean 'pool_limit'"]),
        ("pool_limit = 1.5", ["1.5"]),
        ("pool_limit = true", ["True"]),
        ("not toml at all", ["TOML"]),
        ("backends = [1]", ["backends"]),
    ],
)
def test_a_wrong_file_is_refused_with_its_path(tmp_path: Path, text: str, words: list[str]) -> None:
    (tmp_path / "ruda.toml").write_text(text)
    with pytest.raises(ConfigError) as caught:
        from_(tmp_path)
    assert all(word in str(caught.value) for word in [*words, "ruda.toml"]), caught.value


def run(source: str, directory: Path) -> str:
    done = subprocess.run(
        [sys.executable, "-c", source], cwd=directory, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_configure_counts_most_until_the_first_use(tmp_path: Path) -> None:
    printed = run(
        """
import os
os.environ["RUDA_POOL_LIMIT"] = "5"
from ruda_core.errors import ConfigError
from ruda_core.settings import configure, in_use, settings
assert settings().sources["pool_limit"] == "environment"
configure(pool_limit=9, log="info")
os.environ["RUDA_POOL_LIMIT"] = "6"
assert (settings().pool_limit, settings().sources["pool_limit"]) == (9, "call")
configure(log=None)
assert settings().log is None
for wrong in ({"pool": 1}, {"pool_limit": -1}):
    try:
        configure(**wrong)
        print("accepted", wrong)
    except ConfigError as error:
        assert "pool_limit" in str(error)
assert in_use().pool_limit == 9
try:
    configure(pool_limit=1)
    print("accepted late")
except ConfigError as error:
    print("refused" if "too late" in str(error) else error)
try:
    configure(colour=1)
    print("accepted late")
except ConfigError as error:
    assert "colour" in str(error) and "too late" not in str(error)
""",
        tmp_path,
    )
    assert printed == "refused"


def test_the_table_names_values_and_origins(tmp_path: Path) -> None:
    text = str(from_(tmp_path, RUDA_BOUNDS_CHECK="enforce"))
    row = next(line for line in text.splitlines() if line.startswith("bounds_check"))
    assert "enforce" in row and "environment" in row and "RUDA_BOUNDS_CHECK" in row
