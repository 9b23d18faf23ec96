"""Modules for torch.export that are about whole programs: sizes that change, state, signatures, control flow."""
import torch
from torch import nn
from torch.export import Dim
from torch.nn import functional as F

from pt2_cases import case, real, truth


def dynamic():
    n, m = Dim("n", min=2, max=16), Dim("m", min=2, max=12)
    wide = Dim("wide", min=4, max=20)

    def sizes(name, function, shape, dims, *others):
        case("dynamic", name, function, real(*shape), dynamic=(dims,), others=tuple((real(*o),) for o in others))
    sizes("batch", nn.Linear(4, 3), (3, 4), {0: n}, (2, 4), (16, 4))
    sizes("conv", nn.Conv2d(3, 4, 3, padding=1), (2, 3, 6, 6), {0: n}, (5, 3, 6, 6))
    sizes("image", nn.Conv2d(3, 4, 3, padding=1), (1, 3, 6, 6), {2: n, 3: m}, (1, 3, 9, 5))
    sizes("flatten", lambda x: x.flatten(1), (2, 3, 4), {0: n}, (7, 3, 4))
    sizes("view", lambda x: x.view(x.shape[0], 2, -1).sum(2), (3, 6), {0: n}, (9, 6))
    sizes("view_size", lambda x: x.view(x.shape[0] * 2, 3), (3, 6), {0: n}, (9, 6))
    sizes("softmax", lambda x: F.softmax(x @ x.transpose(1, 2), -1), (2, 5, 4), {1: n}, (2, 9, 4))
    sizes("mean", lambda x: x.mean(0) * x.shape[0], (3, 4), {0: n}, (8, 4))
    sizes("cat", lambda x: torch.cat([x, x, torch.zeros(1, 4)]), (3, 4), {0: n}, (8, 4))
    sizes("arange", lambda x: x + torch.arange(x.shape[0])[:, None], (3, 4), {0: n}, (8, 4))
    sizes("slice", lambda x: x[1:], (5, 4), {0: wide}, (8, 4))
    sizes("slice_end", lambda x: x[: x.shape[0] - 2] * 2, (6, 4), {0: wide}, (8, 4), (7, 4))
    sizes("last", lambda x: x[-1], (4, 4), {0: n}, (8, 4))
    sizes("expand", lambda x: x.new_ones(1, 4).expand(x.shape[0], 4) + x, (3, 4), {0: n}, (8, 4))
    sizes("full", lambda x: torch.full((x.shape[0], 2), 3.) * x[:, :2], (3, 4), {0: n}, (8, 4))
    sizes("embedding_sum", nn.Sequential(nn.Linear(4, 4), nn.LayerNorm(4), nn.GELU()), (2, 3, 4), {0: n, 1: m}, (5, 7, 4))
    sizes("size_out", lambda x: (x.sum(), x.shape[0], x.shape[0] * 2), (3, 4), {0: n}, (8, 4))
    sizes("interpolate", lambda x: F.interpolate(x, scale_factor=2.), (1, 2, 4, 4), {2: n, 3: m}, (1, 2, 5, 6))
    sizes("pool", nn.MaxPool2d(2), (1, 2, 8, 8), {2: wide}, (1, 2, 9, 8))
    sizes("transpose_view", lambda x: x.permute(1, 0, 2).reshape(3, -1), (4, 3, 2), {0: n}, (9, 3, 2))
    sizes("adaptive", nn.AdaptiveAvgPool2d(1), (1, 2, 8, 8), {2: n, 3: m}, (1, 2, 9, 6))
    sizes("max", lambda x: x.max(1)[0], (3, 5), {1: n}, (3, 9))
    sizes("tril", lambda x: torch.ones(x.shape[0], x.shape[0]).tril() @ x, (3, 4), {0: n}, (6, 4))
    even = Dim("half", min=2, max=8)
    sizes("derived", lambda x: x.view(-1, 2, 3).sum(1), (8, 3), {0: 2 * even}, (6, 3), (16, 3))
    sizes("derived_plus", lambda x: x[1:] * 2, (5, 3), {0: even + 1}, (3, 3), (9, 3))
    case("dynamic", "two_inputs", lambda x, y: x + y, real(3, 4), real(3, 4), dynamic=({0: n}, {0: n}),
         others=((real(7, 4), real(7, 4)),))
    case("dynamic", "two_symbols", lambda x, y: torch.cat([x, y]), real(3, 4), real(5, 4), dynamic=({0: n}, {0: m}),
         others=((real(7, 4), real(2, 4)),))
    case("dynamic", "attention", F.scaled_dot_product_attention, *(real(1, 2, 5, 4) for _ in range(3)),
         dynamic=({2: n},) * 3, others=(tuple(real(1, 2, 7, 4) for _ in range(3)),))


def state():
    class Counter(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("count", torch.tensor(2.))

        def forward(self, x):
            self.count.add_(1)
            return x * self.count

    class Cache(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("cache", torch.arange(12.).view(3, 4))

        def forward(self, x):
            self.cache[1] = x
            self.cache[:, 0] += 1
            return self.cache.sum(1), self.cache * 2

    class Running(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("mean", torch.zeros(4), persistent=False)

        def forward(self, x):
            self.mean = 0.9 * self.mean + 0.1 * x.mean(0)
            return x - self.mean
    case("state", "counter", Counter(), real(3))
    case("state", "cache", Cache(), real(4))
    case("state", "running", Running(), real(3, 4))

    def views(x):
        y = x.clone()
        y.view(-1)[2:5].mul_(2)
        z = y.t()
        z[0].add_(1)
        a, b = y.chunk(2, 1)
        b.zero_()
        return y, z, a

    def chains(x):
        y = torch.zeros(3, 4)
        y[:, 1:3] = x[:, :2]
        y[0].fill_(3.)
        y += 1
        return y.relu_().mul_(y)
    case("state", "views_in_place", views, real(3, 4))
    case("state", "chains_in_place", chains, real(3, 4))
    # Views of a tensor [2, 5, 4]: what is written through them, and what they show when their base is written.
    seen = {
        "flatten": lambda v: v.flatten(0, 1), "reshape": lambda v: v.reshape(-1, 4), "ravel": lambda v: v.ravel(),
        "part_reshape": lambda v: v[:, :, :2].reshape(2, 5, 2, 1), "part_copy": lambda v: v[:, :, :2].reshape(-1),
        "rows_reshape": lambda v: v[:, :4].reshape(2, 2, 2, 4), "turned_reshape": lambda v: v.transpose(1, 2).reshape(2, 2, 2, 5),
        "turned_same": lambda v: v.transpose(0, 1).reshape(5, 2, 4), "turned_copy": lambda v: v.transpose(0, 1).reshape(10, 4),
        "unflatten": lambda v: v[..., :2].unflatten(1, (5, 1)), "contiguous": lambda v: v[1:].contiguous(),
        "turned_contiguous": lambda v: v.transpose(0, 1).contiguous(), "dropout": lambda v: F.dropout(v, 0.5, False),
        "swapdims": lambda v: v.swapdims(0, 1), "adjoint": lambda v: v.adjoint(), "mH": lambda v: v.mH, "T": lambda v: v[0].T,
        "tensor_split": lambda v: v.tensor_split(2, 1)[1], "hsplit": lambda v: v.hsplit([2])[0], "dsplit": lambda v: v.dsplit(2)[1],
        "atleast": torch.atleast_3d, "split": lambda v: v.split([1, 3, 1], 1)[1],
        "heads": lambda v: v.view(v.shape[0], 5, 2, 2).transpose(1, 2),
    }

    def written(view):
        def both(x):
            base = x * 1
            shown = view(base)
            shown.mul_(3)
            return base + 0, shown + 0

        def shows(x):
            base = x * 1
            shown = view(base)
            base.mul_(3)
            return shown + 0
        return both, shows
    for name, view in seen.items():
        for way, function in zip(("written", "shown"), written(view)):
            case("state", f"view_{name}_{way}", function, real(2, 5, 4))
    for name in ("flatten", "reshape", "ravel", "heads"):
        for way, function in zip(("written", "shown"), written(seen[name])):
            case("state", f"view_{name}_{way}_open", function, real(3, 5, 4), dynamic=({0: Dim("n", min=2, max=4)},),
                 others=((real(2, 5, 4),), (real(4, 5, 4),)))
    case("state", "masked_in_place", lambda x, m: x.clone().masked_fill_(m, 0).index_put_((torch.tensor([1]),), torch.tensor(5.)),
         real(3, 4), truth(3, 4))
    case("state", "copy_in_place", lambda x, y: x.clone().copy_(y).clamp_(-1, 1), real(3, 4), real(4))


def signature():
    class Tied(nn.Module):
        def __init__(self):
            super().__init__()
            self.a = nn.Linear(4, 4, bias=False)
            self.b = nn.Linear(4, 4, bias=False)
            self.b.weight = self.a.weight
            self.constant = torch.arange(8.).view(2, 4)[:, 1:].t()
            self.rows = nn.Buffer(torch.arange(12.).view(3, 4)[1:, :])

        def forward(self, x):
            return self.b(self.a(x)) + self.rows, self.constant * 2
    case("signature", "tied_and_views", Tied(), real(2, 4))
    case("signature", "nothing", lambda x, y: (x, None, 3, y, 2.5, True), real(3), real(2))
    case("signature", "fixed_number", lambda x, k, s: x * k if s == "twice" else x, real(3), 2, "twice")
    case("signature", "tree", lambda d: {"sum": d["a"] + d["b"][0], "list": [d["b"][0]]}, {"a": real(3), "b": [real(3)]})
    case("signature", "unused", lambda x, y: x + 1, real(3), real(2))
    case("signature", "scalar_input", lambda x, y: x * y, real(3), torch.tensor(2.))
    case("signature", "same_twice", lambda x: (x.relu(), x.relu()), real(3))
    case("signature", "constant_output", lambda x: (x + 1, torch.ones(2)), real(3))
    case("signature", "channels_last_input", lambda x: x * 2, real(1, 3, 4, 5).to(memory_format=torch.channels_last))
    case("signature", "transposed_input", lambda x: x @ x.t(), real(4, 3).t())
    case("signature", "empty", lambda x: torch.cat([x, x]), real(0, 3))


def written():
    def scaled(x, y):
        y.mul_(x)
        return x + y

    def first_row(x, y):
        x[0] = y
        return x.sum()

    def replaced(x, y):
        y.copy_(x)
        return x * 2
    case("signature", "written_input", scaled, real(3), real(3))
    case("signature", "written_part", first_row, real(2, 3), real(3))
    case("signature", "replaced_input", replaced, real(3), real(3))


def data():
    def bounded(n, low, high):
        torch._check(n >= low)
        torch._check(n <= high)
        return n

    def filled(x, k):
        return torch.full((bounded(k.item(), 1, 6), 3), 2.5) + x

    def head(x, k):
        return x[:bounded(k.item(), 0, x.shape[0])] * 2

    def repeated(x, k):
        n = bounded(k.item(), 2, 5)
        return x.expand(n, 3), n

    def factor(x, k):
        return x * k.item()
    case("data", "item_size", filled, real(3), torch.tensor(4), others=((real(3), torch.tensor(1)), (real(3), torch.tensor(6))))
    case("data", "item_slice", head, real(7, 3), torch.tensor(4), others=((real(7, 3), torch.tensor(0)),))
    case("data", "item_out", repeated, real(3), torch.tensor(4), others=((real(3), torch.tensor(2)),))
    case("data", "item_factor", factor, real(3), torch.tensor(4), others=((real(3), torch.tensor(-3)),))
    case("data", "item_real", factor, real(3), torch.tensor(2.5))


def control():
    from torch._higher_order_ops import map as torch_map
    from torch._higher_order_ops import scan, while_loop

    def choose(x):
        return torch.cond(x.sum() > 0, lambda x: x + 1, lambda x: x * 2 - 1, (x,))

    def choose_two(x, y):
        def yes(x, y):
            return x + y, x.relu()

        def no(x, y):
            return x - y, y.relu()
        return torch.cond((x.sum() > y.sum()).view(()), yes, no, (x, y))

    def loop(x):
        return while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, x * 2), (torch.tensor(0), x))

    def mapped(x, y):
        return torch_map(lambda row, y: row.sum() * y, x, y)

    def scanned(x):
        return scan(lambda carry, row: (carry + row, carry * row), torch.zeros(4), x)
    case("control", "cond", choose, real(3, 4), others=((real(3, 4) - 3,), (real(3, 4) + 3,)))
    case("control", "cond_two", choose_two, real(3), real(3))
    case("control", "while", loop, real(3))
    case("control", "map", mapped, real(3, 4), real(2))
    case("control", "scan", scanned, real(3, 4))

    def no_grad(x):
        with torch.no_grad():
            y = x * 2
        return y + 1
    case("control", "no_grad", no_grad, real(3))


def models():
    class Residual(nn.Module):
        def __init__(self):
            super().__init__()
            self.body = nn.Sequential(nn.Conv2d(4, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(inplace=True),
                                      nn.Conv2d(4, 4, 3, padding=1), nn.BatchNorm2d(4))
            self.head = nn.Linear(4, 3)

        def forward(self, x):
            y = self.body(x)
            y += x
            return self.head(F.adaptive_avg_pool2d(F.relu(y, inplace=True), 1).flatten(1))
    case("model", "residual", Residual(), real(2, 4, 6, 6))
    case("model", "residual_batch", Residual(), real(2, 4, 6, 6), dynamic=({0: Dim("n", min=2, max=8)},), others=((real(5, 4, 6, 6),),))
    case("model", "mlp_mixer", nn.Sequential(nn.LayerNorm(6), nn.Linear(6, 12), nn.GELU(), nn.Dropout(), nn.Linear(12, 6)), real(2, 5, 6))


def whole_programs():
    return dynamic, state, signature, written, data, control, models
