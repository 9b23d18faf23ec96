#!/usr/bin/env python3
"""Writes the seeds of pt2_fuzz: small programs as torch.export writes them, as JSON and one whole archive.

    tests/fuzz/make_pt2_corpus.py tests/fuzz/corpus/pt2_fuzz
"""
import json
import pathlib
import sys
import zipfile

F32, I64, BOOL = 7, 5, 12
S = "Symbol('s77', positive=True, integer=True)"


def size(value):
    return {"as_int": value} if isinstance(value, int) else {"as_expr": {"expr_str": value, "hint": None}}


def meta(*sizes, dtype=F32):
    strides, step = [], 1
    for s in reversed(sizes):
        strides.insert(0, step)
        step *= s if isinstance(s, int) else 1
    return {"dtype": dtype, "sizes": [size(s) for s in sizes], "strides": [size(s) for s in strides],
            "storage_offset": {"as_int": 0}, "layout": 7}


def tensor(name):
    return {"as_tensor": {"name": name}}


def tensors(*names):
    return {"as_tensors": [{"name": n} for n in names]}


def node(operator, output, /, *positional, **inputs):
    named = [{"name": "", "arg": a, "kind": 1} for a in positional] + [{"name": k, "arg": v, "kind": 1} for k, v in inputs.items()]
    outputs = [tensor(output)] if isinstance(output, str) else output
    return {"target": "torch.ops." + operator, "inputs": named, "outputs": outputs, "metadata": {}}


def graph(inputs, nodes, outputs):
    """`inputs` are pairs of name and meta."""
    return {"inputs": [tensor(n) for n, _ in inputs], "outputs": [tensor(o) if isinstance(o, str) else o for o in outputs],
            "nodes": nodes, "tensor_values": dict(inputs), "sym_int_values": {}, "sym_bool_values": {}}


def within(inputs, nodes, outputs):
    return {"as_graph": {"name": "body", "graph": graph(inputs, nodes, outputs)}}


WEIGHTS = {"p_w": ("parameter", "parameter_name", "w", meta(2, 2)), "p_b": ("buffer", "buffer_name", "b", meta(2)),
           "c_c": ("tensor_constant", "tensor_constant_name", "c", meta(2, dtype=I64))}


def program(inputs, nodes, outputs, weights=(), ranges=None, mutations=()):
    specs, metas = [], []
    for name in weights:
        kind, field, full, tensor_meta = WEIGHTS[name]
        metas.append((name, tensor_meta))
        specs.append({kind: {"arg": {"name": name}, field: full, **({"persistent": True} if kind == "buffer" else {})}})
    specs += [{"user_input": {"arg": tensor(n)}} for n, _ in inputs]
    whole = graph(metas + list(inputs), nodes, [v for v, _ in mutations] + list(outputs))
    out = [{"buffer_mutation": {"arg": {"name": v}, "buffer_name": b}} for v, b in mutations]
    out += [{"user_output": {"arg": tensor(o) if isinstance(o, str) else o}} for o in outputs]
    return {"graph_module": {"graph": whole, "signature": {"input_specs": specs, "output_specs": out}},
            "range_constraints": ranges or {}, "schema_version": {"major": 8, "minor": 20}}


def integer(i):
    return {"as_int": i}


def integers(*i):
    return {"as_ints": list(i)}


def python(target, output, *args):
    """A function of Python's on numbers: "_operator.truediv"."""
    made = node("", [output], **{name: arg for name, arg in zip("abc", args)})
    return {**made, "target": target}


def sym(kind, name):
    return {f"as_sym_{kind}": {"as_name": name}}


X = ("x", meta(2, 2))
WINDOW = {"kernel_size": integers(2, 2), "dilation": integers(1, 1), "padding": integers(0, 1), "stride": integers(1, 1)}
SEEDS = {
    "linear": program([X], [node("aten.linear.default", "y", input=tensor("x"), weight=tensor("p_w"), bias=tensor("p_b")),
                            node("aten.silu.default", "z", self=tensor("y"))], ["z", "x", {"as_none": True}], ["p_w", "p_b"]),
    "state": program([X], [node("aten.add.Tensor", "y", self=tensor("p_b"), other=integer(1)),
                           node("aten.mul.Tensor", "z", self=tensor("x"), other=tensor("y"))], ["z"], ["p_b"], mutations=[("y", "b")]),
    "in_place": program([X], [node("aten.clone.default", "y", self=tensor("x")),
                              node("aten.select.int", "r", self=tensor("y"), dim=integer(0), index=integer(1)),
                              node("aten.add_.Tensor", "a", self=tensor("r"), other={"as_float": 1.5}),
                              node("aten.view.default", "v", self=tensor("y"), size=integers(-1))], ["v", "y", "a"]),
    "symbols": program([("x", meta(S, 3)), ("y", meta(f"Mul(Integer(2), {S})", 3))],
                       [node("aten.sym_size.int", [{"as_sym_int": {"as_name": "n"}}], self=tensor("x"), dim=integer(0)),
                        node("aten.full.default", "f", size={"as_sym_ints": [{"as_name": "n"}, {"as_int": 3}]},
                             fill_value={"as_float": 0.5}, dtype={"as_scalar_type": F32}),
                        node("aten.add.Tensor", "z", self=tensor("x"), other=tensor("f"))],
                       ["z", "y", {"as_sym_int": {"as_name": "n"}}], ranges={"s77": {"min_val": 1, "max_val": 4}}),
    "open_symbol": program([("x", meta(S, 3))], [node("aten.relu.default", "y", self=tensor("x"))], ["y"],
                           ranges={"s77": {"min_val": 0, "max_val": None}}),
    "index": program([X], [node("aten.index.Tensor", "y", self=tensor("x"),
                                indices={"as_optional_tensors": [{"as_none": True}, {"as_tensor": {"name": "c_c"}}]}),
                           node("aten.split.Tensor", [tensors("p", "q")], self=tensor("y"), split_size=integer(1)),
                           node("aten.cat.default", "z", tensors=tensors("q", "p"), dim=integer(1))], ["z"], ["c_c"]),
    "cond": program([X, ("t", meta(dtype=BOOL))],
                    [node("higher_order.cond", "y", tensor("t"), within([X], [node("aten.relu.default", "y", self=tensor("x"))], ["y"]),
                          within([X], [node("aten.neg.default", "y", self=tensor("x"))], ["y"]), tensors("x"))], ["y"]),
    "scan": program([X, ("s", meta(2))],
                    [node("higher_order.scan", [tensor("l"), tensor("a")],
                          within([("c", meta(2)), ("r", meta(2))], [node("aten.add.Tensor", "n", self=tensor("c"), other=tensor("r"))],
                                 ["n", "r"]), tensors("s"), tensors("x"), tensors())], ["l", "a"]),
    "conv": program([("x", meta(1, 2, 4, 4))],
                    [node("aten.pad.default", "y", self=tensor("x"), pad=integers(1, 1), mode={"as_string": "reflect"}),
                     node("aten.max_pool2d.default", "z", self=tensor("y"), kernel_size=integers(3), ceil_mode={"as_bool": True}),
                     node("aten.upsample_bilinear2d.vec", "u", input=tensor("z"), output_size={"as_none": True},
                          align_corners={"as_bool": False}, scale_factors={"as_floats": [2.0, 2.0]}),
                     node("aten.adaptive_avg_pool2d.default", "a", self=tensor("u"), output_size=integers(2, 3))], ["a"]),
    "numbers": program([("x", meta(S, 3))],
                       [node("aten.sym_size.int", [sym("int", "n")], self=tensor("x"), dim=integer(0)),
                        python("_operator.truediv", sym("float", "q"), sym("int", "n"), integer(4)),
                        python("_operator.gt", sym("bool", "m"), sym("int", "n"), integer(2)),
                        python("torch.sym_ite", sym("int", "k"), sym("bool", "m"), sym("int", "n"), integer(7)),
                        node("aten.mul.Tensor", "y", self=tensor("x"), other=sym("float", "q")),
                        node("aten.full.default", "f", size=integers(3), fill_value=sym("int", "k"))],
                       ["y", "f", sym("float", "q"), sym("bool", "m")], ranges={"s77": {"min_val": 1, "max_val": 4}}),
    "losses": program([X, ("t", meta(2, dtype=I64))],
                      [node("aten.cross_entropy_loss.default", "a", self=tensor("x"), target=tensor("t")),
                       node("aten.huber_loss.default", "b", self=tensor("x"), target=tensor("p_w"), delta={"as_float": 0.5}),
                       node("aten.binary_cross_entropy_with_logits.default", "c", self=tensor("x"), target=tensor("p_w"),
                            reduction=integer(0))], ["a", "b", "c"], ["p_w"]),
    "windows": program([("x", meta(1, 2, 4, 4))],
                       [node("aten.im2col.default", "y", self=tensor("x"), **WINDOW),
                        node("aten.col2im.default", "z", self=tensor("y"), output_size=integers(4, 4), **WINDOW),
                        node("aten.diff.default", "d", self=tensor("z"), n=integer(2)),
                        node("aten.bucketize.Tensor", "b", self=tensor("d"), boundaries=tensor("p_b")),
                        node("aten.repeat_interleave.self_Tensor", "r", self=tensor("p_w"), repeats=tensor("c_c"), dim=integer(0)),
                        node("aten.tril_indices.default", "i", row=integer(2), col=integer(3))],
                       ["z", "b", "r", "i"], ["p_w", "p_b", "c_c"]),
    "recurrent": program([("x", meta(2, 1, 2)), ("h", meta(1, 1, 2))],
                         [node("aten.rnn_tanh.input", [tensor("y"), tensor("n")], input=tensor("x"), hx=tensor("h"),
                               params=tensors("p_w", "p_w"), has_biases={"as_bool": False}, num_layers=integer(1),
                               dropout={"as_float": 0.0}, train={"as_bool": False}, bidirectional={"as_bool": False},
                               batch_first={"as_bool": False})], ["y", "n"], ["p_w"]),
}


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name, seed in SEEDS.items():
        (folder / f"{name}.json").write_text(json.dumps(seed, separators=(",", ":")))
    # Fixed dates, so that the same bytes come out every time.
    with zipfile.ZipFile(folder / "archive.pt2", "w", zipfile.ZIP_STORED) as archive:
        text = json.dumps(program([X], [node("aten.relu.default", "y", self=tensor("x"))], ["y"]), separators=(",", ":"))
        for name, content in (("models/model.json", text), ("archive_format", "pt2"), ("byteorder", "little")):
            archive.writestr(zipfile.ZipInfo("m/" + name), content)


if __name__ == "__main__":
    main()
