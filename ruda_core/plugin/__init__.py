"""Everything that the author of a backend imports, and how backends are found.

::

    from ruda_core.plugin import BackendEntry, hookimpl

    @hookimpl
    def ruda_backends():
        return [BackendEntry(name="acme", api_version=1, probe="ruda_acme.probe:probe",
                             driver="ruda_acme.driver:AcmeDriver", dialect="ruda_acme.dialect:AcmeDialect")]

Name that module in the entry-point group `ruda.backends` of the distribution. Importing it must be
cheap and must import nothing of the vendor's.
"""

from __future__ import annotations

from ruda_core.capabilities import Device as DeviceInfo
from ruda_core.errors import BackendUnavailable
from ruda_core.plugin.catalog import CATALOG
from ruda_core.plugin.discovery import GROUP
from ruda_core.plugin.entry import API_VERSION, BackendEntry, BackendInfo
from ruda_core.plugin.hooks import hookimpl
from ruda_core.runtime import Runtime


def register(entry: BackendEntry) -> None:
    """Add one backend by hand, without an installed distribution, under the same rules.

    A name that is taken becomes a conflict, as between two distributions.
    """
    CATALOG.register(entry)


__all__ = [
    "API_VERSION",
    "GROUP",
    "BackendEntry",
    "BackendInfo",
    "BackendUnavailable",
    "DeviceInfo",
    "Runtime",
    "hookimpl",
    "register",
]
