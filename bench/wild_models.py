#!/usr/bin/env python3
"""Models that nothing here was tuned for, with random weights: folders OUT/NAME of model.onnx, model.pt2 and in0.npy.

    bench/wild_models.py OUT [NAME…] [--script]     --script: the exporter that traces (opset 17), as many still use

bench/wild.py races them. The first eight are torchvision's and those behind "timm" are timm's (`pip install timm`); the
others are small ones of their kinds, written here.
"""
import argparse
import pathlib
import sys

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "models"))
sys.path.insert(0, str(ROOT / "bench"))
from make_models import calibrate, picture, zoo  # noqa: E402
from wild_families import FAMILIES  # noqa: E402


def conv_silu(i, o, k=1, stride=1, groups=1):
    return nn.Sequential(nn.Conv2d(i, o, k, stride, k // 2, groups=groups, bias=False), nn.BatchNorm2d(o), nn.SiLU())


class Bottlenecks(nn.Module):
    """Split, a row of residual pairs of convolutions, all parts joined."""

    def __init__(self, i, o, count, residual):
        super().__init__()
        self.first, self.residual = conv_silu(i, o), residual
        self.pairs = nn.ModuleList(nn.Sequential(conv_silu(o // 2, o // 2, 3), conv_silu(o // 2, o // 2, 3))
                                   for _ in range(count))
        self.last = conv_silu(o // 2 * (2 + count), o)

    def forward(self, x):
        parts = list(self.first(x).chunk(2, 1))
        for pair in self.pairs:
            parts.append(parts[-1] + pair(parts[-1]) if self.residual else pair(parts[-1]))
        return self.last(torch.cat(parts, 1))


class Detector(nn.Module):
    """One-stage, without anchors: SiLU, three scales, nearest upsampling: [1,3,320,320] -> boxes and scores [1,84,2100]."""

    def __init__(self, w=16, classes=80):
        super().__init__()
        self.classes = classes
        widths = [w, 2 * w, 4 * w, 8 * w, 16 * w]
        self.stem = conv_silu(3, w, 3, 2)
        self.downs = nn.ModuleList(conv_silu(i, o, 3, 2) for i, o in zip(widths, widths[1:]))
        self.stages = nn.ModuleList(Bottlenecks(o, o, n, True) for o, n in zip(widths[1:], (1, 2, 2, 1)))
        self.pool_in, self.pool_out = conv_silu(16 * w, 8 * w), conv_silu(32 * w, 16 * w)
        self.up1, self.up2 = Bottlenecks(24 * w, 8 * w, 1, False), Bottlenecks(12 * w, 4 * w, 1, False)
        self.down1, self.merge1 = conv_silu(4 * w, 4 * w, 3, 2), Bottlenecks(12 * w, 8 * w, 1, False)
        self.down2, self.merge2 = conv_silu(8 * w, 8 * w, 3, 2), Bottlenecks(24 * w, 16 * w, 1, False)
        self.boxes = nn.ModuleList(nn.Sequential(conv_silu(c, 64, 3), conv_silu(64, 64, 3), nn.Conv2d(64, 64, 1))
                                   for c in widths[2:])
        self.scores = nn.ModuleList(nn.Sequential(conv_silu(c, classes, 3), conv_silu(classes, classes, 3),
                                                  nn.Conv2d(classes, classes, 1)) for c in widths[2:])
        self.register_buffer("bins", torch.arange(16.))

    def forward(self, x):
        x, kept = self.stem(x), []
        for down, stage in zip(self.downs, self.stages):
            x = stage(down(x))
            kept.append(x)
        x = self.pool_in(x)
        pools = [x]
        for _ in range(3):
            pools.append(F.max_pool2d(pools[-1], 5, 1, 2))
        deep = self.pool_out(torch.cat(pools, 1))
        mid = self.up1(torch.cat([F.interpolate(deep, scale_factor=2.), kept[2]], 1))
        fine = self.up2(torch.cat([F.interpolate(mid, scale_factor=2.), kept[1]], 1))
        mid = self.merge1(torch.cat([self.down1(fine), mid], 1))
        deep = self.merge2(torch.cat([self.down2(mid), deep], 1))
        boxes = torch.cat([h(v).flatten(2) for h, v in zip(self.boxes, (fine, mid, deep))], 2)
        scores = torch.cat([h(v).flatten(2) for h, v in zip(self.scores, (fine, mid, deep))], 2)
        sides = (boxes.view(1, 4, 16, -1).softmax(2) * self.bins.view(1, 1, 16, 1)).sum(2)
        return torch.cat([sides, scores.sigmoid()], 1)


class Bert(nn.Module):
    """Four layers of width 768, norm last: tokens [1,64] and their mask -> [1,64,768]."""

    def __init__(self, layers=4, width=768, heads=12, words=8192, context=128):
        super().__init__()
        self.heads, self.words, self.places = heads, nn.Embedding(words, width), nn.Embedding(context, width)
        self.norm = nn.LayerNorm(width, eps=1e-12)
        self.layers = nn.ModuleList(nn.ModuleDict({
            "q": nn.Linear(width, width), "k": nn.Linear(width, width), "v": nn.Linear(width, width),
            "mix": nn.Linear(width, width), "norm1": nn.LayerNorm(width, eps=1e-12),
            "up": nn.Linear(width, 4 * width), "down": nn.Linear(4 * width, width),
            "norm2": nn.LayerNorm(width, eps=1e-12)}) for _ in range(layers))

    def forward(self, tokens, mask):
        b, t = tokens.shape
        x = self.norm(self.words(tokens) + self.places(torch.arange(t)[None]))
        hidden = (1 - mask[:, None, None, :].float()) * torch.finfo(torch.float32).min
        for layer in self.layers:
            def split(name):
                return layer[name](x).view(b, t, self.heads, -1).transpose(1, 2)
            q, k, v = split("q"), split("k"), split("v")
            p = (q @ k.transpose(-1, -2) / q.shape[-1] ** .5 + hidden).softmax(-1)
            x = layer["norm1"](x + layer["mix"]((p @ v).transpose(1, 2).reshape(b, t, -1)))
            x = layer["norm2"](x + layer["down"](F.gelu(layer["up"](x))))
        return x


class RmsNorm(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.rand(width) + .5)

    def forward(self, x):
        return self.weight * (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6))


class Llama(nn.Module):
    """Four decoder layers: RMS norm, rotated places, 8 heads sharing 2 keys, gated: tokens [1,64] -> [1,64,4096]."""

    def __init__(self, layers=4, width=512, heads=8, keys=2, words=4096, inner=1408):
        super().__init__()
        self.heads, self.keys, self.size, self.words = heads, keys, width // heads, nn.Embedding(words, width)
        linear = lambda i, o: nn.Linear(i, o, bias=False)  # noqa: E731
        self.layers = nn.ModuleList(nn.ModuleDict({
            "norm1": RmsNorm(width), "q": linear(width, width), "k": linear(width, keys * self.size),
            "v": linear(width, keys * self.size), "mix": linear(width, width), "norm2": RmsNorm(width),
            "gate": linear(width, inner), "up": linear(width, inner), "down": linear(inner, width)})
            for _ in range(layers))
        self.norm, self.out = RmsNorm(width), linear(width, words)
        angles = torch.outer(torch.arange(256.), 1e4 ** (-torch.arange(0, self.size, 2) / self.size)).repeat(1, 2)
        self.register_buffer("cos", angles.cos())
        self.register_buffer("sin", angles.sin())

    def turn(self, x):
        t, half = x.shape[2], self.size // 2
        return x * self.cos[:t] + torch.cat([-x[..., half:], x[..., :half]], -1) * self.sin[:t]

    def forward(self, tokens):
        x, (b, t) = self.words(tokens), tokens.shape
        for layer in self.layers:
            n = layer["norm1"](x)
            q = self.turn(layer["q"](n).view(b, t, self.heads, self.size).transpose(1, 2))
            k = self.turn(layer["k"](n).view(b, t, self.keys, self.size).transpose(1, 2))
            v = layer["v"](n).view(b, t, self.keys, self.size).transpose(1, 2)
            k, v = (a.repeat_interleave(self.heads // self.keys, 1) for a in (k, v))
            y = F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(b, t, -1)
            x = x + layer["mix"](y)
            n = layer["norm2"](x)
            x = x + layer["down"](F.silu(layer["gate"](n)) * layer["up"](n))
        return self.out(self.norm(x))


class SpeechEncoder(nn.Module):
    """Two convolutions over time and four layers of attention: mel [1,80,600] -> [1,300,384]."""

    def __init__(self, layers=4, width=384, heads=6):
        super().__init__()
        self.conv1, self.conv2 = nn.Conv1d(80, width, 3, padding=1), nn.Conv1d(width, width, 3, 2, padding=1)
        self.places = nn.Parameter(torch.randn(300, width) * .1)
        self.layers = nn.ModuleList(nn.TransformerEncoderLayer(width, heads, 4 * width, 0., "gelu", batch_first=True,
                                                               norm_first=True) for _ in range(layers))
        self.norm = nn.LayerNorm(width)

    def forward(self, x):
        x = F.gelu(self.conv2(F.gelu(self.conv1(x)))).transpose(1, 2) + self.places
        for layer in self.layers:
            x = layer(x)
        return self.norm(x)


class SpeechGru(nn.Module):
    """Two strided convolutions and two layers of GRU in both directions: [1,1,80,200] -> [1,100,29]."""

    def __init__(self):
        super().__init__()
        self.front = nn.Sequential(nn.Conv2d(1, 32, (11, 11), 2, 5), nn.BatchNorm2d(32), nn.Hardtanh(0, 20),
                                   nn.Conv2d(32, 32, (11, 11), (2, 1), 5), nn.BatchNorm2d(32), nn.Hardtanh(0, 20))
        self.gru, self.out = nn.GRU(640, 192, 2, batch_first=True, bidirectional=True), nn.Linear(384, 29)

    def forward(self, x):
        x = self.front(x).flatten(1, 2).transpose(1, 2)
        return self.out(self.gru(x)[0]).log_softmax(-1)


class Mixer(nn.Module):
    """Six layers of products over places and over channels: [1,3,224,224] -> [1,1000]."""

    def __init__(self, layers=6, width=384, places=196):
        super().__init__()
        def mlp(n, inner):
            return nn.Sequential(nn.Linear(n, inner), nn.GELU(), nn.Linear(inner, n))
        self.stem = nn.Conv2d(3, width, 16, 16)
        self.layers = nn.ModuleList(nn.ModuleList([nn.LayerNorm(width), mlp(places, 192), nn.LayerNorm(width),
                                                   mlp(width, 1536)]) for _ in range(layers))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, 1000)

    def forward(self, x):
        x = self.stem(x).flatten(2).transpose(1, 2)
        for norm1, over_places, norm2, over_channels in self.layers:
            x = x + over_places(norm1(x).transpose(1, 2)).transpose(1, 2)
            x = x + over_channels(norm2(x))
        return self.head(self.norm(x).mean(1))


class Sharpen(nn.Module):
    """Residual blocks and a pixel shuffle, twice as wide and high: [1,3,128,128] -> [1,3,256,256]."""

    def __init__(self, blocks=6, width=32):
        super().__init__()
        self.stem = nn.Conv2d(3, width, 3, padding=1)
        self.blocks = nn.ModuleList(nn.Sequential(nn.Conv2d(width, width, 3, padding=1), nn.PReLU(width),
                                                  nn.Conv2d(width, width, 3, padding=1)) for _ in range(blocks))
        self.up, self.head = nn.Conv2d(width, 4 * width, 3, padding=1), nn.Conv2d(width, 3, 3, padding=1)

    def forward(self, x):
        stem = y = self.stem(x)
        for block in self.blocks:
            y = y + .2 * block(y)
        y = F.leaky_relu(F.pixel_shuffle(self.up(y + stem), 2), .2)
        return self.head(y) + F.interpolate(x, scale_factor=2., mode="bilinear", align_corners=False)


class Separator(nn.Module):
    """Dilated depthwise convolutions over time, a mask on an audio encoder's channels: [1,1,8000] -> [1,1,8000]."""

    def __init__(self, width=128, inner=256, repeats=2, depth=6):
        super().__init__()
        self.encode = nn.Conv1d(1, width, 16, 8, padding=4, bias=False)
        self.start = nn.Sequential(nn.GroupNorm(1, width), nn.Conv1d(width, width, 1))
        self.blocks = nn.ModuleList(nn.Sequential(
            nn.Conv1d(width, inner, 1), nn.PReLU(), nn.GroupNorm(1, inner),
            nn.Conv1d(inner, inner, 3, padding=2 ** d, dilation=2 ** d, groups=inner), nn.PReLU(),
            nn.GroupNorm(1, inner), nn.Conv1d(inner, width, 1)) for _ in range(repeats) for d in range(depth))
        self.mask = nn.Sequential(nn.PReLU(), nn.Conv1d(width, width, 1), nn.Sigmoid())
        self.decode = nn.ConvTranspose1d(width, 1, 16, 8, padding=4, bias=False)

    def forward(self, x):
        code = F.relu(self.encode(x))
        y = self.start(code)
        for block in self.blocks:
            y = y + block(y)
        return self.decode(code * self.mask(y))


class LargeKernels(nn.Module):
    """Depthwise convolutions of 7x7 and 5x5 taps beside 1x1: [1,3,128,128] -> [1,10]."""

    def __init__(self, width=128, depth=8):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, width, 4, 4), nn.GELU(), nn.BatchNorm2d(width))
        def block(k):
            return nn.ModuleList([nn.Sequential(nn.Conv2d(width, width, k, padding=k // 2, groups=width), nn.GELU(),
                                                nn.BatchNorm2d(width)),
                                  nn.Sequential(nn.Conv2d(width, width, 1), nn.GELU(), nn.BatchNorm2d(width))])
        self.blocks = nn.ModuleList(block(7 if d % 2 else 5) for d in range(depth))
        self.head = nn.Linear(width, 10)

    def forward(self, x):
        x = self.stem(x)
        for over_places, over_channels in self.blocks:
            x = over_channels(x + over_places(x))
        return self.head(x.mean((2, 3)))


class Denoiser(nn.Module):
    """A U of group norms, SiLU, attention and nearest upsampling: [1,4,32,32] and a time [1] -> [1,4,32,32]."""

    class Block(nn.Module):
        def __init__(self, i, o, time):
            super().__init__()
            self.norm1, self.conv1 = nn.GroupNorm(8, i), nn.Conv2d(i, o, 3, padding=1)
            self.norm2, self.conv2 = nn.GroupNorm(8, o), nn.Conv2d(o, o, 3, padding=1)
            self.time, self.skip = nn.Linear(time, o), nn.Conv2d(i, o, 1) if i != o else nn.Identity()

        def forward(self, x, t):
            y = self.conv1(F.silu(self.norm1(x))) + self.time(t)[:, :, None, None]
            return self.skip(x) + self.conv2(F.silu(self.norm2(y)))

    class Attend(nn.Module):
        def __init__(self, width, heads=4):
            super().__init__()
            self.heads, self.norm = heads, nn.GroupNorm(8, width)
            self.qkv, self.mix = nn.Conv2d(width, 3 * width, 1), nn.Conv2d(width, width, 1)

        def forward(self, x):
            b, c, h, w = x.shape
            q, k, v = self.qkv(self.norm(x)).reshape(b, 3, self.heads, c // self.heads, h * w).unbind(1)
            p = (q.transpose(-1, -2) @ k * (c // self.heads) ** -.5).softmax(-1)
            return x + self.mix((v @ p.transpose(-1, -2)).reshape(b, c, h, w))

    def __init__(self, w=64, time=128):
        super().__init__()
        self.half = w // 2
        self.embed = nn.Sequential(nn.Linear(w, time), nn.SiLU(), nn.Linear(time, time), nn.SiLU())
        self.stem, block = nn.Conv2d(4, w, 3, padding=1), Denoiser.Block
        self.down1, self.pool1 = block(w, w, time), nn.Conv2d(w, w, 3, 2, 1)
        self.down2, self.attend2 = block(w, 2 * w, time), Denoiser.Attend(2 * w)
        self.pool2, self.mid = nn.Conv2d(2 * w, 2 * w, 3, 2, 1), block(2 * w, 2 * w, time)
        self.attend, self.up2, self.up1 = Denoiser.Attend(2 * w), block(4 * w, 2 * w, time), block(3 * w, w, time)
        self.norm, self.head = nn.GroupNorm(8, w), nn.Conv2d(w, 4, 3, padding=1)

    def forward(self, x, time):
        angles = time[:, None] * torch.exp(-9.2 * torch.arange(self.half) / self.half)
        t = self.embed(torch.cat([angles.sin(), angles.cos()], 1))
        a = self.down1(self.stem(x), t)
        b = self.attend2(self.down2(self.pool1(a), t))
        y = self.attend(self.mid(self.pool2(b), t))
        y = self.up2(torch.cat([F.interpolate(y, scale_factor=2.), b], 1), t)
        y = self.up1(torch.cat([F.interpolate(y, scale_factor=2.), a], 1), t)
        return self.head(F.silu(self.norm(y)))


class Segmenter(nn.Module):
    """Overlapping patches, attention over shrunken keys, depthwise MLPs: [1,3,256,256] -> classes [1,19,256,256]."""

    class Layer(nn.Module):
        def __init__(self, width, heads, shrink):
            super().__init__()
            self.heads, self.norm1, self.norm2 = heads, nn.LayerNorm(width), nn.LayerNorm(width)
            self.q, self.kv, self.mix = nn.Linear(width, width), nn.Linear(width, 2 * width), nn.Linear(width, width)
            self.shrink = nn.Conv2d(width, width, shrink, shrink) if shrink > 1 else None
            self.norm = nn.LayerNorm(width)
            self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
            self.taps = nn.Conv2d(4 * width, 4 * width, 3, padding=1, groups=4 * width)

        def forward(self, x, h, w):
            b, n, c = x.shape
            y = self.norm1(x)
            q, k = self.q(y).view(b, n, self.heads, -1).transpose(1, 2), y
            if self.shrink is not None:
                k = self.norm(self.shrink(y.transpose(1, 2).reshape(b, c, h, w)).flatten(2).transpose(1, 2))
            k, v = self.kv(k).view(b, -1, 2, self.heads, c // self.heads).permute(2, 0, 3, 1, 4).unbind(0)
            p = (q @ k.transpose(-1, -2) * (c // self.heads) ** -.5).softmax(-1)
            x = x + self.mix((p @ v).transpose(1, 2).reshape(b, n, c))
            y = self.up(self.norm2(x))
            y = self.taps(y.transpose(1, 2).view(b, 4 * c, h, w)).flatten(2).transpose(1, 2)
            return x + self.down(F.gelu(y))

    def __init__(self, widths=(32, 64, 160, 256), heads=(1, 2, 5, 8), shrinks=(8, 4, 2, 1), classes=19):
        super().__init__()
        ins = (3, *widths[:-1])
        self.patches = nn.ModuleList(nn.Conv2d(i, o, 7 if i == 3 else 3, 4 if i == 3 else 2, 3 if i == 3 else 1)
                                     for i, o in zip(ins, widths))
        self.norms1 = nn.ModuleList(nn.LayerNorm(o) for o in widths)
        self.layers = nn.ModuleList(Segmenter.Layer(*a) for a in zip(widths, heads, shrinks))
        self.norms2 = nn.ModuleList(nn.LayerNorm(o) for o in widths)
        self.heads = nn.ModuleList(nn.Linear(o, 128) for o in widths)
        self.join = nn.Sequential(nn.Conv2d(512, 128, 1, bias=False), nn.BatchNorm2d(128), nn.ReLU())
        self.out = nn.Conv2d(128, classes, 1)

    def forward(self, x):
        size, maps = x.shape[-2:], []
        for patch, norm1, layer, norm2, head in zip(self.patches, self.norms1, self.layers, self.norms2, self.heads):
            x = patch(x)
            b, c, h, w = x.shape
            x = norm2(layer(norm1(x.flatten(2).transpose(1, 2)), h, w))
            y = head(x).transpose(1, 2).reshape(b, -1, h, w)
            maps.append(F.interpolate(y, size=(64, 64), mode="bilinear", align_corners=False))
            x = x.transpose(1, 2).reshape(b, c, h, w)
        return F.interpolate(self.out(self.join(torch.cat(maps[::-1], 1))), size=size, mode="bilinear",
                             align_corners=False)


class Vocoder(nn.Module):
    """Transposed and dilated convolutions over time, up to 256 times as long: mel [1,80,64] -> [1,1,16384]."""

    def __init__(self, width=128):
        super().__init__()
        self.first, self.ups, self.stages = nn.Conv1d(80, width, 7, padding=3), nn.ModuleList(), nn.ModuleList()
        for i, stride in enumerate((8, 8, 2, 2)):
            w = width >> (i + 1)
            self.ups.append(nn.ConvTranspose1d(2 * w, w, 2 * stride, stride, padding=stride // 2))
            self.stages.append(nn.ModuleList(nn.ModuleList(nn.Conv1d(w, w, k, padding=d * (k - 1) // 2, dilation=d)
                                                           for d in (1, 3)) for k in (3, 7, 11)))
        self.last = nn.Conv1d(width >> 4, 1, 7, padding=3)

    def forward(self, x):
        x = self.first(x)
        for up, stage in zip(self.ups, self.stages):
            x, total = up(F.leaky_relu(x, .1)), 0
            for row in stage:
                y = x
                for convolution in row:
                    y = y + convolution(F.leaky_relu(y, .1))
                total = total + y
            x = total / 3
        return torch.tanh(self.last(F.leaky_relu(x)))


class Conformer(nn.Module):
    """Attention, gated depthwise convolutions of 31 taps, and two MLPs a layer: mel [1,1,200,80] -> [1,49,144]."""

    def __init__(self, width=144, layers=4):
        super().__init__()
        self.front = nn.Sequential(nn.Conv2d(1, width, 3, 2), nn.ReLU(), nn.Conv2d(width, width, 3, 2), nn.ReLU())
        self.start = nn.Linear(width * 19, width)
        def mlp():
            return nn.Sequential(nn.LayerNorm(width), nn.Linear(width, 4 * width), nn.SiLU(),
                                 nn.Linear(4 * width, width))
        self.layers = nn.ModuleList(nn.ModuleDict({
            "mlp1": mlp(), "norm1": nn.LayerNorm(width), "attend": nn.MultiheadAttention(width, 4, batch_first=True),
            "norm2": nn.LayerNorm(width), "gate": nn.Conv1d(width, 2 * width, 1),
            "taps": nn.Conv1d(width, width, 31, padding=15, groups=width), "batch": nn.BatchNorm1d(width),
            "mix": nn.Conv1d(width, width, 1), "mlp2": mlp(), "norm3": nn.LayerNorm(width)}) for _ in range(layers))

    def forward(self, x):
        x = self.start(self.front(x).transpose(1, 2).flatten(2))
        for layer in self.layers:
            x = x + .5 * layer["mlp1"](x)
            y = layer["norm1"](x)
            x = x + layer["attend"](y, y, y, need_weights=False)[0]
            y = F.glu(layer["gate"](layer["norm2"](x).transpose(1, 2)), 1)
            x = x + layer["mix"](F.silu(layer["batch"](layer["taps"](y)))).transpose(1, 2)
            x = layer["norm3"](x + .5 * layer["mlp2"](x))
        return x


class GruTagger(nn.Module):
    """Two layers of GRU in both directions over words: tokens [1,64] -> [1,64,32]."""

    def __init__(self, words=4096, width=128):
        super().__init__()
        self.words, self.out = nn.Embedding(words, width), nn.Linear(2 * width, 32)
        self.gru = nn.GRU(width, width, 2, batch_first=True, bidirectional=True)

    def forward(self, tokens):
        return self.out(self.gru(self.words(tokens))[0])


class ConvMixer(nn.Module):
    """Depthwise convolutions of 9x9 taps beside 1x1, each with its norm: [1,3,224,224] -> [1,1000]."""

    def __init__(self, width=256, depth=8, taps=9, patch=14):
        super().__init__()
        def after(convolution):
            return nn.Sequential(convolution, nn.GELU(), nn.BatchNorm2d(width))
        self.stem = after(nn.Conv2d(3, width, patch, patch))
        self.layers = nn.ModuleList(nn.ModuleList([after(nn.Conv2d(width, width, taps, padding="same", groups=width)),
                                                   after(nn.Conv2d(width, width, 1))]) for _ in range(depth))
        self.head = nn.Linear(width, 1000)

    def forward(self, x):
        x = self.stem(x)
        for over_places, over_channels in self.layers:
            x = over_channels(x + over_places(x))
        return self.head(x.mean((2, 3)))


class CausalConvolutions(nn.Module):
    """Dilated convolutions over time that see the past alone: [1,16,512] -> [1,10]."""

    def __init__(self, width=64, depth=6):
        super().__init__()
        self.stem, self.head = nn.Conv1d(16, width, 1), nn.Linear(width, 10)
        self.pairs = nn.ModuleList(nn.ModuleList(nn.Conv1d(width, width, 3, dilation=2 ** d) for _ in range(2))
                                   for d in range(depth))

    def forward(self, x):
        x = self.stem(x)
        for d, pair in enumerate(self.pairs):
            y = x
            for convolution in pair:
                y = F.relu(convolution(F.pad(y, (2 * 2 ** d, 0))))
            x = F.relu(x + y)
        return self.head(x[:, :, -1])


def conv3d(i, o, k, stride=1, padding=0):
    return nn.Sequential(nn.Conv3d(i, o, k, stride, padding, bias=False), nn.BatchNorm3d(o), nn.ReLU())


class Volume(nn.Module):
    """A U of convolutions of three axes: [1,1,32,32,32] -> [1,2,32,32,32]."""

    def __init__(self, w=16):
        super().__init__()
        def block(i, o):
            return nn.Sequential(conv3d(i, o, 3, padding=1), conv3d(o, o, 3, padding=1))
        self.down1, self.down2, self.deep = block(1, w), block(w, 2 * w), block(2 * w, 4 * w)
        self.grow2, self.up2 = nn.ConvTranspose3d(4 * w, 2 * w, 2, 2), block(4 * w, 2 * w)
        self.grow1, self.up1 = nn.ConvTranspose3d(2 * w, w, 2, 2), block(2 * w, w)
        self.head = nn.Conv3d(w, 2, 1)

    def forward(self, x):
        a = self.down1(x)
        b = self.down2(F.max_pool3d(a, 2))
        y = self.deep(F.max_pool3d(b, 2))
        y = self.up2(torch.cat([self.grow2(y), b], 1))
        return self.head(self.up1(torch.cat([self.grow1(y), a], 1)))


class Video(nn.Module):
    """Convolutions over places and over time in turns: [1,3,8,64,64] -> [1,10]."""

    def __init__(self, w=24):
        super().__init__()
        self.stem = nn.Sequential(conv3d(3, w, (1, 7, 7), (1, 2, 2), (0, 3, 3)), conv3d(w, w, (3, 1, 1), 1, (1, 0, 0)))
        self.blocks = nn.ModuleList(nn.Sequential(conv3d(w, 2 * w, (1, 3, 3), 1, (0, 1, 1)),
                                                  conv3d(2 * w, w, (3, 1, 1), 1, (1, 0, 0))) for _ in range(3))
        self.taps, self.head = nn.Conv3d(w, w, 3, 1, 1, groups=w), nn.Linear(w, 10)

    def forward(self, x):
        x = self.stem(x)
        for block in self.blocks:
            x = x + block(x)
        return self.head(F.relu(self.taps(x)).mean((2, 3, 4)))


class Messages(nn.Module):
    """A graph of 48 nodes, its edges a matrix: each pair sends a message: [1,48,16], [1,48,48] -> [1,48,4]."""

    def __init__(self, width=64, layers=3):
        super().__init__()
        self.start, self.out = nn.Linear(16, width), nn.Linear(width, 4)
        self.layers = nn.ModuleList(nn.ModuleDict({
            "sender": nn.Linear(width, width), "receiver": nn.Linear(width, width), "edge": nn.Linear(width, width),
            "change": nn.Linear(2 * width, width), "norm": nn.LayerNorm(width)}) for _ in range(layers))

    def forward(self, x, edges):
        x = self.start(x)
        for layer in self.layers:
            pairs = F.relu(layer["sender"](x)[:, :, None] + layer["receiver"](x)[:, None])
            sent = (layer["edge"](pairs) * edges[..., None]).sum(2) / (edges.sum(2, keepdim=True) + 1e-6)
            x = layer["norm"](x + F.silu(layer["change"](torch.cat([x, sent], -1))))
        return self.out(x)


class OnlyOut(nn.Module):
    """A torchvision segmentation model without the name of its result."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, x):
        return self.model(x)["out"]


def street():
    import torchvision
    model = torchvision.models.segmentation.lraspp_mobilenet_v3_large(weights=None, weights_backbone=None)
    return OnlyOut(model), picture(256)


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
    "lraspp_mobilenet_v3": street,
    "detector": lambda: (Detector(), picture(320)),
    "bert": lambda: (Bert(), (torch.randint(0, 8192, (1, 64)), (torch.arange(64)[None] < 50).long())),
    "llama": lambda: (Llama(), (torch.randint(0, 4096, (1, 64)),)),
    "speech_encoder": lambda: (SpeechEncoder(), (torch.randn(1, 80, 600),)),
    "speech_gru": lambda: (SpeechGru(), (torch.randn(1, 1, 80, 200),)),
    "mixer": lambda: (Mixer(), picture()),
    "sharpen": lambda: (Sharpen(), picture(128)),
    "separator": lambda: (Separator(), (torch.randn(1, 1, 8000),)),
    "vocoder": lambda: (Vocoder(), (torch.randn(1, 80, 64),)),
    "conformer": lambda: (Conformer(), (torch.randn(1, 1, 200, 80),)),
    "large_kernels": lambda: (LargeKernels(), picture(128)),
    "denoiser": lambda: (Denoiser(), (torch.randn(1, 4, 32, 32), torch.tensor([37.]))),
    "segmenter": lambda: (Segmenter(), picture(256)),
    "gru_tagger": lambda: (GruTagger(), (torch.randint(0, 4096, (1, 64)),)),
    "convmixer": lambda: (ConvMixer(), picture()),
    "causal": lambda: (CausalConvolutions(), (torch.randn(1, 16, 512),)),
    "volume": lambda: (Volume(), (torch.randn(1, 1, 32, 32, 32),)),
    "video": lambda: (Video(), (torch.randn(1, 3, 8, 64, 64),)),
    "messages": lambda: (Messages(), (torch.randn(1, 48, 16), (torch.rand(1, 48, 48) < .3).float())),
    **FAMILIES,
    **{f"timm_{name}": timms(name, side) for name, side in (
        ("fastvit_t8", 256), ("mixnet_s", 224), ("mobilevitv2_050", 256), ("pvt_v2_b0", 224), ("dpn68", 224),
        ("inception_next_atto", 224), ("edgenext_x_small", 256), ("xcit_nano_12_p16_224", 224),
        ("efficientformer_l1", 224), ("starnet_s1", 224))},
}


def write(name, out, script):
    torch.manual_seed(0)
    model, example = MODELS[name]()
    calibrate(model, example)
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
