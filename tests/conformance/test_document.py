"""The command that writes the page of numbers."""

from __future__ import annotations

import pytest

from ruda_core.conformance import document


def test_help_is_shown_and_no_page_written(capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as stop:
        document.main(["--help"])
    assert stop.value.code == 0
    assert "FILE" in capsys.readouterr().out
    assert not list(tmp_path.iterdir())
