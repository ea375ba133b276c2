"""The command `ruda`. Each subcommand is a module of this package, imported only when it is chosen.

A module has `add_arguments(parser)` and `run(arguments) -> int`, the exit code; its row below has
its name, module and help.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import sys
from collections.abc import Sequence
from dataclasses import dataclass

from ruda_core import __version__
from ruda_core.errors import RudaError


@dataclass(frozen=True, slots=True)
class Command:
    """One subcommand."""

    name: str
    module: str
    help: str


COMMANDS = (
    Command(
        "demo", "ruda_core.cli.demo", "run real kernels on every usable device and check them against NumPy"
    ),
    Command("devices", "ruda_core.cli.devices", "list the devices that can be used, the best first"),
    Command(
        "doctor", "ruda_core.cli.doctor", "examine every backend, and say what is missing and what mends it"
    ),
    Command("show", "ruda_core.cli.show", "print the code that a kernel becomes; needs no device"),
    Command("cache", "ruda_core.cli.cache", "show or clear the cache of compiled kernels"),
    Command("conformance", "ruda_core.cli.conformance", "run the conformance kit on a device"),
    Command("bench", "ruda_core.cli.bench", "measure what ruda costs, against its peers"),
    Command("new-backend", "ruda_core.cli.new_backend", "write the skeleton of a backend's plugin"),
)


def present() -> list[Command]:
    """The commands whose modules are part of this build."""
    return [command for command in COMMANDS if importlib.util.find_spec(command.module) is not None]


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; gives the exit code. An error of ruda's own is one message, not a traceback."""
    words = list(sys.argv[1:] if argv is None else argv)
    parser = argparse.ArgumentParser(prog="ruda", description="One Python program on any accelerator.")
    parser.add_argument("--version", action="version", version=f"ruda {__version__}")
    subparsers = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    chosen = next((word for word in words if not word.startswith("-")), None)
    for command in present():
        subparser = subparsers.add_parser(
            command.name, help=command.help, description=command.help.capitalize()
        )
        if command.name == chosen:
            module = importlib.import_module(command.module)
            module.add_arguments(subparser)
            subparser.set_defaults(run=module.run)
    arguments = parser.parse_args(words)
    try:
        return int(arguments.run(arguments))
    except RudaError as error:
        print(f"ruda {arguments.command}: {error}", file=sys.stderr)
        return 1
    except BrokenPipeError:  # the reader, such as `head`, has gone
        sys.stderr.close()
        return 1
