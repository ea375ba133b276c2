"""`with ruda.trace(path, client):`"""

from __future__ import annotations

import json
from collections.abc import Iterator
from os import PathLike
from typing import Protocol

from ruda_core.blocks import block
from ruda_core.checks import checked_path
from ruda_core.errors import ConfigError
from ruda_core.profiling.export import chrome_trace
from ruda_core.profiling.recorder import Recorder


class Traceable(Protocol):
    """A client, as this module sees it."""

    def begin_trace(self) -> Recorder:
        """Start recording all launches and transfers of the client's device."""

    def end_trace(self, recorder: Recorder) -> None:
        """Stop recording."""


@block
def trace(path: str | PathLike[str], client: Traceable) -> Iterator[Recorder]:
    """Record every launch and transfer of the client's device and write a Chrome trace to `path`.

    Submission, execution and transfer of each queue are tracks of their own. Launches are not
    waited for; leaving waits for those that are still running. The file is written even if the
    block raises. Raises ConfigError, before anything is recorded, for a path that cannot be written.
    """
    if not hasattr(client, "begin_trace"):
        raise ConfigError(f"trace takes a path and the client whose device it watches, not {client!r}")
    path = checked_path(path, "the file of a trace", error=ConfigError)
    try:
        open(path, "w", encoding="utf-8").close()
    except OSError as error:
        raise ConfigError(f"the trace cannot be written to {path}: {error.strerror or error}") from error
    recorder = client.begin_trace()
    try:
        yield recorder
    finally:
        client.end_trace(recorder)
        with open(path, "w", encoding="utf-8") as file:
            json.dump(chrome_trace(recorder.finish()), file)
