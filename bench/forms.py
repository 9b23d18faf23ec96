"""The suite's models in the narrow forms that people ship, made once from their f32 files.

    FORMS   f32        as they are
            bf16       the same files, computed in bf16
            s8s8       onnxruntime.quantization, static, QuantizeLinear and DequantizeLinear, weights i8 a channel,
                       activations i8
            u8s8       the same with activations u8
            dynamic    onnxruntime.quantization, dynamic: weights i8, activations measured in each run

`make(model, form)` is the folder with model.onnx and in0.npy… of a form, beside the f32 one. Activations are calibrated
on the model's inputs and seven variations of them; token ids are shuffled, numbers get noise of a tenth of their
deviation. `export_xnnpack(model, form)` writes ExecuTorch's program with its XNNPACK delegate, for static forms with
XNNPACKQuantizer (i8, symmetric, a scale a channel), for `dynamic` with its dynamic form.
"""
import shutil
import subprocess
import sys

import numpy as np

FORMS = ["f32", "bf16", "s8s8", "u8s8", "dynamic"]
STATIC = {"s8s8": "QInt8", "u8s8": "QUInt8"}


def inputs_of(model):
    return [np.load(path) for path in sorted(model.glob("in*.npy"))]


def variations(inputs, count=8):
    """The inputs, then others like them."""
    rng = np.random.default_rng(17)
    yield inputs
    for _ in range(count - 1):
        yield [x + rng.normal(0, .1 * x.std() + 1e-6, x.shape).astype(x.dtype) if x.dtype.kind == "f" else
               rng.permutation(x.reshape(-1)).reshape(x.shape) for x in inputs]


def quantize(model, form, to):
    """Writes `to` by onnxruntime.quantization, from a file that its own preparation has been through."""
    import onnx
    from onnxruntime import quantization as q
    prepared = to.with_name("prepared.onnx")
    q.shape_inference.quant_pre_process(str(model / "model.onnx"), str(prepared), skip_symbolic_shape=True)
    if form == "dynamic":
        # Its own shape inference refuses the shapes that it wrote for the products that it turns round.
        described = onnx.load(str(prepared))
        described.graph.ClearField("value_info")
        onnx.save(described, str(prepared))
        q.quantize_dynamic(str(prepared), str(to), weight_type=q.QuantType.QInt8, per_channel=True)
    else:
        graph = onnx.load(str(prepared)).graph
        names = [i.name for i in graph.input]
        # No 8 bits hold a mask of -inf: sums and softmax stay in f32 where there is one.
        masked = any(np.isneginf(onnx.numpy_helper.to_array(t)).any() for t in graph.initializer if t.data_type == 1)
        kinds = sorted({n.op_type for n in graph.node} - ({"Add", "Softmax", "Where"} if masked else set()))

        class Samples(q.CalibrationDataReader):
            rows = iter([dict(zip(names, one)) for one in variations(inputs_of(model))])

            def get_next(self):
                return next(self.rows, None)

        q.quantize_static(str(prepared), str(to), Samples(), quant_format=q.QuantFormat.QDQ, per_channel=True,
                          op_types_to_quantize=kinds if masked else None, weight_type=q.QuantType.QInt8, activation_type=q.QuantType[STATIC[form]],
                          extra_options={"ActivationSymmetric": False, "WeightSymmetric": True})
    prepared.unlink()


def make(model, form):
    if form in ("f32", "bf16"):
        return model
    folder = model.with_name(f"{model.name}.{form}")
    if not (folder / "model.onnx").exists():
        folder.mkdir(exist_ok=True)
        for path in model.glob("in*.npy"):
            shutil.copy(path, folder)
        quantize(model, form, folder / "made.onnx")
        (folder / "made.onnx").rename(folder / "model.onnx")
    return folder


def export_xnnpack(model, form):
    """ExecuTorch's program in the form's folder, made once; whether there is one. `model` is the f32 folder."""
    program = make(model, form) / "xnnpack.pte"
    if not program.exists() and (model / "model.pt2").exists():
        subprocess.run([sys.executable, __file__, str(model), form, str(program)], check=False,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return program.exists()


def write_xnnpack(model, form, program):
    import pathlib

    import torch
    from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
    from executorch.exir import to_edge_transform_and_lower
    exported = torch.export.load(f"{model}/model.pt2")
    if form in (*STATIC, "dynamic"):
        from executorch.backends.xnnpack.quantizer.xnnpack_quantizer import (XNNPACKQuantizer,
                                                                             get_symmetric_quantization_config)
        from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e
        dynamic = form == "dynamic"
        config = get_symmetric_quantization_config(is_per_channel=True, is_dynamic=dynamic)
        prepared = prepare_pt2e(exported.module(), XNNPACKQuantizer().set_global(config))
        samples = [tuple(map(torch.from_numpy, one)) for one in variations(inputs_of(pathlib.Path(model)))]
        for sample in samples:
            prepared(*sample)
        exported = torch.export.export(convert_pt2e(prepared), samples[0])
    edge = to_edge_transform_and_lower(exported, partitioner=[XnnpackPartitioner()])
    with open(program, "wb") as out:
        out.write(edge.to_executorch().buffer)


if __name__ == "__main__":
    write_xnnpack(*sys.argv[1:4])
