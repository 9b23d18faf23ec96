"""The model suite placed on devices: what must not change when it is.

For each model and each way to place it: where the same kernels run (simulated devices, without fusion), the outputs are
those of `--target portable` bit for bit; fused, and on the cpu's own kernels, within three times
1e-4 relative plus 1e-5 of the largest (ResNet-50 with random weights moves by more than one when sums are ordered
otherwise). The copies that `inspect` announces are those that `bench` counts while it runs, one a value and device. Simulated devices are
memory that the host may not touch: an access would end the process.
"""
import json
import pathlib
import tempfile

import numpy as np

from drivers import Broken, Refused

WAYS = (
    ["--target", "cpu"],
    ["--target", "cpu", "--cpu", "generic"],
    ["--target", "sim:0"],
    ["--target", "sim:0", "--no-fusion"],
    ["--target", "sim:0,sim:1", "--split", "--no-fusion"],
    ["--target", "sim:0,cpu", "--split"],
)


def same(got, want, exact):
    if got.dtype != want.dtype or got.shape != want.shape:
        return False
    if exact or got.dtype.kind != "f" or got.size == 0:
        return got.tobytes() == want.tobytes()
    bound = 3 * (1e-4 * np.abs(want) + 1e-5 * np.abs(want).max())
    return bool(np.all((np.abs(got - want) <= bound) | (got == want)))


def copies_agree(berth, program):
    """The problem, or None; and what is copied in a run."""
    method = json.loads(berth.call("inspect", program, "--json"))["methods"][0]
    told = sum(c["count"] for c in method["copies"]), sum(c["bytes"] for c in method["copies"])
    bench = json.loads(berth.call("bench", program, "--iterations", 1, "--json"))
    seen = bench["copies"], bench["copied_bytes"]
    problem = None if told == seen else f"inspect announces {told[0]} copies of {told[1]} bytes, bench counts {seen}"
    return problem, f"  ({seen[0]} copies, {seen[1]} bytes)"


def check_way(berth, model, inputs, want, way, work):
    program = work / "placed.pte"
    berth.compile(model, program, *way)
    exact = "--no-fusion" in way
    got = berth.run(program, inputs, work / "placed", "--threads", 2)
    if len(got) != len(want):
        return f"{len(got)} outputs, {len(want)} wanted", ""
    for i, (a, b) in enumerate(zip(got, want)):
        if not same(a, b, exact):
            return f"output {i} is not the portable one" + (" bit for bit" if exact else ""), ""
    return copies_agree(berth, program)


def placed(berth, name, model, inputs, tally):
    """All ways for one model; `inputs` are .npy paths."""
    with tempfile.TemporaryDirectory() as folder:
        work = pathlib.Path(folder)
        berth.compile(model, work / "portable.pte", "--no-fusion")
        want = berth.run(work / "portable.pte", inputs, work / "portable", "--threads", 2)
        for way in WAYS:
            try:
                problem, note = check_way(berth, model, inputs, want, way, work)
            except (Refused, Broken) as error:
                problem, note = str(error), ""
            tally.add(f"{name} {' '.join(way)}", problem, note)
