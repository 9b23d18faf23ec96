"""The model in Berth: targets, switches and threads, one process to compile and one for all calls."""
import dataclasses
import pathlib
import re
import shlex
import shutil
import subprocess

import numpy as np

SECONDS = 20
TARGETS = (("--target", "portable"), ("--target", "cpu"), ("--target", "sim:0"), ("--target", "cpu,sim:0", "--split"))
SWITCHES = ("--no-fusion", "--no-inplace", "--no-reorder", "--no-reuse", "--no-alias", "--verify-ir")
PLANNERS = ("greedy", "naive")


@dataclasses.dataclass(frozen=True)
class Variant:
    compile: tuple
    run: tuple = ()


@dataclasses.dataclass
class Outcome:
    """`kind`: "done", "refused", "signal", "hang", "exit 1" or "output" (what it wrote cannot be read). `step`: compile
    or run. `text`: the last line that it said. `outputs`: arrays for each call."""
    kind: str
    step: str = ""
    text: str = ""
    outputs: list = None


def draw_variants(rng, count):
    """`count` variants of different targets."""
    for target in rng.sample(TARGETS, min(count, len(TARGETS))):
        switches = [s for s in SWITCHES if rng.random() < .15]
        if rng.random() < .2 and "--no-reuse" not in switches:
            switches += ["--planner", rng.choice(PLANNERS)]
        run = ["--threads", rng.choice("12")] + (["--load", "read"] if rng.random() < .1 else [])
        yield Variant(target + tuple(switches), tuple(run))


class Files:
    """The model and its inputs as files in `folder`, which is made."""

    def __init__(self, model, folder):
        self.model, self.folder = model, pathlib.Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        (self.folder / "model.onnx").write_bytes(model.proto.SerializeToString())
        for call, arrays in enumerate(model.calls):
            for i, array in enumerate(arrays):
                np.save(self.input(call, i), array)

    def input(self, call, i):
        return self.folder / f"call{call}_in{i}.npy"

    def compile_arguments(self, variant, program):
        shapes = [word for text in self.model.ranges for word in ("--input-shape", text)]
        return ["compile", str(self.folder / "model.onnx"), "-o", str(program), *shapes, *variant.compile]

    def run_arguments(self, variant, program, outputs):
        first, *others = [[str(self.input(call, i)) for i in range(len(arrays))]
                          for call, arrays in enumerate(self.model.calls)]
        arguments = ["run", str(program), "--output-dir", str(outputs), *variant.run]
        arguments += [word for path in first for word in ("--input", path)]
        return arguments + [word for paths in others for word in ("--then", "forward=" + ",".join(paths))]


def commands(berth, files, variant):
    """The two commands, for a shell."""
    program, outputs = files.folder / "model.pte", files.folder / "outputs"
    return " && ".join(shlex.join([str(berth), *arguments]) for arguments in
                       (files.compile_arguments(variant, program), files.run_arguments(variant, program, outputs)))


def call(berth, step, arguments):
    try:
        done = subprocess.run([berth, *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                              stderr=subprocess.PIPE, timeout=SECONDS)
    except subprocess.TimeoutExpired:
        return Outcome("hang", step, f"not done after {SECONDS} s")
    said = done.stderr.decode(errors="replace").strip().split("\n")[-1]
    if done.returncode == 0:
        return Outcome("done")
    if done.returncode < 0:
        return Outcome("signal", step, f"signal {-done.returncode}")
    if done.returncode == 2 and said.startswith("berth: "):
        return Outcome("refused", step, said)
    return Outcome("exit 1", step, f"exit code {done.returncode}: {said}")


def run_variant(berth, files, variant):
    program, outputs = files.folder / "model.pte", files.folder / "outputs"
    outcome = call(berth, "compile", files.compile_arguments(variant, program))
    if outcome.kind != "done":
        return outcome
    shutil.rmtree(outputs, ignore_errors=True)
    outcome = call(berth, "run", files.run_arguments(variant, program, outputs))
    if outcome.kind == "done":
        count = len(files.model.proto.graph.output)
        try:
            outcome.outputs = [[np.load(outputs / f"{f'c{c}_' if c else ''}out{i}.npy") for i in range(count)]
                               for c in range(len(files.model.calls))]
        except (OSError, ValueError) as error:
            return Outcome("output", "run", str(error))
    return outcome


def reason(outcome):
    """The sentence of a refusal without what is this model's own: places, names and numbers."""
    text = outcome.text.removeprefix("berth: ").rpartition("/model.onnx: ")[2].rpartition("/model.pte: ")[2]
    text = re.sub(r'node "[^"]*"|"[^"]*"', "…", text)
    text = re.sub(r"\b[vcxi]\d+\b", "…", text)
    text = re.sub(r"\[[^\]]*\]", "[…]", text)
    return f"{outcome.step}: " + re.sub(r"-?\d+(\.\d+)?(e[-+]?\d+)?", "N", text)[:200]
