"""A forked child gets one clear error at once; the parent goes on."""

from __future__ import annotations

from ruda_core.plugin import CATALOG

PROGRAM = """
import json, os, sys, time
import numpy as np
import ruda_core as ruda
from ruda_core import Array, f32

@ruda.kernel
def add_one(x: Array[f32]):
    i = ruda.ABSOLUTE_POS
    if i < len(x):
        x[i] = x[i] + 1

def attempt(action):
    start = time.monotonic()
    try:
        action()
        return ["nothing raised", time.monotonic() - start]
    except BaseException as error:
        return [type(error).__name__, time.monotonic() - start]

client = ruda.client(sys.argv[1])
x = client.tensor(np.zeros(4, np.float32))
add_one.launch(client, 1, 4, x)
ready = add_one.prepare(client, 4, x)

read_end, write_end = os.pipe()
child = os.fork()
if child == 0:
    got = [
        attempt(lambda: x.numpy()),
        attempt(lambda: add_one.launch(client, 1, 4, x)),
        attempt(lambda: ready(1, x)),
        attempt(lambda: client.empty(16)),
        attempt(lambda: client.sync().result(timeout=10)),
    ]
    os.write(write_end, json.dumps(got).encode())
    os._exit(0)

os.close(write_end)
add_one.launch(client, 1, 4, x)
got = b""
deadline = time.monotonic() + 10
os.set_blocking(read_end, False)
while time.monotonic() < deadline:
    try:
        part = os.read(read_end, 4096)
    except BlockingIOError:
        time.sleep(0.02)
        continue
    if not part:
        break
    got += part
os.kill(child, 9) if not got else None
os.waitpid(child, 0)
add_one.launch(client, 1, 4, x)
print(json.dumps([json.loads(got or b"[]"), x.tolist()]))
"""

AFTER = """
import json, os, signal, sys
import numpy as np
import ruda_core as ruda

device, done = sys.argv[1:]
if done == "listed":
    listed = ruda.devices()
    runtime = ruda.runtime(device.partition(":")[0])
else:
    runtime = ruda.client(device).runtime
    listed = ruda.devices()

def again():
    return [str(each) for each in ruda.devices()]

def use():
    return ruda.ComputeClient(runtime.create_server(device), runtime).tensor(np.arange(3)).tolist()

def first_use():
    return ruda.client(device).tensor(np.arange(3)).tolist()

read_end, write_end = os.pipe()
if os.fork() == 0:
    signal.alarm(20)
    got = []
    for action in (again, use, first_use):
        try:
            got.append(action())
        except BaseException as error:
            got.append(type(error).__name__)
    os.write(write_end, json.dumps(got).encode())
    os._exit(0)
os.close(write_end)
with os.fdopen(read_end) as answer:
    got = json.loads(answer.read() or "null")
print(json.dumps([[str(each) for each in listed], got, use()]))
"""

FRESH = """
import json, os, sys
import numpy as np
import ruda_core as ruda

try:
    ruda.client("nonesuch")
except ruda.BackendNotFound:
    pass
read_end, write_end = os.pipe()
if os.fork() == 0:
    try:
        ruda.client("nonesuch")
        got = "a client"
    except Exception as error:
        got = type(error).__name__
    os.write(write_end, json.dumps(got).encode())
    os._exit(0)
os.close(write_end)
with os.fdopen(read_end) as answer:
    print(answer.read())
"""

SPAWNED = """
import json, multiprocessing, sys
import numpy as np
import ruda_core as ruda

def work(device):
    return ruda.client(device).tensor(np.arange(3)).tolist()

if __name__ == "__main__":
    work(sys.argv[1])
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        print(json.dumps(pool.apply(work, (sys.argv[1],))))
"""


def test_a_forked_child_is_told_so_at_once(device, script):
    answers, values = script(PROGRAM, device)
    assert [name for name, _ in answers] == ["ForkedProcessError"] * 5
    assert all(seconds < 10 for _, seconds in answers)
    assert values == [3, 3, 3, 3], "the parent is unharmed"


def outcome(device, script, done):
    """What a child's new server and a client of it come to, and how long the backend says that they can be."""
    listed, got, in_parent = script(AFTER, device, done)
    assert got is not None, "the child hangs"
    assert got[0] == listed and in_parent == [0, 1, 2]
    return got[1:], CATALOG.named(device.backend).claim.entry.forkable


def test_a_child_of_a_process_that_only_looked_at_devices_works_or_is_told(device, script):
    got, forkable = outcome(device, script, "listed")
    assert got == ["ForkedProcessError" if forkable == "until probed" else [0, 1, 2]] * 2


def test_a_child_cannot_open_a_second_device_of_what_does_not_survive_a_fork(device, script):
    got, forkable = outcome(device, script, "opened")
    assert got == [[0, 1, 2] if forkable == "always" else "ForkedProcessError", "ForkedProcessError"]


def test_a_failed_start_is_not_reported_as_a_fork(script):
    assert script(FRESH) == "BackendNotFound"


def test_a_spawned_child_has_devices_of_its_own(device, script):
    assert script(SPAWNED, device) == [0, 1, 2]
