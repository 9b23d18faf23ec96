"""Every operator that may work in place, in ExecuTorch's runtime: out on the input, against out elsewhere.

Each row of format/operators.def that names arguments whose bytes a result may take is compiled twice, with the result
in that argument's bytes and with --no-inplace, for a small and for a large tensor: what passes at a hundred elements
may fail at four million, where kernels split their work over threads. All bytes of the outputs must be equal, in
ExecuTorch and in Berth. A row without a case fails; so does a case in which nothing was computed in place. Berth is
compared at the small size alone: its kernels have tests of their own.
"""
import dataclasses
import pathlib
import re
import tempfile

import numpy as np

from drivers import Broken, ExecuTorch, Refused

ROOT = pathlib.Path(__file__).resolve().parents[2]
ROW = re.compile(r'^OP\((\w+), "([^"]*)", "([^"]*)", "([^"]*)",\s*((?:"[^"]*"\s*)+),\s*(\w+), (\w+)(?:\(([\d, ]*)\))?,',
                 re.MULTILINE)
SMALL, LARGE = (4, 25), (2000, 2000)
THREADS = 4

# They write an argument beside their results, so no graph has them; the emitter writes state with two of them.
LACKING = {"scatter_reduce_two_out"}  # ExecuTorch's portable library has no kernel: Berth's runtime alone
WRITES_SELF = {"index_put_self", "copy_self", "native_batch_norm_legit_out"}


@dataclasses.dataclass
class Row:
    key: str
    name: str
    rule: str
    arguments: list  # that a result may be in
    schema: str


@dataclasses.dataclass
class Case:
    """`call` is the functional operator with its arguments as text; `inputs` are types; `kept`: the input that the
    method returns too, so that the result cannot be in it. `small`: not tried with a large tensor."""
    title: str
    call: str
    inputs: list
    results: list
    kept: list
    small: bool = False


def rows():
    """Of the operator table; Berth's own operators are in no program for ExecuTorch."""
    for key, name, overload, _, schema, rule, kind, arguments in ROW.findall((ROOT / "format/operators.def").read_text()):
        if kind != "NEVER" and not name.startswith("berth::"):
            full = name + ("." + overload if overload else "")
            yield Row(key, full, rule, [int(a) for a in arguments.split(",")], "".join(re.findall(r'"([^"]*)"', schema)))


FLOAT_RULES = {"unary_float", "binary_float", "binary_scalar_float", "clamp_tensor", "softmax", "layer_norm"}
BOOL_RULES = {"same_shape_bool", "compare"}
INTEGERS = ("bitwise", )
# Arguments of single operators beyond the tensors, where the schema's kind of argument says too little.
NUMBERS = {"alpha": "2", "beta": "3", "other": "3", "exponent": "2", "self": "2", "value": "7", "min": "-1", "max": "2",
           "min_val": "-1", "max_val": "1", "negative_slope": "0.125", "scale": "1.5", "input_scale": "0.5",
           "diagonal": "1", "eps": "0.001", "momentum": "0.1", "p": "0.5", "train": "false"}


def element_types(row):
    if row.key.startswith(INTEGERS):
        return ["i64", "u8"] if "shift" not in row.key else ["i64"]
    if row.key == "conj_physical_out":
        return ["c64"]
    if row.rule in BOOL_RULES:
        return ["i8", "bool"]  # one byte, as the result
    return ["f32"]


def plain(row):
    """Cases of element-wise operators, whose tensors are all of one type and whose other arguments are numbers."""
    parameters = [p.split("=")[0].split() for p in row.schema.split(" -> ")[0].split(", ")]
    tensors = [i for i, (kind, _) in enumerate(parameters) if kind.startswith("Tensor")]
    for element in element_types(row):
        result = "bool" if row.rule in BOOL_RULES else element
        text = lambda names: ", ".join(names[i] if i in names else number(row, *p) for i, p in enumerate(parameters))
        for argument in row.arguments:
            names = {i: f"%x{k}" for k, i in enumerate(tensors)}
            types = [f"{element}[R,C]"] * len(tensors)
            me = tensors.index(argument)
            others = [k for k in range(len(tensors)) if k != me]
            title = f"{row.name} {element} in {parameters[argument][1]}"
            yield Case(title, text(names), types, [f"{result}[R,C]"], others, element != element_types(row)[0])
            if not others:
                continue
            narrow = [types[me] if k == me else f"{element}[1,C]" for k in range(len(tensors))]
            yield Case(title + ", the other broadcast", text(names), narrow, [f"{result}[R,C]"], others, argument > 0)
        if len(row.arguments) > 1 and element != "bool":
            names = {i: "%x0" for i in tensors}
            yield Case(f"{row.name} {element} of one tensor twice", text(names), types[:1], [f"{result}[R,C]"], [], True)


def number(row, kind, name):
    if kind == "str" or kind == "str?":
        return {"approximate": '"none"', "rounding_mode": '"floor"'}[name]
    if kind == "MemoryFormat?":
        return "none"
    if kind in ("bool", "bool?"):
        return NUMBERS.get(name, "false")
    return NUMBERS[name]


F, V, I = "f32[R,C]", "f32[C]", "i32[R,C]"
WIDE = "-2147483648, 2147483647, i32"
SPECIAL = {
    "clamp_Tensor_out": [("%x0, %x1, %x2", [F, V, V], [F]), ("%x0, none, %x1", [F, F], [F])],
    "where_self_out": [("%x0, %x1, %x2", ["bool[R,C]", F, V], [F]), ("%x0, %x2, %x1", ["bool[R,C]", F, V], [F])],
    "masked_fill_Scalar_out": [("%x0, %x1, 7", [F, "bool[R,C]"], [F])],
    "cumsum_out": [("%x0, 1, none", [F], [F]), ("%x0, 0, none", [F], [F])],
    "log_softmax_out": [("%x0, 1, false", [F], [F]), ("%x0, 0, false", [F], [F])],
    "softmax_out": [("%x0, 1, false", [F], [F]), ("%x0, 0, false", [F], [F])],
    "native_batch_norm_legit_no_training_out": [
        ("%x0, %x1, %x2, %x3, %x4, 0.1, 0.001", [F, V, V, V, V], [F, "f32[0]", "f32[0]"])],
    "native_batch_norm_legit_no_stats_out": [("%x0, %x1, %x2, true, 0.1, 0.001", [F, V, V], [F, V, V])],
    "native_group_norm_out": [
        ("%x0, %x1, %x2, 1, R, C, 4, 0.001", ["f32[1,R,C]", "f32[R]", "f32[R]"],
         ["f32[1,R,C]", "f32[1,4]", "f32[1,4]"])],
    "native_layer_norm_out": [("%x0, [C], %x1, %x2, 0.001", [F, V, V], [F, "f32[R,1]", "f32[R,1]"])],
    "addmm_out": [("%x0, %x1, %x2, 2, 3", [F, "f32[R,3]", "f32[3,C]"], [F])],
    "index_put_out": [("%x0, [%x1], %x2, false", [F, "i64[2]", "f32[2,C]"], [F]),
                      ("%x0, [%x1], %x2, true", [F, "i64[2]", "f32[2,C]"], [F])],
    "scatter_src_out": [("%x0, 1, %x1, %x2", [F, "i64[R,1]", "f32[R,1]"], [F])],
    "scatter_value_out": [("%x0, 1, %x1, 7", [F, "i64[R,1]"], [F])],
    "scatter_add_out": [("%x0, 1, %x1, %x2", [F, "i64[R,1]", "f32[R,1]"], [F])],
    "scatter_reduce_two_out": [("%x0, 1, %x1, %x2, \"amax\", true", [F, "i64[R,1]", "f32[R,1]"], [F])],
    "select_scatter_out": [("%x0, %x1, 0, 2", [F, V], [F])],
    "slice_scatter_out": [("%x0, %x1, 1, 3, 23, 2", [F, "f32[R,10]"], [F])],
    "masked_scatter_out": [("%x0, %x1, %x2", [F, "bool[R,C]", F], [F])],
    "fill_Tensor_out": [("%x0, %x1", [F, "f32[]"], [F])],
    "copy_out": [("%x0, %x1, false", [F, V], [F])],
    "native_dropout_out": [("%x0, 0.5, false", [F], [F, "bool[R,C]"])],
    "clone_dim_order_out": [("%x0, false, none", [F], [F])],
    # In place only where the integers are as wide as the floating numbers.
    "quantize_per_tensor_out": [(f"%x0, 0.5, 0, {WIDE}", [F], [I])],
    "quantize_per_tensor_Tensor_out": [(f"%x0, %x1, %x2, {WIDE}", [F, "f64[]", "i64[]"], [I])],
    "quantize_per_channel_out": [(f"%x0, %x1, %x2, 1, {WIDE}", [F, "f64[C]", "i64[C]"], [I])],
    "quantize_per_token_out": [(f"%x0, %x1, %x2, {WIDE}", [F, "f64[R,1]", "i64[R,1]"], [I])],
    "dequantize_per_tensor_out": [(f"%x0, 0.5, 0, {WIDE}", [I], [F])],
    "dequantize_per_tensor_Tensor_out": [(f"%x0, %x1, %x2, {WIDE}", [I, "f64[]", "i64[]"], [F])],
    "dequantize_per_channel_out": [(f"%x0, %x1, %x2, 1, {WIDE}", [I, "f64[C]", "i64[C]"], [F])],
    "dequantize_per_token_out": [(f"%x0, %x1, %x2, {WIDE}, f32", [I, "f64[R,1]", "i64[R,1]"], [F])],
    "quantized_add_out": [("%x0, 0.5, 1, 0, 255, %x1, 0.25, 2, 0, 255, 1.0, 3, 0, 255", ["u8[R,C]"] * 2, ["u8[R,C]"])],
    "div_out_mode": [("%x0, %x1, \"floor\"", [F, F], [F]), ("%x0, %x1, \"trunc\"", [F, V], [F])],
}


def special(row):
    for call, inputs, results in SPECIAL[row.key]:
        kept = [k for k in range(len(inputs)) if k != (1 if row.key == "where_self_out" else 0)]
        yield Case(f"{row.name}({call})", call, inputs, results, kept)


def sized(text, shape):
    return re.sub(r"\bR\b", str(shape[0]), re.sub(r"\bC\b", str(shape[1]), text))


def program(case, row, shape):
    inputs = ", ".join(f"%x{i}: {t}" for i, t in enumerate(case.inputs))
    results = ", ".join(f"%y{i}: {t}" for i, t in enumerate(case.results))
    outputs = ", ".join(["%y0"] + [f"%x{k}" for k in case.kept])
    return sized(f"method forward({inputs}) {{\n  {results} = {row.name}({case.call})\n  return {outputs}\n}}\n", shape)


def feeds(case, shape, work):
    for i, text in enumerate(case.inputs):
        element, sizes = re.fullmatch(r"(\w+)\[(.*)\]", sized(text, shape)).groups()
        sizes = [int(s) for s in sizes.split(",") if s]
        path = work / f"{element}-{'x'.join(map(str, sizes))}-{i}.npy"
        if not path.exists():
            np.save(path, values(element, sizes, np.random.default_rng(i)))
        yield path


def values(element, sizes, random):
    if element == "bool":
        return random.random(sizes) < .5
    if element == "c64":
        return (random.random(sizes) + 1j * random.random(sizes)).astype(np.complex64)
    if element == "f32":  # positive, so that few results are NaN
        return (random.random(sizes, np.float32) * 4 + np.float32(.125)).astype(np.float32)
    if element == "f64":  # scales
        return random.random(sizes) + .5
    if element == "i64" and len(sizes) and sizes[-1] in (1, 2):  # an index
        return np.arange(np.prod(sizes), dtype=np.int64).reshape(sizes) % 4
    return random.integers(1, 9, sizes).astype({"i64": np.int64, "i32": np.int32, "i8": np.int8, "u8": np.uint8}[element])


def same(a, b):
    if len(a) != len(b):
        return f"{len(a)} outputs and {len(b)}"
    for i, (x, y) in enumerate(zip(a, b)):
        if x.shape != y.shape or x.dtype != y.dtype:
            return f"out{i} is {x.dtype}{x.shape} and {y.dtype}{y.shape}"
        if x.tobytes() != y.tobytes():
            wrong = np.ascontiguousarray(x).view(np.uint8) != np.ascontiguousarray(y).view(np.uint8)
            return f"out{i} differs in {int(wrong.sum())} of {wrong.size} bytes"
    return None


def try_case(berth, executorch, case, row, shape, work):
    """Problem or None."""
    source, file, outputs = work / "case.ir", work / "case.pte", []
    source.write_text(program(case, row, shape))
    inputs = list(feeds(case, shape, work))
    for option, wanted in (("--no-inplace", 0), ("--json", 1)):
        report = berth.compile(source, file, "--no-reorder", option)
        if report["in_place"] != wanted:
            return f"{report['in_place']} results in place with {option}"
        lacking = row.key in LACKING
        ours = berth.run(file, inputs, work / "ours")[:1] if shape is SMALL or lacking else []
        theirs = [] if lacking else executorch.run(file, inputs, work / "theirs", threads=THREADS,
                                                   dtypes=dtypes_of(case))[0][:1]
        outputs.append((ours, theirs))
    for who, (elsewhere, in_place) in zip(("Berth", "ExecuTorch"), zip(*outputs)):
        problem = same(in_place, elsewhere)
        if problem:
            return f"{who}: {problem}"
    return None


def dtypes_of(case):
    names = {"f32": "float32", "i64": "int64", "i8": "int8", "u8": "uint8", "bool": "bool", "i32": "int32", "c64": "complex64", "f64": "float64"}
    return [names[text.split("[")[0]] for text in case.inputs]


def cases_of(row):
    return list(special(row) if row.key in SPECIAL else plain(row))


def in_place(berth, patterns, tally):
    """`patterns`: parts of operators' names."""
    executorch = ExecuTorch()
    with tempfile.TemporaryDirectory() as folder:
        work = pathlib.Path(folder)
        for row in rows():
            if row.key in WRITES_SELF or patterns and not any(p in row.name for p in patterns):
                continue
            try:
                problem = try_row(berth, executorch, row, work)
            except (KeyError, ValueError) as error:
                problem = f"has no case in in_place.py: {type(error).__name__} {error}"
            tally.add(row.name, problem)


def try_row(berth, executorch, row, work):
    for case in cases_of(row):
        for shape in (SMALL, ) if case.small else (SMALL, LARGE):
            try:
                problem = try_case(berth, executorch, case, row, shape, work)
            except (Refused, Broken) as error:
                problem = str(error)
            if problem:
                return f"{case.title}, {shape[0]} x {shape[1]}: {problem}"
    return None
