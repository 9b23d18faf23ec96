#!/usr/bin/env python3
"""Random ONNX models in Berth, against ONNX Runtime.

    ./dev random-onnx                          # a minute, with a new seed, which is printed
    ./dev random-onnx --seconds 600            # or --models 5000
    ./dev random-onnx --seed 7 --model 123     # one model of a seed again
    ./dev random-onnx --repeat build/random_onnx/7-123   # a model that was found and made smaller
    ./dev random-onnx --only Resize Conv       # these operators alone, to look closely
    ./dev random-onnx --operators              # which may be drawn

A signal, a hang, exit code 1 and a difference from ONNX Runtime are findings: each is made smaller and kept under
build/random_onnx, with the command that repeats it. What is refused with a sentence is counted. docs/testing.md says
more. Exit code 0: nothing was found; 1: something was; 2: the command line is wrong.
"""
import argparse
import collections
import faulthandler
import json
import multiprocessing
import os
import pathlib
import secrets
import shutil
import signal
import sys
import tempfile
import time
import traceback
import warnings

ROOT = pathlib.Path(__file__).resolve().parents[2]
KEPT = ROOT / "build/random_onnx"


def parse(arguments):
    parser = argparse.ArgumentParser(prog="./dev random-onnx", description=__doc__.split("\n")[0])
    parser.add_argument("berth", type=pathlib.Path)
    parser.add_argument("--seconds", type=float, help="for how long; 60 without --models")
    parser.add_argument("--models", type=int, help="how many")
    parser.add_argument("--seed", help="a new one without")
    parser.add_argument("--model", type=int, help="this one alone")
    parser.add_argument("--node-by-node", action="store_true", help="with --model: ONNX Runtime gets one node at a time")
    parser.add_argument("--only", nargs="+", default=[], metavar="OPERATOR", help="draw these operators alone")
    parser.add_argument("--variants", type=int, default=3, help="of each model, at most one a target")
    parser.add_argument("--jobs", type=int, default=min(2, os.cpu_count() or 1), help="processes")
    parser.add_argument("--refusals", type=int, default=10, help="how many reasons of refusals to print")
    parser.add_argument("--as-found", action="store_true", help="make nothing smaller")
    parser.add_argument("--repeat", type=pathlib.Path, help="a folder under build/random_onnx")
    parser.add_argument("--operators", action="store_true", help="which may be drawn")
    options = parser.parse_args(arguments)
    from operators import names
    unknown = set(options.only) - {op for _, op in names()}
    if unknown:
        parser.error(f"--only: there is no operator {', '.join(sorted(unknown))}; --operators lists them")
    return options


def one_model(berth, seed, index, count, only, folder, node_by_node):
    """(verdict, model, operators)"""
    from check import check
    from graph import new_rng
    from model import draw_model
    from variants import draw_variants
    model = draw_model(seed, index, only)
    variants = list(draw_variants(new_rng(f"{seed} variants", index), count))
    return check(berth, model, variants, folder, node_by_node), model, [(n.domain, n.op_type) for n in model.proto.graph.node]


def keep(berth, seed, index, finding, model, folder, as_found):
    """Makes the model smaller and keeps it: (where, a line that says what it is)."""
    from minimise import Minimiser
    from variants import Files, commands
    if not as_found:
        model, finding = Minimiser(berth, finding, folder / "smaller").run(model)
    place = KEPT / f"{seed}-{index}"
    shutil.rmtree(place, ignore_errors=True)
    files = Files(model, place)
    about = {"kind": finding.kind, "step": finding.step, "text": finding.text, "compile": finding.variant.compile,
             "run": finding.variant.run, "ranges": model.ranges, "calls": len(model.calls),
             "commands": commands(berth, files, finding.variant)}
    (place / "finding.json").write_text(json.dumps(about, indent=1) + "\n")
    operators = " → ".join(n.op_type for n in model.proto.graph.node)
    return f"{finding.kind} in {finding.step}: {operators}\n    {finding.text}\n    {about['commands']}\n" \
           f"    ./dev random-onnx --repeat {place.relative_to(ROOT)}"


def work(berth, seed, count, only, as_found, jobs, send):
    """A process that takes numbers of models and tells of each."""
    warnings.simplefilter("ignore")  # onnx.reference divides by zero aloud
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with tempfile.TemporaryDirectory(dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None) as folder:
        folder = pathlib.Path(folder)
        while (job := jobs.recv()) is not None:
            index, node_by_node = job
            try:
                verdict, model, operators = one_model(berth, seed, index, count, only, folder / "model", node_by_node)
                found = [keep(berth, seed, index, f, model, folder, as_found) for f in verdict.findings[:1]]
                send.send((index, found, verdict.refused, verdict.ran, verdict.notes, operators))
            except Exception:  # this program's own fault
                send.send((index, [f"fault of this program: {traceback.format_exc()}"], [], 0, [], []))


class Worker:
    def __init__(self, arguments):
        self.arguments = arguments
        self.start()

    def start(self):
        jobs, self.jobs = multiprocessing.Pipe(duplex=False)
        self.results, send = multiprocessing.Pipe(duplex=False)
        self.process = multiprocessing.Process(target=work, args=(*self.arguments, jobs, send), daemon=True)
        self.process.start()
        jobs.close()
        send.close()

    def give(self, index, node_by_node=False):
        self.index, self.node_by_node = index, node_by_node
        self.jobs.send((index, node_by_node))

    def restart(self):
        """After its process has ended: how, in words."""
        self.process.join()
        code = self.process.exitcode
        self.start()
        return f"signal {-code}" if code < 0 else f"exit code {code}"


class Summary:
    def __init__(self):
        self.models = self.ran = self.refused_whole = self.died = self.lost = 0
        self.operators, self.reasons, self.notes, self.findings = (collections.Counter() for _ in range(4))

    def add(self, index, found, refused, ran, notes, operators):
        self.models += 1
        self.ran += ran
        self.refused_whole += bool(refused and not ran)
        self.operators.update(set(operators))
        self.reasons.update(set(refused))
        self.notes.update(set(notes))
        for text in found:
            self.findings[text.split("\n")[0]] += 1
            print(f"FOUND model {index}: {text}", flush=True)

    def print(self, seconds, refusals):
        print(
            f"{self.models} models of {len(self.operators)} operators in {seconds:.0f} s "
            f"({self.models / max(seconds, .001):.1f} a second), {self.ran} runs in Berth; {self.refused_whole} models "
            f"were refused whole")
        if self.died:
            print(f"ONNX Runtime died of {self.died} models, of which {self.lost} could not be judged node by node either")
        for title, counts in ("refused", self.reasons), ("noted", self.notes):
            for text, count in counts.most_common(refusals):
                print(f"  {title} {count}: {text}")
        for text, count in self.findings.most_common():
            print(f"  found {count}: {text}")
        print(f"{sum(self.findings.values())} findings")


def after_death(worker, summary, seed):
    """Whether the worker, whose process ended, judges its model again, node by node. Berth runs in processes of its
    own, so that it cannot have ended this one."""
    how = worker.restart()
    if worker.node_by_node:
        summary.lost += 1
        print(f"lost: ONNX Runtime died ({how}) of a node of model {worker.index} "
              f"(./dev random-onnx --seed {seed} --model {worker.index} --node-by-node)", flush=True)
        return False
    summary.died += 1
    print(f"ONNX Runtime died ({how}) of model {worker.index}, which is judged node by node "
          f"(./dev random-onnx --seed {seed} --model {worker.index})", flush=True)
    worker.give(worker.index, node_by_node=True)
    return True


def run(options, seed):
    from multiprocessing.connection import wait
    seconds = options.seconds if options.seconds is not None else (60 if options.models is None else float("inf"))
    start, summary, next_index = time.time(), Summary(), 0
    arguments = (str(options.berth.resolve()), seed, options.variants, options.only, options.as_found)
    workers = [Worker(arguments) for _ in range(options.jobs)]
    idle = list(workers)
    busy = []
    while True:
        while idle and time.time() - start < seconds and (options.models is None or next_index < options.models):
            idle[-1].give(next_index)
            busy.append(idle.pop())
            next_index += 1
        if not busy:
            break
        ready = wait([w.results for w in busy])
        for worker in [w for w in busy if w.results in ready]:
            busy.remove(worker)
            try:
                summary.add(*worker.results.recv())
                idle.append(worker)
            except EOFError:
                if after_death(worker, summary, seed):
                    busy.append(worker)
                else:
                    idle.append(worker)
    for worker in workers:
        worker.jobs.send(None)
        worker.process.join()
    summary.print(time.time() - start, options.refusals)
    return 1 if summary.findings else 0


def single(options, seed):
    import onnx
    faulthandler.enable()  # it says where ONNX Runtime dies
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        verdict, model, _ = one_model(str(options.berth.resolve()), seed, options.model, options.variants,
                                      options.only, folder / "model", options.node_by_node)
        print(onnx.printer.to_text(model.proto))
        for note in verdict.notes + verdict.refused:
            print(note)
        for finding in verdict.findings:
            print(finding)
        if verdict.findings:
            print(keep(options.berth, seed, options.model, verdict.findings[0], model, folder, options.as_found))
        return 1 if verdict.findings else 0


def repeat(options):
    import numpy as np
    import onnx
    from check import check
    from model import Model
    from variants import Variant
    about = json.loads((options.repeat / "finding.json").read_text())
    proto = onnx.load(options.repeat / "model.onnx")
    calls = [[np.load(options.repeat / f"call{c}_in{i}.npy") for i in range(len(proto.graph.input))]
             for c in range(about["calls"])]
    print(onnx.printer.to_text(proto))
    with tempfile.TemporaryDirectory() as folder:
        variant = Variant(tuple(about["compile"]), tuple(about["run"]))
        verdict = check(str(options.berth.resolve()), Model(proto, calls, about["ranges"]), [variant], folder)
    for text in verdict.refused + verdict.notes + [f"{f.kind} in {f.step}: {f.text}" for f in verdict.findings]:
        print(text)
    print(f"{len(verdict.findings)} findings")
    return 1 if verdict.findings else 0


def main():
    options = parse(sys.argv[1:])
    if options.operators:
        from operators import names
        for domain, op in names():
            print(f"{domain}.{op}" if domain else op)
        return 0
    if options.repeat:
        return repeat(options)
    seed = options.seed if options.seed is not None else str(secrets.randbelow(10**9))
    print(f"seed {seed}", flush=True)
    return single(options, seed) if options.model is not None else run(options, seed)


if __name__ == "__main__":
    sys.exit(main())
