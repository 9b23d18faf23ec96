#!/usr/bin/env python3
"""Archives of torch.export through Berth: small modules, before and after run_decompositions(), against eager PyTorch.

    ./dev compat pt2 [PATTERN…]      # cases whose family.name match; all without
    pt2.py BERTH --suite FOLDER      # NAME.pt2 with NAME.npz (in0…, out0…) of that folder

Prints a line for each case that is not right, and a table by family. What Berth refuses with a sentence must be
expected by pt2_refused.txt, and what is expected there must be refused.
"""
import argparse
import collections
import copy
import fnmatch
import functools
import itertools
import multiprocessing
import pathlib
import sys
import tempfile
import time
import warnings

import numpy as np

from drivers import Berth, Broken, Refused, difference
from quick_export import quick_export

FORMS = ("exported", "decomposed")


def flat(values):
    import torch
    return torch.utils._pytree.tree_flatten(values)[0]


def as_array(value):
    import torch
    if not isinstance(value, torch.Tensor):
        return np.asarray(value)
    value = value.detach().cpu()
    return (value.view(torch.uint16) if value.dtype == torch.bfloat16 else value).contiguous().numpy()


def widened(arrays, values):
    """bfloat16 comes as bits; numbers again, so that a last bit is a last bit."""
    import torch
    narrow = [isinstance(v, torch.Tensor) and v.dtype == torch.bfloat16 for v in values]
    return [(a.astype(np.uint32) << 16).view(np.float32) if n else a for a, n in zip(arrays, narrow)]


def tolerance(values):
    import torch
    types = {v.dtype for v in values if isinstance(v, torch.Tensor)}
    if torch.bfloat16 in types:
        return {"rtol": 2e-2, "atol": 2e-2}
    return {"rtol": 2e-3, "atol": 2e-3} if torch.float16 in types else {}


def export(case):
    import torch
    return torch.export.export(copy.deepcopy(case.module), case.args, dynamic_shapes=case_dynamic(case))


def case_dynamic(case):
    """Dynamic sizes as torch.export wants them: modules that are functions take *args as one tuple."""
    from pt2_cases import Function
    if case.dynamic is None:
        return None
    return (tuple(case.dynamic),) if isinstance(case.module, Function) else tuple(case.dynamic)


def changed(before, after):
    """The new values of inputs that the module wrote to: outputs of Berth's programs, behind the module's own."""
    import torch
    return [new for old, new in zip(before, after)  # by their bytes: a NaN that stays is not a change
            if isinstance(old, torch.Tensor) and as_array(old).tobytes() != as_array(new).tobytes()]


def reference(case, work):
    """For each call: files of its inputs and what PyTorch in eager mode says, inputs that it changed behind."""
    import torch
    calls = []
    for number, args in enumerate((case.args, *case.others)):
        paths = []
        # In row-major order of what the program's memory holds: NumPy files have no strides that matter.
        for value in flat(args):
            if isinstance(value, torch.Tensor):
                paths.append(work / f"call{number}in{len(paths)}.npy")
                np.save(paths[-1], as_array(value))
        with torch.no_grad():
            mine = copy.deepcopy(args)
            want = [v for v in flat(copy.deepcopy(case.module)(*mine)) if v is not None]
            want += changed(flat(args), flat(mine))
        calls.append((paths, want))
    return calls


def check(berth, case, program, calls, work):
    """Problem or None; Refused passes through. `calls` gives the reference."""
    import torch
    torch.export.save(program, work / "model.pt2")
    berth.compile(work / "model.pt2", work / "model.pte")
    if case.family in ("control", "state", "dynamic", "data"):  # and once more, from the program that Berth made
        berth.compile(work / "model.pte", work / "again.pte")
        (work / "again.pte").replace(work / "model.pte")
    for number, (paths, want) in enumerate(calls()):
        got = berth.run(work / "model.pte", paths, work / f"out{number}")
        arrays = [as_array(v) for v in want]
        problem = difference(widened(got, want), widened(arrays, want), **tolerance(want))
        if problem:
            return problem + (f" (arguments {number})" if number else "")
    return None


def run_one(job):
    """[(index, form, outcome, words)] for each form of a case: exported once, calculated in PyTorch once."""
    binary, index = job
    warnings.filterwarnings("ignore")
    import torch
    torch.set_num_threads(1)
    from pt2_cases import all_cases
    case, program, found = all_cases()[index], None, []
    with tempfile.TemporaryDirectory() as work:
        calls = functools.cache(lambda: reference(case, pathlib.Path(work)))
        # What run_decompositions() makes of a region of autocast differs in PyTorch: it loses casts of what it takes
        # apart.
        for form in FORMS[:1] if case.family == "autocast" else FORMS:
            folder = pathlib.Path(work) / form
            folder.mkdir()
            try:
                program = program or export(case)
                if form == "decomposed":
                    program = program.run_decompositions()
                problem = check(Berth(binary), case, program, calls, folder)
                outcome = "failed" if problem else "passed", problem
            except Refused as error:
                outcome = "refused", str(error)
            except Broken as error:
                outcome = "failed", f"Broken: {error}"
            except Exception as error:  # torch.export itself, or a case that this script cannot feed
                outcome = "failed", f"{type(error).__name__}: {str(error)[:300]}"
            found.append((index, form, *outcome))
    return found


class Refusals:
    """pt2_refused.txt: `PATTERN  why`, the pattern being family.name or family.name.form."""

    def __init__(self):
        path = pathlib.Path(__file__).with_name("pt2_refused.txt")
        lines = path.read_text().splitlines() if path.exists() else []
        self.patterns = [line.split()[0] for line in lines if line and line[0] != "#"]

    def expects(self, name, form):
        return any(fnmatch.fnmatch(name, p) or fnmatch.fnmatch(f"{name}.{form}", p) for p in self.patterns)


def cases(binary, patterns, processes):
    """How many are right, and the names of those that are not."""
    from pt2_cases import all_cases
    names = [f"{c.family}.{c.name}" for c in all_cases()]
    chosen = [i for i, n in enumerate(names) if not patterns or any(fnmatch.fnmatch(n, p) for p in patterns)]
    jobs = [(str(binary), i) for i in chosen]
    refusals, table, failures = Refusals(), collections.defaultdict(collections.Counter), []
    quick_export()
    with multiprocessing.get_context("fork").Pool(processes) as pool:
        for index, form, outcome, text in itertools.chain.from_iterable(pool.imap_unordered(run_one, jobs, chunksize=4)):
            expected = refusals.expects(names[index], form)
            if outcome == "passed" and expected:
                outcome, text = "failed", "is right now; take it out of pt2_refused.txt"
            if outcome == "refused" and not expected:
                outcome = "failed"
            if outcome == "failed":
                failures.append(f"{names[index]}.{form}")
                print(f"FAIL {names[index]} {form}: {text}", flush=True)
            table[names[index].split(".")[0]][outcome, form] += 1
    print(f"{'family':12}" + "".join(f"{form + ' ' + o:>22}" for form in FORMS for o in ("passed", "refused", "failed")))
    for family, counts in table.items():
        print(f"{family:12}" + "".join(f"{counts[o, form]:22}" for form in FORMS for o in ("passed", "refused", "failed")))
    total = sum(table.values(), collections.Counter())
    passed = sum(n for (o, _), n in total.items() if o == "passed")
    print(f"pt2: {sum(total.values()) - passed - len(failures)} refused as pt2_refused.txt expects")
    return passed, failures


def suite(binary, folder):
    berth, failures = Berth(binary), 0
    for model in sorted(folder.glob("*.pt2")):
        with tempfile.TemporaryDirectory() as work:
            work = pathlib.Path(work)
            arrays = np.load(model.with_suffix(".npz"))
            paths = []
            for name in sorted(k for k in arrays if k.startswith("in")):
                paths.append(work / f"{name}.npy")
                np.save(paths[-1], arrays[name])
            want = [arrays[k] for k in sorted(k for k in arrays if k.startswith("out"))]
            try:
                berth.compile(model, work / "model.pte")
                problem = difference(berth.run(work / "model.pte", paths, work / "out"), want)
            except (Refused, Broken) as error:
                problem = str(error)
        failures += problem is not None
        print(f"{'ok  ' if problem is None else 'FAIL'} {model.stem}{': ' + problem if problem else ''}", flush=True)
    return failures


def main():
    cli = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    cli.add_argument("berth")
    cli.add_argument("patterns", nargs="*")
    cli.add_argument("--suite", type=pathlib.Path)
    cli.add_argument("--processes", type=int, default=2)
    args = cli.parse_args()
    start = time.perf_counter()
    if args.suite:
        failures = suite(args.berth, args.suite)
    else:
        passed, failures = cases(args.berth, args.patterns, args.processes)
        print(f"{passed} passed, {len(failures)} failed")
    print(f"{time.perf_counter() - start:.0f} s")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
