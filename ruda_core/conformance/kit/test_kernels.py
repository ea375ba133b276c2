"""Random programs give what they give on the reference; faults are reported as the API says."""

from __future__ import annotations

import numpy as np
import pytest

import ruda_core as ruda
from ruda_core.conformance import faults
from ruda_core.conformance.compare import Comparison
from ruda_core.conformance.plugin import KERNELS


def test_random_kernels(ruda_client: ruda.ComputeClient, request: pytest.FixtureRequest) -> None:
    comparison = Comparison(ruda.client("reference"), [ruda_client])
    count = request.config.getoption("ruda_kernels")
    found = [d for seed in range(count) for _, d in comparison.check(seed)]
    request.config.stash[KERNELS].append(
        {"seeds": [0, count], "differing": [{"seed": d.kernel.seed, "what": d.what} for d in found]}
    )
    if found:
        pytest.fail("\n\n".join(map(str, found)), pytrace=False)


def test_memory_that_runs_out_is_reported_and_survived(ruda_client: ruda.ComputeClient) -> None:
    with faults(ruda_client, out_of_memory_at=2):
        kept = ruda_client.create_from_slice(np.arange(4, dtype=np.int32))
        with pytest.raises(ruda.OutOfMemory) as caught:
            ruda_client.empty(4096)
        assert caught.value.requested == 4096
        ruda_client.empty(4096)
    assert ruda_client.read_one(kept).view(np.int32).tolist() == [0, 1, 2, 3]
