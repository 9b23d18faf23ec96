"""Language and sound: small models of their kinds for bench/wild.py, with random weights."""
import torch
import torch.nn.functional as F
from torch import nn


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


SIGNALS = {
    "bert": lambda: (Bert(), (torch.randint(0, 8192, (1, 64)), (torch.arange(64)[None] < 50).long())),
    "llama": lambda: (Llama(), (torch.randint(0, 4096, (1, 64)),)),
    "speech_encoder": lambda: (SpeechEncoder(), (torch.randn(1, 80, 600),)),
    "speech_gru": lambda: (SpeechGru(), (torch.randn(1, 1, 80, 200),)),
    "separator": lambda: (Separator(), (torch.randn(1, 1, 8000),)),
    "vocoder": lambda: (Vocoder(), (torch.randn(1, 80, 64),)),
    "conformer": lambda: (Conformer(), (torch.randn(1, 1, 200, 80),)),
    "gru_tagger": lambda: (GruTagger(), (torch.randint(0, 4096, (1, 64)),)),
    "causal": lambda: (CausalConvolutions(), (torch.randn(1, 16, 512),)),
}
