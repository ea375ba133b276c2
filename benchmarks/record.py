"""Run everything that needs a GPU and write the record to docs/results/.

    python benchmarks/record.py [--devices cuda,opencl,wgpu] [--kernels 3000] [--limit SECONDS] [--output FILE]

The tests run on the devices named; then the conformance kit with random kernels, the demonstration and
the benchmarks. Each step's own output is kept, the tail of it when it is long.
"""

from __future__ import annotations

import argparse
import datetime
import os
import platform
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ruda_core as ruda

ROOT = Path(__file__).resolve().parent.parent
LINES = 60


@dataclass(frozen=True)
class Step:
    """One command of the record."""

    title: str
    command: list[str]
    seconds: int


def steps(devices: str, kernels: int) -> list[Step]:
    """All steps, the quick ones first."""
    python = sys.executable
    workers = str(min(8, os.cpu_count() or 1))
    tests = ["tests/examples", "tests/cases", "tests/device", "tests/conformance"]
    tests += [f"plugins/{name}/tests" for name in devices.split(",") if (ROOT / "plugins" / name).is_dir()]
    found = [str(d) for d in ruda.devices() if d.backend in devices.split(",")]
    return [
        Step("Devices", [python, "-m", "ruda_core.cli", "devices"], 120),
        Step("Demonstration", [python, "-m", "ruda_core.cli", "demo", "--output", "/tmp/ruda-demo"], 300),
        Step("GPU against CuPy", [python, "benchmarks/gpu.py"], 300),
        Step("Launches", [python, "benchmarks/launch.py"], 300),
        Step("WebGPU by hand", [python, "benchmarks/webgpu.py"], 300),
        Step("OpenCL by hand", [python, "benchmarks/opencl.py"], 300),
        Step("Tests", [python, "-m", "pytest", "-q", "-n", workers, "--dist", "loadgroup", *tests], 900),
        *(
            Step(
                f"Conformance of {name}",
                [python, "-m", "ruda_core.cli", "conformance", "--device", name, "--kernels", str(kernels)],
                900,
            )
            for name in found
        ),
    ]


def run(step: Step, devices: str, limit: int) -> tuple[str, str]:
    """The outcome in a word or two, and the end of the output."""
    seconds = min(step.seconds, limit)
    environment = {**os.environ, "RUDA_TEST_DEVICES": devices, "COLUMNS": "110"}
    try:
        done = subprocess.run(
            step.command,
            cwd=ROOT,
            env=environment,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=seconds,
            check=False,
        )
    except subprocess.TimeoutExpired as expired:
        output: Any = expired.stdout or b""  # bytes, also where text was asked for
        return f"stopped after {seconds} s", output if isinstance(output, str) else output.decode(
            errors="replace"
        )
    return "passed" if done.returncode == 0 else f"exit {done.returncode}", done.stdout


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--devices", default="cuda,opencl,wgpu")
    parser.add_argument("--kernels", type=int, default=3000)
    parser.add_argument("--limit", type=int, default=3600, help="most seconds that one step may take")
    parser.add_argument("--output", type=Path)
    arguments = parser.parse_args()
    gpu = next((d for d in ruda.devices() if d.kind == "discrete"), None)
    name = "-".join((gpu.name if gpu else "no-gpu").lower().split())
    today = datetime.date.today().isoformat()
    path = arguments.output or ROOT / "docs" / "results" / f"{today}-{name}.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    parts = [
        f"# {gpu.name if gpu else 'No GPU'}, {today}\n",
        f"Python {platform.python_version()} on {platform.platform()}. Written by\n",
        f"```\npython benchmarks/record.py --devices {arguments.devices} --kernels {arguments.kernels}\n```\n",
    ]
    for step in steps(arguments.devices, arguments.kernels):
        outcome, output = run(step, arguments.devices, arguments.limit)
        lines = output.rstrip().splitlines()
        shown = "\n".join(lines[-LINES:])
        command = " ".join(["python", *step.command[1:]])
        parts.append(f"## {step.title}: {outcome}\n\n`{command}`\n\n```\n{shown}\n```\n")
        path.write_text("\n".join(parts), encoding="utf-8")
        print(f"{step.title}: {outcome}", flush=True)
    print(path)


if __name__ == "__main__":
    main()
