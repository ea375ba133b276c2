"""CuPy needs a folder to be imported at all; the first call of its driver binding imports it."""

from __future__ import annotations

import pytest
from support import printed

SCRIPT = """
import os
from ruda_cuda import cupy_home
cupy_home.ensure()
import cupy
print(os.environ.get("CUPY_CACHE_DIR"))
"""


@pytest.mark.parametrize("blocked", [True, False])
def test_cupy_is_imported_wherever_home_is(blocked, binding, tmp_path):
    (tmp_path / "file").write_text("not a folder")
    home = tmp_path / ("file/home" if blocked else "home")
    last = printed(SCRIPT, HOME=str(home)).splitlines()[-1]
    assert (last != "None") == blocked
    assert not blocked or "cupy-" in last
    assert blocked or (home / ".cupy" / "kernel_cache").is_dir()
