"""Records: construction, fields, arrays of them, by-value arguments; laid out as on the host."""

from __future__ import annotations

from functools import cache

import numpy as np
from support import launch

import ruda_core as ruda
from ruda_core import Array, Vec, f32, i32, u8


@cache
def records():
    """A record type, and the kernels over it."""

    @ruda.struct
    class Particle:
        kind: u8
        position: Vec[f32, 3]
        weight: i32

    @ruda.func
    def moved(p: Particle, by: f32):
        return Particle(p.kind, p.position + by, p.weight + 1)

    @ruda.kernel
    def advance(extra: Particle, ps: Array[Particle], out: Array[f32]):
        i = ruda.ABSOLUTE_POS
        if i < len(ps):
            p = ps[i]
            out[i] = p.position.x * f32(p.weight) + f32(p.kind) + f32(extra.weight) + extra.position[2]
            ps[i] = moved(p, 0.5)

    @ruda.kernel
    def stray(ps: Array[Particle], where: i32, out: Array[i32]):
        p = ps[where]
        out[0] = p.weight + i32(p.kind)
        ps[where] = Particle(9, Vec[f32, 3](9.0, 9.0, 9.0), 9)

    return Particle, advance, stray


def test_the_host_dtype_is_aligned():
    dtype = records()[0].dtype
    assert dtype.names == ("kind", "position", "weight")
    assert (dtype.itemsize, dtype.alignment) == (20, 4)
    assert [dtype.fields[name][1] for name in dtype.names] == [0, 4, 16]


def test_records_in_arrays_and_by_value(client):
    particle, advance, _ = records()
    ps = np.zeros(3, particle.dtype)
    ps["kind"], ps["weight"] = [1, 2, 255], [10, -20, 30]
    ps["position"] = np.arange(9).reshape(3, 3)
    extra = particle(7, (1, 2, 3), 9)
    after, out = launch(client, advance, extra, units=3, out=(ps, np.zeros(3, np.float32)))
    assert out.tolist() == [0 * 10 + 1 + 9 + 3, 3 * -20 + 2 + 12, 6 * 30 + 255 + 12]
    assert after["kind"].tolist() == [1, 2, 255]
    assert after["weight"].tolist() == [11, -19, 31]
    np.testing.assert_array_equal(after["position"], ps["position"] + 0.5)


def test_records_out_of_bounds_are_zero(client):
    particle, _, stray = records()
    ps = np.ones(2, particle.dtype)
    t, out = client.tensor(ps), client.tensor(np.full(1, 5, np.int32))
    stray.launch(client, 1, 1, t, 2, out)
    assert out.tolist() == [0] and (t.numpy() == ps).all()
