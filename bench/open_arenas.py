#!/usr/bin/env python3
"""Memory and plans of programs for ranges of sizes.

    bench/open_arenas.py BUILD [NAME…] [--target cpu] [--count 10000] [--runs N]

BUILD is the build folder (build/release), with bench/open_plans in it. bench/open_models.py has the models, their
ranges and their sizes. The columns: the arenas at a tenth of each range beside those at its end (memory of images is
the square of their sides); the largest that they are at one of the sizes beside those of the program for that size
alone; microseconds of processor time that evaluating the plan takes (median and slowest hundredth of COUNT random
sizes); and how much resident memory grows over RUNS runs of random sizes, after the first tenth of them. Exit 1 above
1.1 times the arenas alone, above 50 microseconds, or when memory grows by a MiB or more.
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from open_models import MODELS, model_file  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[1]


def tool(berth, *arguments):
    done = subprocess.run([berth, *map(str, arguments)], capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"berth {arguments[0]}: {done.stderr.strip()}")
    return done.stdout


def alone_bytes(berth, model, entry, size, target, program):
    report = json.loads(tool(berth, "compile", model, "-o", program, "--json", "--target", target, *entry.options(size)))
    return sum(arena["bytes"] for arena in report["arenas"])


def open_bytes(berth, entry, size, program):
    shapes = [f"--input-shape={name}={'x'.join(map(str, shape))}" for name, shape in entry.shapes(size).items()
              if name in entry.ranges]
    methods = json.loads(tool(berth, "inspect", program, "--json", *shapes))["methods"]
    return sum(arena.get("bytes_at_sizes", arena["bytes"]) for arena in methods[0]["arenas"])


def row(args, name, work):
    entry = MODELS[name]
    berth = args.build / "berth"
    model = model_file(name, ROOT / "build/models/open")
    program = work / "open.pte"
    tool(berth, "compile", model, "-o", program, "--target", args.target, *entry.options())
    worst = max(open_bytes(berth, entry, size, program) /
                alone_bytes(berth, model, entry, size, args.target, work / "alone.pte") for size in entry.sizes)
    plans = subprocess.run([args.build / "bench/open_plans", program, str(args.count), str(args.runs)], check=True,
                           capture_output=True, text=True).stdout
    plan = json.loads(plans)
    grown = plan["resident_kb"][1] - plan["resident_kb"][0]
    print(f"| {name} | {plan['bound']} | {plan['tenth'] / plan['bound']:.3f} | {worst:.3f} | {plan['median_us']:.1f} | "
          f"{plan['hundredth_us']:.1f} | {plan['runs']} | {grown} |", flush=True)
    return worst <= 1.1 and plan["hundredth_us"] <= 50 and grown < 1024


def main():
    cli = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    cli.add_argument("build", type=pathlib.Path)
    cli.add_argument("names", nargs="*")
    cli.add_argument("--target", default="cpu")
    cli.add_argument("--count", type=int, default=10000)
    cli.add_argument("--runs", type=int, default=100)
    args = cli.parse_args()
    print("| model | bytes at the bound | at a tenth | beside alone | plan, µs | slowest hundredth | runs | grown, KiB |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        good = [row(args, name, pathlib.Path(folder)) for name in args.names or MODELS]
    sys.exit(0 if all(good) else 1)


if __name__ == "__main__":
    main()
