"""Installed as a package manager does it, the example is a backend like any other."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., Any]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder into which the distribution is installed."""
    target = tmp_path_factory.mktemp("site")
    pip = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "--quiet",
        "--no-deps",
        "--no-build-isolation",
        "--no-index",
    ]
    source = Path(__file__).parent.parent
    done = subprocess.run(
        [*pip, "--target", str(target), str(source)], capture_output=True, text=True, timeout=170, check=False
    )
    assert done.returncode == 0, done.stderr
    return target


@pytest.fixture
def run(site: Path, tmp_path: Path) -> Run:
    """Run a script that finds the distribution; gives the JSON value of its last line."""

    def go(source: str, **environ: str) -> Any:
        script = tmp_path / "script.py"
        script.write_text(textwrap.dedent(source))
        env = {k: v for k, v in os.environ.items() if not k.startswith("RUDA_")}
        env["PYTHONPATH"] = os.pathsep.join([str(site), *filter(None, [env.get("PYTHONPATH", "")])])
        env |= {"RUDA_CACHE_DIR": str(tmp_path / "cache"), "RUDA_BACKENDS": "example", **environ}
        done = subprocess.run(
            [sys.executable, str(script)], capture_output=True, text=True, timeout=170, env=env, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return json.loads(done.stdout.strip().splitlines()[-1])

    return go


def test_it_is_listed_with_distribution_version_and_devices(run: Run) -> None:
    got = run("""
        import json, sys
        import ruda_core as ruda
        assert "ruda_example" not in sys.modules
        (row,) = [b for b in ruda.backends() if b.name == "example"]
        assert "ruda_example.driver" not in sys.modules, "the driver waits for the first server"
        print(json.dumps([row.distribution, row.version, row.status, [str(d) for d in row.devices]]))
    """)
    assert got == ["ruda-example", "0.3.0", "available", ["example:0", "example:1"]]


def test_kernels_streams_and_both_devices_work(run: Run) -> None:
    got = run("""
        import json
        import numpy as np
        import ruda_core as ruda
        from ruda_core import Array, f32

        @ruda.kernel
        def saxpy(a: f32, x: Array[f32], y: Array[f32]):
            i = ruda.ABSOLUTE_POS
            if i < len(y):
                y[i] = a * x[i] + y[i]

        x, y = np.arange(1000, dtype=np.float32), np.ones(1000, np.float32)
        first, second = ruda.client("example:0"), ruda.client("example:1")
        tx, ty = first.tensor(x), first.tensor(y)
        with ruda.stream(ruda.StreamId.new()):
            for _ in range(10):
                saxpy.launch(first, ruda.RudaCount.cover(1000, 64), 64, 2.0, tx, ty)
        same = bool((ty.numpy() == 20 * x + y).all())
        moved = ty.to(second)
        result, duration = second.profile(lambda: saxpy.launch(second, 16, 64, 1.0, moved, moved))
        again = bool((moved.numpy() == 2 * (20 * x + y)).all())
        print(json.dumps([same, str(moved.device), again, duration.device is not None and duration.device >= 0]))
    """)
    assert got == [True, "example:1", True, True]


def test_two_clients_of_one_device_share_a_server_and_devices_do_not(run: Run) -> None:
    got = run("""
        import json
        import ruda_core as ruda
        a, b, c = ruda.client("example:0"), ruda.client("example:0"), ruda.client("example:1")
        print(json.dumps([a.same_execution_queue(b), a.same_execution_queue(c)]))
    """)
    assert got == [True, False]


def test_its_hooks_are_called(run: Run, tmp_path: Path) -> None:
    (tmp_path / "watcher.py").write_text(
        "from ruda_core.plugin import hookimpl\nseen = []\n"
        "@hookimpl\ndef ruda_kernel_compiled(kernel, device, seconds):\n"
        "    seen.append((kernel.name, str(device), seconds >= 0))\n"
        "@hookimpl\ndef ruda_server_registered(device):\n    seen.append(str(device))\n"
    )
    info = tmp_path / "watcher-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: watcher\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[ruda.backends]\nwatch = watcher\n")
    got = run("""
        import json
        import numpy as np
        import ruda_core as ruda
        from ruda_core import Array, f32

        @ruda.kernel
        def one(x: Array[f32]):
            x[0] = 1.0

        client = ruda.client("example")
        tensor = client.tensor(np.zeros(1, np.float32))
        for _ in range(3):
            one.launch(client, 1, 1, tensor)
        import watcher
        print(json.dumps(watcher.seen))
    """)
    assert got == ["example:0", ["one", "example:0", True]]
