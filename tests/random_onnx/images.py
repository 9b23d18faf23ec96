"""Rows of operators on pictures and signals."""
import numpy as np

from graph import F32, Unfit, each
from products import spatial
from table import row, rows


def resize(g, op):
    x = spatial(g, (F32, ), 4 if g.chance(.9) else 5)
    mode = g.choose(("nearest", "nearest", "linear", "linear", "cubic"))
    if mode == "cubic" and x.rank != 4:
        raise Unfit
    coordinates = ("half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel") + (
        ("half_pixel_symmetric", ) if g.opset >= 19 else ())
    attributes = {"mode": mode, "coordinate_transformation_mode": g.choose(coordinates)}
    if mode == "nearest":
        attributes |= g.some(nearest_mode=g.choose(("round_prefer_floor", "round_prefer_ceil", "floor", "ceil")))
    if mode == "cubic":
        attributes |= g.some(cubic_coeff_a=g.choose((-.5, -.75)), exclude_outside=g.number(0, 1))
    if any(0 in s for s in x.shapes):
        raise Unfit
    if g.opset >= 18 and mode != "nearest":
        attributes |= g.some(antialias=g.number(0, 1)) if g.chance(.3) else {}
    empty = g.constant(np.zeros(0, np.float32), plain=True) if g.opset < 13 else None
    if g.chance(.5):
        scales = [1., 1.] + [g.choose((.5, 1., 2., 3., 1.5, .7, .3, 2.6)) for _ in range(x.rank - 2)]
        shapes = each(lambda s: [int(np.floor(np.float32(n) * np.float32(k))) for n, k in zip(s, scales)], x)
        inputs = [x, empty, g.constant(np.array(scales, np.float32), plain=True)]
    else:
        sizes = [g.number(1, 13) for _ in range(x.rank - 2)]
        front = [x.fixed(0), x.fixed(1)]
        shapes = each(lambda s: list(s[:2]) + sizes, x)
        inputs = [x, empty, empty, g.ints(front + sizes)]
        if g.opset >= 18 and g.chance(.3):
            attributes["axes"] = list(range(2, x.rank))
            inputs[3] = g.ints(sizes)
    if any(0 in s for s in shapes):
        raise Unfit
    return g.node(op, inputs, F32, shapes, **attributes)


def grid_sample(g, op):
    x = spatial(g, (F32, ), 4, 4)
    if any(0 in s for s in x.shapes):
        raise Unfit
    h, w = g.number(1, 5), g.number(1, 5)
    grid = g.input(F32, each(lambda s: [s[0], h, w, 2], x),
                   lambda generator, s: generator.uniform(-1.3, 1.3, s).astype(np.float32))
    modes = ("bilinear", "nearest", "bicubic") if g.opset < 20 else ("linear", "nearest", "cubic")
    return g.node(op, [x, grid], F32, each(lambda s: [s[0], s[1], h, w], x),
                  **g.some(mode=g.choose(modes), padding_mode=g.choose(("zeros", "border", "reflection")),
                           align_corners=g.number(0, 1)))


def window(g, op):
    size = g.number(2, 12)
    return g.node(op, [g.constant(np.array(size, np.int64), plain=True)], F32, g.fixed_shapes(size),
                  **g.some(periodic=g.number(0, 1)))


def dft(g, op):
    n, length = g.number(1, 2), g.number(1, 8)
    x = g.input(F32, g.fixed_shapes(n, length, g.number(1, 2)))
    onesided = g.number(0, 1) if x.shape[2] == 1 else 0
    inverse = g.number(0, 1) if not onesided else 0
    attributes = g.some(inverse=inverse) if not inverse else {"inverse": 1}
    if onesided:
        attributes["onesided"] = 1
    shapes = g.fixed_shapes(n, length // 2 + 1 if onesided else length, 2)
    if g.opset >= 20:
        return g.node(op, [x, None, g.constant(np.array(1, np.int64), plain=True)], F32, shapes, **attributes)
    return g.node(op, [x], F32, shapes, axis=1, **attributes)


def stft(g, op):
    n, length = g.number(1, 2), g.number(6, 20)
    frame = g.number(2, min(6, length))
    step = g.number(1, 4)
    x = g.input(F32, g.fixed_shapes(n, length, 1))
    onesided = g.number(0, 1)
    window = g.weight(F32, (frame, ), constant=1) if g.chance(.6) else None
    count = (length - frame) // step + 1
    shapes = g.fixed_shapes(n, count, frame // 2 + 1 if onesided else frame, 2)
    return g.node(op, [x, g.constant(np.array(step), plain=True), window, g.constant(np.array(frame), plain=True)],
                  F32, shapes, onesided=onesided)


def sum_of_all(node, inputs):
    return np.abs(inputs[0]).sum()


for _ in range(3):  # it has many modes
    row("Resize", resize, inside=sum_of_all)
row("GridSample", grid_sample, since=16)
rows(("BlackmanWindow", "HammingWindow", "HannWindow"), window, since=17, inside=lambda node, inputs: 1)
row("DFT", dft, since=17, inside=sum_of_all)
row("STFT", stft, since=17, inside=sum_of_all)
