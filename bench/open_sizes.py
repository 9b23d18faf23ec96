#!/usr/bin/env python3
"""Programs for ranges of sizes beside programs for each size alone, and beside peers that take any size.

    ./dev race --open [NAME…]
    bench/open_sizes.py BERTH [NAME…] [--threads 2] [--turns 4] [--seconds 0.25]

bench/open_models.py has the models, their ranges and the sizes. At each size Berth's two programs, ONNX Runtime and
OpenVINO in f32 (both load the model with its open sizes) run in turns, each in a process of its own; times are the
minimum of all turns. Outputs are held to ONNX Runtime's. Exit 1 when outputs differ, when the geometric mean of
open / alone is over 1.05 or one over 1.10, or that of open / best peer over 0.85 or one over 1.1.
"""
import argparse
import json
import pathlib
import sys
import tempfile

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "tests/compat"), str(ROOT / "bench")]
from drivers import difference, load_outputs  # noqa: E402
from open_models import MODELS, model_file  # noqa: E402
from peers import geometric_mean  # noqa: E402
from race import Berth, Peer, best_ms, number  # noqa: E402

PEERS = ["onnxruntime", "openvino"]


def folder_of(path, entry, size, folder):
    """A folder with model.onnx and the inputs of one size, as race.py wants it."""
    made = folder / str(size)
    made.mkdir()
    (made / "model.onnx").symlink_to(path.resolve())
    for i, array in enumerate(entry.inputs(size).values()):
        np.save(made / f"in{i}.npy", array)
    return made


def racers_of(args, model, entry, size, folder):
    racers = {}
    for name, options in (("open", entry.options()), ("alone", entry.options(size))):
        own = folder / f"{size}-{name}"
        own.mkdir()
        racers[name] = Berth(args.berth, model, args.threads, own, ["--target", args.target, *options])
    if args.peers:
        for name in PEERS:
            own = folder / f"{size}-peers"
            own.mkdir(exist_ok=True)
            try:
                racers[name] = Peer(name, model, args.threads, own)
            except RuntimeError as error:
                print(f"  {size}: {error}", file=sys.stderr)
    return racers


def difference_of(got, want, tolerance):
    """As difference(), but of outputs that are all but 0, such as a detector's of noise, only to 1e-2 of that."""
    differs = difference(got, want, *tolerance)
    tiny = differs and all(g.shape == w.shape and np.abs(g - w).max(initial=0) < tolerance[1] * 1e-2 for g, w in zip(got, want))
    return None if tiny else differs


def row_of(args, name, entry, path, size, folder):
    model = folder_of(path, entry, size, folder)
    racers = racers_of(args, model, entry, size, folder)
    for _ in range(args.turns):
        for racer in racers.values():
            racer.turn(args.seconds)
    best = {n: best_ms(r) for n, r in racers.items()}
    right = racers.get("onnxruntime", racers["alone"])
    differs = difference_of(load_outputs(racers["open"].outputs), load_outputs(right.outputs), entry.tolerance)
    for racer in racers.values():
        racer.close()
    peers = [best[p] for p in PEERS if p in best]
    return {"name": name, "size": size, "best": best, "differs": differs, "alone": best["open"] / best["alone"],
            "peer": best["open"] / min(peers) if peers else float("nan"),
            "temp": [racers[n].reports[-1]["temp_bytes"] for n in ("open", "alone")],
            "planned": [sum(racers[n].reports[-1]["planned_bytes"].values()) for n in ("open", "alone")]}


def report(rows):
    """The rows that lose most first; the two geometric means."""
    print("| model | size | open | alone | " + " | ".join(PEERS) + " | open / alone | open / best peer |")
    print("| --- " + "| ---: " * (5 + len(PEERS)) + "|")
    for row in sorted(rows, key=lambda r: -r["alone"]):
        cells = [number(row["best"].get(n)) for n in ["open", "alone", *PEERS]]
        print(f"| {row['name']} | {row['size']} | " + " | ".join(cells) + f" | {row['alone']:.2f} | {row['peer']:.2f} |")
    means = [geometric_mean(r[key] for r in rows) for key in ("alone", "peer")]
    print(f"\nGeometric mean of open / alone: {means[0]:.3f}; of open / best peer: {means[1]:.3f}")
    for row in rows:
        if row["differs"]:
            print(f"\n{row['name']} at {row['size']}: outputs differ: {row['differs']}")
    return means


def main():
    cli = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    cli.add_argument("berth", type=lambda p: pathlib.Path(p).resolve())
    cli.add_argument("names", nargs="*")
    cli.add_argument("--threads", type=int, default=2)
    cli.add_argument("--turns", type=int, default=4)
    cli.add_argument("--seconds", type=float, default=0.25, help="of each racer in each turn")
    cli.add_argument("--target", default="cpu")
    cli.add_argument("--no-peers", dest="peers", action="store_false")
    cli.add_argument("--models", type=pathlib.Path, default=ROOT / "build/models/open")
    cli.add_argument("--json", type=pathlib.Path, help="where the rows go too: a line each, added to what is there")
    args = cli.parse_args()
    rows = []
    for name in args.names or MODELS:
        path = model_file(name, args.models)
        with tempfile.TemporaryDirectory() as folder:
            for size in MODELS[name].sizes:
                rows.append(row_of(args, name, MODELS[name], path, size, pathlib.Path(folder)))
                print(f"  {name} at {size}: {rows[-1]['alone']:.2f} of the program for it alone, "
                      f"{rows[-1]['peer']:.2f} of the best peer", file=sys.stderr, flush=True)
                if args.json:
                    with args.json.open("a", encoding="utf-8") as lines:
                        lines.write(json.dumps(rows[-1]) + "\n")
    means = report(rows)
    return int(means[0] > 1.05 or means[1] > 0.85 or
               any(r["alone"] > 1.1 or r["peer"] > 1.1 or r["differs"] for r in rows))


if __name__ == "__main__":
    sys.exit(main())
