#!/usr/bin/env python3
"""The suite's models on an NVIDIA GPU, Berth beside PyTorch, in turns.

    bench/device_race.py BERTH [NAME…]     # on a machine with a GPU and PyTorch

Models are made under build/models at the first run.

A run is input from the host, output to the host, waited for; f32, TF32 off, batch 1. PyTorch runs as one CUDA graph and
by torch.compile (reduce-overhead), both with cuDNN's autotuning. Each turn times all of them, Berth in a process of its
own. A ratio is Berth's median over that of PyTorch's faster form, where a median is the middle one of the turns'. The
table names the losers first; outputs are compared before.
"""
import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np
import torch

ROOT = pathlib.Path(__file__).resolve().parents[1]
FOLDER = ROOT / "build" / "models"
sys.path.insert(0, str(ROOT / "models"))
from make_models import MODELS, calibrate  # noqa: E402

FORMS = ("berth", "graph", "compile")


def make_missing(names):
    """All at once: the exporter uses one core."""
    missing = [n for n in names if not (FOLDER / n / "model.onnx").exists()]
    makers = [subprocess.Popen([sys.executable, ROOT / "models/make_models.py", FOLDER, n], stdout=subprocess.DEVNULL)
              for n in missing]
    if any([maker.wait() for maker in makers]):
        sys.exit("models/make_models.py failed")


def torch_model(name):
    """The network that make_models.py exports, with the same weights and input."""
    torch.manual_seed(0)
    model, example = MODELS[name]()
    calibrate(model, example)
    return model.cuda().eval(), [a.pin_memory() for a in example]


def first(outputs):
    return torch.utils._pytree.tree_leaves(outputs)[0]


def graphed(model, inputs):
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(3):
            model(*inputs)
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        output = first(model(*inputs))

    def run():
        graph.replay()
        return output
    return run


def with_copies(run, host, device):
    def once():
        for source, target in zip(host, device):
            target.copy_(source, non_blocking=True)
        return run().cpu()
    return once


def torch_forms(model, host):
    device = [a.cuda() for a in host]
    compiled = torch.compile(model, mode="reduce-overhead")
    forms = {"graph": with_copies(graphed(model, device), host, device),
             "compile": with_copies(lambda: first(compiled(*device)), host, device)}
    for form in forms.values():
        for _ in range(5):
            form()
    return forms


def times_of(form, runs):
    times = []
    for _ in range(runs):
        start = time.perf_counter()
        form()
        times.append((time.perf_counter() - start) * 1e3)
    return min(times), statistics.median(times)


def berth_times(berth, program, feeds, runs):
    report = json.loads(subprocess.run([berth, "bench", program, "--json", "--iterations", str(runs), *feeds], check=True,
                                       capture_output=True, text=True).stdout)
    return report["min_ms"], report["median_ms"]


def check(berth, program, feeds, expected, work):
    subprocess.run([berth, "run", program, *feeds, "--output-dir", work], check=True, stdout=subprocess.DEVNULL)
    found = np.load(sorted(work.glob("*.npy"))[0])
    distance = np.abs(found - expected).max() / np.abs(expected).max()
    if not distance < 1e-3:
        sys.exit(f"{program.name}: the outputs differ by {distance:.3g} of the largest")


def race(name, args, work):
    program = work / f"{name}.pte"
    subprocess.run([args.berth, "compile", FOLDER / name / "model.onnx", "--target", "cuda:0", "-o", program], check=True,
                   stdout=subprocess.DEVNULL)
    model, host = torch_model(name)
    forms = torch_forms(model, host)
    feeds = [f"--input={FOLDER / name / f'in{i}.npy'}" for i in range(len(host))]
    (work / name).mkdir()
    check(args.berth, program, feeds, forms["graph"]().numpy(), work / name)
    turns = {form: [] for form in FORMS}
    for _ in range(args.turns):
        turns["berth"].append(berth_times(args.berth, program, feeds, args.runs))
        for form, run in forms.items():
            turns[form].append(times_of(run, args.runs))
    torch._dynamo.reset()
    result = {form: (min(t[0] for t in times), statistics.median(t[1] for t in times)) for form, times in turns.items()}
    return name, result, result["berth"][1] / min(result["graph"][1], result["compile"][1])


def main():
    cli = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    cli.add_argument("berth", type=pathlib.Path)
    cli.add_argument("names", nargs="*")
    cli.add_argument("--turns", type=int, default=7)
    cli.add_argument("--runs", type=int, default=200, help="of each in a turn")
    args = cli.parse_args()
    args.berth = args.berth.resolve()
    torch.set_grad_enabled(False)
    torch.backends.cudnn.benchmark = True
    torch.backends.cudnn.allow_tf32 = torch.backends.cuda.matmul.allow_tf32 = False
    names = args.names or [n for n in MODELS if n != "digits"]
    make_missing(names)
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            rows.append(race(name, args, pathlib.Path(folder)))
            print(json.dumps(rows[-1]), file=sys.stderr, flush=True)
    print(f"{torch.cuda.get_device_name()}, PyTorch {torch.__version__}, {args.turns} turns of {args.runs} runs\n")
    print("| model | Berth, ms, min | median | CUDA graph | torch.compile | ratio |")
    print("| --- | ---: | ---: | ---: | ---: | ---: |")
    for name, result, ratio in sorted(rows, key=lambda row: -row[2]):
        cells = [*result["berth"], result["graph"][1], result["compile"][1]]
        print(f"| {name} | " + " | ".join(f"{c:.3f}" for c in cells) + f" | {ratio:.2f} |")
    print(f"\ngeometric mean of the ratios: {statistics.geometric_mean([row[2] for row in rows]):.3f}")


if __name__ == "__main__":
    main()
