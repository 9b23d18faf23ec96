#!/usr/bin/env python3
"""race.py's tables for models that nothing was tuned for: bench/wild_models.py makes them, here they are raced.

    bench/wild.py BERTH FOLDER [NAME…] [--threads 2] [--turns 5] [--seconds 0.5] [--json FILE]

FOLDER holds NAME/model.onnx, model.pt2 and in0.npy…; what is missing is made. No figure is required of them: exit 1
only when outputs differ from ONNX Runtime's.
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import race  # noqa: E402
from wild_models import MODELS  # noqa: E402


def main():
    cli = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    cli.add_argument("berth", type=lambda p: pathlib.Path(p).resolve())
    cli.add_argument("folder", type=pathlib.Path)
    cli.add_argument("names", nargs="*")
    cli.add_argument("--threads", type=int, default=2)
    cli.add_argument("--turns", type=int, default=5)
    cli.add_argument("--seconds", type=float, default=0.5, help="of each racer in each turn")
    cli.add_argument("--target", default="cpu")
    cli.add_argument("--json", type=pathlib.Path, help="where the rows go too: a line each, added to what is there")
    args = cli.parse_args()
    rows = []
    for name in args.names or MODELS:
        model = args.folder / name
        if not (model / "model.pt2").exists():
            subprocess.run([sys.executable, HERE / "wild_models.py", args.folder, name], check=True,
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        with tempfile.TemporaryDirectory() as work:
            racers = race.race(args, model, pathlib.Path(work))
            rows.append(race.row_of(name, racers))
            for racer in racers:
                racer.close()
        if args.json:
            with args.json.open("a", encoding="utf-8") as lines:
                lines.write(json.dumps(rows[-1]) + "\n")
        print(f"  {name}: {rows[-1]['latency']:.2f} of the best peer's time", file=sys.stderr, flush=True)
    race.table(f"Latency, {args.threads} threads, minimum in ms", rows, "best", "latency")
    race.table("The same, median", rows, "median", "median_ratio")
    race.table("Load in ms", rows, "load", "load_ratio", [("first run / median", "first")])
    race.table("Memory in MB", rows, "memory", "memory_ratio")
    different = [row for row in rows if row["differs"]]
    for row in different:
        print(f"\n{row['name']}: outputs differ: {row['differs']}")
    return int(bool(different))


if __name__ == "__main__":
    sys.exit(main())
