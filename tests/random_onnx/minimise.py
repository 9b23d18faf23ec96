"""Shrinks a model while Berth fails on it in the same way."""
import numpy as np
from onnx import ModelProto, helper, numpy_helper

import oracle
from check import check
from graph import prune
from model import Model
from variants import Variant

MOST_CHECKS = 400


class Minimiser:
    def __init__(self, berth, finding, folder):
        self.berth, self.finding, self.folder, self.checks = berth, finding, folder, 0

    def fails(self, model, variant=None):
        """The finding of this model that is as the one that is sought, or None."""
        self.checks += 1
        if self.checks > MOST_CHECKS:
            return None
        try:
            found = check(self.berth, model, [variant or self.finding.variant], self.folder).findings
        except Exception:  # a model that is no longer one
            return None
        return found[0] if found and found[0].same_way(self.finding) else None

    def run(self, model):
        """The smallest model that was found, and its finding."""
        model = Model(model.proto, model.calls, model.ranges)
        if not self.fails(model):
            return model, self.finding
        before = None
        while before != size(model) and self.checks < MOST_CHECKS:
            before = size(model)
            for smaller in (fewer_outputs, fewer_calls, closed_sizes, cut_inputs, bypasses, constants, attributes,
                            smaller_sizes, plain_values):
                model = self.take(model, smaller)
        self.fewer_switches(model)
        return model, self.fails_again(model)

    def fails_again(self, model):
        self.checks = 0
        return self.fails(model) or self.finding

    def take(self, model, smaller):
        """Tries what `smaller` offers, from the start again after each that still fails."""
        while True:
            for offered in smaller(model):
                if self.fails(offered):
                    model = offered
                    break
            else:
                return model
            if self.checks > MOST_CHECKS:
                return model

    def fewer_switches(self, model):
        words = list(self.finding.variant.compile)
        for variant in ([Variant(("--target", "portable"), ()), Variant(tuple(words[:2]), ())] +
                        [Variant(tuple(words[:2] + [w]), ()) for w in words[2:]] +
                        [Variant(tuple(words), ())]):
            if self.fails(model, variant):
                self.finding.variant = variant
                return


def size(model):
    return (len(model.proto.SerializeToString()), len(model.calls), sum(a.size for call in model.calls for a in call),
            sum(int(np.count_nonzero(a)) for call in model.calls for a in call))


def copy(model):
    proto = ModelProto()
    proto.CopyFrom(model.proto)
    return Model(proto, [list(call) for call in model.calls], list(model.ranges))


def pruned(model):
    """Without what no output needs; inputs that go take their arrays and ranges with them."""
    names = [i.name for i in model.proto.graph.input]
    prune(model.proto.graph)
    kept = [i.name for i in model.proto.graph.input]
    model.calls = [[a for n, a in zip(names, call) if n in kept] for call in model.calls]
    model.ranges = [r for r in model.ranges if r.rpartition("=")[0] in kept]
    return model


def fewer_outputs(model):
    outputs = list(model.proto.graph.output)
    alone = [[output] for output in outputs] if len(outputs) > 2 else []
    without = [[o for o in outputs if o is not output] for output in outputs] if len(outputs) > 1 else []
    for kept in alone + without:
        offered = copy(model)
        del offered.proto.graph.output[:]
        offered.proto.graph.output.extend(kept)
        yield pruned(offered)


def fewer_calls(model):
    for call in range(len(model.calls)):
        if len(model.calls) > 1:
            offered = copy(model)
            offered.calls = [offered.calls[call]]
            yield offered


def closed_sizes(model):
    """Every open size as the first call has it."""
    if model.ranges and len(model.calls) == 1:
        offered = copy(model)
        for entry, array in zip(offered.proto.graph.input, offered.calls[0]):
            entry.CopyFrom(helper.make_tensor_value_info(entry.name, entry.type.tensor_type.elem_type, array.shape))
        offered.ranges = []
        for output in offered.proto.graph.output:
            output.type.tensor_type.ClearField("shape")
        yield offered


def cut_inputs(model):
    """The results of a node as inputs, with what they are; the later in the graph the better. Also: as outputs."""
    if model.ranges:
        return
    try:
        careful = oracle.Careful(model)
        values = [careful.values(call) for call in range(len(model.calls))]
    except Exception:
        values = None
    names = {o.name for o in model.proto.graph.output}
    for node in list(model.proto.graph.node)[:-1] if values else []:
        offered = copy(model)
        graph = offered.proto.graph
        made = [n for n in node.output if n and n not in names]
        if len(made) < len([n for n in node.output if n]):
            continue
        graph.node.remove(node)
        for n in made:
            graph.input.append(info(n, values[0][n]))
        for call, known in zip(offered.calls, values):
            call += [known[n] for n in made]
        yield pruned(offered)
    for node in list(model.proto.graph.node)[:-1]:
        for n in node.output:
            if n and n not in names:
                offered = copy(model)
                del offered.proto.graph.output[:]
                offered.proto.graph.output.append(
                    helper.make_empty_tensor_value_info(n) if not values else bare(n, values[0][n]))
                yield pruned(offered)


def info(name, array):
    return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)


def bare(name, array):
    return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), None)


def bypasses(model):
    """A node's first result replaced by one of its inputs, wherever it is read."""
    outputs = {o.name for o in model.proto.graph.output}
    for at, node in enumerate(model.proto.graph.node):
        for name in node.input:
            if not name or node.output[0] in outputs:
                continue
            offered = copy(model)
            graph = offered.proto.graph
            old = graph.node[at].output[0]
            del graph.node[at]
            for other in graph.node:
                for i, read in enumerate(other.input):
                    if read == old:
                        other.input[i] = name
            yield pruned(offered)


def constants(model):
    """Inputs as constants, when there is one call; and inputs at the end of a node left out."""
    if len(model.calls) == 1 and not model.ranges:
        for i, entry in enumerate(model.proto.graph.input):
            if len(model.proto.graph.input) > 1:
                offered = copy(model)
                offered.proto.graph.input.remove(entry)
                offered.proto.graph.initializer.append(numpy_helper.from_array(offered.calls[0].pop(i), entry.name))
                yield offered
    for at, node in enumerate(model.proto.graph.node):
        if len(node.input) > 1:
            offered = copy(model)
            offered.proto.graph.node[at].input.pop()
            yield pruned(offered)


def attributes(model):
    for at, node in enumerate(model.proto.graph.node):
        for name in [a.name for a in node.attribute]:
            offered = copy(model)
            kept = [a for a in node.attribute if a.name != name]
            del offered.proto.graph.node[at].attribute[:]
            offered.proto.graph.node[at].attribute.extend(kept)
            yield offered


def smaller_sizes(model):
    """One size, wherever it is, made smaller: of inputs and of constants."""
    if model.ranges:
        return
    initial = {t.name: numpy_helper.to_array(t) for t in model.proto.graph.initializer}
    arrays = [a for call in model.calls for a in call] + [a for a in initial.values() if a.dtype.kind == "f"]
    sizes = {n for a in arrays for n in a.shape}
    for n in sorted(sizes, reverse=True):
        for less in {1, 2, n // 2, n - 1} - {0}:
            if less >= n:
                continue
            offered = copy(model)
            offered.calls = [[cut(a, n, less) for a in call] for call in model.calls]
            for entry, array in zip(offered.proto.graph.input, offered.calls[0]):
                entry.CopyFrom(info(entry.name, array))
            for tensor in offered.proto.graph.initializer:
                if initial[tensor.name].dtype.kind == "f":
                    tensor.CopyFrom(numpy_helper.from_array(cut(initial[tensor.name], n, less), tensor.name))
            for output in offered.proto.graph.output:
                output.type.tensor_type.ClearField("shape")
            yield offered


def cut(array, n, less):
    return array[tuple(slice(0, less if size == n else size) for size in array.shape)]


def changes(change, array):
    """Whether it is floating-point, and changed; what was not 0, such as a scale, stays so."""
    with np.errstate(all="ignore"):
        if array.dtype.kind != "f" or np.array_equal(change(array), array, equal_nan=True):
            return False
        return not ((change(array) == 0) & (array != 0)).any()


def plain_values(model):
    """Floating-point inputs and constants as ones, or rounded."""
    for change in (np.ones_like, np.round):
        for call in range(len(model.calls)):
            for i, array in enumerate(model.calls[call]):
                with np.errstate(all="ignore"):
                    if changes(change, array):
                        offered = copy(model)
                        offered.calls[call][i] = np.asarray(change(array))
                        yield offered
        for at, tensor in enumerate(model.proto.graph.initializer):
            array = numpy_helper.to_array(tensor)
            if changes(change, array):
                offered = copy(model)
                offered.proto.graph.initializer[at].CopyFrom(
                    numpy_helper.from_array(np.asarray(change(array)), tensor.name))
                yield offered
