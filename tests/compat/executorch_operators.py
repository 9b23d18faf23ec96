"""ExecuTorch's operators: small modules exported with ExecuTorch, run in its runtime and in Berth, on random data.

Each case of operator_cases.py is exported twice, with static sizes and with the size N dynamic, all types in one
program. Where the runtimes differ, or ExecuTorch's cannot run a program, PyTorch's own result decides, and the types
are tried one by one. Prints a table of operators and types:

    =   both runtimes agree            t   Berth agrees with PyTorch, and ExecuTorch's runtime differs or cannot
    -   ExecuTorch does not export it  !   Berth differs, or cannot run what ExecuTorch can
    x   neither runs it
"""
import collections
import concurrent.futures
import itertools
import logging
import multiprocessing
import pathlib
import tempfile
import warnings

import numpy as np
import torch

import operator_cases
from drivers import Berth, Broken, ExecuTorch, Refused, difference
from operator_cases import N
from quick_export import quick_export

STATIC, LARGEST = 4, 6  # what N is in the static programs, and its bound in the dynamic ones
SIZES = (3, LARGEST)    # what it is when these run
VIEWS = {torch.bfloat16: torch.uint16}  # types that NumPy lacks, as their bits


class Module(torch.nn.Module):
    """The case's function for each type, one after the other; results in one flat tuple."""

    def __init__(self, case):
        super().__init__()
        self.function, self.arity = case.function, len(case.inputs)

    def forward(self, *tensors):
        results = []
        for i in range(0, len(tensors), self.arity):
            result = self.function(*tensors[i:i + self.arity])
            results.extend(result if isinstance(result, (tuple, list)) else [result])
        return tuple(results)


def make_inputs(case, dtypes, n, seed):
    random = torch.Generator().manual_seed(seed)
    return tuple(spec.make(dtype, n, random) for dtype in dtypes for spec in case.inputs)


def export(case, dtypes, dynamic, path):
    """Writes the program; returns the operators in it."""
    from executorch.exir import EdgeCompileConfig, to_edge
    shapes = None
    if dynamic:
        size = torch.export.Dim("n", min=2, max=LARGEST)
        each = tuple({d: size for d, s in enumerate(spec.shape) if s == N} or None for spec in case.inputs)
        shapes = (each * len(dtypes),)
    exported = torch.export.export(Module(case), make_inputs(case, dtypes, STATIC, 1), dynamic_shapes=shapes)
    edge = to_edge(exported, compile_config=EdgeCompileConfig(_check_ir_validity=False, preserve_ops=case.keep or []))
    program = edge.to_executorch()
    path.write_bytes(program.buffer)
    return {f"{op.name}.{op.overload}".rstrip(".")
            for plan in program.executorch_program.execution_plan for op in plan.operators}


def to_numpy(tensor):
    tensor = tensor.detach().contiguous()
    return tensor.view(VIEWS.get(tensor.dtype, tensor.dtype)).numpy()


def to_numbers(array, like):
    """Bits as numbers again, where `like` is of a type that NumPy lacks."""
    if like.dtype in VIEWS:
        return torch.from_numpy(array.view(np.uint16)).view(like.dtype).to(torch.float32).numpy()
    return array


def tolerance_of(case, tensor):
    return {torch.float16: 2e-3, torch.bfloat16: 1.6e-2}.get(tensor.dtype, case.tolerance)


def compare(case, got, want, like):
    if len(got) != len(want):
        return f"{len(got)} outputs instead of {len(want)}"
    for i, (g, w, t) in enumerate(zip(got, want, like)):
        g, w = to_numbers(g, t), to_numbers(w, t)
        if not case.exact:
            alike = g.shape == w.shape and g.dtype == w.dtype
            problem = None if alike else f"{g.dtype}{g.shape}, not {w.dtype}{w.shape}"
        else:
            problem = difference([g], [w], rtol=tolerance_of(case, t), atol=tolerance_of(case, t))
        if problem:
            return f"output {i}: {problem.removeprefix('out0 ')}"
    return None


class Checker:
    """One process's tools."""

    def __init__(self, binary):
        warnings.simplefilter("ignore")
        logging.disable(logging.WARNING)
        operator_cases.add_quantised_cases()
        import executorch.exir  # noqa: F401
        quick_export()
        self.berth, self.executorch = Berth(binary), ExecuTorch()

    def run_both(self, case, program, inputs, work):
        """Outputs, or the sentence why there are none, of Berth and of ExecuTorch's runtime."""
        paths = []
        for i, tensor in enumerate(inputs):
            paths.append(work / f"in{i}.npy")
            np.save(paths[-1], to_numpy(tensor))
        results = []
        dtypes = [str(t.dtype).removeprefix("torch.") for t in inputs]
        for run in (lambda: self.berth.run(program, paths, work / "berth"),
                    lambda: self.executorch.run(program, paths, work / "executorch", dtypes=dtypes)[0]):
            try:
                results.append(run())
            except (Refused, Broken) as error:
                results.append(f"{type(error).__name__}: {error}")
        return results

    def judge(self, case, program, dtypes, n, work):
        """Verdict and words for one program at one size."""
        inputs = make_inputs(case, dtypes, n, 2 + n)
        eager = list(Module(case)(*[t.clone() for t in inputs]))
        ours, theirs = self.run_both(case, program, inputs, work)
        if isinstance(ours, str):
            return "x" if isinstance(theirs, str) else "!", ours
        if not isinstance(theirs, str) and compare(case, ours, theirs, eager) is None:
            return "=", ""
        problem = compare(case, ours, [to_numpy(t) for t in eager], eager)
        if problem is None:
            return "t", theirs if isinstance(theirs, str) else compare(case, theirs, ours, eager)
        return "!", f"n = {n}: {problem}"

    def verdicts(self, case, dtypes, dynamic, found):
        """{dtype: (verdict, words)}. One program for all types, and one for each if that is not equal throughout."""
        with tempfile.TemporaryDirectory() as folder:
            work = pathlib.Path(folder)
            try:
                operators = export(case, dtypes, dynamic, work / "m.pte")
            except Exception as error:  # the exporter may raise anything
                verdict = "-", f"{type(error).__name__}: {error}".split("\n")[0][:200]
            else:
                found.update(operators)
                verdict = "=", ""
                for n in SIZES if dynamic else (STATIC,):
                    verdict = self.judge(case, work / "m.pte", dtypes, n, work)
                    if verdict[0] != "=":
                        break
        if verdict[0] == "=" or len(dtypes) == 1:
            return dict.fromkeys(dtypes, verdict)
        return {dtype: self.verdicts(case, [dtype], dynamic, found)[dtype] for dtype in dtypes}

    def check(self, number):
        case = operator_cases.CASES[number]
        dtypes, rows, found = [], [], set()
        for dtype in case.dtypes:
            try:  # types that PyTorch itself has no kernel for
                Module(case)(*make_inputs(case, [dtype], STATIC, 1))
                dtypes.append(dtype)
            except (RuntimeError, NotImplementedError):
                pass
        for dynamic in (False, True) if case.dynamic else (False,):
            wanted = dtypes if not dynamic else dtypes[:1] + [d for d in dtypes[1:] if d == "int64"]
            if wanted:
                for dtype, verdict in self.verdicts(case, wanted, dynamic, found).items():
                    rows.append((case.key, dtype, dynamic, *verdict))
        return rows, found


CHECKER = None


def start(binary):
    global CHECKER
    torch.set_num_threads(1)
    CHECKER = Checker(binary)


def check(number):
    return CHECKER.check(number)


WORST = {"=": 0, "t": 1, "-": 2, "x": 3, "!": 4}


def print_table(rows):
    cells = collections.defaultdict(dict)
    for key, dtype, _, verdict, _ in rows:
        old = cells[key].get(dtype, "=")
        cells[key][dtype] = max(old, verdict, key=WORST.get)
    columns = list(dict.fromkeys(itertools.chain(operator_cases.ALL, operator_cases.COMPLEX)))
    short = [c.replace("float", "f").replace("uint", "u").replace("int", "i").replace("complex", "c") for c in columns]
    print(f"{'':54}" + " ".join(f"{name:>4}" for name in short))
    for key in sorted(cells):
        print(f"{key:54}" + " ".join(f"{cells[key].get(c, ''):>4}" for c in columns))


def executorch(binary, patterns, tally, processes):
    """`patterns` are parts of operators' names; without any, all cases."""
    operator_cases.add_quantised_cases()
    numbers = [i for i, c in enumerate(operator_cases.CASES) if not patterns or any(p in c.key for p in patterns)]
    rows, found = [], set()
    context = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(processes, context, start, (binary,)) as pool:
        for more, operators in pool.map(check, numbers):
            rows += more
            found |= operators
    for key, dtype, dynamic, verdict, words in rows:
        name = f"{key} {dtype}{' dynamic' if dynamic else ''}"
        if verdict == "!":
            tally.add(name, words)
        elif verdict in "=t":
            tally.passed += 1
        if verdict in "t-x":
            print(f"{verdict} {name}: {words}")
    print_table(rows)
    wanted = {operator_cases.CASES[i].key for i in numbers}
    print("never in a program, for the exporter takes them apart:", " ".join(sorted(wanted - found)) or "none")
    counts = collections.Counter(row[3] for row in rows)
    print("cases:", ", ".join(f"{counts[v]} {v}" for v in WORST))
