"""`berth quantize` against `onnxruntime.quantization`, on the same models and samples: how near each stays to the model
in f32 on samples that neither has seen, and how large it is. A trained model (handwritten digits of scikit-learn) has
accuracies; the others, of the suite, the share of rows whose largest element stays where it was.

onnxruntime.quantization: static, QDQ, U8S8, per channel, min-max. Berth: as it is when it is told nothing.
"""
import json
import os
import pathlib
import tempfile

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]
KNOWN = {"digits": ROOT / "models", "dscnn_kws": ROOT / "models", "randwire": ROOT / "models"}
SUITE = ["mobilenet_v2", "resnet18", "squeezenet1_1", "vit_small"]
CALIBRATE, JUDGE = 32, 16
# How much worse Berth's may be: of signal to noise in dB, of rows in their share.
DECIBELS, SHARE = 1.0, 0.02


def digits():
    """Images of 8x8 pixels: (to calibrate with, to judge by, their digits); those of the test are a quarter."""
    from sklearn.datasets import load_digits
    data = load_digits()
    x = data.images.astype(np.float32)[:, None, None]
    test = np.arange(len(x)) % 4 == 0
    return list(x[~test][:200]), list(x[test]), data.target[test]


def random_samples(session, seed):
    shape = [size if isinstance(size, int) else 1 for size in session.get_inputs()[0].shape]
    random = np.random.default_rng(seed)
    return [random.standard_normal(shape).astype(np.float32) for _ in range(CALIBRATE + JUDGE)]


def by_onnxruntime(model, samples, folder):
    import onnxruntime.quantization as q

    class Reader(q.CalibrationDataReader):
        def __init__(self, name):
            self.feed = iter([{name: sample} for sample in samples])

        def get_next(self):
            return next(self.feed, None)

    import onnxruntime as ort
    name = ort.InferenceSession(str(model)).get_inputs()[0].name
    ready, quantised = folder / "ready.onnx", folder / "ort.onnx"
    q.shape_inference.quant_pre_process(str(model), str(ready))
    q.quantize_static(str(ready), str(quantised), Reader(name), quant_format=q.QuantFormat.QDQ, per_channel=True,
                      activation_type=q.QuantType.QUInt8, weight_type=q.QuantType.QInt8,
                      calibrate_method=q.CalibrationMethod.MinMax)
    return quantised


def by_berth(berth, model, samples, folder):
    calibrate = folder / "calibrate"
    calibrate.mkdir()
    for i, sample in enumerate(samples):
        np.save(calibrate / f"{i}.npy", sample)
    program = folder / "berth.pte"
    report = json.loads(berth.call("quantize", model, "--calibrate", calibrate, "-o", program, "--target", "cpu", "--json"))
    return program, report


def outputs_of_berth(berth, program, samples, folder):
    outputs = []
    for sample in samples:
        np.save(folder / "x.npy", sample)
        outputs.append(berth.run(program, [folder / "x.npy"], folder / "out")[0])
    return outputs


def outputs_of_onnxruntime(model, samples):
    import onnxruntime as ort
    session = ort.InferenceSession(str(model), providers=["CPUExecutionProvider"])
    name = session.get_inputs()[0].name
    return [session.run(None, {name: sample})[0] for sample in samples]


def sqnr(expected, actual):
    signal = sum(float((e.astype(np.float64) ** 2).sum()) for e in expected)
    noise = sum(float(((e.astype(np.float64) - a) ** 2).sum()) for e, a in zip(expected, actual))
    return 10 * np.log10(signal / noise)


def share(expected, actual):
    """Of rows along the last dimension, those whose largest element is at the same place."""
    return float(np.mean(np.concatenate([(e.argmax(-1) == a.argmax(-1)).ravel() for e, a in zip(expected, actual)])))


def judge(berth, name, model, seed, work):
    """(what is wrong, the table's row)."""
    import onnxruntime as ort
    labels = None
    if name == "digits":
        calibrate, unseen, labels = digits()
    else:
        samples = random_samples(ort.InferenceSession(str(model)), seed)
        calibrate, unseen = samples[:CALIBRATE], samples[CALIBRATE:]
    exact = outputs_of_onnxruntime(model, unseen)
    theirs_model = by_onnxruntime(model, calibrate, work)
    theirs = outputs_of_onnxruntime(theirs_model, unseen)
    program, report = by_berth(berth, model, calibrate, work)
    ours = outputs_of_berth(berth, program, unseen, work)
    row = {"model": name, "their dB": sqnr(exact, theirs), "dB": sqnr(exact, ours)}
    if labels is None:
        row |= {"f32": 1.0, "theirs": share(exact, theirs), "ours": share(exact, ours)}
    else:
        right = lambda outputs: float(np.mean([o.argmax() == label for o, label in zip(outputs, labels)]))
        row |= {"f32": right(exact), "theirs": right(theirs), "ours": right(ours)}
    row |= {"f32 KB": os.path.getsize(model) / 1e3, "their KB": os.path.getsize(theirs_model) / 1e3,
            "KB": os.path.getsize(program) / 1e3, "layers": sum(l["state"] == "8 bits" for l in report["layers"])}
    problem = None
    if row["dB"] < row["their dB"] - DECIBELS:
        problem = f"{row['dB']:.1f} dB, onnxruntime.quantization {row['their dB']:.1f}, seed {seed}"
    elif row["ours"] < row["theirs"] - SHARE:
        problem = f"{row['ours']:.1%} right, onnxruntime.quantization {row['theirs']:.1%}, seed {seed}"
    return problem, row


def quantize(berth, names, tally, models):
    """`models` holds the suite, NAME/model.onnx; what is not there is left out."""
    import logging
    logging.disable(logging.WARNING)
    places = KNOWN | {name: models for name in SUITE if (models / name / "model.onnx").exists()}
    seed = int(os.environ.get("BERTH_SEED", "0"))
    print(f"{'model':16} {'f32':>7} {'ORT':>7} {'Berth':>7}   {'ORT dB':>7} {'Berth':>7}   {'f32 KB':>9} {'ORT':>9} {'Berth':>9}")
    for name in names or places:
        with tempfile.TemporaryDirectory() as folder:
            problem, row = judge(berth, name, places[name] / name / "model.onnx", seed, pathlib.Path(folder))
        print(f"{name:16} {row['f32']:7.1%} {row['theirs']:7.1%} {row['ours']:7.1%}   {row['their dB']:7.1f} {row['dB']:7.1f}   "
              f"{row['f32 KB']:9.0f} {row['their KB']:9.0f} {row['KB']:9.0f}", flush=True)
        tally.add(f"quantize {name}", problem)
