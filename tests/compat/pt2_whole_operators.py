"""Operators that torch.export leaves whole and run_decompositions() takes apart, torchvision's, and results whose size
only the data tell."""
import math

import torch
import torchvision
from torch.export import Dim
from torch.nn import functional as F

from pt2_cases import case, real, truth, whole

HALVES = {"half": torch.float16, "bfloat16": torch.bfloat16, "double": torch.float64}


def matrices():
    case("matrix", "cross_dims", lambda a, b: (torch.cross(a, b, dim=0), torch.linalg.cross(a, b, dim=-3)), real(3, 4, 3), real(3, 4, 3))
    case("matrix", "cross_broadcast", torch.linalg.cross, real(4, 1, 3), real(1, 5, 3))
    case("matrix", "cross_default", lambda a, b: torch.cross(a, b), real(2, 3, 3), real(2, 3, 3))
    case("matrix", "cross_int", torch.linalg.cross, whole(4, 3), whole(4, 3))
    case("matrix", "cross_infinite", torch.linalg.cross, torch.tensor([[math.inf, 1., 0.], [math.nan, 2., 1.]]), real(2, 3))
    case("matrix", "cross_batch", torch.linalg.cross, real(2, 3), real(2, 3), dynamic=({0: Dim("n", min=1, max=9)},) * 2,
         others=((real(9, 3), real(9, 3)), (real(1, 3), real(1, 3))))
    case("matrix", "kron_ranks", lambda a, b: (torch.kron(a, b), torch.kron(b, a)), real(3), real(2, 1, 4))
    case("matrix", "kron_scalar", torch.kron, torch.tensor(2.), real(2, 3))
    case("matrix", "kron_empty", torch.kron, real(0, 3), real(2, 2))
    case("matrix", "kron_int_real", torch.kron, whole(2, 2), real(2, 3))
    case("matrix", "kron_four", torch.kron, real(2, 1, 2, 3), real(1, 2, 2, 2))
    for name, dims in {"one": 1, "none": 0, "lists": ([-1, 0], [1, 2])}.items():
        case("matrix", f"tensordot_{name}", lambda a, b, d=dims: torch.tensordot(a, b, dims=d), real(3, 2, 4), real(4, 4, 3))
    case("matrix", "tensordot_size_1", lambda a, b: torch.tensordot(a, b, dims=([1], [0])), real(3, 1), real(4, 2))
    case("matrix", "tensordot_empty", lambda a, b: torch.tensordot(a, b, dims=1), real(3, 0), real(0, 2))
    case("matrix", "tensordot_int", lambda a, b: torch.tensordot(a, b, dims=1), whole(3, 4), whole(4, 2))
    case("matrix", "inner", lambda a, b, s: (torch.inner(a, b), torch.inner(a[0, 0], b[0]), torch.inner(a, s)),
         real(2, 3, 4), real(5, 4), torch.tensor(3.))
    case("matrix", "multi_dot", lambda a, b, c: (torch.linalg.multi_dot([a, b, c]), torch.linalg.multi_dot([a[0], b, c[:, 0]])),
         real(2, 3), real(3, 4), real(4, 5))
    for power in (1, 2, 3, 6):
        case("matrix", f"power_{power}", lambda a, p=power: torch.linalg.matrix_power(a, p), real(2, 3, 3, low=-1, high=1))
    case("matrix", "trace", lambda a, i: (a.trace(), i.trace()), real(3, 5), whole(4, 2, dtype=torch.int32))
    case("matrix", "trace_empty", lambda a: a.trace(), real(0, 3))
    solve = torch.linalg.solve
    for size in (1, 2, 3, 7):
        def spread(*shape, size=size): return real(*shape, size, size) + 2 * torch.eye(size).roll(1, 0)
        case("matrix", f"inverse_{size}", lambda a, b: (a.inverse(), torch.linalg.inv(b), torch.linalg.inv_ex(a).inverse), spread(), spread(2, 3))
        case("matrix", f"det_{size}", lambda a, b: (a.det(), torch.linalg.det(b)), spread(), spread(2, 3))
        case("matrix", f"solve_{size}", lambda a, b, v, w: (solve(a, b), solve(a[0], b), solve(a, v), solve(a[0], v[0]), solve(a, w, left=False)),
             spread(2), real(2, size, 4), real(2, size), real(2, 5, size))
    case("matrix", "solve_batch", lambda a, b: solve(a, b), real(3, 1, 2, 2) + 2 * torch.eye(2), real(4, 2, 3))
    case("matrix", "inverse_open", torch.linalg.inv, real(3, 4, 4) + 2 * torch.eye(4), dynamic=({0: Dim("n", min=1, max=9)},), others=((real(8, 4, 4) + 3 * torch.eye(4),),))
    for offset in (0, 1, -2, 9, -9):
        case("matrix", f"diag_{offset}", lambda a, b, o=offset: (a.diag(o), b.diag(o)), real(3), real(3, 5))
        case("matrix", f"diag_embed_{offset}", lambda a, i, o=offset: (torch.diag_embed(a, o), torch.diag_embed(i, o, 0, -1), torch.diag_embed(i > 0, o, -1, 1)),
             real(2, 3, 4), whole(2, 3))
    case("matrix", "diag_nan", torch.diag, torch.tensor([math.nan, math.inf, 1.]))
    case("matrix", "diag_empty", torch.diag, real(0))
    case("matrix", "diag_size", torch.diag, real(3), dynamic=({0: Dim("n", min=2, max=9)},), others=((real(9),), (real(2),)))
    case("matrix", "block_diag", lambda a, b, c, d: torch.block_diag(a, b, c, d), real(2, 3), real(4), torch.tensor(5.), real(0, 2))
    case("matrix", "block_diag_types", lambda a, b: torch.block_diag(a, b), whole(2, 2), real(1, 3))
    case("matrix", "flips", lambda x: (x.fliplr(), x.flipud()), real(3, 4, 2))
    for name, dtype in HALVES.items():
        case("matrix", name, lambda a, b: (torch.linalg.cross(a, b), torch.kron(a, b), a.trace(), a[0].diag(1), torch.inner(a, b)),
             real(2, 3, dtype=dtype), real(2, 3, dtype=dtype))


def distances():
    for p in (0, 0.5, 1, 2, 3, math.inf):
        case("distance", f"pairwise_{p}", lambda a, b, p=p: (F.pairwise_distance(a, b, p), F.pairwise_distance(a, b[0], p, 1e-3, True)),
             real(3, 5), real(3, 5))
        case("distance", f"dist_{p}", lambda a, b, p=p: (torch.dist(a, b, p), torch.dist(a, a, p)), real(2, 3, 4), real(3, 1))
        case("distance", f"pdist_{p}", lambda a, p=p: F.pdist(a, p), real(4, 3))
    case("distance", "dist_negative", lambda a, b: torch.dist(a, b, -math.inf), real(3), real(3))
    case("distance", "unknown", lambda a, b: (torch.dist(a, b), F.pairwise_distance(a, b)), torch.tensor([math.nan, math.inf]), real(2))
    case("distance", "dist_empty", torch.dist, real(0, 3), real(0, 3))
    holes = torch.tensor([[1., math.nan, 3.], [math.nan, math.nan, math.nan], [math.inf, 2., math.nan]])
    case("distance", "nanmean", lambda x: (x.nanmean(), x.nanmean(0), x.nanmean(-1, True), x.nanmean((0, 1)), x.nanmean(dtype=torch.float64)), holes)
    case("distance", "nanmean_scalar", lambda x: x.nanmean(), torch.tensor(math.nan))
    case("distance", "nanmean_empty", lambda x: (x.nanmean(), x.nanmean(0)), real(0, 3))


def quantiles():
    for how in ("linear", "lower", "higher", "nearest", "midpoint"):
        def every(x, q, how=how):
            return (torch.quantile(x, 0.3, interpolation=how), torch.quantile(x, 0.6, 1, interpolation=how), torch.quantile(x, q, 1, interpolation=how),
                    torch.quantile(x, q, -2, True, interpolation=how), torch.quantile(x, q[2], 0, interpolation=how),
                    torch.quantile(x, 0.5, keepdim=True, interpolation=how))
        q = torch.tensor([0., 0.25, 0.6, 1.])
        case("quantile", how, every, real(3, 11), q)
        case("quantile", f"{how}_ties", every, whole(4, 7, low=0, high=3).float(), q)
        unknown = real(3, 6)
        unknown[0, 2], unknown[1, 1], unknown[1, 2], unknown[2, 0] = math.nan, math.inf, math.inf, -math.inf
        case("quantile", f"{how}_unknown", every, unknown, q)
    case("quantile", "one", lambda x: (torch.quantile(x, 0.7), torch.quantile(x, 0.7, 0, True), torch.quantile(x[None], 0.7, 0)), torch.tensor(3.))
    case("quantile", "double", lambda x: torch.quantile(x, 0.3, 1), real(3, 5, dtype=torch.float64))
    case("quantile", "rows", lambda x: torch.quantile(x, 0.3, 1), real(3, 5), dynamic=({0: Dim("n", min=1, max=9)},),
         others=((real(9, 5),), (real(1, 5),)))


def picked():
    case("picked", "mask", lambda x, m: x[m], real(3, 5), truth(3, 5), others=((real(3, 5), truth(3, 5) & False), (real(3, 5), truth(3, 5) | True)))
    case("picked", "mask_rows", lambda x, m: x[m] * 2, real(5, 3), truth(5), others=((real(5, 3), truth(5) & False),))
    case("picked", "mask_columns", lambda x, m: x[:, m], real(2, 5, 3), truth(5))
    case("picked", "mask_planes", lambda x, m: (x[m], x[m].sum(0)), real(2, 3, 4), truth(2, 3))
    case("picked", "mask_int", lambda x, m: x[m], whole(6), truth(6))
    case("picked", "where", lambda c: torch.where(c), truth(3, 4, 2), others=((truth(3, 4, 2) & False,),))
    case("picked", "where_numbers", lambda x: torch.where(x), torch.tensor([0., math.nan, -0., 2.]))
    case("picked", "where_scalar", lambda c: torch.where(c), torch.tensor(True))
    case("picked", "nan", lambda x: x[~x.isnan()], torch.tensor([1., math.nan, 3., math.nan]))
    case("picked", "unique", lambda x: torch.unique(x, return_inverse=True, return_counts=True), whole(3, 7, low=-2, high=3),
         others=((whole(3, 7, low=1, high=2),),))
    case("picked", "unique_real", torch.unique, torch.tensor([2., -1., 2., math.inf, 0., -0., -1.]))
    for dtype in (torch.float32, *HALVES.values()):
        case("picked", f"unique_nan_{dtype}".replace("torch.", ""), lambda x: torch.unique(x, return_inverse=True, return_counts=True),
             torch.tensor([[2., math.nan, 2.], [math.nan, math.inf, -3.]], dtype=dtype))
    case("picked", "unique_bool", torch.unique, truth(3, 3))
    runs = torch.unique_consecutive
    case("picked", "runs", lambda x: runs(x, return_inverse=True, return_counts=True), torch.tensor([1, 1, 2, 2, 3, 1]), others=((torch.tensor([4] * 6),),))
    case("picked", "runs_flat", lambda x: runs(x, return_inverse=True, return_counts=True), whole(3, 7, low=0, high=1).float())
    case("picked", "runs_rows", lambda x: runs(x, return_inverse=True, return_counts=True, dim=0), torch.tensor([[1., 2], [1, 2], [1, 3], [math.nan, 0], [math.nan, 0]]))
    case("picked", "runs_columns", lambda x: runs(x, dim=-2), torch.tensor([[[1, 2], [1, 2], [3, 2]], [[5, 4], [5, 4], [5, 4]]]))
    case("picked", "runs_one", lambda x: runs(x, return_counts=True), torch.tensor([True]))
    case("picked", "unique_empty", torch.unique, real(0))


def boxes(count, size=10.):
    corner = real(count, 2, low=0, high=size)
    return torch.cat([corner, corner + real(count, 2, low=0.5, high=size / 2)], 1)


def detection():
    nms = torchvision.ops.nms
    case("vision", "nms", lambda b, s: nms(b, s, 0.3), boxes(20), real(20, low=0, high=1), others=((boxes(20), real(20)), (boxes(20, 100.), real(20))))
    case("vision", "nms_ties", lambda b, s: nms(b, s, 0.5), boxes(8).round().repeat(2, 1), whole(16, low=0, high=3).float())
    case("vision", "nms_flat", lambda b, s: (nms(b, s, 0.), nms(b, s, 1.)), torch.tensor([[1., 1, 1, 1], [0, 0, 2, 2], [0, 0, 2, 2], [2, 0, 3, 2]]), real(4))
    case("vision", "nms_edge", lambda b, s: nms(b, s, 0.5), torch.tensor([[0., 0, 2, 2], [0, 0, 2, 1], [0, 0, 1, 1]]), torch.tensor([.9, .8, .7]))
    case("vision", "nms_then_rows", lambda b, s: b[nms(b, s, 0.4)], boxes(9), real(9))
    case("vision", "nms_batched", lambda b, s, c: torchvision.ops.batched_nms(b, s, c, 0.3), boxes(12), real(12), whole(12, low=0, high=3))
    for aligned in (False, True):
        for samples in (-1, 0, 2):
            case("vision", f"roi_align_{aligned}_{samples}",
                 lambda x, r, a=aligned, s=samples: torchvision.ops.roi_align(x, r, (3, 2), 0.5, s, a), real(2, 3, 8, 9),
                 torch.cat([whole(6, 1, low=0, high=2).float(), boxes(6, 20.) - 3], 1))
    case("vision", "roi_align_list", lambda x, a, b: torchvision.ops.roi_align(x, [a, b], 2), real(2, 3, 8, 9), boxes(2), boxes(1))
    deform = torchvision.ops.deform_conv2d
    case("vision", "deform_conv", lambda x, o, w, b, m: deform(x, o, w, b, padding=1, mask=m), real(2, 4, 7, 6), real(2, 18, 7, 6), real(3, 4, 3, 3), real(3), real(2, 9, 7, 6))
    case("vision", "deform_conv_groups", lambda x, o, w: deform(x, o, w, stride=(2, 1), padding=(0, 2), dilation=(1, 2)), real(1, 4, 7, 6), real(1, 24, 3, 8), real(6, 2, 3, 2))
    for corners in (False, True):
        case("vision", f"affine_grid_{corners}", lambda t, c=corners: F.affine_grid(t, [2, 1, 3, 4], align_corners=c), real(2, 2, 3))
        case("vision", f"affine_grid_3d_{corners}", lambda t, c=corners: F.affine_grid(t, [1, 1, 2, 3, 4], align_corners=c), real(1, 3, 4))
    for mode in ("bilinear", "nearest"):
        for padding in ("zeros", "border", "reflection"):
            for corners in (False, True):
                case("vision", f"grid_3d_{mode}_{padding}_{corners}",
                     lambda x, g, m=mode, p=padding, c=corners: F.grid_sample(x, g, m, p, c), real(2, 3, 4, 5, 6),
                     real(2, 2, 3, 4, 3, low=-1.6, high=1.6))


def wide_windows():
    for pad in (0, 2):
        for include in (True, False):
            case("pool", f"wider_{pad}_{include}", lambda x, p=pad, i=include: F.avg_pool2d(x, (5, 9), 9, p, True, i), real(2, 3, 2, 4))
    case("pool", "wider_line", lambda x: F.avg_pool1d(x, 5, 3, 1, True), real(2, 3))
    case("pool", "wider_divisor", lambda x: F.avg_pool2d(x, 4, 3, ceil_mode=True, divisor_override=5), real(1, 2, 2, 7))


def whole_operators():
    return wide_windows, matrices, distances, quantiles, picked, detection
