#!/usr/bin/env python3
"""usage: python_peers.py NAME…: what a Python package costs besides a model's own work: berth, onnxruntime, openvino,
executorch.

Run it with a Python that has the packages. Prints for each: bytes installed, its own and with all that it needs; how
many packages it needs besides NumPy; the processor time to import it beside NumPy's; the time of a call with a relu of
one element. Both are the smallest of several, which other work on the machine changes little: an import in a process of
its own, 11 times; a call, 1000 times 10 after each other.
"""

import importlib.metadata
import re
import subprocess
import sys
import tempfile
import time

IMPORTS = {
    "berth": "import berth",
    "onnxruntime": "import onnxruntime",
    "openvino": "import openvino",
    "executorch": "from executorch.runtime import Runtime",
}
NUMPY = "import numpy"


def needed(name, found=None):
    """The packages that `name` needs to be imported, by its metadata, itself included; those of extras are left out."""
    found = {} if found is None else found
    key = re.sub(r"[-_.]+", "-", name).lower()
    if key in found:
        return found
    try:
        distribution = importlib.metadata.distribution(name)
    except importlib.metadata.PackageNotFoundError:
        return found
    found[key] = distribution
    for requirement in distribution.requires or []:
        if "extra ==" not in requirement:
            needed(re.match(r"[\w.-]+", requirement).group(), found)
    return found


def installed_bytes(distribution):
    total = 0
    for file in distribution.files or []:
        path = file.locate()
        if path.exists() and path.suffix != ".pyc":
            total += path.stat().st_size
    return total


def import_ms(statement):
    script = f"import time, numpy; start = time.process_time(); {statement}; print(time.process_time() - start)"
    times = []
    for _ in range(11):
        times.append(float(subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout))
    return min(times) * 1e3


def call_us(call):
    best = float("inf")
    for _ in range(1000):
        start = time.perf_counter()
        for _ in range(10):
            call()
        best = min(best, (time.perf_counter() - start) / 10)
    return best * 1e6


def relu_onnx():
    """A model of one relu on one element: the bytes of protobuf, so that the onnx package is not needed."""
    value = lambda name: b"\x0a\x01" + name + b"\x12\x0a\x0a\x08\x08\x01\x12\x04\x0a\x02\x08\x01"  # noqa: E731
    node = b"\x0a\x01x\x12\x01y\x22\x04Relu"
    graph = b"\x0a" + bytes([len(node)]) + node + b"\x12\x01g"
    graph += b"\x5a" + bytes([len(value(b"x"))]) + value(b"x") + b"\x62" + bytes([len(value(b"y"))]) + value(b"y")
    return b"\x08\x08\x3a" + bytes([len(graph)]) + graph + b"\x42\x04\x0a\x00\x10\x11"


def berth_call(x):
    import berth

    method = berth.compile(relu_onnx(), target="portable").method()
    return lambda: method(x)


def onnxruntime_call(x):
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(relu_onnx(), options, providers=["CPUExecutionProvider"])
    return lambda: session.run(None, {"x": x})


def openvino_call(x):
    import openvino

    model = openvino.Core().read_model(relu_onnx())
    compiled = openvino.Core().compile_model(model, "CPU", {"INFERENCE_NUM_THREADS": 1})
    request = compiled.create_infer_request()
    return lambda: request.infer([x])


def executorch_call(x):
    import berth  # which compiles the program
    import torch
    from executorch.runtime import Runtime

    folder = tempfile.mkdtemp()
    berth.compile(relu_onnx()).save(folder + "/relu.pte")
    method = Runtime.get().load_program(folder + "/relu.pte").load_method("forward")
    tensor = torch.from_numpy(x)
    return lambda: method.execute([tensor])


CALLS = {"berth": berth_call, "onnxruntime": onnxruntime_call, "openvino": openvino_call, "executorch": executorch_call}


def main():
    import numpy as np

    x = np.ones(1, np.float32)
    for name in sys.argv[1:] or list(IMPORTS):
        packages = needed(name)
        if name in packages:
            sizes = {key: installed_bytes(one) for key, one in packages.items()}
            own, whole = sizes[name], sum(sizes.values()) - sizes.get("numpy", 0)
            others = len(packages) - 1 - ("numpy" in packages)
            size = f"{own / 1e6:.1f} MB, {whole / 1e6:.1f} MB with the {others} packages that it needs besides NumPy"
        else:
            size = "not installed as a package"
        print(f"{name}: {size}; import {import_ms(IMPORTS[name]):.1f} ms; call {call_us(CALLS[name](x)):.2f} us", flush=True)


if __name__ == "__main__":
    main()
