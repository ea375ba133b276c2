"""The driver, against what the server expects of every driver."""

from __future__ import annotations

from contract import DriverContract
from ruda_wgpu.dialect import WGSLDialect


class TestDriver(DriverContract):
    dialect = WGSLDialect()
