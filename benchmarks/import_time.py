"""What `import ruda_core` costs against `import numpy`: medians over fresh processes, in turn.

python benchmarks/import_time.py
"""

from __future__ import annotations

import statistics
import subprocess
import sys

from timing import ratio_row, show

PROCESSES = 20

_SCRIPT = "import time; t = time.perf_counter(); import {module}; print(time.perf_counter() - t)"


def seconds(module: str) -> float:
    """Seconds that one fresh process takes to import `module`."""
    done = subprocess.run(
        [sys.executable, "-c", _SCRIPT.format(module=module)], check=True, capture_output=True, text=True
    )
    return float(done.stdout)


def main() -> None:
    samples: dict[str, list[float]] = {"ruda_core": [], "numpy": []}
    for _ in range(PROCESSES):
        for module, kept in samples.items():
            kept.append(seconds(module))
    ours, numpy = (statistics.median(samples[m]) for m in ("ruda_core", "numpy"))
    show("import", [ratio_row("import ruda_core", ours, numpy, 1.5, scale=1e3, unit="ms")])


if __name__ == "__main__":
    main()
