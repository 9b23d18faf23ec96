"""More models for bench/wild.py over three axes: scans and films, with random weights."""
import torch
import torch.nn.functional as F
from torch import nn


class Volumes(nn.Module):
    """A U of residual blocks over three axes with group norms, as for medical scans: [1,1,32,48,48] -> two classes.
    With `overlap` the ways up are kernels of three, whose results overlap."""

    class Block(nn.Module):
        def __init__(self, channels):
            super().__init__()
            self.body = nn.Sequential(*(part for _ in range(2) for part in (
                nn.GroupNorm(4, channels), nn.ReLU(), nn.Conv3d(channels, channels, 3, padding=1, bias=False))))

        def forward(self, x):
            return x + self.body(x)

    def __init__(self, channels=(8, 16, 32), overlap=False):
        super().__init__()
        a, b, c = channels
        up = (3, 2, 1, 1) if overlap else (2, 2)
        self.first = nn.Conv3d(1, a, 3, padding=1)
        self.blocks = nn.ModuleList(self.Block(i) for i in (a, b, c, b, a))
        self.downs = nn.ModuleList((nn.Conv3d(a, b, 3, 2, 1), nn.Conv3d(b, c, 3, 2, 1)))
        self.ups = nn.ModuleList((nn.ConvTranspose3d(c, b, *up), nn.ConvTranspose3d(b, a, *up)))
        self.joins = nn.ModuleList((nn.Conv3d(2 * b, b, 1), nn.Conv3d(2 * a, a, 1)))
        self.last = nn.Conv3d(a, 2, 1)

    def forward(self, x):
        top = self.blocks[0](self.first(x))
        middle = self.blocks[1](self.downs[0](top))
        x = self.blocks[2](self.downs[1](middle))
        x = self.blocks[3](self.joins[0](torch.cat([self.ups[0](x), middle], 1)))
        return self.last(self.blocks[4](self.joins[1](torch.cat([self.ups[1](x), top], 1))))


class Film(nn.Module):
    """Kernels over the places of a frame, then over frames, in branches: [1,3,8,64,64] -> 40 actions."""

    class Apart(nn.Sequential):
        def __init__(self, i, o, k=3, stride=1):
            p = k // 2
            super().__init__(
                nn.Conv3d(i, o, (1, k, k), (1, stride, stride), (0, p, p), bias=False), nn.BatchNorm3d(o), nn.ReLU(),
                nn.Conv3d(o, o, (k, 1, 1), (stride, 1, 1), (p, 0, 0), bias=False), nn.BatchNorm3d(o), nn.ReLU())

    class Branches(nn.Module):
        def __init__(self, i, o):
            super().__init__()
            one = lambda: nn.Sequential(nn.Conv3d(i, o, 1, bias=False), nn.BatchNorm3d(o), nn.ReLU())
            self.first, self.second = one(), nn.Sequential(one(), Film.Apart(o, 2 * o))
            self.third = nn.Sequential(nn.MaxPool3d(3, 1, 1), one())

        def forward(self, x):
            return torch.cat([self.first(x), self.second(x), self.third(x)], 1)

    def __init__(self, w=32):
        super().__init__()
        self.body = nn.Sequential(self.Apart(3, w, 7, 2), nn.MaxPool3d((1, 3, 3), (1, 2, 2), (0, 1, 1)),
                                  self.Apart(w, 2 * w), self.Branches(2 * w, w), self.Branches(4 * w, w),
                                  nn.AdaptiveAvgPool3d(1), nn.Flatten(), nn.Linear(4 * w, 40))

    def forward(self, x):
        return self.body(x)


class ShiftedVolumes(nn.Module):
    """Attention within windows of a volume, every second one shifted by half a window, with a bias of heads and a mask
    of what lies beyond the border: [1,1,28,28,28] -> the same."""

    def __init__(self, width=24, heads=3, window=7, size=14):
        super().__init__()
        self.heads, self.window = heads, window
        self.patches, self.back = nn.Conv3d(1, width, 2, 2), nn.ConvTranspose3d(width, 1, 2, 2)
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(4))
        self.qkv = nn.ModuleList(nn.Linear(width, 3 * width) for _ in range(2))
        self.out = nn.ModuleList(nn.Linear(width, width) for _ in range(2))
        self.more = nn.ModuleList(nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))
                                  for _ in range(2))
        tokens = window ** 3
        self.bias = nn.Parameter(torch.randn(2, heads, tokens, tokens) * 0.1)
        part = torch.zeros(size, dtype=torch.long)
        part[size - window:], part[size - window // 2:] = 1, 2
        regions = self.windows((part[:, None, None] * 9 + part[None, :, None] * 3 + part)[None, ..., None]).squeeze(-1)
        self.register_buffer("mask", (regions[:, None] != regions[:, :, None]).float() * -100.0)

    def windows(self, x):
        b, d, h, w, c = x.shape
        n = self.window
        x = x.reshape(b, d // n, n, h // n, n, w // n, n, c).permute(0, 1, 3, 5, 2, 4, 6, 7)
        return x.reshape(-1, n ** 3, c)

    def volume(self, x, sizes):
        b, d, h, w, c = sizes
        n = self.window
        x = x.reshape(b, d // n, h // n, w // n, n, n, n, c).permute(0, 1, 4, 2, 5, 3, 6, 7)
        return x.reshape(b, d, h, w, c)

    def attention(self, x, i):
        b, tokens, c = x.shape
        q, k, v = self.qkv[i](x).reshape(b, tokens, 3, self.heads, c // self.heads).permute(2, 0, 3, 1, 4)
        scores = q * (c // self.heads) ** -0.5 @ k.transpose(-2, -1) + self.bias[i]
        if i == 1:
            count = self.mask.shape[0]
            scores = scores.view(b // count, count, self.heads, tokens, tokens) + self.mask[:, None]
            scores = scores.view(b, self.heads, tokens, tokens)
        return self.out[i]((scores.softmax(-1) @ v).transpose(1, 2).reshape(b, tokens, c))

    def forward(self, x):
        x = self.patches(x).permute(0, 2, 3, 4, 1)
        for i in range(2):
            shift = (self.window // 2,) * 3 if i == 1 else (0,) * 3
            y = torch.roll(self.norms[2 * i](x), [-s for s in shift], (1, 2, 3))
            y = self.volume(self.attention(self.windows(y), i), y.shape)
            x = x + torch.roll(y, shift, (1, 2, 3))
            x = x + self.more[i](self.norms[2 * i + 1](x))
        return F.tanh(self.back(x.permute(0, 4, 1, 2, 3)))


VOLUMES = {
    "volumes": lambda: (Volumes(), (torch.randn(1, 1, 32, 48, 48),)),
    "overlapping_volumes": lambda: (Volumes(overlap=True), (torch.randn(1, 1, 24, 32, 32),)),
    "film": lambda: (Film(), (torch.rand(1, 3, 8, 64, 64),)),
    "shifted_volumes": lambda: (ShiftedVolumes(), (torch.randn(1, 1, 28, 28, 28),)),
}
