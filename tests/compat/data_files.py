"""Programs whose constants lie in data files that Berth wrote: in Berth's runtime and in ExecuTorch's, against the
models' own outputs; and ExecuTorch's Python reader on the files."""
import fnmatch
import pathlib
import tempfile

import numpy as np

from drivers import Broken, ExecuTorch, Refused, difference

MODELS = pathlib.Path(__file__).resolve().parents[2] / "models"
OPTIONS = {
    "all": [],
    "aligned": ["--segment-alignment", "4096", "--constant-alignment", "64"],
    "weights alone": None,
}


def rules(name, data):
    return [f"--external-constants=*[wp]e*={data}" if OPTIONS[name] is None else f"--external-constants={data}"]


def read_back(data, keys):
    """Problem or None: what ExecuTorch's reader finds in the file."""
    from executorch.extension.flat_tensor.serialize.serialize import FlatTensorConfig, FlatTensorSerializer
    found = FlatTensorSerializer(FlatTensorConfig()).deserialize(data.read_bytes())
    missing = keys - len(found.named_data)
    return None if missing == 0 else f"ExecuTorch's reader misses {missing} of {keys} keys"


def check(berth, executorch, folder, option, work):
    inputs = sorted(folder.glob("in*.npy"))
    want = [np.load(path) for path in sorted(folder.glob("out*.npy"))]
    program, data = work / "program.pte", work / "weights.ptd"
    report = berth.compile(folder / "model.onnx", program, *rules(option, data), *(OPTIONS[option] or []))
    problem = difference(berth.run(program, inputs, work / "berth", "--data", data), want)
    if problem:
        return f"Berth: {problem}", ""
    theirs, _ = executorch.run(program, inputs, work / "executorch", data=str(data))
    problem = difference(theirs, want)
    if problem:
        return f"ExecuTorch: {problem}", ""
    external = report["external"][0]
    return read_back(data, external["constants"]), f"  ({external['constants']} constants, {external['bytes']} bytes)"


def data_files(berth, patterns, tally):
    executorch = ExecuTorch()
    for folder in sorted(path.parent for path in MODELS.glob("*/model.onnx")):
        if patterns and not any(fnmatch.fnmatch(folder.name, p) for p in patterns):
            continue
        for option in OPTIONS:
            with tempfile.TemporaryDirectory() as work:
                try:
                    problem, note = check(berth, executorch, folder, option, pathlib.Path(work))
                except (Refused, Broken) as error:
                    problem, note = f"{type(error).__name__}: {error}", ""
            tally.add(f"{folder.name}, {option}", problem, note)
