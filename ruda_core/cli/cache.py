"""`ruda cache [clear]`: what the cache of compiled kernels holds."""

from __future__ import annotations

import argparse

from ruda_core.cache import shared_cache


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """`[clear]`."""
    parser.add_argument("action", nargs="?", choices=["clear"], help="remove every entry")


def run(arguments: argparse.Namespace) -> int:
    """0 also where there is no directory: that is no failure."""
    cache = shared_cache()
    if arguments.action == "clear":
        print(f"removed {cache.clear()} entries")
    usage = cache.usage()
    where = usage.path if usage.path is not None else f"memory only: {usage.reason}"
    print(f"{where}\n{usage.entries} entries, {usage.nbytes / 1e6:.1f} of at most {usage.limit / 1e6:.0f} MB")
    return 0
