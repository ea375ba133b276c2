"""The command line, in processes of its own: what is printed and the exit code."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ruda_core.cli import new_backend, present, show
from ruda_core.errors import ConfigError
from ruda_core.plugin import entry

Run = Callable[..., subprocess.CompletedProcess[str]]

PLUGIN = """
import os, signal, time
from ruda_core.plugin import BackendEntry, BackendUnavailable, DeviceInfo, hookimpl

def probe():
    {probe}

@hookimpl
def ruda_backends():
    return [BackendEntry(name={name!r}, api_version=1, probe=__name__ + ":probe", driver=__name__ + ":Driver")]
"""


@pytest.fixture
def site(tmp_path: Path) -> Path:
    (tmp_path / "site").mkdir()
    return tmp_path / "site"


@pytest.fixture
def plugin(site: Path) -> Callable[..., None]:
    """Install a distribution whose probe does what is given."""

    def make(name: str, probe: str) -> None:
        (site / f"{name}_plugin.py").write_text(textwrap.dedent(PLUGIN).format(name=name, probe=probe))
        info = site / f"ruda_{name}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: ruda-{name}\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(f"[ruda.backends]\n{name} = {name}_plugin\n")

    return make


@pytest.fixture
def ruda(tmp_path: Path, site: Path) -> Run:
    """Run the command."""

    def run(*words: str, **environ: str) -> subprocess.CompletedProcess[str]:
        env = {k: v for k, v in os.environ.items() if not k.startswith("RUDA_")}
        env["PYTHONPATH"] = os.pathsep.join([str(site), *filter(None, [env.get("PYTHONPATH", "")])])
        env |= {"RUDA_CACHE_DIR": str(tmp_path / "cache"), "COLUMNS": "200", **environ}
        command = [sys.executable, "-m", "ruda_core.cli", *words]
        return subprocess.run(
            command, capture_output=True, text=True, timeout=170, env=env, cwd=tmp_path, check=False
        )

    return run


def test_help_lists_every_command_and_imports_none(ruda: Run) -> None:
    done = ruda("--help")
    assert done.returncode == 0
    assert all(command.name in done.stdout for command in present())


def test_an_unknown_command_is_refused(ruda: Run) -> None:
    done = ruda("nonesuch")
    assert done.returncode == 2 and "nonesuch" in done.stderr


def test_an_error_of_our_own_is_one_message(ruda: Run) -> None:
    done = ruda("devices", "nonesuch")
    assert done.returncode == 1 and "nonesuch" in done.stderr and "Traceback" not in done.stderr


def rows(report: dict[str, Any]) -> dict[str, Any]:
    return {row["name"]: row for row in report["backends"]}


def test_devices_are_listed_as_text_and_json(ruda: Run, plugin: Callable[..., None]) -> None:
    plugin("acme", "return [DeviceInfo('acme', 0, name='[bold]an Acme', kind='discrete')]")
    done = ruda("devices", "acme")
    assert done.returncode == 0 and "acme:0" in done.stdout and "[bold]an Acme" in done.stdout
    found = {row["device"]: row["kind"] for row in json.loads(ruda("devices", "--json").stdout)}
    assert found["acme:0"] == "discrete"


def test_doctor_survives_what_backends_do(ruda: Run, plugin: Callable[..., None]) -> None:
    plugin("crashes", "os.kill(os.getpid(), signal.SIGSEGV)")
    plugin("hangs", "time.sleep(600)")
    plugin("exits", "os._exit(7)")
    plugin("lacks", "raise BackendUnavailable('apt-get install lacking')")
    plugin("fails", "raise OSError('libfails.so')")
    plugin("opens", "return [DeviceInfo('opens', 0)]")
    done = ruda("doctor", "--json", "--timeout", "15")
    found = rows(json.loads(done.stdout))
    assert done.returncode == 1
    expected = {
        "crashes": ("broken", "SIGSEGV"),
        "hangs": ("broken", "15 seconds"),
        "exits": ("broken", "exit code 7"),
        "lacks": ("unavailable", "apt-get install lacking"),
        "fails": ("broken", "libfails.so"),
        "opens": ("broken", "Driver"),
    }
    for name, (status, words) in expected.items():
        assert found[name]["status"] == status and words in found[name]["reason"], found[name]
    assert "pip install" in found["fails"]["mend"] and "ruda-fails" in found["fails"]["mend"]


def test_doctor_names_the_command_for_what_is_not_installed(ruda: Run) -> None:
    found = rows(json.loads(ruda("doctor", "--json", RUDA_NO_PLUGINS="1").stdout))
    assert found["wgpu"]["status"] == "unavailable"
    plugins = Path(__file__).parents[3] / "plugins"
    assert found["wgpu"]["mend"] == f"pip install -e {plugins / 'wgpu'}"
    assert found["cuda"]["mend"] == f"pip install -e '{plugins / 'cuda'}[cu13]'"


def test_without_a_checkout_packages_are_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(
        entry, "__file__", str(tmp_path / "site-packages" / "ruda_core" / "plugin" / "entry.py")
    )
    assert entry.pip_command("opencl") == "pip install ruda-opencl"
    assert entry.pip_command("cuda") == "pip install 'ruda-cuda[cu13]'"
    assert entry.pip_command("acme") == ""


def test_a_plugin_that_crashes_at_import_is_reported_with_the_way_out(
    ruda: Run, site: Path, plugin: Any
) -> None:
    plugin("bad", "return []")
    (site / "bad_plugin.py").write_text("import os, signal\nos.kill(os.getpid(), signal.SIGSEGV)\n")
    done = ruda("doctor")
    assert done.returncode == 1 and "SIGSEGV" in done.stdout and "RUDA_DISABLE_BACKENDS" in done.stdout
    assert "Traceback" not in done.stderr


def test_the_cache_is_shown_and_cleared(ruda: Run, tmp_path: Path) -> None:
    from ruda_core.cache import open_cache

    open_cache(tmp_path / "cache").put("key", b"data")
    assert "1 entries" in ruda("cache").stdout
    assert "removed 1 entries" in ruda("cache", "clear").stdout
    assert "0 entries" in ruda("cache").stdout


def test_a_new_backend_has_every_file_and_no_mark_left(tmp_path: Path) -> None:
    folder = new_backend.write("acme-one", tmp_path)
    files = sorted(str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file())
    assert files == sorted(place.replace("@PACKAGE@", "ruda_acme_one") for place in new_backend.FILES)
    for place in files:
        text = (folder / place).read_text()
        assert "@" not in text.replace("@hookimpl", "").replace("@ruda.kernel", ""), place
        if place.endswith(".py"):
            compile(text, place, "exec")
    with pytest.raises(ConfigError, match="there already"):
        new_backend.write("acme-one", tmp_path)


@pytest.mark.parametrize("name", ["Acme", "a b", "", "-a", "a/b", "1a", "cpu", "reference"])
def test_a_name_that_cannot_be_one_is_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError):
        new_backend.write(name, tmp_path)


def test_the_skeleton_passes_its_own_tests(ruda: Run, tmp_path: Path) -> None:
    assert ruda("new-backend", "acme").returncode == 0
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    env = {k: v for k, v in os.environ.items() if not k.startswith(("RUDA_", "PYTEST_"))}
    done = subprocess.run(
        command, cwd=tmp_path / "ruda-acme", env=env, capture_output=True, text=True, timeout=170, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "3 passed" in done.stdout


KERNELS = """
from __future__ import annotations
import ruda_core as ruda
from ruda_core import Array, f32

@ruda.kernel
def double(x: Array[f32]):
    i = ruda.ABSOLUTE_POS
    if i < len(x):
        x[i] = x[i] * 2.0
"""


@pytest.fixture
def acme(ruda: Run, tmp_path: Path, site: Path) -> Run:
    """The command, where a backend that has only just been begun is installed."""
    assert ruda("new-backend", "acme").returncode == 0
    info = site / "ruda_acme-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: ruda-acme\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[ruda.backends]\nacme = ruda_acme\n")
    path = os.pathsep.join([str(site), str(tmp_path / "ruda-acme" / "src"), os.environ.get("PYTHONPATH", "")])
    return lambda *words: ruda(*words, PYTHONPATH=path)


def test_doctor_calls_no_backend_sound_that_runs_no_kernel(acme: Run) -> None:
    done = acme("doctor", "--json")
    found = rows(json.loads(done.stdout))
    assert done.returncode == 1 and found["acme"]["status"] == "broken" and not found["acme"]["mend"]
    assert found["reference"]["status"] == "available"
    problem = found["acme"]["devices"][0]["problem"]
    assert problem.startswith("memory works, a kernel does not: ") and "does not compile yet" in problem
    assert "struct parameters" in problem and "struct parameters" not in acme("doctor").stdout


def test_conformance_says_one_error_once(acme: Run) -> None:
    said = acme("conformance", "--device", "acme:0", "--kernels", "7", "--seed", "5").stdout
    wrong = [line for line in said.splitlines() if line.startswith("WRONG")]
    messages = [line.partition("; ")[2] for line in wrong]
    assert len(set(messages)) == len(messages) <= 20 and "does not compile yet" in said
    counted = [re.match(r"WRONG: (\d+) operations: ([\d,]+) of \2; ", line) for line in wrong]
    assert sum(int(found[1]) for found in counted if found) > 800
    assert (
        "7, differing: 7" in said and "and 2 more, of the seeds 10, 11" in said and "atomic_max" not in said
    )


def test_code_is_shown_without_a_device(acme: Run, tmp_path: Path) -> None:
    (tmp_path / "my_kernels.py").write_text(KERNELS)
    for place in ("my_kernels:double", "my_kernels.py:double"):
        done = acme("show", place, "--dialect", "acme")
        assert done.returncode == 0, done.stderr
        assert "kernel void" in done.stdout
    done = acme("show", "my_kernels:treble", "--dialect", "acme")
    assert done.returncode == 1 and "it has double" in done.stderr


OPEN = """
from typing import TypeVar
import ruda_core as ruda
from ruda_core import Array, Comptime, Tensor, f16, f32, i32

T = TypeVar("T")
C = TypeVar("C", f16, i32)

@ruda.kernel
def generic(x: Array[T], a: C, n: Comptime[int], t: Tensor[f32]):
    x[n] = T(a) + T(t[0, 0, 0])

@ruda.kernel
def closed(x: Array[f32], n: Comptime[int] = 3):
    x[n] = 1

@ruda.kernel
def wrong(x: Array[f32], n: i32):
    x[0] = n

WEIGHTS = (1.0, 2.0, 3.0)

@ruda.kernel
def arrays(x: Array[f32], n: i32):
    tile = ruda.shared(f32, 64)
    own = ruda.local(f32, (2, 2))
    own[n, 1] = WEIGHTS[n]
    tile[ruda.UNIT_POS] = own[n, 1]
    ruda.barrier()
    x[ruda.UNIT_POS] = tile[n]

@ruda.kernel(fp_contract=False)
def exact(x: Array[f32]):
    x[0] = x[1] * x[2] + x[3]
"""


@pytest.fixture
def shown(acme: Run, tmp_path: Path) -> Run:
    """`ruda show`, of the module `opened`, in a dialect that needs no plugin but its own."""
    (tmp_path / "opened.py").write_text(OPEN)
    return lambda *words: acme("show", *words)


def test_show_says_what_to_type(shown: Run) -> None:
    done = shown("opened:generic", "--dialect", "acme")
    line = "ruda show opened:generic 'Array[f32]' f16 16 'Tensor[f32, 2]' --dialect acme"
    assert done.returncode == 1 and line in done.stderr and "Traceback" not in done.stderr
    assert "4 parameters, and 1 types" in shown("opened:generic", "f32", "--dialect", "acme").stderr
    done = shown("opened:generic", "Array[f32]", "f16", "0", "Tensor[f32, 3]", "--dialect", "acme")
    assert done.returncode == 0 and "kernel void" in done.stdout, done.stderr
    assert shown("opened:closed", "--dialect", "acme").returncode == 0
    assert shown("opened:closed").stderr.count("--dialect") == 1
    assert "required: MODULE:KERNEL\n" in shown().stderr


def test_the_skeleton_declares_every_kind_of_array(shown: Run) -> None:
    done = shown("opened:arrays", "--dialect", "acme")
    assert done.returncode == 0, done.stderr
    for declared in (
        r"\n +shared float (\w+)\[64\];",
        r"\n +float (\w+)\[4\];",
        r"\nconstant float (\w+)\[3\] = \{1",
    ):
        found = re.search(declared, done.stdout)
        assert found is not None and done.stdout.count(f"{found[1]}[") > 1, (declared, done.stdout)


def test_a_store_that_needs_atomics_says_so(shown: Run) -> None:
    done = shown("opened:generic", "Array[f16]", "f16", "0", "Tensor[f32, 3]", "--dialect", "acme")
    assert done.returncode == 1 and "give it a method atomic_call" in done.stderr
    assert "not in the target's `storage`" in done.stderr


def test_a_fence_that_is_missing_is_named_with_the_ways_out(shown: Run) -> None:
    done = shown("opened:exact", "--dialect", "acme")
    assert done.returncode == 1 and "Traceback" not in done.stderr
    assert "give it a method fence, or its target contract_control=True" in done.stderr


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("opened:generic", "Array[T]", "f16", "0", "Tensor[f32, 3]"), "'Array[T]' is no type"),
        (("opened:generic", "Array[int]", "f16", "0", "Tensor[f32, 3]"), "write Array[i32]"),
        (("opened:generic", "Array[f32]", "f16", "0", "Tensor[f32]"), "one rank: write Tensor[f32, 2]"),
        (("opened:generic", "Array[f32]", "f16", "0", "Tensor[f16, 3]"), "got Tensor[f16, 3]"),
        (("opened:generic", "Array[f32]", "u8", "0", "Tensor[f32, 3]"), "one of f16, i32 for C"),
        (("opened:wrong",), "write f32(n)"),
    ],
)
def test_what_cannot_be_shown_is_one_message(shown: Run, words: tuple[str, ...], message: str) -> None:
    done = shown(*words, "--dialect", "acme")
    assert done.returncode == 1 and message in done.stderr and "Traceback" not in done.stderr, done.stderr


def test_an_unknown_dialect_is_told_those_there_are_once_each(shown: Run) -> None:
    done = shown("opened:closed", "--dialect", "nonesuch")
    names = done.stderr.partition("there are ")[2].strip()
    assert "acme" in names and len(set(names.split(", "))) == len(names.split(", "))
    assert "['" not in done.stderr


def test_the_version_is_printed(ruda: Run) -> None:
    import ruda_core

    done = ruda("--version")
    assert (done.returncode, done.stdout) == (0, f"ruda {ruda_core.__version__}\n")


@pytest.mark.parametrize(
    "text, dim", [("64", (64,)), ("16,8", (16, 8)), ("0", None), ("1,2,3,4", None), ("x", None)]
)
def test_a_dim_is_one_to_three_numbers(text: str, dim: tuple[int, ...] | None) -> None:
    if dim is not None:
        assert show._dim(text) == dim
        return
    with pytest.raises(ConfigError, match="--dim"):
        show._dim(text)
