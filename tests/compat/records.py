"""Records of runs (.etdp): ExecuTorch's Inspector reads what `berth bench --etdump` writes, and `berth inspect` what
ExecuTorch's runtime writes."""
import json
import pathlib
import tempfile

from drivers import Broken, ExecuTorch, Refused

MODELS = pathlib.Path(__file__).resolve().parents[2] / "models"
RUNS = 3


def ours(berth, model, target, work):
    """Problem or None: the Inspector finds every event that Berth counts, as often, with the same names."""
    from executorch.devtools import Inspector
    program, record = work / "ours.pte", work / "ours.etdp"
    berth.compile(model, program, "--target", target, "--stack-traces")
    berth.call("bench", program, "--iterations", RUNS, "--etdump", record)
    mine = json.loads(berth.call("inspect", record, "--json"))
    blocks = Inspector(etdump_path=str(record)).event_blocks
    found = [event for block in blocks for event in block.events if block.name == "inference"]
    if mine["runs"] != RUNS or len(found) != len(mine["events"]):
        return f"the Inspector finds {len(found)} events, berth inspect {len(mine['events'])} in {mine['runs']} runs"
    wanted = sorted(event["within"] or event["name"] for event in mine["events"])
    names = sorted(str(event.name) for event in found)
    if names != wanted:
        return f"the Inspector's names are {names}, ours {wanted}"
    short = [event.name for event in found if len(event.perf_data.raw) != RUNS]
    return f"{short} do not have {RUNS} times" if short else None


def theirs(berth, executorch, model, inputs, work):
    """Problem or None: Berth finds the instructions of the program, each once a run, in ExecuTorch's record."""
    program, record = work / "theirs.pte", work / "theirs.etdp"
    instructions = berth.compile(model, program)["instructions"]
    answer = executorch.ask({"program": str(program), "inputs": [str(p) for p in inputs], "outputs": str(work),
                             "record": str(record), "repeat": RUNS - 1})
    if "error" in answer:
        raise Refused(answer["error"])
    read = json.loads(berth.call("inspect", record, "--json"))
    calls = [event for event in read["events"] if event["name"].startswith("native_call_")]
    if {event["instruction"] for event in calls} != set(range(instructions)):
        return f"{len(calls)} instructions are found instead of {instructions}"
    counts = {event["calls"] for event in calls}
    return None if counts == {RUNS} else f"instructions were called {counts} times instead of {RUNS}"


def records(berth, patterns, tally):
    executorch = ExecuTorch()
    for folder in sorted(path.parent for path in MODELS.glob("*/model.onnx")):
        if patterns and folder.name not in patterns:
            continue
        model = folder / "model.onnx"
        checks = [(f"written, {target}", lambda work, target=target: ours(berth, model, target, work))
                  for target in ("portable", "cpu", "sim:0")]
        checks.append(("read", lambda work: theirs(berth, executorch, model, sorted(folder.glob("in*.npy")), work)))
        for name, check in checks:
            with tempfile.TemporaryDirectory() as work:
                try:
                    problem = check(pathlib.Path(work))
                except (Refused, Broken) as error:
                    problem = f"{type(error).__name__}: {error}"
            tally.add(f"{folder.name}, {name}", problem)
