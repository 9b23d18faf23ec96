"""The model suite placed on devices: what must not change when it is.

For each model and each way to place it: where the same kernels run (simulated devices, without fusion), the outputs are
those of `--target portable` bit for bit; fused, and on the cpu's own kernels, they are those of PyTorch in double
precision, as near as the suite's must be. The copies that `inspect` announces are those that `bench` counts while it
runs, one a value and device. Simulated devices are memory that the host may not touch: an access would end the process.
"""
import json
import pathlib
import tempfile

from drivers import Broken, Refused, difference, load_outputs

WAYS = (
    ["--target", "cpu"],
    ["--target", "cpu", "--cpu", "generic"],
    ["--target", "sim:0"],
    ["--target", "sim:0", "--no-fusion"],
    ["--target", "sim:0,sim:1", "--split", "--no-fusion"],
    ["--target", "sim:0,cpu", "--split"],
)

# Times the suite's tolerance on the cpu's own kernels. ResNet-50 with random weights is at the limit of f32: PyTorch's
# own single precision is 3.5e-5 from double at outputs up to 2.04, ONNX Runtime's 3.1e-5, these kernels' 3.5e-5; the
# portable ones add up in shorter runs and hold the plain tolerance.
WIDER = {"resnet50": 2}


def copies_agree(berth, program):
    """The problem, or None; and what is copied in a run."""
    method = json.loads(berth.call("inspect", program, "--json"))["methods"][0]
    told = sum(c["count"] for c in method["copies"]), sum(c["bytes"] for c in method["copies"])
    bench = json.loads(berth.call("bench", program, "--iterations", 1, "--json"))
    seen = bench["copies"], bench["copied_bytes"]
    problem = None if told == seen else f"inspect announces {told[0]} copies of {told[1]} bytes, bench counts {seen}"
    return problem, f"  ({seen[0]} copies, {seen[1]} bytes)"


def check_way(berth, model, inputs, portable, way, work):
    program = work / "placed.pte"
    berth.compile(model, program, *way)
    got = berth.run(program, inputs, work / "placed", "--threads", 2)
    if "--no-fusion" not in way:
        times = WIDER.get(model.parent.name, 1) if "cpu" in way[1] else 1
        problem = difference(got, load_outputs(model.parent), 1e-4 * times, 1e-5 * times)
        return (problem, "") if problem else copies_agree(berth, program)
    if len(got) != len(portable):
        return f"{len(got)} outputs, {len(portable)} wanted", ""
    for i, (a, b) in enumerate(zip(got, portable)):
        if a.dtype != b.dtype or a.shape != b.shape or a.tobytes() != b.tobytes():
            return f"output {i} is not the portable one bit for bit", ""
    return copies_agree(berth, program)


def placed(berth, name, model, inputs, tally):
    """All ways for one model; `inputs` are .npy paths."""
    with tempfile.TemporaryDirectory() as folder:
        work = pathlib.Path(folder)
        berth.compile(model, work / "portable.pte", "--no-fusion")
        portable = berth.run(work / "portable.pte", inputs, work / "portable", "--threads", 2)
        for way in WAYS:
            try:
                problem, note = check_way(berth, model, inputs, portable, way, work)
            except (Refused, Broken) as error:
                problem, note = str(error), ""
            tally.add(f"{name} {' '.join(way)}", problem, note)
