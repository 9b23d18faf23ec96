"""Small modules for torch.export, by family; pt2_programs.py has those that are about whole programs, pt2_modules.py
those that people bring, and edges, pt2_whole_operators.py operators that export leaves whole.

Each is a Case; tensors and weights come from seeded generators.
A case is a function or a module, its arguments, and perhaps which sizes change (`dynamic`, as torch.export takes them;
`others` are further sets of arguments that the same program must take).
"""
import dataclasses
import math
import typing

import torch
from torch import nn
from torch.nn import functional as F


@dataclasses.dataclass
class Case:
    family: str
    name: str
    module: nn.Module
    args: tuple
    dynamic: typing.Any = None
    others: tuple = ()


class Function(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *args):
        return self.function(*args)


CASES = []
SEED = torch.Generator()


def real(*shape, low=-2., high=2., dtype=torch.float32):
    return (torch.rand(shape, generator=SEED) * (high - low) + low).to(dtype)


def whole(*shape, low=-9, high=9, dtype=torch.int64):
    return torch.randint(low, high, shape, generator=SEED).to(dtype)


def truth(*shape):
    return torch.rand(shape, generator=SEED) > 0.5


def case(family, name, module, *args, dynamic=None, others=()):
    if not isinstance(module, nn.Module):
        module = Function(module)
    CASES.append(Case(family, name, module.eval(), args, dynamic, others))


def activations():
    for name in ("celu elu gelu hardshrink hardsigmoid hardswish hardtanh leaky_relu logsigmoid mish relu relu6 selu "
                 "sigmoid silu softplus softshrink softsign tanh tanhshrink").split():
        case("activation", name, getattr(F, name), real(3, 5, low=-4, high=4))
    case("activation", "relu6_int", F.relu6, whole(3, 5))
    case("activation", "gelu_tanh", lambda x: F.gelu(x, approximate="tanh"), real(3, 5))
    case("activation", "softplus_beta", lambda x: F.softplus(x, beta=2, threshold=3), real(3, 5))
    case("activation", "threshold", lambda x: F.threshold(x, 0.3, -7.), real(3, 5))
    case("activation", "glu", lambda x: F.glu(x, 1), real(3, 6))
    case("activation", "celu_alpha", lambda x: F.celu(x, 0.5), real(3, 5))
    case("activation", "elu_alpha", lambda x: F.elu(x, 0.5), real(3, 5))
    case("activation", "prelu", nn.PReLU(4), real(2, 4, 3))
    case("activation", "prelu_one", nn.PReLU(), real(2, 4))
    case("activation", "rrelu", nn.RReLU(), real(3, 5))
    case("activation", "dropout", nn.Sequential(nn.Dropout(), nn.ReLU(), nn.Dropout2d(), nn.AlphaDropout()), real(2, 3, 4))
    case("activation", "in_place", nn.Sequential(nn.Linear(4, 4), nn.ReLU(inplace=True), nn.SiLU(inplace=True),
                                                 nn.Hardswish(inplace=True)), real(3, 4))
    for dtype in (torch.float16, torch.bfloat16, torch.float64):
        for name in ("relu", "silu", "gelu", "sigmoid", "hardswish"):
            case("activation", f"{name}_{dtype}".replace("torch.", ""), getattr(F, name), real(3, 5, dtype=dtype))


def pointwise():
    for name in ("abs acosh asinh atan ceil cos cosh deg2rad erf erfc exp exp2 expm1 floor frac isfinite isinf isnan "
                 "isneginf isposinf neg rad2deg round sgn sign sin sinc sinh square tan trunc").split():
        low = 1.1 if name == "acosh" else -2
        case("pointwise", name, getattr(torch, name), real(3, 5, low=low, high=2.5))
    for name in "acos asin atanh".split():
        case("pointwise", name, getattr(torch, name), real(3, 5, low=-0.9, high=0.9))
    for name in "log log10 log1p log2 reciprocal rsqrt sqrt".split():
        case("pointwise", name, getattr(torch, name), real(3, 5, low=0.1, high=3))
    case("pointwise", "logit", lambda x: torch.logit(x, eps=1e-3), real(3, 5, low=0, high=1))
    for name in ("add atan2 copysign eq fmax fmin fmod ge gt heaviside hypot le logaddexp lt maximum minimum mul ne "
                 "pow remainder sub div floor_divide true_divide xlogy").split():
        case("pointwise", name, getattr(torch, name), real(3, 5, low=0.2), real(3, 5, low=0.2))
        if name not in ("heaviside", "logaddexp", "fmax", "fmin", "copysign"):
            case("pointwise", name + "_broadcast", getattr(torch, name), real(3, 1, low=0.2), real(5, low=0.2))
    for name in "add sub mul floor_divide remainder eq lt bitwise_and bitwise_or bitwise_xor maximum".split():
        case("pointwise", name + "_int", getattr(torch, name), whole(3, 5), whole(3, 5, low=1))
        if name != "maximum":
            case("pointwise", name + "_int_number", lambda x, f=getattr(torch, name): f(x, 3), whole(3, 5))
    for name in "add sub mul div pow remainder fmod eq ge".split():
        case("pointwise", name + "_number", lambda x, f=getattr(torch, name): f(x, 1.5), real(3, 5, low=0.1))
    large = torch.tensor([0., -0., 1., 1e30, -1e30, 1e-30, 1e-42, math.inf, -math.inf, math.nan])
    case("pointwise", "hypot_large", torch.hypot, large.repeat_interleave(10), large.repeat(10))
    case("pointwise", "copysign_int", torch.copysign, whole(3, 5), whole(3, 5))
    case("pointwise", "copysign_int_by_real", torch.copysign, whole(10), large.nan_to_num(1))
    case("pointwise", "signbit", torch.signbit, large.nan_to_num(1))
    case("pointwise", "signbit_int", torch.signbit, whole(3, 5))
    case("pointwise", "ldexp", torch.ldexp, real(3, 5), whole(3, 5))
    case("pointwise", "ldexp_half", torch.ldexp, torch.tensor([1e-4, 2]).half(), torch.tensor([18, -3]))
    case("pointwise", "ldexp_int", torch.ldexp, whole(3, 5), whole(3, 5))
    case("pointwise", "rsub", lambda x: 2.5 - x, real(3, 5))
    case("pointwise", "rdiv", lambda x: 1 / x, real(3, 5, low=0.5))
    case("pointwise", "rpow", lambda x: 2 ** x, real(3, 5))
    case("pointwise", "add_alpha", lambda x, y: torch.add(x, y, alpha=2), real(3, 5), real(3, 5))
    case("pointwise", "int_plus_real", lambda x, y: x + y, whole(3, 5), real(3, 5))
    case("pointwise", "int_times_real_number", lambda x: x * 0.5, whole(3, 5))
    case("pointwise", "half_plus_float", lambda x, y: x + y, real(3, 5, dtype=torch.float16), real(3, 5))
    case("pointwise", "int32_plus_int64", lambda x, y: x + y, whole(3, 5, dtype=torch.int32), whole(3, 5))
    case("pointwise", "div_int", lambda x, y: x / y, whole(3, 5), whole(3, 5, low=1))
    for mode in ("floor", "trunc"):
        case("pointwise", "div_" + mode, lambda x, y, m=mode: torch.div(x, y, rounding_mode=m), real(3, 5), real(3, 5, low=0.5))
        case("pointwise", "div_number_" + mode, lambda x, m=mode: torch.div(x, 3, rounding_mode=m), whole(3, 5))
    for name in "logical_and logical_or logical_xor".split():
        case("pointwise", name, getattr(torch, name), truth(3, 5), truth(3, 5))
    case("pointwise", "logical_not", torch.logical_not, truth(3, 5))
    case("pointwise", "bitwise_not", torch.bitwise_not, whole(3, 5))
    case("pointwise", "shifts", lambda x: (x << 2, x >> 1), whole(3, 5))
    case("pointwise", "and_or", lambda x, y: (x & y, x | y, x ^ y), truth(3, 5), truth(3, 5))
    case("pointwise", "addcmul", lambda a, b, c: torch.addcmul(a, b, c, value=0.5), real(3, 5), real(3, 5), real(3, 5))
    case("pointwise", "addcdiv", lambda a, b, c: torch.addcdiv(a, b, c, value=2), real(3, 5), real(3, 5), real(3, 5, low=1))
    case("pointwise", "lerp", lambda a, b: torch.lerp(a, b, 0.3), real(3, 5), real(3, 5))
    case("pointwise", "lerp_tensor", torch.lerp, real(3, 5), real(3, 5), real(3, 5))
    case("pointwise", "clamp", lambda x: x.clamp(-0.5, 1), real(3, 5))
    case("pointwise", "clamp_min", lambda x: (x.clamp(min=0.2), x.clamp_max(0.7)), real(3, 5))
    case("pointwise", "clamp_tensor", lambda x, a: torch.clamp(x, min=a), real(3, 5), real(5))
    case("pointwise", "clamp_int", lambda x: x.clamp(-3, 4), whole(3, 5))
    case("pointwise", "nan_to_num", torch.nan_to_num, torch.tensor([1., math.nan, math.inf, -math.inf]))
    case("pointwise", "where", torch.where, truth(3, 5), real(3, 5), real(3, 5))
    case("pointwise", "where_number", lambda m, x: torch.where(m, x, 0.), truth(3, 5), real(3, 5))
    case("pointwise", "masked_fill", lambda x, m: x.masked_fill(m, -1.), real(3, 5), truth(3, 5))
    case("pointwise", "float_power", lambda x: torch.float_power(x, 2), real(3, 5))
    case("pointwise", "round_decimals", lambda x: torch.round(x, decimals=2), real(3, 5))
    for dtype in (torch.float16, torch.float64, torch.bfloat16):
        for name in ("add", "mul", "sub", "div"):
            case("pointwise", f"{name}_{dtype}".replace("torch.", ""), getattr(torch, name), real(3, 5, dtype=dtype),
                 real(3, 5, low=0.5, dtype=dtype))
    for dtype in (torch.int8, torch.uint8, torch.int16, torch.int32):
        case("pointwise", f"arithmetic_{dtype}".replace("torch.", ""), lambda x, y: (x + y, x * 2, x - y, x > y),
             whole(3, 5, low=0, dtype=dtype), whole(3, 5, low=0, dtype=dtype))


def casts():
    for dtype in (torch.float16, torch.float64, torch.int32, torch.int64, torch.bool, torch.uint8):
        case("cast", f"to_{dtype}".replace("torch.", ""), lambda x, d=dtype: x.to(d), real(3, 5, low=0, high=3))
    case("cast", "type_as", lambda x, y: x.type_as(y), whole(3, 5), real(3))
    case("cast", "to_other", lambda x, y: x.to(y), whole(3, 5), real(3))
    case("cast", "to_same", lambda x: x.to(torch.float32) + 1, real(3, 5))
    case("cast", "from_bool", lambda x: x.float().sum(), truth(3, 5))
    case("cast", "channels_last", lambda x: x.to(memory_format=torch.channels_last) * 2, real(1, 3, 4, 4))
    case("cast", "clone_contiguous", lambda x: x.t().contiguous().clone() + 1, real(3, 4))


def layout():
    views = {
        "view": lambda x: x.view(6, 4), "view_open": lambda x: x.view(2, -1), "reshape": lambda x: x.reshape(4, 6),
        "flatten": lambda x: x.flatten(), "flatten_some": lambda x: x.flatten(1), "permute": lambda x: x.permute(2, 0, 1),
        "transpose": lambda x: x.transpose(0, 2), "mT": lambda x: x.mT, "unsqueeze": lambda x: x.unsqueeze(1),
        "squeeze": lambda x: x.unsqueeze(0).squeeze(), "squeeze_dim": lambda x: x.unsqueeze(1).squeeze(1),
        "squeeze_kept": lambda x: x.squeeze(1), "expand": lambda x: x[:, :1].expand(2, 5, 4),
        "expand_more": lambda x: x.expand(3, -1, -1, -1), "select": lambda x: x[1], "select_last": lambda x: x[..., -1],
        "slice": lambda x: x[:, 1:3], "slice_step": lambda x: x[:, ::2], "slice_negative": lambda x: x[..., -2:],
        "narrow": lambda x: x.narrow(1, 1, 2), "flip": lambda x: x.flip(0, 2), "roll": lambda x: x.roll(1, 2),
        "roll_flat": lambda x: x.roll(5), "repeat": lambda x: x.repeat(2, 1, 3), "tile": lambda x: x.tile(2),
        "repeat_interleave": lambda x: x.repeat_interleave(2, 1), "movedim": lambda x: x.movedim(0, 2),
        "swapaxes": lambda x: x.swapaxes(0, 1), "unflatten": lambda x: x.unflatten(2, (2, 2)),
        "unflatten_open": lambda x: x.unflatten(2, (-1, 2)), "unfold": lambda x: x.unfold(2, 2, 1),
        "unfold_step": lambda x: x.unfold(1, 2, 2), "diagonal": lambda x: x.diagonal(0, 1, 2), "rot90": lambda x: x.rot90(1, (1, 2)),
        "tril": lambda x: x.tril(), "triu": lambda x: x.triu(1), "triu_below": lambda x: x.triu(-1),
        "atleast_3d": lambda x: torch.atleast_3d(x[0]), "split": lambda x: x.split(2, 1), "split_sizes": lambda x: x.split([1, 2], 1),
        "chunk": lambda x: x.chunk(3, 2), "tensor_split": lambda x: x.tensor_split(3, 2), "unbind": lambda x: x.unbind(1),
        "split_one": lambda x: x.split(2, 1)[1], "cat": lambda x: torch.cat([x, x * 2], 1), "stack": lambda x: torch.stack([x, -x], 1),
        "hstack": lambda x: torch.hstack([x, x]), "vstack": lambda x: torch.vstack([x, x]),
        "view_as": lambda x: x.view_as(x.reshape(6, 4)), "expand_as": lambda x: x[:1].expand_as(x),
        "numpy_t": lambda x: x[0].t(), "meshgrid": lambda x: torch.meshgrid(x[0, 0], x[0, :, 0], indexing="ij"),
        "view_numbers": lambda x: x.view(2, 3, 2, 2).sum((1, 3)), "contiguous": lambda x: x.transpose(0, 1).contiguous().view(6, 4),
    }
    for name, function in views.items():
        case("layout", name, function, real(2, 3, 4))
    case("layout", "channel_shuffle", lambda x: torch.channel_shuffle(x, 2), real(1, 4, 3, 3))
    case("layout", "pixel_shuffle", lambda x: F.pixel_shuffle(x, 2), real(1, 8, 3, 3))
    case("layout", "pixel_unshuffle", lambda x: F.pixel_unshuffle(x, 2), real(1, 2, 4, 4))
    case("layout", "int_views", lambda x: x.view(-1).flip(0)[::2], whole(3, 4))
    case("layout", "bool_views", lambda x: x.t()[1:], truth(3, 4))
    for mode in ("constant", "reflect", "replicate", "circular"):
        case("pad", mode, lambda x, m=mode: F.pad(x, (1, 2, 2, 1), mode=m), real(1, 2, 4, 5))
        case("pad", mode + "_1d", lambda x, m=mode: F.pad(x, (2, 1), mode=m), real(1, 2, 5))
    case("pad", "reflect_3d", lambda x: F.pad(x, (1, 1, 1, 1, 1, 1), mode="reflect"), real(1, 2, 3, 4, 5))
    case("pad", "negative", lambda x: F.pad(x, (-1, 2, 1, -1), value=3.), real(2, 4, 5))
    case("pad", "circular_negative", lambda x: F.pad(x, (-1, 1, -2, 1), mode="circular"), real(1, 3, 4, 4))
    case("pad", "zero_pad", nn.ZeroPad2d(2), real(1, 2, 3, 3))
    case("pad", "reflection_module", nn.ReflectionPad2d(1), real(2, 3, 3))


def linear():
    case("linear", "linear", nn.Linear(5, 3), real(2, 5))
    case("linear", "linear_deep", nn.Linear(5, 3), real(2, 4, 5))
    case("linear", "linear_no_bias", nn.Linear(5, 3, bias=False), real(2, 4, 5))
    case("linear", "linear_vector", nn.Linear(5, 3), real(5))
    case("linear", "bilinear", nn.Bilinear(4, 3, 2), real(5, 4), real(5, 3))
    for name, a, b in (("mm", (3, 4), (4, 5)), ("vector", (4,), (4,)), ("matrix_vector", (3, 4), (4,)), ("vector_matrix", (4,), (4, 5)),
                       ("batch", (2, 3, 4), (2, 4, 5)), ("broadcast", (2, 1, 3, 4), (5, 4, 2)), ("wide", (2, 3, 4), (4, 5))):
        case("linear", "matmul_" + name, torch.matmul, real(*a), real(*b))
    case("linear", "bmm", torch.bmm, real(2, 3, 4), real(2, 4, 5))
    case("linear", "mv", torch.mv, real(3, 4), real(4))
    case("linear", "dot", torch.dot, real(4), real(4))
    case("linear", "outer", torch.outer, real(4), real(3))
    case("linear", "addmm", lambda c, a, b: torch.addmm(c, a, b, beta=0.5, alpha=2), real(5), real(3, 4), real(4, 5))
    case("linear", "baddbmm_without_input", lambda c, a, b: torch.baddbmm(c, a, b, beta=0), torch.full((1, 3, 5), math.nan), real(2, 3, 4), real(2, 4, 5))
    case("linear", "einsum_without_ellipsis", lambda a, b: (torch.einsum("...ik,...j->ij", a, b[0, 0]), torch.einsum("...ik,...kj->ij", a, b)),
         real(4, 2, 3), real(4, 3, 5))
    case("linear", "baddbmm", lambda c, a, b: torch.baddbmm(c, a, b, beta=0.5), real(2, 3, 5), real(2, 3, 4), real(2, 4, 5))
    case("linear", "addmv", torch.addmv, real(3), real(3, 4), real(4))
    for equation, shapes in (("ij,jk->ik", ((3, 4), (4, 5))), ("bhid,bhjd->bhij", ((2, 2, 3, 4), (2, 2, 5, 4))), ("ii->i", ((3, 3),)),
                             ("ij->ji", ((3, 4),)), ("i,j->ij", ((3,), (4,))), ("...ij,...jk", ((2, 3, 4), (2, 4, 5)))):
        case("linear", "einsum_" + equation, lambda *x, e=equation: torch.einsum(e, *x), *(real(*s) for s in shapes))
    case("linear", "cosine_similarity", lambda a, b: F.cosine_similarity(a, b, dim=1), real(3, 5), real(3, 5))
    case("linear", "cdist", lambda a, b: torch.cdist(a, b), real(3, 5), real(4, 5))
    case("linear", "cdist_1", lambda a, b: torch.cdist(a, b, p=1), real(2, 3, 5), real(2, 4, 5))
    case("linear", "double", nn.Linear(5, 3).double(), real(2, 5, dtype=torch.float64))
    case("linear", "half", nn.Linear(5, 3).half(), real(2, 5, dtype=torch.float16))


def convolutions():
    case("conv", "conv1d", nn.Conv1d(3, 4, 3, padding=1), real(2, 3, 8))
    case("conv", "conv1d_stride", nn.Conv1d(4, 4, 3, stride=2, groups=2), real(2, 4, 9))
    case("conv", "conv2d", nn.Conv2d(3, 4, 3), real(2, 3, 8, 8))
    case("conv", "conv2d_depthwise", nn.Conv2d(4, 4, 3, padding=1, groups=4, bias=False), real(1, 4, 6, 6))
    case("conv", "conv2d_same", nn.Conv2d(3, 4, 4, padding="same"), real(1, 3, 6, 6))
    case("conv", "conv2d_valid", nn.Conv2d(3, 4, 3, padding="valid"), real(1, 3, 6, 6))
    case("conv", "conv2d_dilated", nn.Conv2d(3, 4, 3, dilation=2, stride=(2, 1), padding=(1, 2)), real(1, 3, 9, 9))
    case("conv", "conv2d_reflect", nn.Conv2d(3, 4, 3, padding=1, padding_mode="reflect"), real(1, 3, 6, 6))
    case("conv", "conv2d_unbatched", nn.Conv2d(3, 4, 3), real(3, 6, 6))
    case("conv", "conv2d_channels_last", nn.Conv2d(3, 4, 3).to(memory_format=torch.channels_last),
         real(1, 3, 6, 6).to(memory_format=torch.channels_last))
    case("conv", "conv3d", nn.Conv3d(2, 3, (2, 3, 3), padding=1), real(1, 2, 4, 5, 5))
    case("conv", "conv_transpose1d", nn.ConvTranspose1d(3, 4, 3, stride=2), real(1, 3, 5))
    case("conv", "conv_transpose2d", nn.ConvTranspose2d(3, 4, 3, stride=2, padding=1, output_padding=1), real(1, 3, 5, 5))
    case("conv", "conv_transpose2d_groups", nn.ConvTranspose2d(4, 4, 2, stride=2, groups=2), real(1, 4, 5, 5))
    case("conv", "conv_transpose3d", nn.ConvTranspose3d(2, 3, 2, stride=2, padding=1), real(1, 2, 3, 3, 3))
    case("conv", "conv_transpose3d_overlap", nn.ConvTranspose3d(2, 3, 3, stride=2, padding=1, output_padding=1),
         real(2, 2, 3, 4, 5))
    case("conv", "conv_transpose3d_dilated", nn.ConvTranspose3d(2, 4, (3, 2, 1), stride=(1, 3, 2), dilation=(2, 1, 1),
                                                                output_padding=(1, 2, 0), groups=2), real(1, 2, 3, 4, 5))
    case("conv", "conv_bn_relu", nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU()), real(1, 3, 6, 6))
    for name, module, shape in (
            ("max1d", nn.MaxPool1d(2), (1, 2, 7)), ("max2d", nn.MaxPool2d(2), (1, 2, 6, 7)),
            ("max2d_ceil", nn.MaxPool2d(3, 2, ceil_mode=True), (1, 2, 6, 7)), ("max2d_pad", nn.MaxPool2d(3, 2, 1), (1, 2, 6, 7)),
            ("max2d_dilated", nn.MaxPool2d(2, 1, dilation=2), (1, 2, 6, 7)), ("max3d", nn.MaxPool3d(2), (1, 2, 4, 4, 4)),
            ("max2d_indices", nn.MaxPool2d(2, return_indices=True), (1, 2, 4, 4)), ("avg1d", nn.AvgPool1d(2), (1, 2, 6)),
            ("avg2d", nn.AvgPool2d(2), (1, 2, 6, 6)), ("avg2d_pad", nn.AvgPool2d(3, 2, 1), (1, 2, 6, 6)),
            ("avg2d_ceil", nn.AvgPool2d(3, 2, 1, ceil_mode=True, count_include_pad=False), (1, 2, 6, 6)),
            ("avg2d_divisor", nn.AvgPool2d(2, divisor_override=3), (1, 2, 6, 6)), ("avg3d", nn.AvgPool3d(2), (1, 2, 4, 4, 4)),
            ("adaptive1d", nn.AdaptiveAvgPool1d(3), (1, 2, 7)), ("adaptive2d", nn.AdaptiveAvgPool2d(1), (1, 2, 6, 6)),
            ("adaptive2d_even", nn.AdaptiveAvgPool2d((3, 2)), (1, 2, 6, 6)), ("adaptive2d_odd", nn.AdaptiveAvgPool2d((3, 4)), (1, 2, 7, 5)),
            ("adaptive2d_kept", nn.AdaptiveAvgPool2d((None, 2)), (1, 2, 7, 5)), ("adaptive3d", nn.AdaptiveAvgPool3d(2), (1, 2, 4, 4, 5)),
            ("adaptive_max1d", nn.AdaptiveMaxPool1d(3), (1, 2, 7)), ("adaptive_max2d", nn.AdaptiveMaxPool2d((2, 3)), (1, 2, 6, 6)),
            ("adaptive_max2d_odd", nn.AdaptiveMaxPool2d((2, 3)), (1, 2, 5, 7)), ("max2d_unbatched", nn.MaxPool2d(2), (2, 6, 6)),
            ("lp", nn.LPPool2d(2, 2), (1, 2, 6, 6))):
        case("pool", name, module, real(*shape))


def norms():
    def batch_norm(module):
        with torch.no_grad():
            for tensor, low in ((module.weight, 0.5), (module.bias, -1), (module.running_mean, -1), (module.running_var, 0.5)):
                tensor.copy_(real(*tensor.shape, low=low, high=2))
        return module
    case("norm", "batch_norm1d", batch_norm(nn.BatchNorm1d(4)), real(3, 4))
    case("norm", "batch_norm2d", batch_norm(nn.BatchNorm2d(4)), real(2, 4, 3, 3))
    case("norm", "batch_norm3d", batch_norm(nn.BatchNorm3d(4)), real(2, 4, 3, 3, 2))
    case("norm", "batch_norm_plain", nn.BatchNorm2d(4, affine=False), real(2, 4, 3, 3))
    case("norm", "layer_norm", nn.LayerNorm(5), real(2, 3, 5))
    case("norm", "layer_norm_two", nn.LayerNorm((3, 5)), real(2, 3, 5))
    case("norm", "layer_norm_plain", nn.LayerNorm(5, elementwise_affine=False), real(2, 3, 5))
    case("norm", "group_norm", nn.GroupNorm(2, 4), real(2, 4, 3, 3))
    case("norm", "instance_norm", nn.InstanceNorm2d(4, affine=True), real(2, 4, 3, 3))
    case("norm", "instance_norm_1d", nn.InstanceNorm1d(4), real(2, 4, 5))
    case("norm", "rms_norm", nn.RMSNorm(5), real(2, 3, 5))
    case("norm", "local_response", nn.LocalResponseNorm(3), real(2, 4, 3, 3))
    case("norm", "softmax", lambda x: F.softmax(x, 1), real(3, 5))
    case("norm", "softmax_half", lambda x: F.softmax(x, -1), real(3, 5, dtype=torch.float16))
    case("norm", "softmax_dtype", lambda x: F.softmax(x, -1, dtype=torch.float64), real(3, 5))
    case("norm", "log_softmax", lambda x: F.log_softmax(x, 0), real(3, 5))
    case("norm", "softmin", lambda x: F.softmin(x, 1), real(3, 5))
    case("norm", "normalize", lambda x: F.normalize(x, dim=1), real(3, 5))
    case("norm", "weight_norm", nn.utils.parametrizations.weight_norm(nn.Linear(4, 3)), real(2, 4))


def reductions():
    for name in "sum mean prod amax amin std var max min argmax argmin logsumexp any all count_nonzero norm median".split():
        f = getattr(torch, name)
        if name not in ("logsumexp", "amax", "amin"):
            case("reduce", name, lambda x, f=f: f(x), real(3, 5, low=0.1))
        if name != "norm":
            case("reduce", name + "_dim", lambda x, f=f: f(x, 1), real(3, 5, low=0.1))
        if name in ("sum", "mean", "amax", "amin", "std", "var", "any", "all", "logsumexp"):
            case("reduce", name + "_keep", lambda x, f=f: f(x, 0, keepdim=True), real(3, 5))
    case("reduce", "sum_dims", lambda x: x.sum((0, 2)), real(2, 3, 4))
    case("reduce", "sum_int", torch.sum, whole(3, 5))
    case("reduce", "sum_dtype", lambda x: x.sum(1, dtype=torch.float64), real(3, 5))
    case("reduce", "sum_bool", torch.sum, truth(3, 5))
    case("reduce", "mean_dims", lambda x: x.mean((1, 2), keepdim=True), real(2, 3, 4))
    case("reduce", "var_biased", lambda x: x.var(1, unbiased=False), real(3, 5))
    case("reduce", "var_mean", lambda x: torch.var_mean(x, 1), real(3, 5))
    case("reduce", "std_mean", lambda x: torch.std_mean(x), real(3, 5))
    case("reduce", "norm_1", lambda x: torch.linalg.vector_norm(x, 1, dim=1), real(3, 5))
    case("reduce", "norm_3", lambda x: torch.linalg.vector_norm(x, 3, dim=0), real(3, 5))
    case("reduce", "norm_inf", lambda x: torch.linalg.vector_norm(x, math.inf), real(3, 5))
    case("reduce", "aminmax", lambda x: torch.aminmax(x, dim=1), real(3, 5))
    case("reduce", "cumsum", lambda x: x.cumsum(1), real(3, 5))
    case("reduce", "topk", lambda x: x.topk(2, 1), real(3, 5))
    case("reduce", "topk_smallest", lambda x: x.topk(2, 0, largest=False), real(3, 5))
    case("reduce", "sort", lambda x: x.sort(1), real(3, 5))
    case("reduce", "sort_down", lambda x: x.sort(0, descending=True), real(3, 5))
    case("reduce", "argsort", lambda x: x.argsort(1), real(3, 5))
    case("reduce", "any_bool", lambda x: (x.any(), x.all(1)), truth(3, 5))
    case("reduce", "nansum", torch.nansum, torch.tensor([1., math.nan, 2.]))
    case("reduce", "max_int", lambda x: (x.max(), x.max(1)), whole(3, 5))


def indexing():
    case("index", "embedding", nn.Embedding(10, 4), whole(2, 3, low=0))
    case("index", "embedding_padding", nn.Embedding(10, 4, padding_idx=0), whole(5, low=0))
    case("index", "gather", lambda x, i: x.gather(1, i), real(3, 5), whole(3, 2, low=0, high=5))
    case("index", "index", lambda x, i: x[i], real(6, 4), whole(3, low=0, high=6))
    case("index", "index_second", lambda x, i: x[:, i], real(3, 6), whole(4, low=0, high=6))
    case("index", "index_two", lambda x, i, j: x[i, j], real(3, 6), whole(4, low=0, high=3), whole(4, low=0, high=6))
    case("index", "index_apart", lambda x, i, j: x[i, :, j], real(3, 2, 6), whole(4, low=0, high=3), whole(4, low=0, high=6))
    case("index", "index_select", lambda x, i: x.index_select(1, i), real(3, 6), whole(4, low=0, high=6))
    case("index", "index_put", lambda x, i, v: x.index_put((i,), v), real(6, 4), torch.tensor([0, 3]), real(2, 4))
    case("index", "index_put_accumulate", lambda x, i, v: x.index_put((i,), v, accumulate=True), real(6, 4),
         torch.tensor([0, 3, 0]), real(3, 4))
    case("index", "index_add", lambda x, i, v: x.index_add(1, i, v, alpha=2), real(3, 6), torch.tensor([0, 3, 0]), real(3, 3))
    case("index", "index_copy", lambda x, i, v: x.index_copy(0, i, v), real(6, 4), torch.tensor([0, 3]), real(2, 4))
    case("index", "index_fill", lambda x, i: x.index_fill(1, i, 7.), real(3, 6), torch.tensor([0, 3]))
    case("index", "scatter", lambda x, i, v: x.scatter(1, i, v), real(3, 5), torch.tensor([[0, 2], [1, 4], [3, 0]]), real(3, 2))
    case("index", "scatter_number", lambda x, i: x.scatter(1, i, 2.), real(3, 5), torch.tensor([[0, 2], [1, 4], [3, 0]]))
    case("index", "select_of_rank_0", lambda x, i: torch.index_select(x, 0, i), torch.tensor(3.), torch.tensor([0]))
    twice = torch.tensor([[0, 0], [1, 4], [3, 0]])
    for how in ("add", "multiply"):
        case("index", "scatter_" + how + "ing", lambda x, i, v, how=how: x.scatter(1, i, v, reduce=how), real(3, 5), twice,
             real(3, 2))
        case("index", "scatter_number_" + how + "ing", lambda x, i, how=how: x.scatter(1, i, 2, reduce=how), whole(3, 5), twice)
    case("index", "scatter_add", lambda x, i, v: x.scatter_add(1, i, v), real(3, 5), torch.tensor([[0, 0], [1, 4], [3, 0]]), real(3, 2))
    case("index", "select_scatter", lambda x, v: x.select_scatter(v, 0, 1), real(3, 5), real(5))
    case("index", "slice_scatter", lambda x, v: x.slice_scatter(v, 1, 1, 3), real(3, 5), real(3, 2))
    case("index", "diagonal_scatter", lambda x, v: x.diagonal_scatter(v, 1), real(3, 4), real(3))
    case("index", "take", torch.take, real(3, 5), whole(4, low=0, high=15))
    case("index", "take_along_from_the_end", lambda x, i: torch.take_along_dim(x, i, 1), real(3, 5), torch.tensor([[0, -1], [-5, 4], [2, -2]]))
    case("index", "take_along", lambda x, i: torch.take_along_dim(x, i, 1), real(3, 5), whole(1, 2, low=0, high=5))
    case("index", "one_hot", lambda x: F.one_hot(x, 5), whole(4, low=0, high=5))
    case("index", "isclose", torch.isclose, torch.tensor([1., 1e8, math.inf, -math.inf, math.nan, 2., math.inf]),
         torch.tensor([1.000001, 1e8 + 1e4, math.inf, math.inf, math.nan, 2.1, 3.]))
    case("index", "isclose_tolerances", lambda x, y: torch.isclose(x, y, rtol=0, atol=1), whole(9), whole(9))
    case("index", "isin", torch.isin, whole(3, 4, low=0, high=6), whole(2, 2, low=0, high=6))
    case("index", "isin_none_of", lambda x, y: torch.isin(x, y, invert=True), real(7), torch.zeros(0))
    case("index", "isclose_large", lambda x, y: (torch.isclose(x, y, rtol=0, atol=0), torch.isclose(x, y)),
         torch.tensor([16777217, 3]), torch.tensor([16777216, 3]))
    case("index", "isin_number", lambda x: torch.isin(x, 2), whole(5, low=0, high=4))
    case("index", "mask_write", lambda x, m: torch.where(m, x, x.new_zeros(())), real(3, 5), truth(3, 5))
    case("index", "nonzero", lambda x: x.nonzero(), truth(3, 5))
    case("index", "masked_select", lambda x, m: x.masked_select(m), real(3, 5), truth(3, 5))
    case("index", "masked_scatter", torch.masked_scatter, real(3, 5), truth(3, 5), real(15))
    case("index", "repeat_interleave", lambda x, r: x.repeat_interleave(r, 0, output_size=4), real(3, 2), torch.tensor([1, 0, 3]))
    case("index", "as_strided", lambda x: x.as_strided((2, 3), (1, 2), 1), real(12))
    case("index", "embedding_bag_like", lambda w, i: w[i].mean(1), real(10, 4), whole(2, 3, low=0))


def integer_products():
    eight = dict(low=-128, high=128, dtype=torch.int8)
    for depth in 8, 2056:  # sums of more than 2^10 products need not be exact in f32
        case("matrix", f"int_mm_{depth}", torch._int_mm, whole(32, depth, **eight), whole(depth, 16, **eight))


def creation():
    case("create", "full", lambda x: x + torch.full((3, 5), 2.5), real(3, 5))
    case("create", "zeros_ones", lambda x: torch.zeros(2, 3) + torch.ones(3) + x, real(3))
    case("create", "likes", lambda x: (torch.zeros_like(x), torch.ones_like(x), torch.full_like(x, 3), x.new_zeros(2)), real(3))
    case("create", "like_dtype", lambda x: torch.ones_like(x, dtype=torch.int64), real(3))
    case("create", "arange", lambda x: x + torch.arange(5), real(3, 5))
    case("create", "arange_step", lambda x: x * torch.arange(1, 2, 0.25), real(4))
    case("create", "linspace", lambda x: x * torch.linspace(-1, 1, 5), real(5))
    case("create", "eye", lambda x: x @ torch.eye(5, 3), real(2, 5))
    case("create", "scalar_tensor", lambda x: x + torch.tensor(3.), real(3))
    case("create", "constant_list", lambda x: x * torch.tensor([1., 2., 3.]), real(3))
    case("create", "new_full", lambda x: x.new_full((2, 3), 4) + x, real(3))
    case("create", "tril_mask", lambda x: x.masked_fill(torch.ones(4, 4, dtype=torch.bool).triu(1), -1e9), real(4, 4))
    case("create", "empty_filled", lambda x: torch.empty(3).fill_(2.) + x, real(3))


def resizing():
    for mode, shape in (("nearest", (1, 2, 4, 5)), ("bilinear", (1, 2, 4, 5)), ("bicubic", (1, 2, 4, 5)), ("linear", (1, 2, 5)),
                        ("trilinear", (1, 2, 3, 4, 5)), ("nearest-exact", (1, 2, 4, 5))):
        case("resize", mode + "_up", lambda x, m=mode: F.interpolate(x, scale_factor=2, mode=m), real(*shape))
        size = [3] * (len(shape) - 2)
        case("resize", mode + "_size", lambda x, m=mode, s=size: F.interpolate(x, size=s, mode=m), real(*shape))
        if mode not in ("nearest", "nearest-exact"):
            case("resize", mode + "_corners", lambda x, m=mode: F.interpolate(x, scale_factor=2, mode=m, align_corners=True), real(*shape))
    case("resize", "nearest_1d", lambda x: F.interpolate(x, scale_factor=3), real(1, 2, 5))
    case("resize", "nearest_3d", lambda x: F.interpolate(x, scale_factor=2), real(1, 2, 3, 3, 3))
    case("resize", "bilinear_fraction", lambda x: F.interpolate(x, scale_factor=1.5, mode="bilinear"), real(1, 2, 5, 5))
    case("resize", "antialias_corners", lambda x: F.interpolate(x, size=(4, 9), mode="bilinear", antialias=True, align_corners=True), real(1, 2, 7, 7))
    case("resize", "antialias", lambda x: F.interpolate(x, size=(3, 3), mode="bilinear", antialias=True), real(1, 2, 7, 7))
    for mode in ("bilinear", "nearest"):
        case("resize", "grid_sample_" + mode, lambda x, g, m=mode: F.grid_sample(x, g, mode=m, align_corners=False),
             real(1, 2, 4, 5), real(1, 3, 3, 2, low=-1.1, high=1.1))
    case("resize", "upsample_module", nn.Upsample(scale_factor=2), real(1, 2, 3, 3))


def recurrent():
    class First(nn.Module):
        def __init__(self, module):
            super().__init__()
            self.module = module

        def forward(self, *args):
            return self.module(*args)[0]
    case("recurrent", "lstm", nn.LSTM(4, 3), real(5, 2, 4))
    case("recurrent", "lstm_two", nn.LSTM(4, 3, num_layers=2, bidirectional=True, batch_first=True), real(2, 5, 4))
    case("recurrent", "lstm_projected", nn.LSTM(4, 3, proj_size=2), real(5, 2, 4))
    case("recurrent", "lstm_no_bias", First(nn.LSTM(4, 3, bias=False)), real(5, 2, 4))
    case("recurrent", "lstm_unbatched", nn.LSTM(4, 3), real(5, 4))
    case("recurrent", "lstm_state", nn.LSTM(4, 3), real(5, 2, 4), (real(1, 2, 3), real(1, 2, 3)))
    case("recurrent", "gru", nn.GRU(4, 3), real(5, 2, 4))
    case("recurrent", "gru_two", nn.GRU(4, 3, num_layers=2, bidirectional=True), real(5, 2, 4))
    case("recurrent", "rnn", nn.RNN(4, 3), real(5, 2, 4))
    case("recurrent", "rnn_relu", nn.RNN(4, 3, nonlinearity="relu", batch_first=True), real(2, 5, 4))
    case("recurrent", "lstm_cell", nn.LSTMCell(4, 3), real(2, 4))
    case("recurrent", "gru_cell", nn.GRUCell(4, 3), real(2, 4))
    case("recurrent", "rnn_cell", nn.RNNCell(4, 3), real(2, 4))


def attention():
    sdpa = F.scaled_dot_product_attention
    case("attention", "plain", sdpa, real(1, 2, 3, 4), real(1, 2, 5, 4), real(1, 2, 5, 4))
    case("attention", "causal", lambda q, k, v: sdpa(q, k, v, is_causal=True), *(real(1, 2, 4, 4) for _ in range(3)))
    case("attention", "mask", lambda q, k, v, m: sdpa(q, k, v, attn_mask=m), *(real(1, 2, 4, 4) for _ in range(3)), truth(4, 4))
    case("attention", "bias", lambda q, k, v, m: sdpa(q, k, v, attn_mask=m), *(real(1, 2, 4, 4) for _ in range(3)), real(4, 4))
    case("attention", "scale", lambda q, k, v: sdpa(q, k, v, scale=0.3), *(real(2, 4, 4) for _ in range(3)))
    case("attention", "grouped", lambda q, k, v: sdpa(q, k, v, enable_gqa=True), real(1, 4, 3, 4), real(1, 2, 3, 4), real(1, 2, 3, 4))

    class Heads(nn.Module):
        def __init__(self, **options):
            super().__init__()
            self.heads = nn.MultiheadAttention(8, 2, **options)

        def forward(self, x, y):
            return self.heads(x, y, y, need_weights=False)[0]
    case("attention", "multi_head", Heads(batch_first=True), real(2, 3, 8), real(2, 5, 8))
    case("attention", "multi_head_bias", Heads(add_bias_kv=True), real(3, 2, 8), real(5, 2, 8))
    case("attention", "multi_head_weights", nn.MultiheadAttention(8, 2), *(real(3, 2, 8) for _ in range(3)))
    case("attention", "encoder_layer", nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), real(2, 3, 8))
    case("attention", "encoder_layer_gelu", nn.TransformerEncoderLayer(8, 2, 16, activation="gelu", norm_first=True), real(3, 2, 8))
    case("attention", "decoder_layer", nn.TransformerDecoderLayer(8, 2, 16), real(3, 2, 8), real(5, 2, 8))


def all_cases():
    if not CASES:
        from pt2_autocast import autocast
        from pt2_complex import complexes
        from pt2_modules import module_programs
        from pt2_programs import whole_programs
        from pt2_whole_operators import whole_operators
        for family in (activations, pointwise, casts, layout, linear, integer_products, convolutions, norms, reductions,
                       indexing, creation, resizing, recurrent, attention, autocast, complexes, *whole_programs(),
                       *module_programs(), *whole_operators()):
            SEED.manual_seed(7)
            torch.manual_seed(7)
            family()
    return CASES
