#!/usr/bin/env python3
"""Berth's planner beside MiniMalloc on MiniMalloc's challenging problems, whole processes in turns.

    bench/minimalloc.py BERTH PROBLEMS [MINIMALLOC] [--turns 3] [--timeout 60]

PROBLEMS is the folder benchmarks/challenging of google/minimalloc: NAME.CAPACITY.csv. MINIMALLOC is its binary, built
from that repository with CMake in Release; without it, or when it is not there, only Berth is run, and that is said.
Both get the capacity of the file's name. Seconds are the least of all turns. Exit 1 when Berth does not solve one.
"""
import argparse
import math
import pathlib
import subprocess
import sys
import tempfile
import time


def seconds_of(command, timeout):
    """How long a command takes; None when it fails or does not end in time."""
    start = time.perf_counter()
    try:
        done = subprocess.run(command, capture_output=True, timeout=timeout)
    except subprocess.TimeoutExpired:
        return None
    return time.perf_counter() - start if done.returncode == 0 else None


def overlaps(problem, solution, capacity):
    """Whether a solution leaves the capacity or puts two storages that live together on one byte."""
    rows = [line.split(",") for line in pathlib.Path(solution).read_text().split()]
    at = {name: i for i, name in enumerate(rows[0])}
    places = [tuple(int(row[at[name]]) for name in ("lower", "upper", "size", "offset")) for row in rows[1:]]
    if len(places) != len(pathlib.Path(problem).read_text().split()) - 1:
        return True
    for i, (lower, upper, size, offset) in enumerate(places):
        if offset < 0 or offset + size > capacity:
            return True
        for other_lower, other_upper, other_size, other_offset in places[:i]:
            if lower < other_upper and other_lower < upper:
                if offset < other_offset + other_size and other_offset < offset + size:
                    return True
    return False


def shown(seconds):
    return "-" if seconds is None else f"{seconds:.3f}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("berth")
    parser.add_argument("problems", type=pathlib.Path)
    parser.add_argument("minimalloc", nargs="?", type=pathlib.Path)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--timeout", type=float, default=60)
    options = parser.parse_args()
    peer = options.minimalloc
    if peer is None or not peer.exists():
        print("MiniMalloc is not there: Berth alone.\n")
        peer = None

    files = sorted(options.problems.glob("*.*.csv"))
    if not files:
        sys.exit(f"{options.problems}: no NAME.CAPACITY.csv there")
    wrong = False
    sums = [0.0, 0.0]
    ratios = []
    print("| problem | Berth s | MiniMalloc s | times as fast |\n| --- | ---: | ---: | ---: |")
    with tempfile.TemporaryDirectory() as folder:
        solution = pathlib.Path(folder) / "solution.csv"
        for file in files:
            capacity = file.name.split(".")[1]
            mine, theirs = [], []
            for _ in range(options.turns):
                solution.unlink(missing_ok=True)
                mine.append(seconds_of([options.berth, "plan", file, "--capacity", capacity, "-o", solution],
                                       options.timeout))
                if mine[-1] is None or overlaps(file, solution, int(capacity)):
                    mine[-1] = None
                    wrong = True
                if peer is not None:
                    theirs.append(seconds_of([peer, f"--capacity={capacity}", f"--input={file}",
                                              f"--output={folder}/theirs.csv"], options.timeout))
            best = [min((s for s in some if s is not None), default=None) for some in (mine, theirs)]
            ratio = best[1] / best[0] if None not in best else None
            if ratio is not None:
                ratios.append(ratio)
            sums = [total + (some if some is not None else math.nan) for total, some in zip(sums, best)]
            print(f"| {file.name} | {shown(best[0])} | {shown(best[1])} | {'-' if ratio is None else f'{ratio:.1f}'} |",
                  flush=True)
    print(f"\nin all: Berth {sums[0]:.3f} s", end="")
    if ratios:
        mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
        print(f", MiniMalloc {sums[1]:.3f} s; geometric mean of the ratios {mean:.1f}", end="")
    print()
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
