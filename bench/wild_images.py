"""Images, volumes and graphs: small models of their kinds for bench/wild.py, with random weights."""
import pathlib
import sys

import torch
import torch.nn.functional as F
from torch import nn

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "models"))
from make_models import picture  # noqa: E402


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
    """One-stage, without anchors: SiLU, three scales, nearest upsampling: [1,3,320,320] -> boxes and scores
    [1,84,2100]."""

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


IMAGES = {
    "lraspp_mobilenet_v3": street,
    "detector": lambda: (Detector(), picture(320)),
    "mixer": lambda: (Mixer(), picture()),
    "sharpen": lambda: (Sharpen(), picture(128)),
    "large_kernels": lambda: (LargeKernels(), picture(128)),
    "denoiser": lambda: (Denoiser(), (torch.randn(1, 4, 32, 32), torch.tensor([37.]))),
    "segmenter": lambda: (Segmenter(), picture(256)),
    "convmixer": lambda: (ConvMixer(), picture()),
    "volume": lambda: (Volume(), (torch.randn(1, 1, 32, 32, 32),)),
    "video": lambda: (Video(), (torch.randn(1, 3, 8, 64, 64),)),
    "messages": lambda: (Messages(), (torch.randn(1, 48, 16), (torch.rand(1, 48, 48) < .3).float())),
}
