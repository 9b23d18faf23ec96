"""Language models with caches, token by token, against PyTorch.

Each is compiled for portable and cpu; its logits have to be PyTorch's at every step, up to the last place of the cache.
On cpu no cache is copied, and attention reads the keys up to the position alone. Models in plain PyTorch are also
compiled as a program of two methods, prefill of any number of tokens and decode of one, over one set of weights and
caches, of one sequence or several. A step behind the end of the cache is refused. ExecuTorch's exports, with its own
operators on caches, are compiled from .pt2 and .pte and compared with its library. language_shapes.py has models as
wide as those that people use.
"""
import fnmatch
import pathlib
import tempfile

import numpy as np
import torch

from drivers import Broken, Refused, difference
from language_executorch import executorch_models, export_both, goes_on, has_an_end
from language_models import OWN, VOCABULARY, Llama, exported_by_transformers, transformers_models
from language_shapes import QUICK, check_shape, shape_cases

CAPACITY = 260
PROMPT = 20
STEPS = 256


class Inputs:
    """What a model is given: `batch` sequences of tokens, and their positions, or the first of these alone."""

    def __init__(self, batch=1, first_alone=False):
        self.first_alone = first_alone
        self.tokens = np.random.default_rng(1).integers(0, VOCABULARY, (batch, CAPACITY))

    def at(self, position, count):
        place = position % CAPACITY
        return (self.tokens[:, place:place + count].astype(np.int64),
                np.arange(position, position + (1 if self.first_alone else count), dtype=np.int64))

    def files(self, position, count, work):
        paths = work / f"t{position}_{count}.npy", work / f"p{position}_{count}.npy"
        for path, array in zip(paths, self.at(position, count)):
            np.save(path, array)
        return paths


ONE = Inputs()


def run(berth, program, calls, work, inputs=ONE):
    """Outputs of calls (method, position, count) on one memory, in order."""
    first, *others = [(method, *inputs.files(position, count, work)) for method, position, count in calls]
    out = work / "out"
    arguments = [f"--method={first[0]}", f"--input={first[1]}", f"--input={first[2]}", "--output-dir", out]
    arguments += [f"--then={method}={a},{b}" for method, a, b in others]
    berth.call("run", program, *arguments, "--threads", "2")
    return [np.load(out / ("out0.npy" if i == 0 else f"c{i}_out0.npy")) for i in range(len(calls))]


def want_of(model, calls, inputs=ONE):
    """What PyTorch gives; `model` keeps its caches."""
    with torch.no_grad():
        return [model(*map(torch.from_numpy, inputs.at(at, count))).numpy().copy() for _, at, count in calls]


def export(model, count, path, inputs=ONE):
    dynamic = None
    if count > 1:
        n = torch.export.Dim("n", min=1, max=64)
        dynamic = {"tokens": {1: n}, "positions": {0: n}}
    example = torch.zeros((len(inputs.tokens), count), dtype=torch.long), torch.arange(count)
    torch.export.save(torch.export.export(model, example, dynamic_shapes=dynamic, strict=False), path)


def compare(got, want):
    for step, (g, w) in enumerate(zip(got, want)):
        problem = difference([g], [w])
        if problem:
            return f"step {step}: {problem}"
    return None


def caches_in_place(berth, model, work):
    """None where --why says that every cache of the cpu target is where the state is, and attention is short."""
    program = work / "why.pte"
    reuse = berth.call("compile", model, "-o", program, "--target", "cpu", "--why", "reuse")
    instructions = berth.call("inspect", program, "--instructions")
    # Positions are copied, of 8 bytes each.
    large = [line for line in instructions.splitlines() if "aten::copy_(" in line and "f32" in line]
    if large or "reuse state" not in reuse:
        return f"caches are copied: {large[:2]}"
    fusion = berth.call("compile", model, "-o", program, "--target", "cpu", "--why", "fusion")
    if "into berth::grouped_attention" not in fusion:
        return "attention is not fused"
    if "mask-not-a-length" in fusion:
        return "a mask was not taken for a length"
    return None


def embedding_once(berth, model, work):
    """None where the table of embeddings is read out of the last product's packed weight."""
    fusion = berth.call("compile", model, "-o", work / "why.pte", "--target", "cpu", "--why", "fusion")
    return None if "into berth::weight_rows" in fusion else "a tied embedding is in the program twice"


def decode(berth, model, want, work, inputs=ONE):
    steps = [("forward", at, 1) for at in range(STEPS)]
    for target in ("portable", "cpu"):
        berth.call("compile", model, "-o", work / "model.pte", "--target", target)
        problem = compare(run(berth, work / "model.pte", steps, work, inputs), want)
        if problem:
            return f"{target}: {problem}"
    try:
        run(berth, work / "model.pte", [("forward", CAPACITY - 1, 1), ("forward", CAPACITY, 1)], work, inputs)
        return "a step behind the end of the cache is taken"
    except Refused:
        pass
    return caches_in_place(berth, model, work)


def both_methods(berth, model, work, inputs):
    """Prefill and decode in one program. `model` has empty caches, as what decode was exported of had."""
    export(model, PROMPT, work / "prefill.pt2", inputs)
    calls = [("prefill", 0, PROMPT)] + [("decode", at, 1) for at in range(PROMPT, STEPS)]
    want = want_of(model, calls, inputs)
    for target in ("portable", "cpu"):
        berth.call("compile", f"prefill={work / 'prefill.pt2'}", f"decode={work / 'decode.pt2'}", "-o", work / "both.pte",
                   "--share-state", "--target", target)
        problem = compare(run(berth, work / "both.pte", calls, work, inputs), want)
        if problem:
            return f"two methods, {target}: {problem}"
    alone, both = ((work / name).stat().st_size for name in ("model.pte", "both.pte"))
    return None if both < 1.5 * alone else f"the program of two methods has {both} bytes, that of one {alone}"


def with_operators_of_executorch(berth, name, work):
    """Exports of torch and of ExecuTorch, compiled, against ExecuTorch's library in PyTorch."""
    make, is_open, first_alone = executorch_models()[name]
    export_both(make(), is_open, work)
    calls = [("forward", at, 1) for at in range(CAPACITY + 40 if goes_on(name) else STEPS)]
    if is_open:
        calls = [("forward", 0, PROMPT), ("forward", PROMPT, 40)] + calls[PROMPT + 40:]
    inputs = Inputs(first_alone=first_alone)
    want = want_of(make(), calls, inputs)
    # Of an open number of tokens ExecuTorch's file does not say how many rows of the tables of angles it takes.
    for file in ("model.pt2",) if is_open else ("model.pt2", "model.pte"):
        for target in ("portable", "cpu"):
            berth.call("compile", work / file, "-o", work / "compiled.pte", "--target", target)
            problem = compare(run(berth, work / "compiled.pte", calls, work, inputs), want)
            if problem:
                return f"{file}, {target}: {problem}"
        if has_an_end(name):
            try:
                run(berth, work / "compiled.pte", [("forward", CAPACITY, 1)], work, inputs)
                return f"{file}: a step behind the end of the cache is taken"
            except Refused:
                pass
    return None


def check(berth, name, work):
    if name in shape_cases():
        return check_shape(berth, pathlib.Path(berth.binary).parent / "python", shape_cases()[name], work)
    if name in executorch_models():
        return with_operators_of_executorch(berth, name, work)
    if name in OWN:
        inputs = Inputs(OWN[name].get("batch", 1))
        model = Llama(**OWN[name], capacity=CAPACITY).eval()
        export(model, 1, work / "decode.pt2", inputs)
        want = want_of(model, [("forward", at, 1) for at in range(STEPS)], inputs)
        fresh = Llama(**OWN[name], capacity=CAPACITY).eval()
        tied = embedding_once(berth, work / "decode.pt2", work) if OWN[name].get("tied") else None
        return tied or decode(berth, work / "decode.pt2", want, work, inputs) or both_methods(berth, fresh, work, inputs)
    program = exported_by_transformers(transformers_models()[name], CAPACITY)
    torch.export.save(program, work / "decode.pt2")
    module = program.module()
    with torch.no_grad():
        want = want_of(lambda tokens, at: module(input_ids=tokens, cache_position=at),
                       [("forward", at, 1) for at in range(STEPS)])
    return decode(berth, work / "decode.pt2", want, work)


def language_models(berth, patterns, tally):
    for name in [*OWN, *transformers_models(), *executorch_models(), *shape_cases()]:
        asked = any(fnmatch.fnmatch(name, pattern) for pattern in patterns)
        if not asked and (patterns or (name in shape_cases() and name not in QUICK)):
            continue
        with tempfile.TemporaryDirectory() as folder:
            try:
                problem = check(berth, name, pathlib.Path(folder))
            except (Broken, Refused) as error:
                problem = str(error)
        tally.add(f"language {name}", problem)
