"""What a model must give: ONNX Runtime's results, and how far another implementation may be from them.

At first every element is compared narrowly with ONNX Runtime without optimisations. What is further away is looked at
again, node by node: each node that rounds is run with its inputs and results moved by some units in the last place,
many times over, and once with all that cancels at 0; an element may be as far from ONNX Runtime's as these runs are.
So what cancels, or is close to a jump (a comparison, a rounding), may differ, and nothing else. Nodes for which ONNX
Runtime is known to be wrong are run by onnx.reference, or as this module's table says (runtime_faults.py).
"""
import dataclasses

import numpy as np
import onnxruntime
from onnx import helper, numpy_helper
from onnx.reference import ReferenceEvaluator

import runtime_faults
from graph import used_names
from operators import find

PAIRS = 12  # of runs that are moved
NARROW = {np.dtype("float32"): 1e-5, np.dtype("float64"): 1e-10, np.dtype("float16"): 4e-3}
MOVED = {np.dtype("float32"): 2.**-20, np.dtype("float64"): 2.**-48, np.dtype("float16"): 2.**-9}
TINY = {np.dtype("float32"): 1e-38, np.dtype("float64"): 1e-300, np.dtype("float16"): 1e-5}

onnxruntime.set_default_logger_severity(4)


class Failed(Exception):
    """The oracle cannot run this model. `lacks`: it has no kernel for an operator or type."""

    def __init__(self, text):
        super().__init__(text)
        self.lacks = "NOT_IMPLEMENTED" in text


def session(proto, optimised=False):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    levels = onnxruntime.GraphOptimizationLevel
    options.graph_optimization_level = levels.ORT_ENABLE_ALL if optimised else levels.ORT_DISABLE_ALL
    try:
        return onnxruntime.InferenceSession(proto.SerializeToString(), options, providers=["CPUExecutionProvider"])
    except Exception as error:  # its exceptions have no base of their own
        raise Failed(str(error)) from None


def run_session(made, feeds):
    try:
        return made.run(None, feeds)
    except Exception as error:
        raise Failed(str(error)) from None


def feeds_of(model, call):
    return {i.name: array for i, array in zip(model.proto.graph.input, model.calls[call])}


def runtime_outputs(model, optimised=False):
    made = session(model.proto, optimised)
    return [run_session(made, feeds_of(model, call)) for call in range(len(model.calls))]


def reference_outputs(model):
    try:
        evaluator = ReferenceEvaluator(model.proto)
        with np.errstate(all="ignore"):
            return [evaluator.run(None, feeds_of(model, call)) for call in range(len(model.calls))]
    except Exception as error:
        raise Failed(f"{type(error).__name__}: {error}") from None


def same_form(got, want):
    """None, or how type or shape differ."""
    if got.dtype != want.dtype:
        return f"has type {got.dtype} instead of {want.dtype}"
    if got.shape != want.shape:
        return f"has shape {got.shape} instead of {want.shape}"
    return None


def apart(got, want, allowed):
    """The elements that are further apart than `allowed`; NaN equals NaN."""
    with np.errstate(all="ignore"):
        if got.dtype.kind != "f":
            return np.abs(got.astype(np.float64) - want.astype(np.float64)) > allowed
        a, b = got.astype(np.float64), want.astype(np.float64)
        near = (np.abs(a - b) <= allowed) | (a == b) | (np.isnan(a) & np.isnan(b))
        near |= ~np.isfinite(a) & (np.abs(b) < allowed)  # as far as one likes: 1 / (x - x)
        return ~near & ~np.isinf(allowed)


def narrow(want):
    """How far an element may be at the first look."""
    if want.dtype.kind != "f" or not want.size:
        return np.zeros(want.shape)
    with np.errstate(all="ignore"):
        wide = np.abs(want.astype(np.float64))
        wide = np.where(np.isfinite(wide), wide, 0)
        return NARROW[want.dtype] * (wide + .1 * wide.max())


def first_look(got, want):
    """The places (call, output) that are not narrowly the same."""
    return [(c, i) for c, (gots, wants) in enumerate(zip(got, want)) for i, (g, w) in enumerate(zip(gots, wants))
            if same_form(g, np.asarray(w)) or apart(g, np.asarray(w), narrow(np.asarray(w))).any()]


class Node:
    """One node, run alone: in ONNX Runtime, or where it is known to be wrong in onnx.reference."""

    def __init__(self, node, opsets):
        self.node, self.opsets, self.made = node, opsets, {}
        row = find(node.domain, node.op_type)
        self.exact, self.inside = row is not None and row.exact, row and row.inside
        self.outputs = [name for name in node.output if name]

    def inputs(self):
        """Names that are read, by bodies too."""
        holder = helper.make_graph([self.node], "", [], [])
        own = {name for a in self.node.attribute if a.HasField("g") for n in a.g.node for name in n.output}
        own |= {i.name for a in self.node.attribute if a.HasField("g") for i in list(a.g.input) + list(a.g.initializer)}
        return [name for name in sorted(used_names(holder)) if name and name not in own]

    def proto(self, values, fixed):
        inputs = [helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(values[n].dtype), None)
                  for n in self.inputs() if n not in fixed]
        constants = [numpy_helper.from_array(values[n], n) for n in self.inputs() if n in fixed]
        outputs = [helper.make_empty_tensor_value_info(n) for n in self.outputs]
        graph = helper.make_graph([self.node], "node", inputs, outputs, constants)
        return helper.make_model(graph, opset_imports=self.opsets, ir_version=10)

    def run(self, values, constants):
        """`values`: name to array. `constants`: names of those that are initialisers and not floating-point."""
        fault = runtime_faults.of(self.node, [values.get(n) for n in self.node.input], self.opsets[0].version)
        feeds = {n: values[n] for n in self.inputs()}
        try:
            if fault and callable(fault.by):
                return dict(zip(self.outputs, fault.by(self.node, [values.get(n) for n in self.node.input])))
            if fault and fault.by is runtime_faults.FIRST_TRIP:
                return self.before_first_trip(values)
            if fault and fault.by is runtime_faults.REFERENCE:
                return dict(zip(self.outputs, self.reference(values).run(None, feeds)))
            for fixed in (constants & set(feeds), set(feeds)):
                try:
                    made = self.session(values, fixed)
                    rest = {n: a for n, a in feeds.items() if n not in fixed}
                    return dict(zip(self.outputs, run_session(made, rest)))
                except Failed as error:
                    if fixed == set(feeds) or error.lacks:
                        raise
        except Failed as error:
            if not error.lacks:
                raise
            with np.errstate(all="ignore"):
                return dict(zip(self.outputs, self.reference(values).run(None, feeds)))

    def before_first_trip(self, values):
        """The results of a Loop that makes no trips."""
        count = self.node.input[0]
        once = values | {count: np.ones_like(values[count])}
        made = run_session(self.session(once, set()), {n: once[n] for n in self.inputs()})
        given = [values.get(n) for n in self.node.input]
        return dict(zip(self.outputs, runtime_faults.before_first_trip(self.node, given, made)))

    def session(self, values, fixed):
        if len(fixed) == len(self.inputs()) and fixed:  # the values are in it
            return session(self.proto(values, fixed))
        key = tuple(sorted(fixed))
        if key not in self.made:
            self.made[key] = session(self.proto(values, fixed))
        return self.made[key]

    def reference(self, values):
        if "reference" not in self.made:
            self.made["reference"] = ReferenceEvaluator(self.proto(values, set()))
        return self.made["reference"]


class Careful:
    """A model, node by node."""

    def __init__(self, model):
        self.model, graph = model, model.proto.graph
        self.nodes = [Node(n, list(model.proto.opset_import)) for n in graph.node]
        self.initial = {t.name: numpy_helper.to_array(t) for t in graph.initializer}
        self.constants = {n for n, a in self.initial.items() if a.dtype.kind != "f"}
        self.names = [o.name for o in graph.output]
        self.undefined = set()  # names of results that ONNX does not define

    def values(self, call, moves=None):
        """All values of a call; with `moves`, moved."""
        values = dict(self.initial) | feeds_of(self.model, call)
        for node in self.nodes:
            rounds = moves is not None and not node.exact
            held = runtime_faults.held(node.node)
            given = values
            if rounds:
                given = {n: values[n] if n in held else move(values[n], moves) for n in node.inputs()}
            if moves is None:
                self.note_undefined(node, values)
            elif moves.settled and node.node.op_type == "Equal":
                given = given | made_equal(*node.node.input, given)
            made = node.run(given, self.constants)
            if made is None:
                raise Failed(f"{node.node.op_type} runs nowhere")
            made = {n: np.asarray(a) for n, a in made.items()}
            if moves is not None and node.node.op_type in runtime_faults.ONE_STEP:
                made = {n: one_step(a, moves) for n, a in made.items()}
            if node.node.op_type in runtime_faults.WITH_BODIES:
                made = {n: move(a, moves, 1) for n, a in made.items()} if rounds else made
            inside = node.inside(node.node, [given.get(n) for n in node.node.input]) if rounds and node.inside else 0
            coarse = runtime_faults.COARSE.get(node.node.op_type, 1)
            least = runtime_faults.LEAST.get(node.node.op_type, 0)
            values |= {n: move(a, moves, inside, coarse, least) for n, a in made.items()} if rounds else made
        return values

    def outputs(self, call):
        values = self.values(call)
        return [values[n] for n in self.names]

    def note_undefined(self, node, values):
        inputs = [values.get(n) for n in node.node.input]
        if self.undefined & set(node.inputs()) or runtime_faults.undefined(node.node, inputs, node.opsets[0].version):
            self.undefined |= set(node.outputs)

    def judge(self, call):
        """For each output what is wanted, and how far each element may be from it; None where it is not judged."""
        base = self.values(call)
        # At least less than any normal number.
        allowed = {n: narrow(base[n]) * .1 + TINY.get(base[n].dtype, 0) for n in self.names}
        pairs = [Moves(np.random.default_rng([pair, call]), side) for pair in range(PAIRS) for side in (1, -1)]
        for moves in pairs + [Moves(np.random.default_rng(call), settled=True)]:
            moved = self.values(call, moves)
            for n in self.names:
                if base[n].shape != moved[n].shape:
                    self.undefined.add(n)
                    continue
                with np.errstate(all="ignore"):
                    if base[n].dtype.kind != "f":
                        far = 4 * np.abs(base[n].astype(np.float64) - moved[n].astype(np.float64))
                        allowed[n] = np.fmax(allowed[n], far)
                        continue
                    a, b = base[n].astype(np.float64), moved[n].astype(np.float64)
                    far = np.where((a == b) | (np.isnan(a) & np.isnan(b)), 0, 4 * np.abs(a - b))
                    allowed[n] = np.fmax(allowed[n], np.where(np.isnan(far), np.inf, far))
        return [None if n in self.undefined else (base[n], allowed[n]) for n in self.names]


@dataclasses.dataclass
class Moves:
    """How the values of one run are moved. `side`: 1 or -1; a pair of runs moves all to opposite sides, so that what is
    close to a jump is seen on both, and a part of what may cancel is 0. `settled`: all of it is, as where 0/0 is NaN,
    what is all but equal is equal, and nothing else is moved."""
    generator: object
    side: int = 1
    settled: bool = False


def move(array, moves, inside=0, coarse=1, least=0):
    """Each element by some units in its last place, or in that of what cancelled inside, times `coarse`, and at least
    by `least`; zeros to one side or the other, so that what depends on their sign is seen."""
    if array.dtype.kind != "f" or array.dtype not in MOVED:
        return array
    generator = moves.generator
    with np.errstate(all="ignore"):
        far = coarse * MOVED[array.dtype] * np.fmax(np.abs(array), inside)
        far = np.where(np.isfinite(array), np.fmax(far, least), 0)
        may_vanish = np.abs(array) < np.fmax(far, TINY[array.dtype])
        if moves.settled:
            return np.asarray(np.where(may_vanish, 0, array)).astype(array.dtype)
        side = np.where(array == 0, TINY[array.dtype] * generator.choice([-1, 1]), 0)
        moved = array + moves.side * (far * generator.uniform(-1, 1, array.shape) + side)
        vanishes = may_vanish & (array != 0) & (generator.random(array.shape) < .3)
        return np.asarray(np.where(vanishes, 0, moved)).astype(array.dtype)


def made_equal(left, right, values):
    """`right`, but `left` where they are some units in the last place apart: no random move makes two numbers equal."""
    a, b = values[left], values[right]
    if a.dtype not in MOVED:
        return {}
    with np.errstate(all="ignore"):
        near = np.abs(a - b) <= 2 * MOVED[a.dtype] * np.fmax(np.abs(a), np.abs(b))
    return {right: np.where(near, a, b)}


def one_step(array, moves):
    limits = np.iinfo(array.dtype)
    moved = array.astype(np.int64) + moves.side * moves.generator.choice([-1, 1], array.shape)
    return np.clip(moved, limits.min, limits.max).astype(array.dtype)


def differs(got, judged):
    """The first difference of a call's outputs from what was judged, or None."""
    for i, (g, wanted) in enumerate(zip(got, judged)):
        if wanted is None:
            continue
        want, allowed = wanted
        problem = same_form(g, want)
        if problem:
            return f"out{i} {problem}"
        wrong = apart(g, want, allowed)
        if wrong.any():
            at = tuple(int(n) for n in np.argwhere(wrong)[0])
            return (f"out{i}{list(at)} is {g[at]} instead of {want[at]} (may be {float(allowed[at]):.3g} off); "
                    f"{int(wrong.sum())} of {wrong.size} elements")
    return None
