"""The `berth` tool and ExecuTorch's runtime, driven from Python."""
import json
import pathlib
import subprocess
import sys

import numpy as np


class Refused(Exception):
    """The tool said no, with a sentence and exit code 2."""


class Broken(Exception):
    """The tool crashed, blamed itself, or said something that is not a sentence."""


class Berth:
    def __init__(self, binary):
        self.binary = str(pathlib.Path(binary).resolve())

    def call(self, *arguments, timeout=300):
        done = subprocess.run([self.binary, *map(str, arguments)], capture_output=True, text=True, timeout=timeout)
        if done.returncode == 2 and done.stderr.startswith("berth: "):
            raise Refused(done.stderr.strip().removeprefix("berth: "))
        if done.returncode != 0:
            raise Broken(f"exit code {done.returncode}: {done.stderr.strip()[-500:]}")
        return done.stdout

    def compile(self, model, program, *options):
        return json.loads(self.call("compile", model, "-o", program, "--json", *options))

    def run(self, program, inputs, folder, *options):
        """Runs on a list of .npy paths; returns the outputs as arrays."""
        folder.mkdir(parents=True, exist_ok=True)
        arguments = [f"--input={path}" for path in inputs]
        self.call("run", program, *arguments, "--output-dir", folder, *options)
        return load_outputs(folder)


class ExecuTorch:
    """A worker process, started again when a program takes it down."""

    def __init__(self):
        self.process = None

    def run(self, program, inputs, folder, **options):
        folder.mkdir(parents=True, exist_ok=True)
        job = {"program": str(program), "inputs": [str(p) for p in inputs], "outputs": str(folder), **options}
        answer = self.ask(job)
        if "error" in answer:
            raise Refused(answer["error"])
        return load_outputs(folder, answer["count"]), answer

    def ask(self, job):
        if self.process is None or self.process.poll() is not None:
            worker = pathlib.Path(__file__).with_name("executorch_worker.py")
            self.process = subprocess.Popen([sys.executable, worker], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                            stderr=subprocess.DEVNULL, text=True)
        self.process.stdin.write(json.dumps(job) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            code = self.process.wait()
            return {"error": f"ExecuTorch's process ended with code {code}"}
        return json.loads(line)


def load_outputs(folder, count=None):
    paths = sorted(folder.glob("out*.npy"), key=lambda p: int(p.stem[3:]))
    return [np.load(path) for path in (paths if count is None else paths[:count])]


def difference(got, want, rtol=1e-4, atol=1e-5):
    """None when `got` equals `want` within rtol and atol times the largest magnitude; else what differs."""
    if len(got) != len(want):
        return f"{len(got)} outputs instead of {len(want)}"
    for i, (g, w) in enumerate(zip(got, want)):
        if g.shape != w.shape:
            return f"out{i} has shape {g.shape} instead of {w.shape}"
        if g.dtype != w.dtype:
            return f"out{i} has type {g.dtype} instead of {w.dtype}"
        if g.dtype.kind in "fc":
            wide = np.complex128 if g.dtype.kind == "c" else np.float64
            g, w = g.astype(wide), w.astype(wide)
            finite = w[np.isfinite(w)]
            largest = float(np.abs(finite).max()) if finite.size else 0.
            if not np.allclose(g, w, rtol=rtol, atol=atol * max(largest, 1e-30), equal_nan=True):
                worst = np.nanmax(np.abs(g - w)) if g.size else 0
                return f"out{i} differs by {worst:.3g}, largest magnitude {largest:.3g}"
        elif not np.array_equal(g, w):
            return f"out{i} differs in {int((g != w).sum())} of {g.size} elements"
    return None
