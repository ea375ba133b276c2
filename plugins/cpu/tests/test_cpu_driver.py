"""The driver, against what the server expects of every driver."""

from __future__ import annotations

from dataclasses import replace

import pytest
from contract import DriverContract, adder, source_of
from ruda_cpu.dialect import CpuDialect

from ruda_core.errors import BackendCompileError


class TestDriver(DriverContract):
    dialect = CpuDialect()

    def test_a_compile_error_has_log_and_source(self, driver):
        source = source_of(self.dialect, adder())
        broken = replace(source, text=source.text.replace("store i32", "store nobody"))
        with pytest.raises(BackendCompileError) as caught:
            driver.load(broken, None)
        assert "nobody" in caught.value.source and caught.value.source == broken.text
        assert caught.value.log and (caught.value.file, caught.value.line) == ("kernels.py", 7)
