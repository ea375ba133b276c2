"""The corpus of this folder is imported by name, here and from the plugins' tests."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parent))
