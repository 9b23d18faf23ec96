"""One peer with one model in a process of its own, driven by race.py with a line of JSON a turn.

    race_worker.py PEER MODEL_DIR THREADS OUTPUTS [CLOCK]

PEER is onnxruntime, openvino (in f32), openvino-installed (as it chooses) or executorch (its XNNPACK delegate).

The first line that it prints tells load, first run and memory; each line that it reads, {"seconds": S}, is answered
with the times of as many runs as fit; an empty line ends it. MODEL_DIR holds model.onnx or xnnpack.pte and in0.npy….
CLOCK is `wall`, or `processor`: the processor time of all threads of the process.
"""
import json
import pathlib
import sys
import time

import numpy as np


def resident_kb(field):
    with open("/proc/self/status", encoding="ascii") as status:
        return next(int(line.split()[1]) for line in status if line.startswith(field + ":"))


def onnxruntime(model, threads):
    import onnxruntime as runtime

    def load():
        options = runtime.SessionOptions()
        options.intra_op_num_threads = threads
        session = runtime.InferenceSession(str(model / "model.onnx"), options, providers=["CPUExecutionProvider"])
        names = [i.name for i in session.get_inputs()]
        return lambda inputs: session.run(None, dict(zip(names, inputs)))
    return load


def openvino(model, threads, **precision):
    import openvino as runtime
    core = runtime.Core()

    def load():
        options = {"INFERENCE_NUM_THREADS": str(threads), "PERFORMANCE_HINT": "LATENCY", **precision}
        request = core.compile_model(core.read_model(str(model / "model.onnx")), "CPU", options).create_infer_request()
        return lambda inputs: list(request.infer(inputs).values())
    return load


def executorch(model, threads):
    import torch
    from executorch.extension.pybindings import portable_lib
    from executorch.runtime import Runtime
    torch.set_num_threads(threads)
    if hasattr(portable_lib, "_set_num_threads"):
        portable_lib._set_num_threads(threads)
    runtime = Runtime.get()

    def load():
        program = runtime.load_program(model / "xnnpack.pte")
        method = program.load_method("forward")
        load.program = program  # the method reads its bytes
        return lambda inputs: [t.numpy() for t in method.execute([torch.from_numpy(i) for i in inputs])]
    return load


PEERS = {
    "onnxruntime": onnxruntime,
    "openvino": lambda model, threads: openvino(model, threads, INFERENCE_PRECISION_HINT="f32"),
    "openvino-installed": openvino,
    "executorch": executorch,
}


def main():
    peer, model, threads = sys.argv[1], pathlib.Path(sys.argv[2]), int(sys.argv[3])
    inputs = [np.load(path) for path in sorted(model.glob("in*.npy"))]
    load = PEERS[peer](model, threads)
    before = resident_kb("VmRSS")
    start = time.perf_counter()
    run = load()
    loaded = time.perf_counter()
    outputs = run(inputs)
    first = time.perf_counter()
    folder = pathlib.Path(sys.argv[4])
    clock = time.process_time if sys.argv[5:] == ["processor"] else time.perf_counter
    for i, output in enumerate(outputs):
        np.save(folder / f"out{i}.npy", np.asarray(output))
    print(json.dumps({"load_ms": (loaded - start) * 1e3, "first_ms": (first - loaded) * 1e3}), flush=True)
    for line in sys.stdin:
        if not line.strip():
            break
        end, times = time.perf_counter() + json.loads(line)["seconds"], []
        while not times or time.perf_counter() < end:
            start = clock()
            run(inputs)
            times.append((clock() - start) * 1e3)
        print(json.dumps({"times": times, "memory_kb": resident_kb("VmHWM") - before}), flush=True)


if __name__ == "__main__":
    main()
