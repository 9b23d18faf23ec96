#!/usr/bin/env python3
"""Berth's cpu target beside ONNX Runtime, OpenVINO and ExecuTorch with XNNPACK: same models, inputs and threads.

    ./dev race [NAME…]
    bench/race.py BERTH [NAME…] [--threads 2] [--turns 5] [--seconds 0.5]
    ./dev race --form s8s8 [NAME…]              # quantised, or in bf16: bench/forms.py has the forms
    ./dev race --threads 1 --processor-time     # beside other work: what others do on the cores is not counted

OpenVINO runs twice: in f32, and as installed, where it computes in bf16 if the processor can. In f32 the ratio is to
the best peer of that precision, in other forms to the best of all. All run in turns, each in its own process, so that
a slow minute of the machine is a slow minute for every peer.
Each peer's process stays up over its turns and sleeps between them; Berth's is started anew each turn. Latency is the
minimum of all turns; load is from the file to a method that can run, with libraries in memory and a warm page cache;
memory is the peak of the process less what it held when its libraries were loaded (of Berth's processes the median).
In f32 outputs are held to ONNX Runtime's; in other forms they may lie twice as far from them as the farthest peer's.
Exit 1 when outputs differ, when the geometric mean of Berth / best peer is over 1, or one model's is over 1.2.
"""
import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "tests/compat"), str(ROOT / "bench")]
from drivers import difference, load_outputs  # noqa: E402
from peers import geometric_mean, suite  # noqa: E402
from forms import FORMS, export_xnnpack, make  # noqa: E402

INSTALLED = "openvino-installed"
PEERS = ["onnxruntime", "openvino", INSTALLED, "executorch"]


class Peer:
    """One peer's process; None stands for one that cannot run the model."""

    def __init__(self, name, model, threads, folder, processor_time=False):
        self.name, self.outputs = name, folder / name
        self.outputs.mkdir()
        worker = pathlib.Path(__file__).with_name("race_worker.py")
        self.process = subprocess.Popen([sys.executable, worker, name, model, str(threads), self.outputs,
                                         "processor" if processor_time else "wall"], text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.start, self.times, self.memory_kb = self.answer(), [], 0

    def answer(self):
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"{self.name} ended with code {self.process.wait()}")
        return json.loads(line)

    def turn(self, seconds):
        self.process.stdin.write(json.dumps({"seconds": seconds}) + "\n")
        self.process.stdin.flush()
        answer = self.answer()
        self.times.append(answer["times"])
        self.memory_kb = answer["memory_kb"]

    def load_ms(self):
        return self.start["load_ms"]

    def first_ms(self):
        return self.start["first_ms"]

    def close(self):
        self.process.stdin.write("\n")
        self.process.stdin.close()
        self.process.wait()


class Berth:
    """`berth bench`, a process a turn."""

    name = "berth"

    def __init__(self, binary, model, threads, folder, options, processor_time=False):
        self.clock = ["--processor-time"] if processor_time else []
        self.binary, self.threads, self.outputs = binary, threads, folder / "berth"
        self.program, self.inputs = folder / "model.pte", [f"--input={p}" for p in sorted(model.glob("in*.npy"))]
        self.call("compile", model / "model.onnx", "-o", self.program, *options)
        self.call("run", self.program, *self.inputs, "--output-dir", self.outputs, "--threads", threads)
        self.times, self.reports = [], []

    def call(self, *arguments):
        return subprocess.run([self.binary, *map(str, arguments)], check=True, capture_output=True, text=True).stdout

    def turn(self, seconds):
        guess = self.reports[-1]["median_ms"] if self.reports else 20.0
        runs = max(5, min(2000, int(seconds * 1e3 / guess)))
        self.reports.append(json.loads(self.call("bench", self.program, "--json", "--threads", self.threads,
                                                 "--iterations", runs, *self.clock, *self.inputs)))
        self.times.append([self.reports[-1]["min_ms"], self.reports[-1]["median_ms"]])

    def load_ms(self):
        return min(r["load_ms"] for r in self.reports)

    def first_ms(self):
        return min(r["first_ms"] for r in self.reports)

    @property
    def memory_kb(self):
        # Where the system maps code and stacks is another place each time: up to 0.2 MB more or less.
        return statistics.median(r["peak_rss_kb"] - r["start_rss_kb"] for r in self.reports)

    def close(self):
        pass


def best_ms(racer):
    return min(min(turn) for turn in racer.times)


def median_ms(racer):
    return statistics.median(statistics.median(turn) for turn in racer.times)


def race(args, model, folder, options):
    """All racers after their turns; those that cannot run the model are missing."""
    options = ["--target", args.target, *(["--precision", "bf16"] if args.form == "bf16" else []), *options]
    made = make(model, args.form)
    racers = [Berth(args.berth, made, args.threads, folder, options, args.processor_time)]
    for name in PEERS:
        if args.peer and name not in ["onnxruntime", *args.peer]:
            continue
        if name == "executorch" and not export_xnnpack(model, args.form):
            continue
        try:
            racers.append(Peer(name, made, args.threads, folder, args.processor_time))
        except RuntimeError as error:
            print(f"  {model.name}: {error}", file=sys.stderr)
    for _ in range(args.turns):
        for racer in racers:
            racer.turn(args.seconds)
    return racers


def distance(outputs, wants):
    """The largest of all outputs, of the norm of the difference to the norm of what is wanted."""
    return max(float(np.linalg.norm(np.subtract(a, b, dtype=np.float64)) / max(np.linalg.norm(b), 1e-30))
               for a, b in zip(outputs, wants))


def difference_of(form, berth, peers, wants, atol):
    """What is wrong with Berth's outputs; empty for nothing. In f32 they may be off by `atol` of the largest."""
    if form == "f32":
        return difference(load_outputs(berth.outputs), wants, 1e-3, atol)
    # ExecuTorch's was quantised by another tool.
    farthest = max(distance(load_outputs(p.outputs), wants) for p in peers if p.name != "executorch")
    own = distance(load_outputs(berth.outputs), wants)
    print(f"  {own:.2g} from ONNX Runtime's outputs, the farthest peer {farthest:.2g}", file=sys.stderr)
    return "" if own <= max(2 * farthest, 1e-2) else f"{own:.2g} of their norm, the farthest peer {farthest:.2g}"


def row_of(name, racers, form, atol):
    berth, everyone = racers[0], racers[1:]
    peers = [p for p in everyone if p.name != INSTALLED] if form == "f32" else everyone
    wants = load_outputs(next(p for p in peers if p.name == "onnxruntime").outputs)
    installed = [best_ms(p) for p in everyone if p.name == INSTALLED]
    return {
        "name": name,
        "differs": difference_of(form, berth, everyone, wants, atol),
        "installed": best_ms(berth) / min(installed) if installed else float("nan"),
        "best": {r.name: best_ms(r) for r in racers},
        "median": {r.name: median_ms(r) for r in racers},
        "latency": best_ms(berth) / min(best_ms(p) for p in peers),
        "median_ratio": median_ms(berth) / min(median_ms(p) for p in peers),
        "load": {r.name: r.load_ms() for r in racers},
        "load_ratio": berth.load_ms() / min(p.load_ms() for p in peers),
        "first": berth.first_ms() / median_ms(berth),
        "memory": {r.name: r.memory_kb / 1024 for r in racers},
        "memory_ratio": berth.memory_kb / max(1, min(p.memory_kb for p in peers)),
    }


def number(value):
    return "–" if value is None else f"{value:.3g}"


def table(title, rows, key, ratio, extra=()):
    names = ["berth", *PEERS]
    print(f"\n### {title}\n")
    print("| model | " + " | ".join([*names, "berth / best", *(e for e, _ in extra)]) + " |")
    print("| --- " + "| ---: " * (len(names) + 1 + len(extra)) + "|")
    for row in sorted(rows, key=lambda r: -r[ratio]):
        cells = [number(row[key].get(n)) for n in names] + [f"{row[ratio]:.2f}"] + [f"{row[e]:.2f}" for _, e in extra]
        print(f"| {row['name']} | " + " | ".join(cells) + " |")
    mean = geometric_mean(max(r[ratio], 1e-9) for r in rows)
    print(f"\nGeometric mean of berth / best: {mean:.3f}")
    return mean


def add_options(cli):
    """What wild.py has too."""
    cli.add_argument("--threads", type=int, default=2)
    cli.add_argument("--turns", type=int, default=5)
    cli.add_argument("--seconds", type=float, default=0.5, help="of each racer in each turn")
    cli.add_argument("--processor-time", action="store_true", help="of all threads, instead of what a clock says")
    cli.add_argument("--peer", action="append", choices=PEERS, help="once for each; default: all. onnxruntime is always there")
    cli.add_argument("--target", default="cpu")
    cli.add_argument("--form", choices=FORMS, default="f32")


def raced(args, name, model, atol=1e-4, options=()):
    """The row of one model; difference_of() tells what `atol` is, `options` are more of `berth compile`."""
    with tempfile.TemporaryDirectory() as folder:
        racers = race(args, model, pathlib.Path(folder), options)
        row = row_of(name, racers, args.form, atol)
        for racer in racers:
            racer.close()
    print(f"  {name}: {row['latency']:.2f} of the best peer's time", file=sys.stderr, flush=True)
    return row


def report(rows, args):
    """Prints the tables; the geometric mean of the latencies."""
    mean = table(f"Latency, {args.form}, {args.threads} threads, minimum in ms" + (" of processor time" if args.processor_time else ""), rows, "best", "latency",
                 [("berth / openvino as installed", "installed")])
    table("The same, median", rows, "median", "median_ratio")
    table("Load in ms", rows, "load", "load_ratio", [("first run / median", "first")])
    table("Memory in MB", rows, "memory", "memory_ratio")
    for row in rows:
        if row["differs"]:
            print(f"\n{row['name']}: outputs differ: {row['differs']}")
    return mean


def main():
    cli = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    cli.add_argument("berth", type=lambda p: pathlib.Path(p).resolve())
    cli.add_argument("names", nargs="*")
    add_options(cli)
    args = cli.parse_args()
    rows = [raced(args, name, model) for name, model in suite(args.names)]
    mean = report(rows, args)
    return int(mean > 1 or any(r["latency"] > 1.2 or r["differs"] for r in rows))


if __name__ == "__main__":
    sys.exit(main())
