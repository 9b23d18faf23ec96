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

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import race  # noqa: E402
from wild_models import MODELS  # noqa: E402


def main():
    cli = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    cli.add_argument("berth", type=lambda p: pathlib.Path(p).resolve())
    cli.add_argument("folder", type=pathlib.Path)
    cli.add_argument("names", nargs="*")
    race.add_options(cli)
    cli.add_argument("--json", type=pathlib.Path, help="where the rows go too: a line each, added to what is there")
    args = cli.parse_args()
    rows = []
    for name in args.names or MODELS:
        model = args.folder / name
        if not (model / "model.pt2").exists():
            subprocess.run([sys.executable, HERE / "wild_models.py", args.folder, name], check=True,
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        rows.append(race.raced(args, name, model))
        if args.json:
            with args.json.open("a", encoding="utf-8") as lines:
                lines.write(json.dumps(rows[-1]) + "\n")
    race.report(rows, args)
    return int(any(row["differs"] for row in rows))


if __name__ == "__main__":
    sys.exit(main())
