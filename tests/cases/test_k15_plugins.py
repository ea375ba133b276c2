"""Plugins that fail to load harm nobody else, and their cause is kept."""

from __future__ import annotations

PLUGINS = {
    "wrong": 'raise ImportError("no module named vendor_runtime")',
    "shared": 'raise OSError("libvendor.so.1: cannot open shared object file")',
    "exits": 'raise SystemExit("not here")',
}

PROGRAM = """
import json
import ruda_core as ruda

rows = {row.name: row for row in ruda.backends()}
got = {"devices": [str(d) for d in ruda.devices()]}
for name in ("wrong", "shared", "exits"):
    try:
        ruda.client(name)
    except ruda.BackendLoadError as error:
        cause = type(error.__cause__).__name__
        got[name] = [rows[name].status, cause, str(error.__cause__), f"{name}-distribution" in str(error)]
print(json.dumps(got))
"""


def test_broken_plugins_are_listed_with_their_cause(script, tmp_path):
    site = tmp_path / "site"
    for name, code in PLUGINS.items():
        info = site / f"{name}_distribution-1.0.dist-info"
        info.mkdir(parents=True)
        (site / f"plugin_{name}.py").write_text(code)
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}-distribution\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(f"[ruda.backends]\n{name} = plugin_{name}\n")
    got = script(PROGRAM, path=[site])
    assert "reference:0" in got["devices"]
    assert got["wrong"] == ["broken", "ImportError", "no module named vendor_runtime", True]
    assert got["shared"][:2] == ["broken", "OSError"] and "libvendor.so.1" in got["shared"][2]
    assert got["exits"][:2] == ["broken", "SystemExit"]
