#!/usr/bin/env python3
"""Berth's portable kernels beside ExecuTorch's, from the same emitted files with the same threads, in turns.

    ./dev bench                          # everything that bench/README.md tabulates, and Google Benchmark's part
    bench/peers.py BERTH compile         # compile time and peak memory for each suite model
    bench/peers.py BERTH run [NAME…]     # run time, Berth and ExecuTorch in turns
    bench/peers.py BERTH chain           # 10 000 one-element relus: the cost of an instruction

Minimum and median of all turns, and the ratio of the minima; the models where Berth gains least stand first.
"""
import argparse
import json
import math
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "tests/compat"), str(ROOT / "models")]
from drivers import ExecuTorch  # noqa: E402

MODELS = ROOT / "build" / "models"


def suite(names):
    from make_models import MODELS as known
    for name in names or [n for n in known if n != "digits"]:
        if not (MODELS / name / "model.onnx").exists():
            subprocess.run([sys.executable, ROOT / "models/make_models.py", MODELS, name], check=True,
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        yield name, MODELS / name


def geometric_mean(ratios):
    return math.exp(statistics.mean(map(math.log, ratios)))


def measured(command):
    """Runs a command that prints JSON: (seconds, what it printed)."""
    start = time.perf_counter()
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return time.perf_counter() - start, json.loads(output)


def bench_compile(berth, names, work, turns=5):
    print("| model | file MB | compile ms, min | median | peak MB | allowed MB | arena bytes | lower bound |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    for name, folder in suite(names):
        model = folder / "model.onnx"
        runs = [measured([berth, "compile", model, "-o", work / "x.pte", "--json"]) for _ in range(turns)]
        times = sorted(r[0] * 1e3 for r in runs)
        peak = max(r[1]["peak_rss_kb"] for r in runs) / 1024
        size = model.stat().st_size / 2**20
        arenas = runs[0][1]["arenas"]
        print(f"| {name} | {size:.1f} | {times[0]:.0f} | {statistics.median(times):.0f} | {peak:.0f} | "
              f"{1.5 * size + 16:.0f} | {sum(a['bytes'] for a in arenas)} | {sum(a['lower_bound'] for a in arenas)} |",
              flush=True)


def berth_times(berth, program, inputs, threads, iterations):
    feeds = [f"--input={path}" for path in inputs]
    output = subprocess.run([berth, "bench", program, "--json", "--threads", str(threads), "--iterations",
                             str(iterations), *feeds], check=True, capture_output=True, text=True).stdout
    return json.loads(output)


def race(berth, executorch, program, inputs, work, threads, turns, iterations):
    """Both on one program in turns: two lists of seconds for each call, and Berth's last report."""
    ours, theirs, report = [], [], None
    for _ in range(turns):
        report = berth_times(berth, program, inputs, threads, iterations)
        ours += [report["min_ms"] / 1e3, report["median_ms"] / 1e3]
        _, answer = executorch.run(program, inputs, work, threads=threads, repeat=max(1, iterations // 10))
        theirs += answer["seconds"]
    return ours, theirs, report


def bench_run(berth, names, work, threads, turns):
    rows, executorch = [], ExecuTorch()
    for name, folder in suite(names):
        program = work / f"{name}.pte"
        subprocess.run([berth, "compile", folder / "model.onnx", "-o", program], check=True, stdout=subprocess.DEVNULL)
        inputs = sorted(folder.glob("in*.npy"))
        ours, theirs, report = race(berth, executorch, program, inputs, work, threads, turns, 10)
        rows.append((min(theirs) / min(ours), name, min(ours), statistics.median(ours), min(theirs),
                     statistics.median(theirs), report["load_ms"]))
        program.unlink()
        print(f"  {name}: {rows[-1][0]:.1f} times", file=sys.stderr, flush=True)
    print(f"{threads} threads; milliseconds; the smallest gain first\n")
    print("| model | Berth min | median | ExecuTorch min | median | times as fast | Berth load |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: |")
    for ratio, name, *seconds, load in sorted(rows):
        a, b, c, d = (f"{s * 1e3:.3g}" for s in seconds)
        print(f"| {name} | {a} | {b} | {c} | {d} | {ratio:.1f} | {load:.2f} |")
    mean = geometric_mean(r[0] for r in rows)
    print(f"\ngeometric mean {mean:.1f}, smallest {min(rows)[0]:.1f} ({min(rows)[1]})")


def bench_chain(berth, work, turns, length=10_000):
    lines = ["method forward(%v0: f32[1]@cpu) {"]
    lines += [f"  %v{i + 1}: f32[1]@cpu = aten::relu(%v{i})" for i in range(length)]
    (work / "chain.ir").write_text("\n".join(lines + [f"  return %v{length}", "}"]) + "\n")
    np.save(work / "one.npy", np.ones(1, np.float32))
    subprocess.run([berth, "compile", work / "chain.ir", "-o", work / "chain.pte"], check=True,
                   stdout=subprocess.DEVNULL)
    ours, theirs, _ = race(berth, ExecuTorch(), work / "chain.pte", [work / "one.npy"], work, 1, turns, 200)
    print(f"{length} relus of one element, nanoseconds each: Berth {min(ours) / length * 1e9:.0f} (median "
          f"{statistics.median(ours) / length * 1e9:.0f}), ExecuTorch {min(theirs) / length * 1e9:.0f} (median "
          f"{statistics.median(theirs) / length * 1e9:.0f})")


def main():
    cli = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    cli.add_argument("berth", type=pathlib.Path)
    cli.add_argument("what", nargs="?", choices=["all", "compile", "run", "chain"], default="all")
    cli.add_argument("names", nargs="*")
    cli.add_argument("--threads", type=int, default=2)
    cli.add_argument("--turns", type=int, default=3)
    args = cli.parse_args()
    berth = args.berth.resolve()
    with tempfile.TemporaryDirectory() as folder:
        work = pathlib.Path(folder)
        if args.what in ("all", "compile"):
            bench_compile(berth, args.names, work)
        if args.what in ("all", "run"):
            bench_run(berth, args.names, work, args.threads, args.turns)
        if args.what in ("all", "chain"):
            bench_chain(berth, work, args.turns)


if __name__ == "__main__":
    main()
