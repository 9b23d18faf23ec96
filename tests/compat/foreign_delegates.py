"""Programs whose delegates another compiler made, XNNPACK's, which ExecuTorch's runtime runs: as ExecuTorch writes
them, after `berth replan`, and compiled anew.

What their maker relies on must be there in each: the delegates in the order of their calls with the same id, compile
specs and payload, named data with the same keys and bytes, tensors that start at multiples of 16 and keep their type,
sizes and dimension order, and 64 bytes behind the last of them in each arena, since XNNPACK reads beyond its tensors.
The outputs are then those of the program as it was, bit for bit."""
import fnmatch
import pathlib
import tempfile

import numpy as np
import torch
from torch import nn

from drivers import Broken, ExecuTorch, Refused

ALIGNMENT, PADDING = 16, 64


class Shared(nn.Module):
    """Two delegates, before and after operators of the host, that read the same weight by name; a third on images."""

    def __init__(self):
        super().__init__()
        self.linear, self.conv = nn.Linear(8, 8), nn.Conv2d(3, 5, 3, padding=1)

    def forward(self, x, image):
        values, places = torch.topk(self.linear(x).relu(), 3)
        widened = torch.cat([values, values, values], 1)[:, :8]
        return self.linear(widened), places, torch.cumsum(self.conv(image).relu(), 1) + 1


class Chain(nn.Module):
    """Small delegates one behind the other, between which the host computes on sizes that are not multiples of 16
    bytes."""

    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(3 + k, 4 + k) for k in range(5))

    def forward(self, x):
        for layer in self.layers:
            x = torch.cumsum(layer(x), 1)
        return x


class ChannelsLast(nn.Module):
    """The host computes between delegates that keep images channels-last."""

    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Conv2d(3, 4, 3), nn.Conv2d(4, 4, 3)

    def forward(self, x):
        return self.second(torch.sin(self.first(x)))


class Branch(nn.Module):
    """What a branch gives is read by a delegate, and one delegate's output by the condition."""

    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(6, 5), nn.Linear(5, 7)

    def forward(self, x):
        h = self.first(x)
        h = torch.cond(h.sum() > 0, lambda h: torch.cumsum(h, 1), lambda h: torch.flip(h, [1]), (h,))
        return self.second(h)


class State(nn.Module):
    """A sum that is kept from call to call, beside delegates."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)
        self.register_buffer("sum", torch.zeros(2, 4))

    def forward(self, x):
        self.sum.add_(torch.flip(self.linear(x), [1]))
        return self.linear(self.sum + 0)


def programs():
    """(name, module, inputs, dynamic sizes, options of the partitioner)."""
    def real(*shape, seed=1):
        return torch.rand(shape, generator=torch.Generator().manual_seed(seed)) * 4 - 2

    image = real(1, 3, 6, 6, seed=2)
    yield "shared", Shared(), (real(2, 8), image), None, {}
    yield "each_operator", Shared(), (real(2, 8), image), None, {"per_op_mode": True}
    yield "chain", Chain(), (real(1, 3),), None, {}
    yield "channels_last", ChannelsLast(), (image.to(memory_format=torch.channels_last),), None, {}
    yield "dynamic", Chain(), (real(4, 3),), ({0: torch.export.Dim("rows", min=2, max=9)},), {}
    yield "branch", Branch(), (real(1, 6),), None, {}
    yield "state", State(), (real(2, 4),), None, {}


def export(module, inputs, dynamic, options, path):
    from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
    from executorch.exir import to_edge_transform_and_lower
    with torch.no_grad():
        exported = torch.export.export(module, inputs, dynamic_shapes=dynamic)
        edge = to_edge_transform_and_lower(exported, partitioner=[XnnpackPartitioner(**options)])
    path.write_bytes(edge.to_executorch().buffer)


def add_specs(path):
    """Gives each delegate compile specs, one of them without bytes: XNNPACK's partitioner sets none, and its runtime
    leaves alone those that it does not know."""
    from executorch.exir._serialize._program import deserialize_pte_binary, serialize_pte_binary
    from executorch.exir.schema import CompileSpec
    file = deserialize_pte_binary(path.read_bytes())
    for i, delegate in enumerate(file.program.execution_plan[0].delegates):
        delegate.compile_specs += [CompileSpec("maker's", bytes([i, 0, 255])), CompileSpec("empty", b"")]
    path.write_bytes(bytes(serialize_pte_binary(file, extract_delegate_segments=True)))


class Seen:
    """What a program's file says about its delegates."""

    def __init__(self, path):
        from executorch.exir._serialize._program import deserialize_pte_binary
        file = deserialize_pte_binary(path.read_bytes())
        (self.plan,) = file.program.execution_plan
        self.named = {}
        if file.named_data:
            self.named = {key: bytes(file.named_data.buffers[entry.buffer_index])
                          for key, entry in file.named_data.pte_data.items() if key != "berth.meta"}
        self.data = file.program.backend_delegate_data
        self.calls = [call.instr_args for chain in self.plan.chains for call in chain.instructions
                      if type(call.instr_args).__name__ == "DelegateCall"]

    def tensors(self, call):
        values = [self.plan.values[i].val for i in call.args]
        return [value for value in values if type(value).__name__ == "Tensor"]

    def described(self, call):
        """What the delegate's maker sees of a call, without the places of its tensors."""
        delegate = self.plan.delegates[call.delegate_index]
        specs = [(spec.key, bytes(spec.value)) for spec in delegate.compile_specs]
        tensors = [(t.scalar_type, list(t.sizes), list(t.dim_order), t.shape_dynamism) for t in self.tensors(call)]
        return delegate.id, specs, bytes(self.data[delegate.processed.index].data), tensors

    def misplaced(self):
        """Where a tensor of a delegate lies as XNNPACK may not have it, or None."""
        for number, call in enumerate(self.calls):
            for tensor in filter(lambda t: t.allocation_info, self.tensors(call)):
                where = tensor.allocation_info
                begin = where.memory_offset_low + (where.memory_offset_high << 32)
                bytes_of = int(np.prod(tensor.sizes)) * torch.empty(0, dtype=DTYPES[tensor.scalar_type.name]).element_size()
                if begin % ALIGNMENT:
                    return f"call {number} has a tensor at {begin}, no multiple of {ALIGNMENT}"
                if begin + bytes_of + PADDING > self.plan.non_const_buffer_sizes[where.memory_id]:
                    return f"call {number} has a tensor with fewer than {PADDING} bytes behind it"
        return None


DTYPES = {"FLOAT": torch.float32, "LONG": torch.int64, "BOOL": torch.bool}


def changed(before, after):
    """What the delegates of `after` lack of those of `before`, or None."""
    if len(before.calls) != len(after.calls):
        return f"{len(after.calls)} calls of delegates instead of {len(before.calls)}"
    for number, (old, new) in enumerate(zip(before.calls, after.calls)):
        for what, a, b in zip(("id", "specs", "payload", "tensors"), before.described(old), after.described(new)):
            if a != b:
                return f"the {what} of call {number} changed"
    if before.named != after.named:
        return f"named data {sorted(after.named)} instead of {sorted(before.named)}, or other bytes"
    return after.misplaced()


def bits(outputs):
    return [(a.dtype, a.shape, a.tobytes()) for a in outputs]


def check(berth, executorch, case, work):
    _, module, inputs, dynamic, options = case
    theirs = work / "theirs.pte"
    export(module.eval(), inputs, dynamic, options, theirs)
    add_specs(theirs)
    before = Seen(theirs)
    if not before.calls:
        return "XNNPACK takes nothing of it: nothing is tested"
    berth.call("replan", theirs, "-o", work / "replanned.pte")
    berth.call("compile", theirs, "-o", work / "compiled.pte")
    berth.call("replan", work / "compiled.pte", "-o", work / "both.pte")
    paths = []
    for i, value in enumerate(inputs):
        paths.append(work / f"in{i}.npy")
        np.save(paths[-1], value.numpy())
    # Two calls before it: states and what is left in the arenas are the second's.
    earlier = [[str(path) for path in paths]] * 2
    want = executorch.run(theirs, paths, work / "want", before=earlier)[0]
    for how in ("replanned", "compiled", "both"):
        problem = changed(before, Seen(work / f"{how}.pte"))
        if problem:
            return f"{how}: {problem}"
        got = executorch.run(work / f"{how}.pte", paths, work / how, before=earlier)[0]
        if bits(got) != bits(want):
            return f"{how}: ExecuTorch's runtime gives other outputs"
    return None


def foreign_delegates(berth, patterns, tally):
    executorch = ExecuTorch()
    torch.manual_seed(0)
    for case in programs():
        if patterns and not any(fnmatch.fnmatch(case[0], p) for p in patterns):
            continue
        with tempfile.TemporaryDirectory() as work:
            try:
                problem = check(berth, executorch, case, pathlib.Path(work))
            except (Refused, Broken) as error:
                problem = f"{type(error).__name__}: {error}"
        tally.add(f"XNNPACK {case[0]}", problem)
