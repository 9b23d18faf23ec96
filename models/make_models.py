#!/usr/bin/env python3
"""Makes the models that Berth is tried on, with inputs and reference outputs from PyTorch in double precision.

For each NAME it writes NAME/model.onnx, NAME/in0.npy… and NAME/out0.npy…; without --small, NAME/model.pt2 too.

    ./dev venv                                  # torch, torchvision, onnx, onnxscript, scikit-learn: requirements.txt
    build/venv/bin/python models/make_models.py OUT_DIR [NAME…]

`digits` is trained (scikit-learn's 8x8 handwritten digits, half a minute); the others are known architectures with
seeded random weights whose batch norms are calibrated, so that activations keep their scale to the last layer and a
wrong kernel shows in the output. The models that the repository holds are `--small`.
"""
import argparse
import copy
import pathlib
import random

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

SMALL = ["digits", "dscnn_kws", "randwire", "lstm_tagger"]


def conv_norm_relu(inputs, outputs, kernel, **options):
    return nn.Sequential(nn.Conv2d(inputs, outputs, kernel, **options), nn.BatchNorm2d(outputs), nn.ReLU())


class Digits(nn.Module):
    """Handwritten digits, 8x8 pixels of 0 to 16: [1,1,8,8] -> [1,10] probabilities."""

    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(conv_norm_relu(1, 16, 3, padding=1), conv_norm_relu(16, 32, 3, padding=1),
                                      nn.MaxPool2d(2), conv_norm_relu(32, 32, 3, padding=1))
        self.head = nn.Linear(32 * 4 * 4, 10)

    def forward(self, x):
        return self.head(self.features(x / 16).flatten(1)).softmax(-1)


class KeywordSpotter(nn.Module):
    """Depthwise-separable CNN of MLPerf Tiny's shape: [1,1,49,10] features -> [1,12]."""

    def __init__(self, width=64):
        super().__init__()
        blocks = [conv_norm_relu(1, width, (10, 4), stride=2, padding=(5, 1))]
        for _ in range(4):
            blocks += [conv_norm_relu(width, width, 3, padding=1, groups=width), conv_norm_relu(width, width, 1)]
        self.features, self.head = nn.Sequential(*blocks), nn.Linear(width, 12)

    def forward(self, x):
        return self.head(self.features(x).mean((2, 3))).softmax(-1)


class RandomWiring(nn.Module):
    """A random graph of separable convolutions: the order of operators decides the peak of memory."""

    def __init__(self, count=32, width=32, seed=7):
        super().__init__()
        rng = random.Random(seed)
        self.sources = [sorted({rng.randrange(max(0, v - 8), v) for _ in range(2)}) if v else [] for v in range(count)]
        used = {u for sources in self.sources for u in sources}
        self.sinks = [v for v in range(count) if v not in used]
        self.stem = nn.Conv2d(3, width, 3, stride=2, padding=1)
        self.nodes = nn.ModuleList(
            nn.Sequential(nn.ReLU(), nn.Conv2d(width, width, 3, padding=1, groups=width), nn.Conv2d(width, width, 1),
                          nn.BatchNorm2d(width)) for _ in range(count))
        self.head = nn.Linear(width, 10)

    def forward(self, x):
        stem, values = self.stem(x), []
        for node, sources in zip(self.nodes, self.sources):
            total = stem if not sources else values[sources[0]]
            for u in sources[1:]:
                total = total + values[u]
            values.append(node(total))
        total = values[self.sinks[0]]
        for u in self.sinks[1:]:
            total = total + values[u]
        return self.head(total.mean((2, 3)))


class Tagger(nn.Module):
    """Two layers of LSTM over 50 steps: [1,50,40] -> [1,50,128]."""

    def __init__(self):
        super().__init__()
        self.rnn = nn.LSTM(40, 128, num_layers=2, batch_first=True)

    def forward(self, x):
        return self.rnn(x)[0]


class UNet(nn.Module):
    """Encoder and decoder with skips that stay alive for long: [1,3,256,256] -> [1,2,256,256]."""

    def __init__(self, width=16, depth=4):
        super().__init__()
        def twice(i, o):
            return nn.Sequential(conv_norm_relu(i, o, 3, padding=1), conv_norm_relu(o, o, 3, padding=1))
        widths = [width << k for k in range(depth + 1)]
        self.encoders = nn.ModuleList(twice(i, o) for i, o in zip([3] + widths[:-2], widths[:-1]))
        self.bottom = twice(widths[-2], widths[-1])
        self.ups = nn.ModuleList(nn.ConvTranspose2d(widths[k + 1], widths[k], 2, stride=2) for k in range(depth))
        self.decoders = nn.ModuleList(twice(widths[k + 1], widths[k]) for k in range(depth))
        self.head = nn.Conv2d(width, 2, 1)

    def forward(self, x):
        skips = []
        for encoder in self.encoders:
            skips.append(encoder(x))
            x = F.max_pool2d(skips[-1], 2)
        x = self.bottom(x)
        for up, decoder, skip in reversed(list(zip(self.ups, self.decoders, skips))):
            x = decoder(torch.cat([up(x), skip], 1))
        return self.head(x)


class SmallGpt(nn.Module):
    """Six decoder layers with a causal mask: tokens [1,64] -> logits [1,64,4096]."""

    def __init__(self, layers=6, width=288, heads=6, words=4096, context=64):
        super().__init__()
        self.heads, self.words = heads, nn.Embedding(words, width)
        self.places = nn.Parameter(torch.randn(context, width) * .3)
        def layer():
            return nn.ModuleDict({"norm1": nn.LayerNorm(width), "qkv": nn.Linear(width, 3 * width),
                                  "mix": nn.Linear(width, width), "norm2": nn.LayerNorm(width),
                                  "up": nn.Linear(width, 4 * width), "down": nn.Linear(4 * width, width)})
        self.layers = nn.ModuleList(layer() for _ in range(layers))
        self.norm, self.out = nn.LayerNorm(width), nn.Linear(width, words, bias=False)
        self.register_buffer("mask", torch.full((context, context), float("-inf")).triu(1))

    def attend(self, layer, x):
        b, t, d = x.shape
        q, k, v = layer["qkv"](x).view(b, t, 3, self.heads, d // self.heads).permute(2, 0, 3, 1, 4).unbind(0)
        scores = q @ k.transpose(-1, -2) * (d // self.heads) ** -.5 + self.mask[:t, :t]
        return layer["mix"]((scores.softmax(-1) @ v).transpose(1, 2).reshape(b, t, d))

    def forward(self, tokens):
        x = self.words(tokens) + self.places[:tokens.shape[1]]
        for layer in self.layers:
            x = x + self.attend(layer, layer["norm1"](x))
            x = x + layer["down"](F.gelu(layer["up"](layer["norm2"](x))))
        return self.out(self.norm(x))


def picture(side=224):
    return (torch.randn(1, 3, side, side),)


def zoo(name, **options):
    def build():
        import torchvision
        return getattr(torchvision.models, name)(weights=None, **options), picture()
    return build


def small_vit():
    import torchvision
    return torchvision.models.VisionTransformer(224, 16, 6, 6, 384, 1536), picture()


MODELS = {
    "digits": lambda: (Digits(), None),
    "dscnn_kws": lambda: (KeywordSpotter(), (torch.randn(1, 1, 49, 10),)),
    "randwire": lambda: (RandomWiring(), picture(112)),
    "lstm_tagger": lambda: (Tagger(), (torch.randn(1, 50, 40),)),
    "unet": lambda: (UNet(), picture(256)),
    "gpt_small": lambda: (SmallGpt(), (torch.randint(0, 4096, (1, 64)),)),
    "squeezenet1_1": zoo("squeezenet1_1"),
    "shufflenet_v2": zoo("shufflenet_v2_x1_0"),
    "mobilenet_v2": zoo("mobilenet_v2"),
    "mobilenet_v3_small": zoo("mobilenet_v3_small"),
    "resnet18": zoo("resnet18"),
    "resnet50": zoo("resnet50"),
    "vit_small": small_vit,
}


def train_digits(model):
    """Trains on three quarters of the digits; returns one of the others as the example input."""
    from sklearn.datasets import load_digits
    data = load_digits()
    x = torch.tensor(data.images, dtype=torch.float32)[:, None]
    y = torch.tensor(data.target)
    train, test = torch.arange(len(x)) % 4 != 0, torch.arange(len(x)) % 4 == 0
    optimizer = torch.optim.Adam(model.parameters(), 2e-3)
    model.train()
    for _ in range(30):
        for batch in torch.randperm(int(train.sum())).split(64):
            logits = model.head(model.features(x[train][batch] / 16).flatten(1))
            loss = F.cross_entropy(logits, y[train][batch])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    model.eval()
    with torch.no_grad():
        accuracy = (model(x[test]).argmax(1) == y[test]).float().mean()
    print(f"digits: {accuracy:.1%} of {int(test.sum())} unseen digits right")
    return (x[test][3:4],)


def calibrate(model, example):
    """Gives batch norms the statistics of random inputs and an affine part that is not the identity."""
    norms = [m for m in model.modules() if isinstance(m, nn.modules.batchnorm._BatchNorm)]
    for parameter in model.parameters():
        if parameter.dim() > 1 and not parameter.any():
            nn.init.normal_(parameter, std=.05)
    for norm in norms:
        norm.momentum = None
        nn.init.uniform_(norm.weight, .7, 1.3)
        nn.init.normal_(norm.bias, std=.1)
    model.eval()
    for norm in norms:
        norm.train()
    with torch.no_grad():
        for _ in range(2 if norms else 0):
            model(*[torch.randn_like(a) if a.is_floating_point() else a for a in example])
    model.eval()


def write(name, out, archive):
    import onnx
    torch.manual_seed(0)
    model, example = MODELS[name]()
    if example is None:
        example = train_digits(model)
    else:
        calibrate(model, example)
    folder = out / name
    folder.mkdir(parents=True, exist_ok=True)
    with torch.no_grad():  # in double precision: single loses more on resnet50 than the outputs are compared to
        exact = copy.deepcopy(model).double()(*[a.double() if a.is_floating_point() else a for a in example])
    outputs = [a.float() for a in torch.utils._pytree.tree_leaves(exact)]
    for i, array in enumerate(example):
        np.save(folder / f"in{i}.npy", array.numpy())
    for i, array in enumerate(outputs):
        np.save(folder / f"out{i}.npy", array.numpy())
    path = folder / "model.onnx"
    torch.onnx.export(model, example, path, dynamo=True, verbose=False, external_data=False)
    proto = onnx.load(path)  # without the metadata that names files of the exporting machine
    graph = proto.graph
    for entry in [*graph.node, *graph.value_info, *graph.input, *graph.output, *graph.initializer]:
        del entry.metadata_props[:]
    onnx.save(proto, path)
    if archive:
        torch.export.save(torch.export.export(model, example), folder / "model.pt2")
    print(f"{name}: {path.stat().st_size} bytes, out0 {tuple(outputs[0].shape)}", flush=True)


def main():
    cli = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    cli.add_argument("out", type=pathlib.Path)
    cli.add_argument("names", nargs="*", help="default: all")
    cli.add_argument("--small", action="store_true", help="those that the repository holds")
    args = cli.parse_args()
    for name in args.names or (SMALL if args.small else MODELS):
        write(name, args.out, archive=not args.small)


if __name__ == "__main__":
    main()
