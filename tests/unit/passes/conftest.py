"""Makes the helper modules beside the tests importable: `from evaluate import run`."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
