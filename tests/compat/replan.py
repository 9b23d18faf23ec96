"""ExecuTorch's own programs of the suite, with its default memory plan, in one table:

    `berth replan`        the arena is the lower bound, and both runtimes say the same bit for bit
    `berth compile`       of the program itself: another program, smaller yet, with the same outputs within rounding
    Berth's runtime       runs ExecuTorch's file with the outputs of PyTorch in eager mode
"""
import json
import pathlib
import tempfile

import numpy as np

from drivers import Broken, ExecuTorch, Refused, difference

# Of the arenas of ExecuTorch's plans, those of `berth compile theirs.pte`: at most this, in the geometric mean of all
# models of the suite.
COMPILED = 0.56


def export(archive, program):
    """ExecuTorch's program of a torch.export archive, as ExecuTorch makes it when it is told nothing."""
    import torch
    from executorch.exir import EdgeCompileConfig, to_edge
    exported = torch.export.load(archive).run_decompositions()
    edge = to_edge(exported, compile_config=EdgeCompileConfig(_check_ir_validity=False))
    half = program.with_suffix(".half")
    half.write_bytes(edge.to_executorch().buffer)
    half.rename(program)


def exported(folder):
    """ExecuTorch's program of folder/model.pt2: made once (up to half a minute), kept beside it until that changes."""
    archive, program = folder / "model.pt2", folder / "executorch.pte"
    if not program.exists() or program.stat().st_mtime < archive.stat().st_mtime:
        export(archive, program)
    return program


def outputs_of(runtime, program, inputs, folder):
    got = runtime.run(program, inputs, folder)
    return got[0] if isinstance(got, tuple) else got


def bits(outputs):
    return [(a.dtype, a.shape, a.tobytes()) for a in outputs]


def largest_difference(got, want):
    """Of all outputs, relative to the largest magnitude of each."""
    return max(float(np.abs(g - w).max() / max(np.abs(w).max(), 1e-30)) for g, w in zip(got, want))


# In single precision resnet50 is at the limit of the tolerance for every runtime (bench/README.md): two results that
# each hold it against PyTorch in double precision may be twice as far from each other.
WIDER = {"resnet50": (2e-4, 2e-5)}


def check(name, berth, executorch, theirs, inputs, eager, work):
    """(what is wrong, the table's row): bytes of the arenas as they are, lower bound, replanned, compiled; differences
    from PyTorch of the file as it is and compiled."""
    report = json.loads(berth.call("replan", theirs, "-o", work / "ours.pte", "--json"))
    bound = sum(arena["lower_bound"] for arena in report["arenas"])
    wrong = [f"an arena of {report['after']} bytes where {bound} would do"] if report["after"] != bound else []
    before = outputs_of(berth, theirs, inputs, work / "before")
    for problem, who in ((difference(before, eager), "Berth's runtime against PyTorch"),
                         (difference(outputs_of(berth, work / "ours.pte", inputs, work / "after"), before, 0, 0),
                          "replanned in Berth's runtime")):
        wrong += [f"{who}: {problem}"] if problem else []
    in_theirs = [bits(outputs_of(executorch, file, inputs, work / file.stem)) for file in (theirs, work / "ours.pte")]
    if not in_theirs[0] or in_theirs[0] != in_theirs[1]:
        wrong.append("replanned in ExecuTorch's runtime: the outputs changed")
    arenas = berth.compile(theirs, work / "compiled.pte")["arenas"]
    compiled = berth.run(work / "compiled.pte", inputs, work / "compiled")
    for problem, who in ((difference(compiled, eager), "compiled, against PyTorch"),
                         (difference(compiled, before, *WIDER.get(name, ())), "compiled, against the file as it is")):
        wrong += [f"{who}: {problem}"] if problem else []
    row = (report["before"], bound, report["after"], sum(arena["bytes"] for arena in arenas),
           largest_difference(before, eager), largest_difference(compiled, eager))
    return "; ".join(wrong) or None, row


def table(rows):
    """What was found of each model, and the geometric means of the ratios."""
    print(f"{'model':<20}{'ExecuTorch':>12}{'bound':>12}{'ratio':>7}{'replanned':>12}{'compiled':>12}{'ratio':>7}"
          f"{'as it is':>10}{'compiled':>10}")
    for name, (before, bound, after, compiled, error, error_compiled) in rows:
        print(f"{name:<20}{before:>12}{bound:>12}{before / bound:>7.3f}{after:>12}{compiled:>12}{compiled / before:>7.3f}"
              f"{error:>10.1e}{error_compiled:>10.1e}")
    numbers = np.array([row[:4] for _, row in rows], float)
    mean = np.exp(np.log(numbers[:, [0, 3]] / numbers[:, [1, 0]]).mean(axis=0))
    print(f"{'geometric mean':<44}{mean[0]:>7.3f}{mean[1]:>31.3f}")
    print("arenas in bytes: ExecuTorch's, its lower bound, after berth replan, after berth compile; then the largest "
          "difference from PyTorch in Berth's runtime, relative")
    return mean[1]


def replanned(berth, models, tally, programs=None):
    """`models`: (name, folder with model.pt2, in*.npy and out*.npy) of each. `programs`: a folder with ExecuTorch's
    program of each, NAME.pte; missing ones are made and kept beside the model."""
    executorch, rows, count = ExecuTorch(), [], 0
    for name, folder in models:
        count += 1
        try:
            ready = programs is not None and (programs / f"{name}.pte").exists()
            theirs = programs / f"{name}.pte" if ready else exported(folder)
            eager = [np.load(p) for p in sorted(folder.glob("out*.npy"))]
            with tempfile.TemporaryDirectory() as work:
                problem, row = check(name, berth, executorch, theirs, sorted(folder.glob("in*.npy")), eager,
                                     pathlib.Path(work))
            rows.append((name, row))
        except (Refused, Broken) as error:
            problem = f"{type(error).__name__}: {error}"
        tally.add(name, problem)
    if rows:
        mean = table(rows)
        if count == len(rows) >= 12:
            tally.add(f"compiled arenas, at most {COMPILED} of ExecuTorch's", None if mean <= COMPILED else f"{mean:.3f}")
