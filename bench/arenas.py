#!/usr/bin/env python3
"""What folding, computing in place, aliasing and the order of the nodes each take off the suite's arenas.

    bench/arenas.py BERTH [NAME…]        # the table of bench/README.md; models are made under build/models at first

Each model is compiled as it is, with one of them switched off, and with all of them. ExecuTorch's bytes are those of
its default memory planning (version 1.5.1, inputs and outputs planned, portable operators) for the same models,
exported by torch.export.
"""
import argparse
import json
import pathlib
import subprocess
import tempfile

from peers import geometric_mean, suite

EXECUTORCH = {"mobilenet_v2": 9936896, "mobilenet_v3_small": 4898816, "resnet18": 6422528, "resnet50": 14614528,
              "unet": 16777216, "shufflenet_v2": 4698112, "squeezenet1_1": 6308352, "randwire": 4816896,
              "gpt_small": 5840896, "vit_small": 5082624, "dscnn_kws": 64000, "lstm_tagger": 393216}
OFF = {"folding": "--no-fusion", "in place": "--no-inplace", "aliasing": "--no-alias", "order": "--no-reorder"}


def compiled(berth, model, work, *options):
    output = subprocess.run([berth, "compile", model, "-o", work / "x.pte", "--target", "portable", "--json", *options],
                            check=True, capture_output=True, text=True).stdout
    report = json.loads(output)
    report["bytes"] = sum(arena["bytes"] for arena in report["arenas"])
    report["optimal"] = all(arena["optimal"] for arena in report["arenas"])
    return report


def row(berth, model, work, theirs):
    best = compiled(berth, model, work)
    without = [compiled(berth, model, work, option)["bytes"] for option in OFF.values()]
    none = compiled(berth, model, work, *OFF.values())["bytes"]
    ratio = best["bytes"] / theirs
    proof = "plan and order" if best["optimal"] and best["order_optimal"] else "plan" if best["optimal"] else "no"
    changes = [f"+{bytes - best['bytes']}" if bytes != best["bytes"] else "" for bytes in [*without, none]]
    return ratio, [theirs, best["bytes"], f"{ratio:.3f}", proof, *changes]


def main():
    cli = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    cli.add_argument("berth", type=pathlib.Path)
    cli.add_argument("names", nargs="*")
    args = cli.parse_args()
    titles = ["model", "ExecuTorch", "Berth", "ratio", "proven best", *(f"no {what}" for what in OFF), "none of them"]
    print("| " + " | ".join(titles) + " |")
    print("| --- | ---: | ---: | ---: | --- " + "| ---: " * (len(titles) - 5) + "|")
    ratios = []
    with tempfile.TemporaryDirectory() as folder:
        for name, model in suite(args.names):
            ratio, cells = row(args.berth.resolve(), model / "model.onnx", pathlib.Path(folder), EXECUTORCH[name])
            ratios.append(ratio)
            print("| " + " | ".join(str(cell) for cell in [name, *cells]) + " |", flush=True)
    print(f"\nGeometric mean of the ratios: {geometric_mean(ratios):.3f}")


if __name__ == "__main__":
    main()
