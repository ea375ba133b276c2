"""Gravity between all pairs of bodies, step after step.

Shows four-component vectors (position and mass), a shared tile of them, a helper that returns several
values, and two sets of buffers that change places with each step. Past the end a tile holds what a checked
launch reads there: bodies without mass.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from _common import chosen_client, report

import ruda_core as ruda
from ruda_core import Array, Vec, f32

DIM = 64
SOFTENING = 1e-3

Body = Vec[f32, 4]


@ruda.func
def pull(me: Body, other: Body):
    """The acceleration of `me` towards `other`, as x, y and z."""
    dx, dy, dz = other.x - me.x, other.y - me.y, other.z - me.z
    inverse = ruda.rsqrt(dx * dx + dy * dy + dz * dz + SOFTENING)
    strength = other.w * inverse * inverse * inverse
    return dx * strength, dy * strength, dz * strength


@ruda.kernel
def step(bodies: Array[Body], speeds: Array[Body], dt: f32, new_bodies: Array[Body], new_speeds: Array[Body]):
    tile = ruda.shared(Body, DIM)
    unit, i = ruda.UNIT_POS, ruda.ABSOLUTE_POS
    me = bodies[i]
    ax, ay, az = 0.0, 0.0, 0.0
    for start in range(0, len(bodies), DIM):
        tile[unit] = bodies[start + unit]
        ruda.barrier()
        for k in range(DIM):
            x, y, z = pull(me, tile[k])
            ax, ay, az = ax + x, ay + y, az + z
        ruda.barrier()
    if i < len(bodies):
        speed = speeds[i] + Body(ax, ay, az, 0.0) * dt
        new_speeds[i] = speed
        new_bodies[i] = me + speed * dt


def simulate(client: ruda.ComputeClient, bodies: Any, speeds: Any, dt: float, steps: int) -> tuple[Any, Any]:
    """Bodies (x, y, z, mass) and their speeds (x, y, z, 0) after some steps; f32, one row a body."""
    old = client.tensor(bodies), client.tensor(speeds)
    new = client.tensor(bodies), client.tensor(speeds)
    for _ in range(steps):
        args = (*(t.vectorized(4) for t in old), dt, *(t.vectorized(4) for t in new))
        step.launch(client, ruda.RudaCount.cover(len(bodies), DIM), DIM, *args)
        old, new = new, old
    return old[0].numpy(), old[1].numpy()


def reference(bodies: Any, speeds: Any, dt: float, steps: int) -> tuple[Any, Any]:
    """The same in NumPy, in f64."""
    bodies, speeds = bodies.astype(np.float64), speeds.astype(np.float64)
    for _ in range(steps):
        apart = bodies[None, :, :3] - bodies[:, None, :3]
        strength = bodies[:, 3] * ((apart**2).sum(2) + SOFTENING) ** -1.5
        speeds[:, :3] += (apart * strength[:, :, None]).sum(1) * dt
        bodies[:, :3] += speeds[:, :3] * dt
    return bodies, speeds


def main() -> None:
    client = chosen_client(__doc__)
    bodies = np.random.default_rng(1).uniform(0.5, 1.5, (100, 4)).astype(np.float32)
    speeds = np.zeros_like(bodies)
    got, expected = simulate(client, bodies, speeds, 1e-3, 4), reference(bodies, speeds, 1e-3, 4)
    report(client, "positions of 100 bodies", got[0], expected[0], tolerance=1e-4)
    report(client, "speeds of 100 bodies", got[1], expected[1], tolerance=1e-3)


if __name__ == "__main__":
    main()
