"""`python -m ruda_core.cli` is `ruda`."""

from __future__ import annotations

import sys

from ruda_core.cli import main

sys.exit(main())
