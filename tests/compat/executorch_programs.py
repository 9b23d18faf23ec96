"""Whole programs that ExecuTorch exports: loops and branches within each other, state over several calls, sizes that
change. Each runs in ExecuTorch's runtime and in Berth's: as it is, replanned, and compiled anew from its instructions.

What ExecuTorch's exporter makes of loops is map and scan; while_loop it refuses itself."""
import fnmatch
import pathlib
import tempfile

import numpy as np
import torch
from torch import nn
from torch.export import Dim

from drivers import Broken, ExecuTorch, Refused, difference
from pt2_cases import Function


class Counter(nn.Module):
    """A cache of rows that fills up, and how many calls there were."""

    def __init__(self):
        super().__init__()
        self.register_buffer("count", torch.zeros(1, dtype=torch.int64))
        self.register_buffer("rows", torch.ones(4, 3))

    def forward(self, x):
        self.count.add_(1)
        self.rows.copy_(torch.cat([self.rows[1:], x]))
        return self.rows.sum(0) * self.count, self.count + 0


def real(*shape, seed=1):
    return torch.rand(shape, generator=torch.Generator().manual_seed(seed)) * 4 - 2


def branch(row):
    return torch.cond(row.sum() > 0, lambda r: r * 2, lambda r: r - 1, (row,))


def other_branch(row):
    return torch.cond(row[1] > 0, torch.neg, torch.exp, (row,))


def calls(*shapes):
    """The arguments of two calls."""
    return [tuple(real(*s, seed=10 * k + i) for i, s in enumerate(shapes)) for k in range(2)]


def branches():
    from torch._higher_order_ops import map as torch_map
    signs = [(torch.tensor([a, b, 1.]),) for a in (-1., 1.) for b in (-2., 2.)]
    rows = [(real(3, 4) + 3,), (real(3, 4) - 3,)]
    yield "cond", branch, None, [(real(4) + 3,), (real(4) - 3,)]
    yield "cond_in_cond", lambda x: torch.cond(x[0] > 0, branch, other_branch, (x,)), None, signs
    yield "cond_map", lambda x: torch.cond(x.sum() > 0, lambda x: torch_map(torch.neg, x), lambda x: x * 3, (x,)), None, rows


def picks():
    yield "mask", lambda x: x[x > 0] * 2, None, calls((3, 4))
    yield "mask_of_rows", lambda x: x[x.sum(1) > 0].sum(0), None, calls((5, 4))


def loops():
    from torch._higher_order_ops import map as torch_map
    from torch._higher_order_ops import scan, while_loop

    def sums(carry, row):
        return carry + row, carry * row

    def two(carry, rows):
        return (carry[0] + rows[0], carry[1] * 0.5), (carry[0] * rows[1], carry[1] + rows[0])

    def choose(carry, row):
        return torch.cond(row.sum() > 0, torch.add, torch.sub, (carry, row)), carry * 1

    def inner(carry, rows):
        return carry + torch_map(torch.neg, rows).sum(0), carry * 2

    n = Dim("n", min=2, max=6)
    sizes = [(real(k, 4),) for k in (6, 2, 5)]  # the largest first: ExecuTorch may take it for the bound
    yield "map", lambda x, y: torch_map(lambda row, y: row.sum() * y, x, y), None, calls((3, 4), (2,))
    yield "map_cond", lambda x: torch_map(branch, x), None, calls((5, 4))
    yield "map_map", lambda x: torch_map(lambda y: torch_map(lambda row: row.exp() + 1, y), x), None, calls((2, 3, 4))
    yield "map_dynamic", lambda x: torch_map(lambda row: row * 2 + 1, x), ({0: n},), sizes
    yield "scan", lambda x: scan(sums, torch.zeros(4), x), None, calls((3, 4))
    yield "scan_two", lambda x, y: scan(two, (torch.zeros(4), torch.ones(4)), (x, y)), None, calls((3, 4), (3, 4))
    yield "scan_cond", lambda x: scan(choose, torch.zeros(4), x), None, calls((5, 4))
    yield "scan_map", lambda x: scan(inner, torch.zeros(4), x), None, calls((2, 3, 4))
    yield "scan_dynamic", lambda x: scan(sums, torch.zeros(4), x), ({0: n},), sizes
    yield "two_loops", lambda x: torch_map(torch.neg, torch_map(torch.exp, x)) + scan(sums, torch.zeros(4), x)[1], None, \
        calls((3, 4))
    yield "while", lambda x: while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, x * 2), (torch.tensor(0), x)), None, \
        calls((3,))


def others():
    n = Dim("n", min=2, max=6)

    def sizes(x):
        return x * (x.shape[0] / 4), x.new_ones(x.shape[0] * 2) + x.shape[0]

    def written(x, y):
        y.mul_(x)
        return x + y
    yield "sizes", sizes, ({0: n},), [(real(k, 2),) for k in (2, 5)]
    yield "state", Counter(), None, [(real(1, 3, seed=k),) for k in range(3)]
    yield "written", written, None, calls((3,), (3,))


def programs():
    """(name, module, dynamic sizes or None, the arguments of each call)"""
    for family in (branches, picks, loops, others):
        for name, function, dynamic, arguments in family():
            yield name, function if isinstance(function, nn.Module) else Function(function), dynamic, arguments


# What ExecuTorch's own exporter does not write.
NOT_EXPORTED = {"while"}


def export(module, dynamic, args, path):
    from executorch.exir import EdgeCompileConfig, to_edge
    shapes = dynamic if dynamic is None or not isinstance(module, Function) else (tuple(dynamic),)
    exported = torch.export.export(module, args, dynamic_shapes=shapes)
    edge = to_edge(exported, compile_config=EdgeCompileConfig(_check_ir_validity=False))
    path.write_bytes(edge.to_executorch().buffer)


def arrays_of(calls, work):
    paths = []
    for number, args in enumerate(calls):
        paths.append([])
        for i, value in enumerate(args):
            paths[-1].append(work / f"call{number}in{i}.npy")
            np.save(paths[-1][-1], value.numpy())
    return paths


def in_berth(berth, program, paths, folder):
    """The outputs of the last call, after the others on the same memory."""
    folder.mkdir()
    first, *others = paths
    arguments = [f"--input={p}" for p in first] + [f"--then=forward={','.join(map(str, p))}" for p in others]
    berth.call("run", program, *arguments, "--output-dir", folder)
    found = {}
    for path in folder.glob("*.npy"):
        call, _, index = path.stem.rpartition("out")
        found[int(call[1:-1]) if call else 0, int(index)] = np.load(path)
    last = len(paths) - 1
    return [found[last, i] for i in range(sum(call == last for call, _ in found))]


def check(berth, executorch, name, module, dynamic, calls, work):
    try:
        export(module, dynamic, calls[0], work / "theirs.pte")
    except Exception as error:  # the exporter may raise anything
        return None if name in NOT_EXPORTED else f"ExecuTorch does not export it: {type(error).__name__}: {error}"[:300]
    if name in NOT_EXPORTED:
        return "ExecuTorch exports it by now: take it out of NOT_EXPORTED"
    berth.call("verify", work / "theirs.pte")
    berth.call("replan", work / "theirs.pte", "-o", work / "replanned.pte")
    berth.call("compile", work / "theirs.pte", "-o", work / "compiled.pte")
    berth.call("verify", work / "compiled.pte")
    paths = arrays_of(calls, work)
    for upto in range(1, len(paths) + 1):
        *before, last = paths[:upto]
        want = executorch.run(work / "theirs.pte", last, work / f"executorch{upto}",
                              before=[[str(p) for p in one] for one in before])[0]
        for how in ("theirs", "replanned", "compiled"):
            got = in_berth(berth, work / f"{how}.pte", paths[:upto], work / f"{how}{upto}")
            # Inputs that it changes in the caller's own bytes are further outputs of what Berth compiles.
            problem = difference(got[:len(want)], want)
            if problem:
                return f"{how}, call {upto}: {problem}"
    return None


def whole_programs(berth, patterns, tally):
    executorch = ExecuTorch()
    for name, module, dynamic, calls in programs():
        if patterns and not any(fnmatch.fnmatch(name, p) for p in patterns):
            continue
        with tempfile.TemporaryDirectory() as work:
            try:
                problem = check(berth, executorch, name, module.eval(), dynamic, calls, pathlib.Path(work))
            except (Refused, Broken) as error:
                problem = f"{type(error).__name__}: {error}"
        tally.add(f"exported {name}", problem)
