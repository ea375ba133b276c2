"""Transfers of 64 MiB through OpenCL against PyOpenCL used by hand, in the same run.

python benchmarks/opencl.py
"""

from __future__ import annotations

import numpy as np
import pyopencl as cl
from timing import median_each, ratio_row, show

import ruda_core as ruda

TRANSFER = 64 << 20


def main() -> None:
    client = ruda.client("opencl")
    host = np.ones(TRANSFER, np.uint8)
    handle = client.create_from_slice(host)
    context = client.resource(client.create_from_slice(bytes(4096))).context
    queue = cl.CommandQueue(context)
    buffer = cl.Buffer(context, cl.mem_flags.READ_WRITE, TRANSFER)
    out = np.empty(TRANSFER, np.uint8)

    def write() -> None:
        client.write(handle, host)
        client.sync().result()

    read, peer_read, wrote, peer_wrote = median_each(
        [
            lambda: client.read_one(handle),
            lambda: cl.enqueue_copy(queue, out, buffer, is_blocking=True),
            write,
            lambda: cl.enqueue_copy(queue, buffer, host, is_blocking=True),
        ],
        repeat=9,
        number=1,
    )
    rows = [
        ratio_row("64 MiB read", read, peer_read, 1.3, scale=1e3, unit="ms"),
        ratio_row("64 MiB write", wrote, peer_wrote, 1.3, scale=1e3, unit="ms"),
    ]
    show(f"OpenCL: {client.properties().name}", rows)


if __name__ == "__main__":
    main()
