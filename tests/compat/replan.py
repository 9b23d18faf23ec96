"""ExecuTorch's own programs, with its default memory plan, before and after `berth replan`: the arena must be the lower
bound, and both runtimes must say the same bit for bit. Then through `berth compile`: another program, smaller yet, with
the same outputs within rounding."""
import json
import tempfile
import pathlib
import time

import numpy as np

from drivers import Broken, ExecuTorch, Refused, difference

# Of the arenas of ExecuTorch's plans, those of `berth compile theirs.pte`: at most this, in the geometric mean of all
# models of the suite.
COMPILED = 0.56

# Seconds each to export; the models of 100 MB say nothing more about plans.
MODELS = ["dscnn_kws", "squeezenet1_1", "shufflenet_v2", "mobilenet_v3_small", "randwire"]


def export(archive, program):
    """ExecuTorch's program of a torch.export archive, as ExecuTorch makes it when it is told nothing."""
    import torch
    from executorch.exir import EdgeCompileConfig, to_edge
    exported = torch.export.load(archive).run_decompositions()
    edge = to_edge(exported, compile_config=EdgeCompileConfig(_check_ir_validity=False))
    program.write_bytes(edge.to_executorch().buffer)


def outputs_of(runtime, program, inputs, folder):
    got = runtime.run(program, inputs, folder)
    return [(a.dtype, a.shape, a.tobytes()) for a in (got[0] if isinstance(got, tuple) else got)]


def check(berth, executorch, archive, inputs, work):
    """(problem or None, note)"""
    try:
        export(archive, work / "theirs.pte")
        start = time.perf_counter()
        report = json.loads(berth.call("replan", work / "theirs.pte", "-o", work / "ours.pte", "--json"))
        seconds = time.perf_counter() - start
        bound = sum(arena["lower_bound"] for arena in report["arenas"])
        if report["after"] != bound:
            return f"an arena of {report['after']} bytes where {bound} would do", ""
        for name, runtime in (("Berth", berth), ("ExecuTorch", executorch)):
            before = outputs_of(runtime, work / "theirs.pte", inputs, work / f"{name} before")
            after = outputs_of(runtime, work / "ours.pte", inputs, work / f"{name} after")
            if not before or before != after:
                return f"in {name}'s runtime the outputs changed", ""
        compiled = sum(arena["bytes"] for arena in berth.compile(work / "theirs.pte", work / "compiled.pte")["arenas"])
        problem = difference(berth.run(work / "compiled.pte", inputs, work / "compiled"),
                             berth.run(work / "theirs.pte", inputs, work / "theirs"))
        if problem:
            return f"compiled: {problem}", ""
        return None, f"  (arena {report['before']} -> {bound} bytes, 1 : {report['before'] / bound:.2f}, {seconds * 1e3:.0f} ms; compiled {compiled} bytes, {compiled / report['before']:.3f})"
    except (Refused, Broken) as error:
        return f"{type(error).__name__}: {error}", ""


def replanned(berth, models, tally):
    """`models`: (name, folder with model.pt2 and in*.npy)."""
    executorch, ratios, compiled = ExecuTorch(), [], []
    for name, folder in models:
        with tempfile.TemporaryDirectory() as work:
            problem, note = check(berth, executorch, folder / "model.pt2", sorted(folder.glob("in*.npy")),
                                  pathlib.Path(work))
        tally.add(name, problem, note)
        if problem is None:
            ratios.append(float(note.split("1 : ")[1].split(",")[0]))
            compiled.append(float(note.rpartition(", ")[2].rstrip(")")))
    if ratios:
        mean = np.exp(np.mean(np.log([ratios, compiled]), axis=1))
        print(f"of {len(ratios)} models, geometric means: ExecuTorch's arenas {mean[0]:.3f} times the lower bound; those of "
              f"berth compile {mean[1]:.3f} of ExecuTorch's (at most {COMPILED} over the whole suite)")
