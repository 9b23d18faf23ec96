#!/usr/bin/env python3
"""Models that nothing here was tuned for, with random weights: folders OUT/NAME of model.onnx, model.pt2 and in0.npy.

    bench/wild_models.py OUT [NAME…] [--script]     --script: the exporter that traces (opset 17), as many still use

bench/wild.py races them. The first seven and lraspp_mobilenet_v3 are torchvision's, those behind "timm" are
timm's (`pip install timm`), those behind "hf" transformers'; the others are small ones of their kinds: wild_images.py,
wild_signals.py, wild_families.py.
"""
import argparse
import pathlib
import sys

import numpy as np
import torch

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "models"))
sys.path.insert(0, str(ROOT / "bench"))
from make_models import calibrate, picture, zoo  # noqa: E402
from wild_families import FAMILIES  # noqa: E402
from wild_images import IMAGES  # noqa: E402
from wild_signals import SIGNALS  # noqa: E402
from wild_transformers import TRANSFORMERS  # noqa: E402


def timms(name, side=224):
    def build():
        import timm
        return timm.create_model(name, pretrained=False), picture(side)
    return build


MODELS = {
    "efficientnet_b0": zoo("efficientnet_b0"),
    "convnext_tiny": zoo("convnext_tiny"),
    "swin_t": zoo("swin_t"),
    "densenet121": zoo("densenet121"),
    "regnet_y_400mf": zoo("regnet_y_400mf"),
    "resnext50_32x4d": zoo("resnext50_32x4d"),
    "mnasnet1_0": zoo("mnasnet1_0"),
    **IMAGES,
    **SIGNALS,
    **FAMILIES,
    **{f"timm_{name}": timms(name, side) for name, side in (
        ("fastvit_t8", 256), ("mixnet_s", 224), ("mobilevitv2_050", 256), ("pvt_v2_b0", 224), ("dpn68", 224),
        ("inception_next_atto", 224), ("edgenext_x_small", 256), ("xcit_nano_12_p16_224", 224),
        ("efficientformer_l1", 224), ("starnet_s1", 224), ("levit_128s", 224), ("cait_xxs24_224", 224),
        ("convit_tiny", 224), ("sequencer2d_s", 224), ("coat_lite_tiny", 224), ("efficientvit_b0", 224),
        ("res2net50_14w_8s", 224), ("ghostnetv2_100", 224))},
    **{f"hf_{name}": build for name, build in TRANSFORMERS.items()},
}


def write(name, out, script):
    torch.manual_seed(0)
    model, example = MODELS[name]()
    try:
        calibrate(model, example)
    except ValueError:  # a norm over one row has no statistics
        model.eval()
    folder = out / name
    folder.mkdir(parents=True, exist_ok=True)
    for i, array in enumerate(example):
        np.save(folder / f"in{i}.npy", array.numpy())
    options = {"dynamo": False, "opset_version": 17} if script else {"dynamo": True, "external_data": False}
    torch.onnx.export(model, example, folder / "model.onnx", verbose=False, **options)
    torch.export.save(torch.export.export(model, example), folder / "model.pt2")
    print(f"{name}: {(folder / 'model.onnx').stat().st_size} bytes", flush=True)


def main():
    cli = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    cli.add_argument("out", type=pathlib.Path)
    cli.add_argument("names", nargs="*", help="default: all")
    cli.add_argument("--script", action="store_true")
    args = cli.parse_args()
    for name in args.names or MODELS:
        write(name, args.out, args.script)


if __name__ == "__main__":
    main()
