"""What a real device does when a program goes wrong: each in a process of its own."""

from __future__ import annotations

import subprocess
import sys
import textwrap

import pytest

SECONDS = 120


@pytest.fixture
def run(driver):
    """Runs a program in a fresh process; its output."""

    def runs(text: str) -> str:
        done = subprocess.run(
            [sys.executable, "-c", textwrap.dedent(text)],
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    return runs


STRAY = """
    import numpy as np
    import ruda_core as ruda
    from ruda_core import Array, f32, i32

    @ruda.kernel
    def stray(x: Array[f32], at: i32):
        x[at] = 1.0

    client = ruda.client("cuda")
    x = client.zeros(4, np.float32)
    stray.launch_unchecked(client, 1, 1, x, {at})
    try:
        client.sync().result()
        print(x.tolist())
    except ruda.DeviceLost as error:
        print("lost:", error)
        for call in (lambda: client.sync().result(), lambda: client.zeros(4, np.float32), x.numpy):
            try:
                call()
            except ruda.DeviceLost:
                print("still lost")
"""


@pytest.fixture
def program(tmp_path):
    """The text as a module: kernels need source that Python can find."""

    def made(text: str) -> str:
        path = tmp_path / "program.py"
        path.write_text(textwrap.dedent(text))
        return f"import runpy; runpy.run_path({str(path)!r})"

    return made


def test_an_illegal_address_loses_the_device_and_only_for_its_process(run, program):
    said = run(program(STRAY.format(at=2_000_000_000)))
    assert said.startswith("lost:") and "stray" in said
    assert said.count("still lost") == 3
    assert run(program(STRAY.format(at=2))).strip() == "[0.0, 0.0, 1.0, 0.0]"


def test_out_of_memory_says_how_much_and_the_next_launch_works(run, program):
    said = run(
        program(
            """
            import numpy as np
            import ruda_core as ruda
            from ruda_core import Array, f32

            @ruda.kernel
            def one(x: Array[f32]):
                x[ruda.ABSOLUTE_POS] = 1.0

            client = ruda.client("cuda")
            limit = client.properties().memory_bytes
            held = []
            try:
                while True:
                    held.append(client.empty(8 << 30))
            except ruda.OutOfDeviceMemory as error:
                print(error.requested == 8 << 30, error.in_use >= len(held) * (8 << 30), error.limit)
            del held[:2]
            again = client.empty(8 << 30)  # what was let go is found
            x = client.zeros(4, np.float32)
            one.launch(client, 1, 4, x)
            print(x.tolist(), len(held) * 8 < limit >> 30)
            """
        )
    )
    first, second = said.strip().splitlines()
    assert first.startswith("True True") and first.split()[2].isdigit()
    assert second == "[1.0, 1.0, 1.0, 1.0] True"
