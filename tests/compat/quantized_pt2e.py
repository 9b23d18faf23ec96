"""Modules that torchao quantises (pt2e, XNNPACK's quantiser), as .pt2 and as ExecuTorch's .pte, and those whose weights
its quantize_() makes narrow, as .pt2, against PyTorch."""
import contextlib
import io
import logging
import pathlib
import tempfile
import warnings

import numpy as np

from drivers import Broken, Refused, difference
from quantized import products


def modules():
    """{name: (module, inputs)}"""
    import torch
    functional = torch.nn.functional
    torch.manual_seed(0)

    class Images(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.first = torch.nn.Conv2d(3, 16, 3, stride=2, padding=1)
            self.wide = torch.nn.Conv2d(16, 16, 3, padding=1, groups=16)
            self.last = torch.nn.Conv2d(16, 16, 1)
            self.classes = torch.nn.Linear(16, 10)

        def forward(self, x):
            x = torch.relu(self.first(x))
            x = torch.relu(x + self.last(functional.hardtanh(self.wide(x), 0., 6.)))
            return self.classes(x.mean((2, 3)))

    class Tokens(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.up, self.down = torch.nn.Linear(24, 40), torch.nn.Linear(40, 8)

        def forward(self, x):
            return self.down(functional.gelu(self.up(x)))

    return {"images": (Images().eval(), torch.randn(1, 3, 32, 32)), "tokens": (Tokens().eval(), torch.randn(2, 5, 24))}


def exported(module, x, dynamic, folder):
    """The paths of model.pt2 and model.pte, and what PyTorch computes."""
    import executorch.kernels.quantized  # noqa: F401
    import torch
    from executorch import exir
    from executorch.backends.xnnpack.quantizer import xnnpack_quantizer
    from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e
    config = xnnpack_quantizer.get_symmetric_quantization_config(is_per_channel=True, is_dynamic=dynamic)
    prepared = prepare_pt2e(torch.export.export(module, (x,)).module(),
                            xnnpack_quantizer.XNNPACKQuantizer().set_global(config))
    for _ in range(3):
        prepared(torch.randn_like(x))
    converted = convert_pt2e(prepared)
    want = converted(x).detach().numpy()
    program = torch.export.export(converted, (x,))
    torch.export.save(program, folder / "model.pt2")
    edge = exir.to_edge(program, compile_config=exir.EdgeCompileConfig(_check_ir_validity=False))
    (folder / "model.pte").write_bytes(edge.to_executorch().buffer)
    return [folder / "model.pt2", folder / "model.pte"], want


# What the quantiser itself leaves in float: dynamically, convolutions with an activation behind them.
FLOATS = {("images", True): 2}


def check(berth, file, x, want, expected, work):
    berth.call("compile", file, "-o", work / "out.pte", "--target", "cpu", "--dump-ir", work / "ir")
    integers, floats = products(work / "ir")
    np.save(work / "x.npy", x.numpy())
    got = berth.run(work / "out.pte", [work / "x.npy"], work / "out")
    note = f"  ({integers} of {integers + floats} products on integers)"
    return (f"{floats} products stay in float" if floats != expected else difference(got, [want])), note


def pt2e_models(berth, wanted, tally):
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    cases = [(name, dynamic) for name in ("images", "tokens") for dynamic in (False, True)]
    for name, dynamic in cases:
        case = f"{name} pt2e {'dynamic' if dynamic else 'static'}"
        if not wanted(case):
            continue
        with tempfile.TemporaryDirectory() as work:
            work = pathlib.Path(work)
            with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
                module, x = modules()[name]
                files, want = exported(module, x, dynamic, work)
            for file in files:
                place = work / file.suffix[1:]
                place.mkdir()
                try:
                    tally.add(f"{case} {file.suffix}", *check(berth, file, x, want, FLOATS.get((name, dynamic), 0), place))
                except (Refused, Broken) as error:
                    tally.add(f"{case} {file.suffix}", f"{type(error).__name__}: {error}")


def torchao_configs():
    """{name: configuration}: weights of 4 and 8 bits, alone and beside activations of 8 bits a row."""
    import torch
    from torchao.quantization import Int8DynamicActivationIntxWeightConfig, Int8WeightOnlyConfig, IntxWeightOnlyConfig
    from torchao.quantization.granularity import PerAxis, PerGroup
    narrow = {"weight_dtype": torch.int4}
    return {
        "4 bits a group": IntxWeightOnlyConfig(granularity=PerGroup(8), **narrow),
        "4 bits a column": IntxWeightOnlyConfig(granularity=PerAxis(0), **narrow),
        "8 bits": Int8WeightOnlyConfig(),
        "4 bits, dynamic": Int8DynamicActivationIntxWeightConfig(weight_granularity=PerGroup(8), **narrow),
    }


def narrowed(config, decomposed, folder):
    """The model, its inputs and what PyTorch computes of them."""
    import torch
    from torchao.quantization import quantize_
    from torchao.utils import unwrap_tensor_subclass
    module, x = modules()["tokens"]
    quantize_(module, config)
    module = unwrap_tensor_subclass(module)
    want = module(x).detach().numpy()
    program = torch.export.export(module, (x,))
    torch.export.save(program.run_decompositions() if decomposed else program, folder / "model.pt2")
    return x, want


def check_narrowed(berth, config, decomposed, work):
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        x, want = narrowed(config, decomposed, work)
    berth.call("compile", work / "model.pt2", "-o", work / "out.pte", "--target", "cpu", "--dump-ir", work / "ir")
    dump = sorted((work / "ir").glob("*.ir"))[-1].read_text()
    np.save(work / "x.npy", x.numpy())
    got = berth.run(work / "out.pte", [work / "x.npy"], work / "out")
    found = dump.count("= berth::narrow_linear(")
    return f"{found} of 2 products have narrow weights" if found != 2 else difference(got, [want])


def torchao_models(berth, wanted, tally):
    for name, config in torchao_configs().items():
        for decomposed in (False, True):
            case = f"tokens torchao {name}{' decomposed' if decomposed else ''}"
            if not wanted(case):
                continue
            with tempfile.TemporaryDirectory() as work:
                try:
                    tally.add(case, check_narrowed(berth, config, decomposed, pathlib.Path(work)))
                except (Refused, Broken) as error:
                    tally.add(case, f"{type(error).__name__}: {error}")
