#!/usr/bin/env python3
"""Language models token by token: Berth's cpu target beside llama.cpp, in turns, at the same shapes and weights.

    bench/llama_race.py BUILD [--shape llama-1b] [--weights 8 4 bf16] [--layers N] [--threads 2] [--turns 5]

BUILD is a build folder with the benchmarks:

    ./dev build && cmake --preset release -DBERTH_BENCH=ON && cmake --build build/release --target berth decode_table

It needs torch, transformers, gguf and llama-cpp-python, built from its source package so that it uses this processor's
instructions:

    CMAKE_ARGS=-DGGML_NATIVE=ON pip install --no-binary llama-cpp-python llama-cpp-python==0.3.36 gguf transformers

--folder keeps models and programs, of which the first run makes up to 10 GB each (Llama-1B in bf16; the .pt2 files,
half of that, may be deleted).

Weights are random. Each side is a process of its own (decode_table --serve, llama_worker.py) that sleeps while the
other has its turn. A turn is some tokens behind a prompt of 512, then the prompt of 512 at once, then loops that read a
buffer of as many bytes as the weights of a token, in Berth's process. Times are of the wall; with --processor-time
those of the processor, for machines with other work on them: use one thread then.
"""
import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import llama_models  # noqa: E402

BITS = {"bf16": 16, "8": 8.5, "4": 4.5}  # of llama.cpp's; its scales are f16


class Side:
    def __init__(self, *command):
        self.process = subprocess.Popen([str(c) for c in command], text=True, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE)
        self.load = self.answer()["wall"][0]
        self.decode, self.prefill, self.reading = [], [], []

    def answer(self):
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit(f"{self.process.args[0]} ended with code {self.process.wait()}")
        return json.loads(line)

    def ask(self, line, clock):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        return self.answer()[clock]

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def memory_of(process, field):
    with open(f"/proc/{process.pid}/status", encoding="ascii") as status:
        return next(int(line.split()[1]) for line in status if line.startswith(field + ":")) / 1024


def race(args, weights, folder):
    made = folder / f"{args.shape}_{weights}_{args.layers or 'all'}"
    if not (made / "model.gguf").exists():
        made.mkdir(parents=True, exist_ok=True)
        model = llama_models.transformers_model(args.shape, weights, args.layers)
        llama_models.export_both(model, made, llama_models.PROMPT)
        del model
        llama_models.write_gguf(args.shape, weights, made / "model.gguf", args.layers)
    program = made / f"{args.precision}_{args.activations}.pte"
    if args.compile or not program.exists():
        subprocess.run([args.build / "berth", "compile", f"prefill={made / 'prefill.pt2'}",
                        f"decode={made / 'decode.pt2'}", "-o", program, "--share-state", "--target", "cpu",
                        "--precision", args.precision, "--activations", args.activations],
                       check=True, stdout=subprocess.DEVNULL)
    numbers = llama_models.weights_of_a_token(args.shape, args.layers)
    megabytes = numbers * BITS[weights] / 8 / 1e6
    berth = Side(args.build / "bench/decode_table", "--serve", program, args.threads, megabytes)
    llama = Side(sys.executable, pathlib.Path(__file__).with_name("llama_worker.py"), made / "model.gguf", args.threads,
                 llama_models.CAPACITY)
    clock = "cpu" if args.processor_time else "wall"
    if args.no_prefill:
        # Its attention reads what its cache has; Berth's reads up to the position, whatever is there.
        llama.ask(f"decode 0 {llama_models.PROMPT}", clock)
    for turn in range(args.turns):
        for side in (berth, llama) if turn % 2 == 0 else (llama, berth):
            side.decode += side.ask(f"decode {llama_models.PROMPT} {args.tokens}", clock)
            if not args.no_prefill and turn < args.prefills:
                side.prefill += side.ask(f"prefill {llama_models.PROMPT}", clock)
        berth.reading.append(min(berth.ask("read", clock)))
    for side in (berth, llama):
        side.close()
    return berth, llama, megabytes


def row(weights, berth, llama, megabytes):
    def both(values, make):
        return [make(min(values)), make(statistics.median(values))]
    ours, theirs = (both(side.decode, lambda s: 1 / s) for side in (berth, llama))
    reading = both(berth.reading, lambda s: megabytes / 1e3 / s)
    cells = [weights, f"{megabytes:.0f}", *(f"{ours[i]:.1f} / {theirs[i]:.1f} = {ours[i] / theirs[i]:.2f}" for i in (0, 1)),
             f"{ours[0] * megabytes / 1e3:.1f} of {reading[0]:.1f} = {ours[0] * megabytes / 1e3 / reading[0]:.2f}"]
    if berth.prefill:
        ours, theirs = (both(side.prefill, lambda s: llama_models.PROMPT / s) for side in (berth, llama))
        cells += [f"{ours[i]:.0f} / {theirs[i]:.0f} = {ours[i] / theirs[i]:.2f}" for i in (0, 1)]
    else:
        cells += ["", ""]
    print("| " + " | ".join([*cells, f"{berth.load * 1e3:.0f}"]) + " |", flush=True)


def main():
    cli = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    cli.add_argument("build", type=pathlib.Path)
    cli.add_argument("--shape", default="llama-1b")
    cli.add_argument("--weights", nargs="+", default=["8", "4", "bf16"], choices=list(BITS))
    cli.add_argument("--layers", type=int, help="fewer than the shape has")
    cli.add_argument("--threads", type=int, default=2)
    cli.add_argument("--turns", type=int, default=5)
    cli.add_argument("--tokens", type=int, default=8, help="of each side in each turn")
    cli.add_argument("--prefills", type=int, default=3, help="of each side in all")
    cli.add_argument("--no-prefill", action="store_true", help="llama.cpp reads the prompt token by token, untimed")
    cli.add_argument("--processor-time", action="store_true")
    cli.add_argument("--folder", type=pathlib.Path, help="keeps models and programs there, and uses those that it has")
    cli.add_argument("--compile", action="store_true", help="programs anew, of the models that the folder has")
    cli.add_argument("--precision", default="bf16", help="of berth compile")
    cli.add_argument("--activations", default="int8", help="of berth compile; llama.cpp rounds them to 8 bits as well")
    args = cli.parse_args()
    print("| weights | MB a token | tokens/s, best | median | GB/s of reading | prefill, tokens/s, best | median | load, ms |")
    print("| --- | ---: | --- | --- | --- | --- | --- | ---: |")
    with tempfile.TemporaryDirectory() as temporary:
        for weights in args.weights:
            row(weights, *race(args, weights, args.folder or pathlib.Path(temporary)))


if __name__ == "__main__":
    main()
