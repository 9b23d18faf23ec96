"""Conversions to and from narrow element types: ONNX's Cast in Berth against ml_dtypes, for every code and every float
of 16 bits, and for random floats of 32 and those around each element."""
import pathlib
import tempfile

import ml_dtypes
import numpy as np
import onnx
from onnx import TensorProto, helper

FLOATS = {"float8_e4m3fn": TensorProto.FLOAT8E4M3FN, "float8_e4m3fnuz": TensorProto.FLOAT8E4M3FNUZ,
          "float8_e5m2": TensorProto.FLOAT8E5M2, "float8_e5m2fnuz": TensorProto.FLOAT8E5M2FNUZ,
          "float8_e8m0fnu": TensorProto.FLOAT8E8M0, "float4_e2m1fn": TensorProto.FLOAT4E2M1}
INTEGERS = {"int4": TensorProto.INT4, "uint4": TensorProto.UINT4, "int2": TensorProto.INT2, "uint2": TensorProto.UINT2}
BITS = {"float4_e2m1fn": 4, "int4": 4, "uint4": 4, "int2": 2, "uint2": 2}


def cast(berth, x, source, target, **attributes):
    """`x`, as Berth reads it, through a model of one Cast."""
    node = helper.make_node("Cast", ["x"], ["y"], to=target, **attributes)
    graph = helper.make_graph([node], "cast", [helper.make_tensor_value_info("x", source, x.shape)],
                              [helper.make_tensor_value_info("y", target, x.shape)])
    with tempfile.TemporaryDirectory() as work:
        work = pathlib.Path(work)
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 24)], ir_version=12), work / "m.onnx")
        np.save(work / "x.npy", x)
        berth.compile(work / "m.onnx", work / "m.pte")
        return berth.run(work / "m.pte", [work / "x.npy"], work / "out")[0]


def same_numbers(got, want):
    """None, or the first difference; the sign of zero has a say, that of NaN has not."""
    got, want = got.astype(np.float32), want.astype(np.float32)
    wrong = ~((got == want) & (np.signbit(got) == np.signbit(want)) | np.isnan(got) & np.isnan(want))
    if not wrong.any():
        return None
    i = int(np.flatnonzero(wrong)[0])
    return f"{int(wrong.sum())} of {want.size} differ, first {got[i]} instead of {want[i]} at {i}"


def samples(dtype, seed):
    """f32: every element, the middles between them, their neighbours, and any bits."""
    codes = np.arange(1 << BITS.get(dtype.name, 8), dtype=np.uint8).view(dtype).astype(np.float32)
    finite = np.unique(codes[np.isfinite(codes)])
    middles = (finite[1:] / 2 + finite[:-1] / 2).astype(np.float32)
    near = np.concatenate([finite, middles])
    near = np.concatenate([near, np.nextafter(near, np.float32(np.inf)), np.nextafter(near, np.float32(-np.inf))])
    random = np.random.default_rng(seed).integers(0, 1 << 32, 200000, dtype=np.uint64).astype(np.uint32)
    return np.concatenate([near, random.view(np.float32), np.float32([np.nan, np.inf, -np.inf, 0, -0.0])])


def of_scales(x, mode):
    """f8e8m0 of positive numbers, by ONNX's table: saturated, and rounded as the mode says."""
    exact = np.clip(x.astype(np.float64), 2.0**-127, 2.0**127)
    power = np.log2(exact)
    low = 2.0 ** np.floor(power)
    if mode == "down":
        return low
    return np.where(exact > low, 2 * low, low) if mode == "up" else np.where(exact >= 1.5 * low, 2 * low, low)


def conversions(berth, names, tally):
    seed = int(np.random.default_rng().integers(1 << 30))
    halves = np.arange(1 << 16, dtype=np.uint16)
    for name, element in {**FLOATS, **INTEGERS}.items():
        if names and name not in names:
            continue
        dtype = np.dtype(getattr(ml_dtypes, name))
        codes = np.arange(1 << BITS.get(name, 8), dtype=np.uint8)
        for to, numpy in ((TensorProto.FLOAT, np.float32), (TensorProto.FLOAT16, np.float16)):
            with np.errstate(over="ignore", under="ignore"):
                want = codes.view(dtype).astype(np.float32).astype(numpy)
            tally.add(f"{name} to {np.dtype(numpy).name}", same_numbers(cast(berth, codes, element, to), want))
        if name in INTEGERS:
            x = np.arange(-1000, 1000, dtype=np.int64)
            got = cast(berth, x, TensorProto.INT64, element)
            tally.add(f"int64 to {name}", same_numbers(got, x.astype(dtype).astype(np.int8 if "u" not in name else np.uint8)))
            continue
        if name == "float8_e8m0fnu":
            x = np.abs(samples(dtype, seed))
            x = x[np.isfinite(x) & (x >= 2.0**-126)]  # below, f32 has fewer places than its name says
            for mode in ("up", "down", "nearest"):
                got = cast(berth, x, TensorProto.FLOAT, element, round_mode=mode)
                tally.add(f"float32 to {name}, {mode}", same_numbers(got.view(dtype), of_scales(x, mode)))
            continue
        for saturate in (0, 1):
            for source, x in ((TensorProto.FLOAT, samples(dtype, seed)), (TensorProto.FLOAT16, halves.view(np.float16)),
                              (TensorProto.BFLOAT16, halves.view(ml_dtypes.bfloat16))):
                largest = float(ml_dtypes.finfo(dtype).max)
                wide = x.astype(np.float32)
                with np.errstate(invalid="ignore"):
                    want = np.clip(wide, -largest, largest).astype(dtype) if saturate else wide.astype(dtype)
                if name == "float4_e2m1fn":  # has no NaN: ml_dtypes makes a zero of the other sign, Berth -0
                    want[np.isnan(wide)] = -0.0
                bits = halves if source == TensorProto.BFLOAT16 else x
                got = cast(berth, bits, source, element, saturate=saturate).view(dtype)
                tally.add(f"{x.dtype.name} to {name}, saturate={saturate}, seed {seed}", same_numbers(got, want))
