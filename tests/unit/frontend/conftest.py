"""Makes the helper module beside the tests importable: `from both_ways import run`."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
