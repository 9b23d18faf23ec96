#!/usr/bin/env python3
"""Two builds of Berth beside each other: does a change that should cost nothing cost time?

    ./dev two-builds OTHER [NAME…]      # or: bench/two_builds.py BERTH OTHER [NAME…] [--turns 9] [--seconds 0.4]

For each model of the suite, in turns, so that a slow minute of the machine is a slow minute of both: the seconds of the
processor that a compilation for the cpu target takes, and the latency of the program on one thread. Both run the
program that OTHER compiled. A figure is the minimum of its turns; the ratio is BERTH / OTHER, the losers come first.
Models that are over the limit are measured again with three times as many turns before they count.
Exit 1 when a geometric mean is over 1.03 or one model's ratio is over 1.08.
"""
import argparse
import pathlib
import resource
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "tests/compat"), str(ROOT / "bench"), str(ROOT / "models")]
from peers import geometric_mean, measured, suite  # noqa: E402

MEAN_LIMIT, MODEL_LIMIT = 1.03, 1.08


def compile_seconds(berth, model, out):
    """User and system time of one compilation."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([berth, "compile", model, "--target", "cpu", "-o", out], check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def run_seconds(berth, program, iterations):
    _, said = measured([berth, "bench", program, "--json", "--threads", "1", "--iterations", str(iterations)])
    return said["min_ms"] / 1000


def ratios(berths, folder, work, turns, seconds):
    """(compile, run): (ratio, seconds of BERTH, seconds of OTHER) of one model."""
    model, program = folder / "model.onnx", work / "program.pte"
    # A compilation of a few milliseconds is repeated: its time hangs on where the process happens to lie.
    repeats = max(1, int(seconds / 2 / compile_seconds(berths[1], model, program)))
    iterations = max(3, int(seconds / run_seconds(berths[1], program, 3)))
    times = {("compile", b): [] for b in berths} | {("run", b): [] for b in berths}
    for turn in range(turns):
        for berth in berths if turn % 2 else reversed(berths):
            times["compile", berth] += [compile_seconds(berth, model, work / "again.pte") for _ in range(repeats)]
            times["run", berth].append(run_seconds(berth, program, iterations))
    best = {key: min(values) for key, values in times.items()}
    return [(best[what, berths[0]] / best[what, berths[1]], best[what, berths[0]], best[what, berths[1]])
            for what in ("compile", "run")]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("berth")
    parser.add_argument("other")
    parser.add_argument("names", nargs="*")
    parser.add_argument("--turns", type=int, default=9)
    parser.add_argument("--seconds", type=float, default=0.4)
    arguments = parser.parse_args()
    berths, failed = [arguments.berth, arguments.other], False
    results = {"compile": {}, "run": {}}
    with tempfile.TemporaryDirectory() as folder:
        for name, model in suite(arguments.names):
            found = ratios(berths, model, pathlib.Path(folder), arguments.turns, arguments.seconds)
            if max(ratio for ratio, *_ in found) > MODEL_LIMIT:
                again = ratios(berths, model, pathlib.Path(folder), 3 * arguments.turns, arguments.seconds)
                found = [min(pair) for pair in zip(found, again)]
            results["compile"][name], results["run"][name] = found
    for what, rows in results.items():
        print(f"| {what} | ratio | ms | ms of the other |\n| --- | ---: | ---: | ---: |")
        for name, (ratio, own, other) in sorted(rows.items(), key=lambda row: -row[1][0]):
            print(f"| {name} | {ratio:.3f} | {own * 1000:.2f} | {other * 1000:.2f} |")
            failed |= ratio > MODEL_LIMIT
        mean = geometric_mean([ratio for ratio, *_ in rows.values()])
        print(f"| geometric mean | {mean:.3f} | | |\n")
        failed |= mean > MEAN_LIMIT
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
