"""Blocks of networks as exporters write them: what Berth has one operator for is one, and computes what PyTorch does.

Each block goes through torch.export, with its sizes fixed and with an open batch, and through torch.onnx without dynamo
in opset 14, which writes norms out, and 18. `whole` names the operators of which the delegate must hold one, `parts`
what they are made of, of which it may hold none."""
import fnmatch
import inspect
import itertools
import math
import pathlib
import re
import tempfile
import warnings

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

from drivers import difference
from quick_export import quick_export

ATTENTION = ["berth::attention", "berth::grouped_attention"]
NORMS = {"lay": "aten::native_layer_norm", "rms": "berth::rms_norm"}
COPY = "dim_order_ops::_clone_dim_order"
ALLOWED = {COPY: 2}  # what comes to a delegate and leaves it
WIDTH, HEADS = 32, 4


class Call(nn.Module):
    def __init__(self, module, function):
        super().__init__()
        self.module, self.function = module, function

    def forward(self, *args):
        return self.function(self.module, *args)


class Tokens(nn.Module):
    """Attention with its projections; `attend` computes it of heads [batch, heads, tokens, size]."""

    def __init__(self, attend, key_heads=HEADS):
        super().__init__()
        size = WIDTH // HEADS
        self.attend, self.key_heads = attend, key_heads
        self.q, self.out = nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, WIDTH)
        self.k, self.v = nn.Linear(WIDTH, key_heads * size), nn.Linear(WIDTH, key_heads * size)

    def heads(self, x, count):
        return x.view(x.shape[0], x.shape[1], count, WIDTH // HEADS).transpose(1, 2)

    def forward(self, x, *mask):
        q, k, v = (self.heads(part(x), count)
                   for part, count in ((self.q, HEADS), (self.k, self.key_heads), (self.v, self.key_heads)))
        return self.out(self.attend(q, k, v, *mask).transpose(1, 2).reshape(x.shape))


class Joined(nn.Module):
    """As timm's vision transformers have it."""

    def __init__(self):
        super().__init__()
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)

    def forward(self, x):
        b, n, c = x.shape
        q, k, v = self.qkv(x).reshape(b, n, 3, HEADS, c // HEADS).permute(2, 0, 3, 1, 4).unbind(0)
        return self.out(F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(b, n, c))


def plain(q, k, v, mask=None):
    scores = q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])
    if mask is not None:
        scores = scores + (1.0 - mask[:, None, None, :]) * torch.finfo(torch.float32).min
    return scores.softmax(-1) @ v


def shared(q, k, v):
    repeated = [x.repeat_interleave(HEADS // x.shape[1], 1) for x in (k, v)]
    return F.scaled_dot_product_attention(q, *repeated)


class Biased(Tokens):
    """A table of biases, one a head and a pair of places, as in T5 and Swin."""

    def __init__(self, tokens):
        super().__init__(lambda q, k, v: (q @ k.transpose(-1, -2) + self.bias).softmax(-1) @ v)
        self.bias = nn.Parameter(torch.randn(1, HEADS, tokens, tokens))


class Written(nn.Module):
    """A norm written out over dimension `dim`, with a weight."""

    def __init__(self, dim, size, mean, root):
        super().__init__()
        self.dim, self.mean, self.root = dim, mean, root
        self.weight = nn.Parameter(torch.rand(size, *[1] * (-1 - dim)) + 0.5)

    def forward(self, x):
        if self.mean:
            x = x - x.mean(self.dim, keepdim=True)
        squares = x.pow(2).mean(self.dim, keepdim=True) + 1e-5
        return (x * torch.rsqrt(squares) if self.root else x / torch.sqrt(squares)) * self.weight


def einsum(q, k, v):
    scores = torch.einsum("bhqd,bhkd->bhqk", q, k) * 0.3
    return torch.einsum("bhqk,bhkd->bhqd", scores.softmax(-1), v)


def attentions():
    tokens, mask = torch.randn(2, 12, WIDTH), torch.ones(2, 12)
    mask[1, 7:] = 0
    sdpa = F.scaled_dot_product_attention
    for name, module, *more in (
            ("joined", Joined()), ("module", Call(nn.MultiheadAttention(WIDTH, HEADS, batch_first=True), lambda m, x: m(x, x, x)[0])),
            ("encoder", nn.TransformerEncoderLayer(WIDTH, HEADS, 64, batch_first=True, norm_first=True)), ("plain", Tokens(plain)),
            ("masked", Tokens(plain), mask), ("fused", Tokens(sdpa)),
            ("causal", Tokens(lambda q, k, v: sdpa(q, k, v, is_causal=True))), ("shared", Tokens(shared, 2)),
            ("einsum", Tokens(einsum)), ("biased", Biased(12))):
        yield name, module, (tokens, *more), ATTENTION, ["aten::_softmax", "aten::bmm", "aten::mm"]


def norms():
    tokens, image = torch.randn(2, 12, WIDTH), torch.randn(2, 16, 10, 9)
    sums = ["aten::mean", "aten::rsqrt", "aten::sqrt", "aten::pow"]
    for name, module in (("layer_norm", nn.LayerNorm(WIDTH)), ("layer_norm_written", Written(-1, WIDTH, True, False)),
                         ("rms_norm", nn.RMSNorm(WIDTH)), ("rms_norm_written", Written(-1, WIDTH, False, True))):
        yield name, module, (tokens,), [NORMS[name[:3]]], sums
    for name, mean, root in (("layer_norm_image", True, False), ("rms_norm_image", False, True)):
        module = nn.Sequential(nn.Conv2d(16, 16, 1), Written(-3, 16, mean, root), nn.Conv2d(16, 8, 1))
        yield name, module, (image,), [NORMS[name[:3]]], [*sums, "aten::permute_copy"]


def activations():
    image = torch.randn(2, 16, 10, 9)
    for name, function in (("mish", F.mish), ("softplus", F.softplus), ("sine", lambda x: x + torch.sin(2 * x).pow(2) / 2)):
        between = Call(nn.Sequential(nn.Conv2d(16, 16, 1), nn.Conv2d(16, 8, 1)), lambda m, x, f=function: m[1](f(m[0](x))))
        yield name, between, (image,), ["berth::elementwise"], [COPY, "aten::log1p", "aten::sin", "aten::exp"]
    for name, function in (("silu", F.silu), ("gelu", F.gelu), ("gelu_tanh", lambda x: F.gelu(x, approximate="tanh")),
                           ("hard_swish", F.hardswish)):
        behind = Call(nn.Conv2d(16, 8, 1), lambda m, x, f=function: f(m(x)))
        yield name, behind, (image,), ["berth::conv"], ["berth::elementwise", "aten::sigmoid", "aten::erf", "aten::gelu"]


def open_batch(module, count):
    """What torch.export takes as dynamic_shapes."""
    each = [{0: torch.export.Dim("batch", min=1, max=8)}] * count
    kinds = [parameter.kind for parameter in inspect.signature(module.forward).parameters.values()]
    named = min(count, len(kinds) - kinds.count(inspect.Parameter.VAR_POSITIONAL))
    return tuple(each[:named]) + ((tuple(each[named:]),) if named < count else ())


def exported(module, inputs, folder):
    """Writes the files of the block: (form, path)."""
    for form, shapes in (("fixed", None), ("open", open_batch(module, len(inputs)))):
        path = folder / f"{form}.pt2"
        torch.export.save(torch.export.export(module, inputs, dynamic_shapes=shapes), path)
        yield form, path
    # Two that torch.onnx does not export without dynamo.
    for opset in () if isinstance(module, (nn.RMSNorm, nn.TransformerEncoderLayer)) else (14, 18):
        path = folder / f"opset{opset}.onnx"
        torch.onnx.export(module, inputs, path, opset_version=opset, dynamo=False)
        yield f"opset{opset}", path


def check(berth, module, inputs, path, whole, parts, folder):
    program = folder / "block.pte"
    berth.call("compile", path, "-o", program, "--target", "cpu")
    text = berth.call("inspect", program, "--instructions")
    found = re.findall(r"^ *\d+: (\w+::\w+)", text, re.MULTILINE)
    if not any(name in found for name in whole):
        return f"none of {whole} in {sorted(set(found))}"
    left = sorted(name for name in set(found) & set(parts) if found.count(name) > ALLOWED.get(name, 0))
    if left:
        return f"{left} left"
    arrays = []
    for i, x in enumerate(inputs):
        np.save(folder / f"in{i}.npy", x.numpy())
        arrays.append(folder / f"in{i}.npy")
    with torch.no_grad():
        want = [module(*inputs).numpy()]
    return difference(berth.run(program, arrays, folder / "out"), want, rtol=1e-5, atol=2e-6)


def fused_blocks(berth, patterns, tally):
    quick_export()
    warnings.filterwarnings("ignore")
    torch.manual_seed(5)
    for name, module, inputs, whole, parts in itertools.chain(attentions(), norms(), activations()):
        if patterns and not any(fnmatch.fnmatch(name, pattern) for pattern in patterns):
            continue
        module.eval()
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            try:
                for form, path in exported(module, inputs, folder):
                    tally.add(f"{name} {form}", check(berth, module, inputs, path, whole, parts, folder))
            except Exception as error:  # of an exporter, or a refusal: never expected
                tally.add(name, f"{type(error).__name__}: {str(error)[:400]}")
