"""The driver, against what the server expects of every driver."""

from __future__ import annotations

from contract import DriverContract
from ruda_opencl.dialect import OpenCLDialect


class TestDriver(DriverContract):
    dialect = OpenCLDialect()
