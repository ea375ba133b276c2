"""The driver, against what the server expects of every driver."""

from __future__ import annotations

import pytest
from contract import DriverContract
from ruda_opencl.dialect import OpenCLDialect

from ruda_core.errors import ServerError


class TestDriver(DriverContract):
    dialect = OpenCLDialect()

    def test_native_objects_cover_the_bytes(self, driver):
        storage = driver.allocate(4096)
        assert driver.native(storage, 0, 4096) is storage
        step = driver.properties.alignment
        part = driver.native(storage, step, 100)
        assert (part.offset, part.size) == (step, 100)
        with pytest.raises(ServerError, match="copy it first"):
            driver.native(storage, 4, 100)
