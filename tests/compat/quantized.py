"""Models that onnxruntime.quantization makes, on the cpu target, against ONNX Runtime.

A line a model and form says how many of its products with weights run on integers. Results may be as far from ONNX
Runtime's as those are from its own: with and without its fusions for static quantisation, which rounds at other places;
with an input whose elements move by millionths for dynamic quantisation, whose steps move with them; or two steps of
the result.
"""
import fnmatch
import pathlib
import re
import tempfile

import numpy as np
import onnx
from onnx import numpy_helper

from drivers import Broken, Refused
from quantized_models import FORMS, MODELS, inputs_of, quantized

STEPS = 2
MOVES = 64  # of the input; one in twelve makes a step of a model of some layers jump
# Products that stay in float: an input that is padded on one side only, with a zero point of the run.
FLOATS = {("odd_net", "dynamic"): 1, ("odd_net", "dynamic_channel"): 1}
INTEGER = r"= berth::quantized_(conv|linear)\("
FLOAT = r"= (berth::(conv|linear)|aten::(convolution|mm|addmm))\("


def session(path, fusions=True):
    import onnxruntime
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    options.intra_op_num_threads = 1
    if not fusions:
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    made = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    return lambda x: made.run(None, {"x": x})[0]


def last_step(path):
    """The largest scale that a result of the model is rounded to; 0 where it is not rounded."""
    model = onnx.load(path)
    numbers = {c.name: numpy_helper.to_array(c) for c in model.graph.initializer}
    outputs = {o.name for o in model.graph.output}
    scales = [float(numbers[n.input[1]].max()) for n in model.graph.node
              if n.op_type == "DequantizeLinear" and n.output[0] in outputs and n.input[1] in numbers]
    return max(scales, default=0.)


def products(folder):
    """How many products with weights the last dump of the compiler has: (on integers, on floats)."""
    text = sorted(folder.glob("*.ir"))[-1].read_text()
    return len(re.findall(INTEGER, text)), len(re.findall(FLOAT, text))


def check(berth, name, form, work):
    path, shape = quantized(name, form, work)
    berth.call("compile", path, "-o", work / "model.pte", "--target", "cpu", "--dump-ir", work / "ir")
    integers, floats = products(work / "ir")
    run, plain = session(path), session(path, fusions=False)
    random = np.random.default_rng(29)
    worst = allowed = 0.
    for k, x in enumerate(inputs_of(shape, 3, 23)):
        np.save(work / "x.npy", x)
        got = berth.run(work / "model.pte", [work / "x.npy"], work / f"out{k}")[0]
        want = run(x)
        if got.shape != want.shape:
            return f"a result of {got.shape} instead of {want.shape}", ""
        moved = [plain(x)] + [run((x * (1 + 1e-6 * random.standard_normal(x.shape))).astype(np.float32))
                              for _ in range(MOVES)]
        allowed = max(allowed, *(float(np.abs(want - other).max()) for other in moved))
        worst = max(worst, float(np.abs(got - want).max()))
        largest = float(np.abs(want).max())
    allowed = 1.5 * allowed + STEPS * last_step(path) + 1e-4 * largest
    note = f"  ({integers} of {integers + floats} products on integers; {worst / largest:.1e} of the largest apart," \
           f" {allowed / largest:.1e} allowed)"
    if floats != FLOATS.get((name, form), 0):
        return f"{floats} products stay in float", note
    return (None if worst <= allowed else "differs from ONNX Runtime"), note


def quantized_models(berth, patterns, tally):
    from quantized_pt2e import pt2e_models, torchao_models

    def wanted(case):
        return not patterns or any(fnmatch.fnmatch(part, p) for part in (case, case.split()[0]) for p in patterns)

    pt2e_models(berth, wanted, tally)
    torchao_models(berth, wanted, tally)
    for name in MODELS:
        for form in FORMS:
            case = f"{name} {form}"
            if not wanted(case):
                continue
            with tempfile.TemporaryDirectory() as work:
                try:
                    tally.add(case, *check(berth, name, form, pathlib.Path(work)))
                except (Refused, Broken) as error:
                    tally.add(case, f"{type(error).__name__}: {error}")
