"""Runs programs in ExecuTorch's own runtime, one after the other, in a process of its own: a kernel that aborts takes
this process along and nothing else.

Reads lines of JSON {"program", "inputs": [.npy], "outputs": folder, "threads"?, "repeat"?} from standard input; answers
each with a line: {"count"} after writing outputs/out0.npy…, or {"error"}. With "repeat" the answer has "seconds", the
times of that many further runs. "data" is a data file (.ptd), "record" a file (.etdp) for what the calls
took. "before" are inputs of calls that are made first, on the same memory. With "dtypes", PyTorch's names of the
inputs' types, the quantised kernels are there too, and types that NumPy lacks come and go as their bits.
"""
import json
import os
import pathlib
import sys
import time

import numpy as np
import torch
from executorch.extension.pybindings import portable_lib
from executorch.runtime import Runtime

answers = os.fdopen(os.dup(1), "w")  # ExecuTorch logs to standard output and error; the answers go where it cannot
os.dup2(2, 1)


def run(job):
    if "threads" in job:
        torch.set_num_threads(job["threads"])
        if hasattr(portable_lib, "_set_num_threads"):
            portable_lib._set_num_threads(job["threads"])
    if "dtypes" in job:
        import executorch.kernels.quantized  # noqa: F401
    if "data" in job or "record" in job:
        module = portable_lib._load_for_executorch(job["program"], job.get("data"), "record" in job)
        execute = module.forward
    else:
        execute = Runtime.get().load_program(pathlib.Path(job["program"])).load_method("forward").execute
    inputs = [torch.from_numpy(np.load(path)) for path in job["inputs"]]
    if "dtypes" in job:
        inputs = [tensor.view(getattr(torch, dtype)) for tensor, dtype in zip(inputs, job["dtypes"])]
    for more in job.get("before", []):
        execute([torch.from_numpy(np.load(path)) for path in more])
    outputs = execute(inputs)
    for i, value in enumerate(outputs):
        if isinstance(value, torch.Tensor) and value.dtype == torch.bfloat16:
            value = value.view(torch.uint16)
        array = value.numpy() if isinstance(value, torch.Tensor) else np.asarray(value)
        np.save(pathlib.Path(job["outputs"]) / f"out{i}.npy", array)
    answer = {"count": len(outputs)}
    if "repeat" in job:
        answer["seconds"] = []
        for _ in range(job["repeat"]):
            start = time.perf_counter()
            execute(inputs)
            answer["seconds"].append(time.perf_counter() - start)
    if "record" in job:
        module.write_etdump_result_to_file(job["record"])
    return answer


for line in sys.stdin:
    try:
        reply = run(json.loads(line))
    except Exception as error:  # whatever it says is the answer
        reply = {"error": f"{type(error).__name__}: {error}"}
    print(json.dumps(reply), file=answers, flush=True)
