"""More models for bench/wild.py, a small one each of families that wild_models.py lacks, with random weights."""
import torch
import torch.nn.functional as F
from torch import nn

from wild_volumes import VOLUMES


def conv_norm(i, o, k=3, stride=1, act=nn.ReLU, **options):
    return nn.Sequential(nn.Conv2d(i, o, k, stride, options.pop("padding", k // 2), bias=False, **options),
                         nn.BatchNorm2d(o), act())


class Restyle(nn.Module):
    """Instance norms and mirrored borders around strided, residual and upsampled convolutions: [1,3,128,128] -> the
    same."""

    class Block(nn.Module):
        def __init__(self, i, o, k, stride=1, act=True):
            super().__init__()
            self.pad, self.conv = nn.ReflectionPad2d(k // 2), nn.Conv2d(i, o, k, stride)
            self.norm, self.act = nn.InstanceNorm2d(o, affine=True), nn.ReLU() if act else nn.Identity()

        def forward(self, x):
            return self.act(self.norm(self.conv(self.pad(x))))

    def __init__(self, w=32, blocks=3):
        super().__init__()
        block = Restyle.Block
        self.down = nn.Sequential(block(3, w, 9), block(w, 2 * w, 3, 2), block(2 * w, 4 * w, 3, 2))
        self.middle = nn.ModuleList(nn.Sequential(block(4 * w, 4 * w, 3), block(4 * w, 4 * w, 3, act=False))
                                    for _ in range(blocks))
        self.up2, self.up1 = block(4 * w, 2 * w, 3), block(2 * w, w, 3)
        self.last = nn.Sequential(nn.ReflectionPad2d(4), nn.Conv2d(w, 3, 9))

    def forward(self, x):
        x = self.down(x)
        for block in self.middle:
            x = x + block(x)
        x = self.up2(F.interpolate(x, scale_factor=2.))
        return self.last(self.up1(F.interpolate(x, scale_factor=2.)))


class Restore(nn.Module):
    """Norms of channels in place, gates that multiply halves, channel attention, pixel shuffles: [1,3,128,128] -> the
    same."""

    class Block(nn.Module):
        def __init__(self, w):
            super().__init__()
            self.norm1, self.norm2 = nn.LayerNorm(w), nn.LayerNorm(w)
            self.in1, self.taps, self.out1 = nn.Conv2d(w, 2 * w, 1), nn.Conv2d(2 * w, 2 * w, 3, 1, 1, groups=2 * w), nn.Conv2d(w, w, 1)
            self.attend, self.in2, self.out2 = nn.Conv2d(w, w, 1), nn.Conv2d(w, 2 * w, 1), nn.Conv2d(w, w, 1)
            self.scale1, self.scale2 = nn.Parameter(torch.rand(1, w, 1, 1)), nn.Parameter(torch.rand(1, w, 1, 1))

        @staticmethod
        def norm(layer, x):
            return layer(x.permute(0, 2, 3, 1)).permute(0, 3, 1, 2)

        def forward(self, x):
            a, b = self.taps(self.in1(self.norm(self.norm1, x))).chunk(2, 1)
            y = a * b
            x = x + self.out1(y * self.attend(y.mean((2, 3), keepdim=True))) * self.scale1
            a, b = self.in2(self.norm(self.norm2, x)).chunk(2, 1)
            return x + self.out2(a * b) * self.scale2

    def __init__(self, w=24):
        super().__init__()
        block = Restore.Block
        self.stem, self.last = nn.Conv2d(3, w, 3, 1, 1), nn.Conv2d(w, 3, 3, 1, 1)
        self.in1, self.down1, self.in2, self.down2 = block(w), nn.Conv2d(w, 2 * w, 2, 2), block(2 * w), nn.Conv2d(2 * w, 4 * w, 2, 2)
        self.middle = nn.Sequential(block(4 * w), block(4 * w))
        self.up2, self.out2 = nn.Sequential(nn.Conv2d(4 * w, 8 * w, 1, bias=False), nn.PixelShuffle(2)), block(2 * w)
        self.up1, self.out1 = nn.Sequential(nn.Conv2d(2 * w, 4 * w, 1, bias=False), nn.PixelShuffle(2)), block(w)

    def forward(self, x):
        a = self.in1(self.stem(x))
        b = self.in2(self.down1(a))
        y = self.middle(self.down2(b))
        y = self.out2(self.up2(y) + b)
        return x + self.last(self.out1(self.up1(y) + a))


class Wave(nn.Module):
    """Dilated convolutions over time with gates of tanh and sigmoid, and sums of skips: [1,1,4000] -> [1,256,4000]."""

    def __init__(self, width=48, skip=96, layers=9):
        super().__init__()
        self.stem = nn.Conv1d(1, width, 1)
        self.taps = nn.ModuleList(nn.Conv1d(width, 2 * width, 2, dilation=2 ** d) for d in range(layers))
        self.mixes = nn.ModuleList(nn.Conv1d(width, width, 1) for _ in range(layers))
        self.skips = nn.ModuleList(nn.Conv1d(width, skip, 1) for _ in range(layers))
        self.last = nn.Sequential(nn.ReLU(), nn.Conv1d(skip, 128, 1), nn.ReLU(), nn.Conv1d(128, 256, 1))

    def forward(self, x):
        x, sums = self.stem(x), 0
        for taps, mix, skip in zip(self.taps, self.mixes, self.skips):
            a, b = taps(F.pad(x, (taps.dilation[0], 0))).chunk(2, 1)
            y = a.tanh() * b.sigmoid()
            sums, x = sums + skip(y), x + mix(y)
        return self.last(sums)


class Pyramid(nn.Module):
    """Dilated convolutions beside each other and of the whole image, decoded bilinearly: [1,3,224,224] ->
    [1,21,224,224]."""

    def __init__(self, w=32):
        super().__init__()
        self.stem = nn.Sequential(conv_norm(3, w, 3, 2), conv_norm(w, 2 * w, 3, 2))
        self.body = nn.Sequential(conv_norm(2 * w, 4 * w, 3, 2), conv_norm(4 * w, 4 * w), conv_norm(4 * w, 8 * w, 3, 2),
                                  conv_norm(8 * w, 8 * w, padding=2, dilation=2))
        self.parts = nn.ModuleList([conv_norm(8 * w, 2 * w, 1)] + [conv_norm(8 * w, 2 * w, padding=d, dilation=d)
                                                                   for d in (6, 12, 18)])
        self.whole, self.join = nn.Conv2d(8 * w, 2 * w, 1), conv_norm(10 * w, 4 * w, 1)
        self.low, self.last = conv_norm(2 * w, 16, 1), nn.Sequential(conv_norm(4 * w + 16, 2 * w), nn.Conv2d(2 * w, 21, 1))

    def forward(self, x):
        low = self.stem(x)
        y = self.body(low)
        whole = F.interpolate(self.whole(y.mean((2, 3), keepdim=True)).relu(), size=(14, 14), mode="bilinear")
        y = self.join(torch.cat([*(part(y) for part in self.parts), whole], 1))
        y = F.interpolate(y, size=(56, 56), mode="bilinear", align_corners=False)
        y = self.last(torch.cat([y, self.low(low)], 1))
        return F.interpolate(y, size=(224, 224), mode="bilinear", align_corners=False)


class StateSpace(nn.Module):
    """Selective state spaces in chunks (decays by cumulated sums, masked products): tokens [1,128] -> [1,128,256]."""

    class Layer(nn.Module):
        def __init__(self, width, heads, state, chunk):
            super().__init__()
            self.heads, self.state, self.chunk, inner = heads, state, chunk, 2 * width
            self.norm, self.enter = nn.LayerNorm(width), nn.Linear(width, 2 * inner + 2 * state + heads)
            self.taps = nn.Conv1d(inner + 2 * state, inner + 2 * state, 4, padding=3, groups=inner + 2 * state)
            self.rate, self.skip = nn.Parameter(torch.rand(heads)), nn.Parameter(torch.rand(heads))
            self.gated, self.leave = nn.LayerNorm(inner), nn.Linear(inner, width)

        def forward(self, x):
            b, t, _ = x.shape
            inner, state, c = self.leave.in_features, self.state, self.chunk
            gate, xbc, step = self.enter(self.norm(x)).split([inner, inner + 2 * state, self.heads], -1)
            xbc = F.silu(self.taps(xbc.transpose(1, 2))[..., :t].transpose(1, 2))
            u, keys, reads = xbc.split([inner, state, state], -1)
            step = F.softplus(step)
            u = u.view(b, t // c, c, self.heads, -1)
            keys, reads = keys.view(b, t // c, c, state), reads.view(b, t // c, c, state)
            sums = (-step * self.rate.exp()).view(b, t // c, c, self.heads).cumsum(2).permute(0, 3, 1, 2)
            decay = (sums[..., :, None] - sums[..., None, :]).masked_fill(
                torch.ones(c, c, dtype=torch.bool).triu(1), float("-inf")).exp()
            scaled = (u * step.view(b, t // c, c, self.heads, 1)).permute(0, 3, 1, 2, 4)
            y = ((reads @ keys.transpose(-1, -2))[:, None] * decay) @ scaled
            ends = (keys[:, None] * (sums[..., -1:] - sums).exp()[..., None]).transpose(-1, -2) @ scaled
            carried, parts = torch.zeros_like(ends[:, :, 0]), []
            for i in range(t // c):
                parts.append(carried)
                carried = carried * sums[:, :, i, -1].exp()[..., None, None] + ends[:, :, i]
            y = y + (reads[:, None] @ torch.stack(parts, 2)) * sums.exp()[..., None]
            y = y.permute(0, 2, 3, 1, 4) + u * self.skip[:, None]
            return x + self.leave(self.gated(y.reshape(b, t, inner) * F.silu(gate)))

    def __init__(self, layers=4, width=256):
        super().__init__()
        self.words = nn.Embedding(4096, width)
        self.layers = nn.Sequential(*(StateSpace.Layer(width, 8, 32, 32) for _ in range(layers)))

    def forward(self, tokens):
        return self.layers(self.words(tokens))


class Points(nn.Module):
    """A learnt rotation and products of each point, the largest of all points: [1,3,1024] -> [1,40]."""

    def __init__(self):
        super().__init__()
        def each(*widths):
            return nn.Sequential(*(nn.Sequential(nn.Conv1d(i, o, 1), nn.BatchNorm1d(o), nn.ReLU())
                                   for i, o in zip(widths, widths[1:])))
        self.turn, self.turned = each(3, 64, 128, 512), nn.Sequential(nn.Linear(512, 128), nn.ReLU(), nn.Linear(128, 9))
        self.low, self.high = each(3, 64, 64), each(64, 64, 128, 1024)
        self.head = nn.Sequential(nn.Linear(1024, 256), nn.ReLU(), nn.Linear(256, 40))

    def forward(self, x):
        turn = self.turned(self.turn(x).amax(2)).view(1, 3, 3) + torch.eye(3)
        return self.head(self.high(self.low(turn @ x)).amax(2))


class Generator(nn.Module):
    """Transposed convolutions of 4x4 taps, two apart, from noise to a picture: [1,128] -> [1,3,128,128]."""

    def __init__(self, w=24):
        super().__init__()
        widths = [16 * w, 8 * w, 4 * w, 2 * w, w]
        self.start = nn.Linear(128, 16 * w * 16)
        self.ups = nn.Sequential(*(nn.Sequential(nn.ConvTranspose2d(i, o, 4, 2, 1, bias=False), nn.BatchNorm2d(o), nn.LeakyReLU(.2))
                                   for i, o in zip(widths, widths[1:])), nn.ConvTranspose2d(w, 3, 4, 2, 1), nn.Tanh())

    def forward(self, x):
        return self.ups(self.start(x).view(1, -1, 4, 4))


class Tracker(nn.Module):
    """Features of a template slid over those of a search image: [1,3,96,96], [1,3,160,160] -> scores and boxes."""

    def __init__(self, w=32):
        super().__init__()
        self.body = nn.Sequential(conv_norm(3, w, 5, 2), conv_norm(w, 2 * w, 3, 2), conv_norm(2 * w, 4 * w, 3, 2), conv_norm(4 * w, 4 * w))
        self.small, self.large = conv_norm(4 * w, 4 * w, padding=0), conv_norm(4 * w, 4 * w, padding=0)
        self.head = nn.Sequential(conv_norm(4 * w, 4 * w, 1), nn.Conv2d(4 * w, 6, 1))

    def forward(self, template, image):
        small, large = self.small(self.body(template)), self.large(self.body(image))
        c = small.shape[1]
        return self.head(F.conv2d(large, small.transpose(0, 1), groups=c))


class Forecast(nn.Module):
    """Patches of several series, normed by their own mean, through three layers of attention: [1,7,336] -> [1,7,96]."""

    def __init__(self, width=128, heads=8, patch=16, step=8):
        super().__init__()
        self.patch, self.step, count = patch, step, (336 - patch) // step + 1
        self.enter, self.places = nn.Linear(patch, width), nn.Parameter(torch.randn(count, width) * .02)
        self.layers = nn.Sequential(*(nn.TransformerEncoderLayer(width, heads, 2 * width, 0., "gelu", batch_first=True)
                                      for _ in range(3)))
        self.head = nn.Linear(count * width, 96)

    def forward(self, x):
        mean, spread = x.mean(-1, keepdim=True), x.var(-1, keepdim=True, unbiased=False).add(1e-5).sqrt()
        y = ((x - mean) / spread).unfold(-1, self.patch, self.step)
        y = self.layers(self.enter(y)[0] + self.places)
        return self.head(y.flatten(1))[None] * spread + mean


class Flow(nn.Module):
    """All pairs of pixels of two images, looked up bilinearly where a flow points: two of [1,3,128,128] ->
    [1,2,16,16]."""

    def __init__(self, w=32, turns=3):
        super().__init__()
        self.turns = turns
        self.features = nn.Sequential(conv_norm(3, w, 7, 2), conv_norm(w, 2 * w, 3, 2), conv_norm(2 * w, 4 * w, 3, 2),
                                      nn.Conv2d(4 * w, 4 * w, 1))
        self.taps = nn.Sequential(conv_norm(49 + 2, 96, 1), conv_norm(96, 64), nn.Conv2d(64, 2, 3, padding=1))
        y, x = torch.meshgrid(torch.arange(16.), torch.arange(16.), indexing="ij")
        self.register_buffer("grid", torch.stack([x, y], -1))
        dy, dx = torch.meshgrid(torch.arange(-3., 4.), torch.arange(-3., 4.), indexing="ij")
        self.register_buffer("around", torch.stack([dx, dy], -1))

    def forward(self, a, b):
        a, b = self.features(a).flatten(2), self.features(b).flatten(2)
        pairs = (a.transpose(1, 2) @ b / a.shape[1] ** .5).view(256, 1, 16, 16)
        flow = torch.zeros_like(self.grid)[None]
        for _ in range(self.turns):
            at = (self.grid + flow).view(256, 1, 1, 2) + self.around
            seen = F.grid_sample(pairs, at / 7.5 - 1, align_corners=True).view(1, 256, 49).transpose(1, 2)
            x = torch.cat([seen.reshape(1, 49, 16, 16), flow.permute(0, 3, 1, 2)], 1)
            flow = flow + self.taps(x).permute(0, 2, 3, 1)
        return flow.permute(0, 3, 1, 2)


class Fused(nn.Module):
    """Scales joined both ways with learnt weights and separable convolutions: [1,3,256,256] -> five maps of 36
    channels."""

    class Join(nn.Module):
        def __init__(self, w, count):
            super().__init__()
            self.shares = nn.Parameter(torch.rand(count))
            self.conv = nn.Sequential(nn.SiLU(), nn.Conv2d(w, w, 3, padding=1, groups=w, bias=False), nn.Conv2d(w, w, 1), nn.BatchNorm2d(w))

        def forward(self, *maps):
            shares = F.relu(self.shares)
            shares = shares / (shares.sum() + 1e-4)
            return self.conv(sum(m * s for m, s in zip(maps, shares)))

    def __init__(self, w=64, turns=2):
        super().__init__()
        widths = [16, 32, 64, 96, 128, 160, 160]
        self.downs = nn.ModuleList(conv_norm(i, o, 3, 2, nn.SiLU) for i, o in zip([3, *widths], widths))
        self.sides = nn.ModuleList(nn.Conv2d(i, w, 1) for i in widths[2:])
        self.ups = nn.ModuleList(nn.ModuleList(Fused.Join(w, 2) for _ in range(4)) for _ in range(turns))
        self.joins = nn.ModuleList(nn.ModuleList(Fused.Join(w, 3 if i < 3 else 2) for i in range(4)) for _ in range(turns))
        self.heads = nn.Sequential(Fused.Join(w, 1), nn.Conv2d(w, 36, 1))

    def forward(self, x):
        maps = []
        for down in self.downs:
            x = down(x)
            maps.append(x)
        maps = [side(m) for side, m in zip(self.sides, maps[2:])]
        for ups, joins in zip(self.ups, self.joins):
            tops = [maps[-1]]
            for i, up in enumerate(ups):
                tops.append(up(maps[3 - i], F.interpolate(tops[-1], scale_factor=2.)))
            tops, joined = tops[::-1], [tops[-1]]
            for i, join in enumerate(joins):
                below = F.max_pool2d(joined[-1], 3, 2, 1)
                joined.append(join(maps[i + 1], tops[i + 1], below) if i < 3 else join(maps[i + 1], below))
            maps = joined
        return [self.heads(m) for m in maps]


class Ranking(nn.Module):
    """Embeddings of categories, their products in pairs, and numbers: ids [64,26], numbers [64,13] -> [64,1]."""

    def __init__(self, width=32, tables=26):
        super().__init__()
        self.tables = nn.ModuleList(nn.Embedding(1000, width) for _ in range(tables))
        self.low = nn.Sequential(nn.Linear(13, 256), nn.ReLU(), nn.Linear(256, width), nn.ReLU())
        self.register_buffer("rows", torch.tril_indices(tables + 1, tables + 1, -1))
        self.high = nn.Sequential(nn.Linear(width + (tables + 1) * tables // 2, 256), nn.ReLU(), nn.Linear(256, 128), nn.ReLU(),
                                  nn.Linear(128, 1), nn.Sigmoid())

    def forward(self, ids, numbers):
        low = self.low(numbers)
        all_rows = torch.stack([low, *(table(ids[:, i]) for i, table in enumerate(self.tables))], 1)
        pairs = (all_rows @ all_rows.transpose(1, 2)).flatten(1)
        n = all_rows.shape[1]
        return self.high(torch.cat([low, pairs[:, self.rows[0] * n + self.rows[1]]], 1))


class PositionAttention(nn.Module):
    """Attention over the places of an image, its values in columns, as in detectors: [1,128,20,20] -> the same."""

    class Block(nn.Module):
        def __init__(self, channels, heads=4):
            super().__init__()
            self.heads, self.size = heads, channels // heads
            self.parts = conv_norm(channels, 2 * channels, 1, act=nn.Identity)
            self.places = conv_norm(channels, channels, 3, act=nn.Identity, groups=channels)
            self.out = conv_norm(channels, channels, 1, act=nn.Identity)
            self.wide = nn.Sequential(conv_norm(channels, 2 * channels, 1, act=nn.SiLU),
                                      conv_norm(2 * channels, channels, 1, act=nn.Identity))

        def forward(self, x):
            n, c, h, w = x.shape
            parts = self.parts(x).view(n, self.heads, 2 * self.size, h * w)
            query, key, value = parts.split([self.size // 2, self.size // 2, self.size], 2)
            shares = ((query.transpose(-2, -1) @ key) * (self.size // 2) ** -0.5).softmax(-1)
            seen = (value @ shares.transpose(-2, -1)).view(n, c, h, w) + self.places(value.reshape(n, c, h, w))
            x = x + self.out(seen)
            return x + self.wide(x)

    def __init__(self, channels=128):
        super().__init__()
        first = conv_norm(channels, channels, 1, act=nn.SiLU)
        self.body = nn.Sequential(first, self.Block(channels), self.Block(channels))

    def forward(self, x):
        return self.body(x)


def picture(side):
    return torch.rand(1, 3, side, side)


FAMILIES = {
    "restyle": lambda: (Restyle(), (picture(128),)),
    "restore": lambda: (Restore(), (picture(128),)),
    "wave": lambda: (Wave(), (torch.randn(1, 1, 4000),)),
    "pyramid": lambda: (Pyramid(), (picture(224),)),
    "state_space": lambda: (StateSpace(), (torch.randint(0, 4096, (1, 128)),)),
    "points": lambda: (Points(), (torch.randn(1, 3, 1024),)),
    "generator": lambda: (Generator(), (torch.randn(1, 128),)),
    "tracker": lambda: (Tracker(), (picture(96), picture(160))),
    "forecast": lambda: (Forecast(), (torch.randn(1, 7, 336),)),
    "flow": lambda: (Flow(), (picture(128), picture(128))),
    "fused_scales": lambda: (Fused(), (picture(256),)),
    "position_attention": lambda: (PositionAttention(), (torch.randn(1, 128, 20, 20),)),
    "ranking": lambda: (Ranking(), (torch.randint(0, 1000, (64, 26)), torch.randn(64, 13))),
    **VOLUMES,
}
