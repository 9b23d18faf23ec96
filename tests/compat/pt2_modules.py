"""Modules for torch.export as people bring them, and the edges of types, shapes and numbers."""
import math

import torch
from torch import nn
from torch.export import Dim
from torch.nn import functional as F

from pt2_cases import case, real, truth, whole


class Call(nn.Module):
    """A module behind a function of its own."""

    def __init__(self, module, function):
        super().__init__()
        self.module, self.function = module, function

    def forward(self, *args):
        return self.function(self.module, *args)


def modules():
    n = Dim("n", min=1, max=8)

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.body = nn.Sequential(nn.Conv2d(3, 8, 3, stride=2, padding=1), nn.BatchNorm2d(8), nn.Hardswish(),
                                      nn.Conv2d(8, 8, 3, padding=1, groups=8), nn.BatchNorm2d(8), nn.ReLU6(),
                                      nn.AdaptiveAvgPool2d((2, 2)), nn.Flatten(), nn.Linear(32, 5), nn.Softmax(-1))

        def forward(self, x):
            return self.body(x)
    case("module", "conv_net_batch", Net(), real(2, 3, 12, 12), dynamic=({0: n},), others=((real(8, 3, 12, 12),),))

    class Modulated(nn.Module):
        """Each image has weights of its own, as in StyleGAN2: a group for each, up to the size where there is a
        stride."""

        def __init__(self, transposed):
            super().__init__()
            self.transposed = transposed
            self.weight = nn.Parameter(real(4, 6, 3, 3) if transposed else real(6, 4, 3, 3))

        def forward(self, x, style):
            b, c, h, w = x.shape
            along = (b, c, 1, 1, 1) if self.transposed else (b, 1, c, 1, 1)
            weight = (self.weight * style.view(along)).flatten(0, 1)
            x = x.reshape(1, b * c, h, w)
            y = F.conv_transpose2d(x, weight, stride=2, groups=b) if self.transposed else F.conv2d(x, weight, padding=1, groups=b)
            return y.view(b, 6, y.shape[2], y.shape[3])
    b = Dim("b", min=1, max=5)
    for name, transposed in (("modulated", False), ("modulated_up", True)):
        case("module", name, Modulated(transposed), real(2, 4, 5, 6), real(2, 4), dynamic=({0: b}, {0: b}),
             others=((real(5, 4, 5, 6), real(5, 4)),))
    case("module", "grouped_open",
         lambda x, w, bias: F.conv2d(x.flatten(1, 2), w.flatten(0, 1), bias.flatten(), padding=1, groups=w.shape[0]),
         real(2, 3, 4, 5, 6), real(3, 5, 4, 3, 3), real(3, 5), dynamic=({1: b}, {0: b}, {0: b}),
         others=((real(2, 4, 4, 5, 6), real(4, 5, 4, 3, 3), real(4, 5)),))
    heads = nn.MultiheadAttention(8, 2, batch_first=True)
    case("module", "key_padding_mask", Call(heads, lambda m, x, k: m(x, x, x, key_padding_mask=k, need_weights=False)[0]),
         real(2, 4, 8), torch.tensor([[False, False, True, True], [False, False, False, True]]))
    case("module", "attn_mask", Call(heads, lambda m, x, k: m(x, x, x, attn_mask=k)), real(2, 4, 8), truth(4, 4).triu(1))
    layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
    case("module", "encoder", nn.TransformerEncoder(layer, 2, enable_nested_tensor=False), real(2, 4, 8))
    case("module", "encoder_mask", Call(nn.TransformerEncoder(layer, 2, enable_nested_tensor=False),
                                        lambda m, x: m(x, mask=nn.Transformer.generate_square_subsequent_mask(4), is_causal=True)),
         real(2, 4, 8))
    case("module", "transformer", nn.Transformer(8, 2, 1, 1, 16, batch_first=True), real(2, 4, 8), real(2, 3, 8))
    case("module", "gru_bidirectional", nn.GRU(4, 3, bidirectional=True, batch_first=True), real(2, 5, 4))
    case("module", "lstm_bidirectional", nn.LSTM(4, 3, bidirectional=True), real(5, 2, 4))
    case("module", "gru_unbatched", nn.GRU(4, 3), real(5, 4))
    for mode in ("sum", "mean", "max"):
        case("module", f"embedding_bag_{mode}", nn.EmbeddingBag(10, 4, mode=mode), whole(3, 4, low=0, high=10))
    case("module", "embedding_bag_offsets", nn.EmbeddingBag(10, 4, mode="sum"), whole(7, low=0, high=10), torch.tensor([0, 3, 5]))
    case("module", "embedding_padding", nn.Embedding(10, 4, padding_idx=0), whole(3, 4, low=0, high=10))
    case("module", "instance_norm", nn.InstanceNorm2d(3, affine=True), real(2, 3, 4, 4))
    case("module", "instance_norm_running", nn.InstanceNorm1d(3, track_running_stats=True), real(2, 3, 6))
    case("module", "group_norm_affine", nn.GroupNorm(2, 4), real(2, 4, 3, 3))
    case("module", "rms_norm", nn.RMSNorm(6), real(2, 3, 6))
    case("module", "local_response", nn.LocalResponseNorm(3), real(1, 5, 3, 3))
    case("module", "weight_norm", nn.utils.parametrizations.weight_norm(nn.Linear(4, 3)), real(2, 4))
    case("module", "spectral_norm", nn.utils.parametrizations.spectral_norm(nn.Linear(4, 3)), real(2, 4))
    case("module", "unfold_module", nn.Unfold(2, padding=1), real(1, 2, 4, 4))
    case("module", "fold_module", nn.Fold((4, 5), 2, stride=1), real(1, 8, 12))
    case("module", "adaptive_max", nn.AdaptiveMaxPool2d((2, 3)), real(1, 2, 6, 6))
    case("module", "adaptive_max_uneven", nn.AdaptiveMaxPool2d((3, 2)), real(1, 2, 7, 5))
    case("module", "adaptive_avg_uneven", nn.AdaptiveAvgPool2d((3, 2)), real(1, 2, 7, 5))
    case("module", "max_unpool", Call(nn.MaxUnpool2d(2), lambda m, x: m(*F.max_pool2d(x, 2, return_indices=True))),
         real(1, 2, 4, 4))
    case("module", "pixel_unshuffle", nn.PixelUnshuffle(2), real(1, 2, 4, 6))
    case("module", "conv_transpose1d_dilated", nn.ConvTranspose1d(3, 4, 3, stride=2, dilation=2, output_padding=1), real(1, 3, 5))
    case("module", "conv_transpose3d_groups", nn.ConvTranspose3d(4, 4, 2, stride=2, groups=2), real(1, 4, 3, 3, 3))
    for window in (dict(kernel_size=3, stride=2, padding=1), dict(kernel_size=(3, 2, 4), padding=(1, 0, 2), ceil_mode=True),
                   dict(kernel_size=2, stride=(1, 2, 3), padding=(0, 1, 1))):
        name = "_".join(str(part) for part in window["padding"]) if isinstance(window["padding"], tuple) else "all"
        case("pool", "max3d_padded_" + name, nn.MaxPool3d(**window), real(2, 3, 5, 7, 8))
        case("pool", "avg3d_padded_" + name, nn.AvgPool3d(**window), real(2, 3, 5, 7, 8))
        case("pool", "avg3d_unpadded_" + name, nn.AvgPool3d(**window, count_include_pad=False), real(2, 3, 5, 7, 8))
    case("pool", "max3d_dilated", nn.MaxPool3d(3, padding=1, dilation=2), real(1, 2, 6, 7, 8))
    case("module", "fractional_pool", nn.LPPool2d(2, 2), real(1, 2, 4, 4, low=0.1))
    case("module", "cosine_embedding", nn.CosineSimilarity(), real(3, 5), real(3, 5))
    case("module", "pairwise", nn.PairwiseDistance(), real(3, 5), real(3, 5))
    for name, loss in (("cross_entropy", nn.CrossEntropyLoss()), ("nll", nn.NLLLoss())):
        case("module", name, loss, real(3, 5), whole(3, low=0, high=5))
    for name, loss in (("mse", nn.MSELoss()), ("l1", nn.L1Loss()), ("huber", nn.HuberLoss()), ("smooth_l1", nn.SmoothL1Loss()),
                       ("bce_logits", nn.BCEWithLogitsLoss()), ("kl", nn.KLDivLoss(reduction="batchmean"))):
        case("module", name, loss, real(3, 5), real(3, 5, low=0.1, high=0.9))
    half = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(), nn.Linear(64, 3))
    case("module", "half_net", half.half(), real(1, 3, 6, 6, dtype=torch.float16))
    narrow = nn.Sequential(nn.Linear(6, 8), nn.LayerNorm(8), nn.GELU(), nn.Linear(8, 3))
    case("module", "bfloat16_net", narrow.bfloat16(), real(2, 6, dtype=torch.bfloat16))
    case("module", "double_net", nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 3)).double(), real(2, 6, dtype=torch.float64))


def edges():
    for name in ("remainder", "fmod", "floor_divide"):
        f = getattr(torch, name)
        case("edge", f"{name}_negative", f, torch.tensor([-7, 7, -7, 7]), torch.tensor([3, -3, -3, 3]))
        case("edge", f"{name}_negative_number", lambda x, f=f: (f(x, -4), f(x, 4)), torch.tensor([-7, 7, 8, -9]))
    case("edge", "mod_python", lambda x: (x % 3, x // 3, -x % 5), torch.tensor([-7, 7, -1, 0]))
    case("edge", "int64_large", lambda x: (x + 1, x * 3, x >> 2, x.to(torch.float64)), torch.tensor([2**53 + 1, -2**60, 2**40]))
    case("edge", "int32_wraps", lambda x: x * x, torch.tensor([70000, -70000], dtype=torch.int32))
    case("edge", "uint8_wraps", lambda x: (x + 200, x - 10), torch.tensor([100, 5], dtype=torch.uint8))
    case("edge", "abs_smallest", lambda x: x.abs(), torch.tensor([-128, 127, -1], dtype=torch.int8))
    case("edge", "no_dimensions", lambda x, y: (x + y, x * 2, x.sum(), x.reshape(1), x.exp(), x.max()), torch.tensor(1.5), torch.tensor(2.5))
    case("edge", "no_dimensions_int", lambda x: (x + 1, x.float(), x.view(1, 1), x.sum()), torch.tensor(3))
    case("edge", "empty", lambda x: (x + 1, x.sum(), x.sum(0), x.reshape(4, 0), x.t()), real(0, 4))
    case("edge", "empty_matmul", lambda x, y: x @ y, real(3, 0), real(0, 4))
    case("edge", "empty_cat", lambda x, y: torch.cat([x, y]), real(0, 4), real(2, 4))
    case("edge", "bool_masks", lambda m, x: (x[:, None] * m, m.any(1), m.all(0), m.sum(), (~m).float(), m & m.flip(0)), truth(3, 4), real(3))
    case("edge", "bool_arithmetic", lambda a, b: (a + b, a * b, a.long() - b.long(), a == b, a < b), truth(5), truth(5))
    case("edge", "where_numbers", lambda x: (torch.where(x > 0, 1., -1.), torch.where(x > 0, x, 0.), torch.where(x > 0, 1, 0)), real(3, 4))
    case("edge", "masked_fill_inf", lambda x, m: x.masked_fill(m, float("-inf")).softmax(-1), real(3, 4), truth(3, 4) & False)
    case("edge", "bucketize", lambda x, b: (torch.bucketize(x, b), torch.bucketize(x, b, right=True)), real(3, 4), torch.tensor([-1., 0., 1.]))
    case("edge", "searchsorted", lambda b, x: torch.searchsorted(b, x), torch.tensor([-1., 0., 1.]), real(5))
    case("edge", "searchsorted_rows", lambda b, x: (torch.searchsorted(b, x), torch.searchsorted(b, b, side="right")),
         real(2, 3, 6).sort().values, real(2, 3, 4))
    case("edge", "searchsorted_number", lambda b: (torch.searchsorted(b, 0.5), torch.bucketize(1, b, out_int32=True)),
         torch.tensor([-1., 0., 1.]))
    case("edge", "infinities", lambda x: (x.isnan(), x + 1, x.max(), x.clamp(-1, 1), x.relu(), x > 0),
         torch.tensor([math.nan, math.inf, -math.inf, -0., 1.]))
    case("edge", "sort_descending", lambda x: x.sort(1, descending=True), real(3, 6))
    case("edge", "sort_stable", lambda x: torch.sort(x, stable=True), torch.tensor([3, 1, 3, 1, 2]))
    case("edge", "argsort", lambda x: x.argsort(-1), real(3, 6))
    case("edge", "topk_smallest", lambda x: x.topk(3, 1, largest=False), real(3, 6))
    case("edge", "kthvalue", lambda x: x.kthvalue(2, 1), real(3, 5))
    case("edge", "median", lambda x: x.median(1), real(3, 5))
    case("edge", "mode_like", lambda x: x.unique_consecutive(), torch.tensor([1, 1, 2, 2, 3]))
    case("edge", "cumsum_int", lambda x: (x.cumsum(0), x.cumprod(1)), whole(3, 4, low=-3, high=4))
    case("edge", "cummax", lambda x: x.cummax(1), real(3, 4))
    case("edge", "logcumsumexp", lambda x: x.logcumsumexp(1), real(3, 4))
    case("edge", "diff", lambda x: x.diff(dim=1), real(3, 4))
    case("edge", "index_put_many", lambda x, i, j, v: x.index_put((i, j), v), real(4, 5), torch.tensor([0, 2]), torch.tensor([1, 3]), real(2))
    case("edge", "index_mask", lambda x, m: x.index_put((m,), torch.tensor(0.)), real(3, 4), truth(3, 4))
    case("edge", "index_none", lambda x, i: x[:, None, i], real(3, 6), torch.tensor([0, -1]))
    case("edge", "index_negative", lambda x, i: x[i], real(5, 2), torch.tensor([-1, -5, 4]))
    case("edge", "scatter_reduce", lambda x, i, v: x.scatter_reduce(1, i, v, reduce="amax"), real(3, 5), torch.tensor([[0, 0], [1, 4], [3, 0]]), real(3, 2))
    case("edge", "scatter_mean", lambda x, i, v: x.scatter_reduce(0, i, v, reduce="mean", include_self=False), real(5), torch.tensor([0, 0, 3]), real(3))
    case("edge", "gather_3d", lambda x, i: x.gather(2, i), real(2, 3, 5), whole(2, 3, 2, low=0, high=5))
    case("edge", "repeat_interleave_tensor", lambda x: x.repeat_interleave(torch.tensor([2, 0, 1]), 0), real(3, 2))
    case("edge", "einsum_three", lambda a, b, c: torch.einsum("ij,jk,kl->il", a, b, c), real(2, 3), real(3, 4), real(4, 2))
    case("edge", "einsum_trace", lambda a: torch.einsum("ii", a), real(3, 3))
    case("edge", "tensordot", lambda a, b: torch.tensordot(a, b, dims=2), real(2, 3, 4), real(3, 4, 5))
    case("edge", "kron", torch.kron, real(2, 2), real(2, 3))
    case("edge", "cross", lambda a, b: torch.linalg.cross(a, b), real(4, 3), real(4, 3))
    case("edge", "norms", lambda x: (x.norm(), x.norm(1, dim=1), torch.linalg.vector_norm(x, math.inf, 1)), real(3, 4))
    case("edge", "std_var", lambda x: (x.std(1), x.var(0, unbiased=False), torch.std_mean(x), torch.var_mean(x, 1)), real(3, 4))
    case("edge", "nansum", lambda x: (x.nansum(), x.nanmean(1)), torch.tensor([[1., math.nan], [2., 3.]]))
    case("edge", "count_nonzero", lambda x: torch.count_nonzero(x, 1), whole(3, 4, low=0, high=2))
    case("edge", "roll_flip", lambda x: (x.roll((1, 2), (0, 1)), x.flip(0, 1), x.rot90()), real(3, 4))
    case("edge", "tensor_unfold", lambda x: x.unfold(0, 3, 2).unfold(1, 2, 1), real(7, 4))
    case("edge", "grid_sample_border", lambda x, g: F.grid_sample(x, g, padding_mode="border", align_corners=True), real(1, 2, 4, 5), real(1, 3, 3, 2, low=-1.3, high=1.3))
    case("edge", "grid_sample_reflection", lambda x, g: F.grid_sample(x, g, padding_mode="reflection", align_corners=False), real(1, 2, 4, 5), real(1, 3, 3, 2, low=-1.3, high=1.3))
    case("edge", "affine_grid", lambda t: F.affine_grid(t, [1, 1, 3, 4], align_corners=False), real(1, 2, 3))
    case("edge", "bicubic_antialias", lambda x: F.interpolate(x, size=(4, 3), mode="bicubic", antialias=True), real(1, 2, 8, 7))
    case("edge", "nearest_exact_1d", lambda x: F.interpolate(x, size=7, mode="nearest-exact"), real(1, 2, 5))
    case("edge", "area", lambda x: F.interpolate(x, size=(3, 3), mode="area"), real(1, 2, 7, 8))
    case("edge", "view_as_real_free", lambda x: x.view(torch.int32), real(3, 4))
    case("edge", "from_int_list", lambda x: torch.tensor([1, 2, 3]) + x.shape[0], real(3, 4))
    case("edge", "complex", lambda x: torch.view_as_real(torch.fft.fft(x)), real(8))
    case("edge", "complex_input", lambda x: x * 2, torch.complex(real(3), real(3)))
    case("edge", "polar", lambda a, b: torch.polar(a, b).abs(), real(3, low=0.1), real(3))
    case("edge", "float8_cast", lambda x: x.to(torch.float8_e4m3fn).to(torch.float32), real(3, 4))
    case("edge", "random", lambda x: torch.rand_like(x) * 0 + x, real(3, 4))
    case("edge", "erfinv_gamma", lambda x: (x.lgamma(), x.digamma(), x.erfinv()), real(3, low=0.1, high=0.9))
    case("edge", "special", lambda x: (torch.special.i0(x), torch.special.entr(x), torch.special.log_ndtr(x)), real(3, low=0.1, high=0.9))
    case("edge", "triangular", lambda x: (torch.tril_indices(3, 3), torch.triu_indices(3, 3), x.tril(-1)), real(3, 3))
    case("edge", "inverse", lambda x: torch.linalg.inv(x + 4 * torch.eye(3)), real(3, 3))
    case("edge", "many_dimensions", lambda x: x.permute(5, 4, 3, 2, 1, 0).sum((0, 2, 4)), real(2, 3, 2, 3, 2, 2))


def numbers():
    n = Dim("n", min=3, max=16)

    def sized(name, function, shape, *others):
        case("number", name, function, real(*shape), dynamic=({0: n},), others=tuple((real(*o),) for o in others))
    sized("quotient", lambda x: x * (x.shape[0] / 4), (3, 4), (8, 4))
    sized("quotient_out", lambda x: (x + 1, x.shape[0] / 4), (3, 4), (8, 4))
    sized("root", lambda x: x / x.shape[0] ** 0.5, (3, 4), (8, 4))
    sized("inverse", lambda x: x.sum(0) * (1.0 / x.shape[0]), (3, 4), (8, 4))
    sized("choice", lambda x: torch.cond(x.shape[0] > 4, lambda x: x + 1, lambda x: x * 2, (x,)), (5, 4), (3, 4), (4, 4))
    sized("ite", lambda x: x * torch.sym_ite(x.shape[0] > 4, x.shape[0], x.shape[0] * 2), (5, 4), (3, 4))
    sized("compared", lambda x: torch.where(torch.scalar_tensor(x.shape[0]) > 4, x, -x), (5, 4), (3, 4))
    sized("power", lambda x: x * x.shape[0] ** 2, (5, 4), (3, 4))
    sized("remainder", lambda x: (x * 2, x.shape[0] % 3, -x.shape[0], torch.sym_max(x.shape[0], 4)), (5, 4), (3, 4))
    sized("tril", lambda x: (x @ x.t()).tril(1) + (x @ x.t()).triu(-1), (5, 4), (7, 4))
    sized("causal", lambda x: (x @ x.t()).masked_fill(torch.ones(x.shape[0], x.shape[0], dtype=torch.bool).triu(1), -1e9).softmax(-1), (5, 4), (7, 4))
    sized("positions", lambda x: x + torch.arange(x.shape[0], dtype=torch.float32).unsqueeze(1) / x.shape[0], (5, 4), (7, 4))
    sized("padded", lambda x: F.pad(x, (0, 0, 0, 16 - x.shape[0])), (5, 4), (7, 4), (16, 4))
    sized("half", lambda x: x[: x.shape[0] - 1] + x[1:], (5, 4), (8, 4))
    sized("stacked", lambda x: torch.stack([x, x * 2], 1).flatten(0, 1), (5, 4), (8, 4))
    sized("flip", lambda x: x.flip(0).roll(1, 0), (5, 4), (8, 4))
    sized("cumulative", lambda x: x.cumsum(0) / torch.arange(1, x.shape[0] + 1).unsqueeze(1), (5, 4), (8, 4))
    sized("topk", lambda x: x.topk(2, 0), (5, 4), (8, 4))
    sized("gru_batch", nn.Sequential(nn.Unflatten(1, (1, 4)), nn.GRU(4, 3, batch_first=True)), (5, 4), (8, 4))
    case("number", "item_plus", lambda x, k: x + (k.item() + 1) * 2, real(3), torch.tensor(4), others=((real(3), torch.tensor(-3)),))
    case("number", "item_full", lambda k: torch.full((3,), k.item()), torch.tensor(2.5))
    case("number", "item_pow", lambda x, k: x.abs() ** k.item(), real(3), torch.tensor(1.5))
    case("number", "item_int_times", lambda x, k: x * k.item(), whole(3), torch.tensor(1.5))
    case("number", "item_compare", lambda x, k: x > k.item(), real(3), torch.tensor(0.5))


def module_programs():
    return modules, edges, numbers
