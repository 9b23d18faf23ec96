#!/usr/bin/env python3
"""race.py's tables for trained models out of packages of PyPI: tests/compat/real_models.py has them.

    ./dev race --real [NAME…]                # or: bench/real.py BERTH [NAME…] [--form bf16] [--turns 5] [--seconds 0.5]

Every size is fixed to that of the inputs, in the file where ONNX Runtime takes it so. Forms are those that the files
have, or with --form bf16 those of f32 in bf16. Packages are fetched at the first run; models lie under
build/models/real. Exit 1 only when outputs differ from ONNX Runtime's by more than those themselves move
(real_models.py says how far).
"""
import argparse
import pathlib
import shutil
import sys

import numpy as np
import onnx

import race
from peers import MODELS as FOLDER
from real_models import MODELS, expected, fetch, session, shapes_of  # race.py has put tests/compat on the path


def fixed(path, feeds, to):
    """Writes the model with the sizes of the inputs in place of open ones."""
    model = onnx.load(path)
    for entry in model.graph.input:
        if entry.name in feeds:
            shape = entry.type.tensor_type.shape
            shape.ClearField("dim")
            for size in feeds[entry.name].shape:
                shape.dim.add().dim_value = size
    for entry in model.graph.output:  # computed from the inputs'
        entry.type.tensor_type.ClearField("shape")
    model.graph.ClearField("value_info")
    onnx.save(model, to)


def made(name):
    """(folder with model.onnx and in0.npy…, options that fix what is open in it, by how much of the largest its outputs
    may be off)."""
    path, folder = FOLDER / "real" / f"{name}.onnx", FOLDER / "real" / name
    folder.mkdir(parents=True, exist_ok=True)
    if not path.exists():
        fetch(MODELS[name], path)
    feeds, _, tolerance = expected(path, MODELS[name])
    fixed(path, feeds, folder / "model.onnx")
    options = []
    try:
        session(folder / "model.onnx", True)
    except Exception:  # of ONNX Runtime: with sizes it infers shapes in branches that are never taken
        shutil.copyfile(path, folder / "model.onnx")
        options = shapes_of(MODELS[name].sizes)
    for i, array in enumerate(feeds.values()):
        np.save(folder / f"in{i}.npy", array)
    return folder, options, tolerance


def main():
    cli = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    cli.add_argument("berth", type=lambda p: pathlib.Path(p).resolve())
    cli.add_argument("names", nargs="*")
    race.add_options(cli)
    args = cli.parse_args()
    args.peer = args.peer or [p for p in race.PEERS if p != "executorch"]
    if args.form not in ("f32", "bf16"):
        cli.error("these files are raced in the form that they have, or in bf16")
    rows = []
    for name in args.names or MODELS:
        folder, options, tolerance = made(name)
        rows.append(race.raced(args, name, folder, max(tolerance, 1e-4), options))
    race.report(rows, args)
    return int(any(row["differs"] for row in rows))


if __name__ == "__main__":
    sys.exit(main())
