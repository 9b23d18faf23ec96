"""compile() and what reads files without running them."""

from __future__ import annotations

import os

from . import _berth
from ._errors import Error, InvalidArgumentError
from ._models import ModelFile, pairs, path_text, shape_text, strings
from ._plugin import plugin_list
from ._program import Program

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import Any, Union

    import numpy as np

    from ._plugin import Plugin

    Path = Union[str, os.PathLike[str]]
    # Paths of shared libraries and berth.Plugins, one or several.
    Plugins = Union[Path, Plugin, Sequence[Union[Path, Plugin]]]
    # A path, bytes, an onnx.ModelProto, or a torch.export.ExportedProgram.
    Model = Union[Path, bytes, Any]
    Shape = Union[str, int, Sequence[Union[int, tuple[int, int], str]]]
    # {"a": "b"} or ["a=b"].
    Pairs = Union[dict[str, str], Sequence[str]]
    Numbers = Union[Sequence[int], np.ndarray]

# How options are written in Python that the compiler takes as lists of text.
_FORMS = {
    "place": pairs,
    "device_io": pairs,
    "pins": pairs,
    "states": pairs,
    "external_constants": lambda value: [f"{glob}={file}" for glob, file in value.items()]
    if hasattr(value, "items")
    else strings(value),
    "banks": strings,
    "specs": strings,
    "why": strings,
    "in_place_operators": strings,
    "target": lambda value: ",".join(strings(value)),
    "dump_ir": path_text,
    "time_limit": float,
}


def _options(given):
    return {name: _FORMS.get(name, lambda x: x)(value) for name, value in given.items() if value is not None}


def compile(
    model: Model | dict[str, Model],
    target: str | Sequence[str] | None = None,
    *,
    input_shapes: dict[str, Shape] | None = None,
    where: str | Sequence[str] = (),
    output: Path | None = None,
    data: Path | Sequence[Path] = (),
    plugins: Plugins = (),
    methods: dict[str, dict[str, Any]] | None = None,
    share_state: bool = False,
    cpu: str | None = None,
    precision: str | None = None,
    activations: str | None = None,
    place: Pairs | None = None,
    node_device: Callable[[str, str, str], str | None] | None = None,
    specs: Sequence[str] | None = None,
    split: bool | None = None,
    by_cost: bool | None = None,
    costs: Path | None = None,
    device_io: Pairs | None = None,
    banks: Sequence[str] | None = None,
    pins: Pairs | None = None,
    states: Pairs | None = None,
    planner: str | None = None,
    alignment: int | None = None,
    in_place: bool | None = None,
    in_place_operators: Sequence[str] | None = None,
    alias: bool | None = None,
    reorder: bool | None = None,
    overlap: str | None = None,
    fusion: bool | None = None,
    external_constants: Pairs | None = None,
    constant_alignment: int | None = None,
    segment_alignment: int | None = None,
    time_limit: float | None = None,
    dump_ir: Path | None = None,
    why: str | Sequence[str] | None = None,
    stack_traces: bool | None = None,
    verify_ir: bool | None = None,
    progress: Callable[[str, float], Any] | bool | None = None,
) -> Program:
    """Compiles a model to a program.

    model              a path (.onnx, .pt2, .pte, .ir), the bytes of such a file, an onnx.ModelProto or a
                       torch.export.ExportedProgram; or {"prefill": model, "decode": model}: several as the methods of
                       one program
    target             "portable" (the default), "cpu", "cuda:0", "vulkan:0", "sim:0", or several in order of
                       preference; "auto": the devices of this machine and cpu, by_cost
    input_shapes       {"x": "1x3x224x224"}, {"x": (1, 3, 224, 224)}; a dimension may be a range, "1..8" or (1, 8).
                       Needed for inputs of unknown size. Of several models {"prefill:x": …}
    where              ["T=1..512", "H%32==0", "T+P<=512"]: what holds for sizes that have names, the model's or those
                       of input_shapes, {"x": "1x3xHxW"}. Of several models "prefill:T=1..512"
    output             a path: the program is written there as it is made and then mapped, so that weights take no
                       memory; otherwise the program is in memory
    data               data files (.ptd) of a .pte that has its constants in them
    plugins            berth.Plugins, and paths of shared libraries with targets, backends and operators of your own,
                       which run with all your rights
    methods            {"decode": {"target": "cpu", …}}: what methods have otherwise than the rest
    share_state        of several models, states of one name are one state
    cpu                the instruction set that the cpu target packs weights for: "native", "generic", "avx2", "avx512"
    precision          "bf16" or "f16": the cpu target keeps weights in 16 bits; default: "f32", as the model has them
    activations        "int8": the cpu target rounds what weights of 8 and 4 bits are multiplied with to 8 bits, in
                       blocks; default: "float"
    place              {"glob": "cuda:0"}: nodes of these names run there; later ones win
    node_device        the same as a function (method, node, operator) -> "cuda:0" or None; it takes precedence
    specs              ["mine:KEY=VALUE"]: compile specs of the delegates of a target
    split              True: one contiguous part of about equal work for each target
    by_cost            True: each part runs on that of the targets where it is estimated to take less time
    costs              the file that `berth tune` wrote, which implies by_cost where there is no overlap; "none":
                       estimates alone; default: tune's own default, if that file is there
    device_io          {"x": "cuda:0"}: this input or output is in the caller's memory on that device; with "cpu" in the
                       caller's memory on the host, so that nothing is copied
    banks              ["sram=256K", "dram,slow"]: named pieces of a device's memory, in order of preference
    pins               {"glob": "sram"}: values of these names lie in that bank
    states             {"h": "hn"}: what output hn is at the end of a call, input h is at the start of the next: a state
                       of the program, zero at first, instead of an input and an output
    planner            "naive", "greedy" or "best" (the default)
    alignment          bytes that values on the host start at multiples of, a power of two from 16
    overlap            "25%", "64K", "0": an order in which devices work at the same time, by the costs as for by_cost,
                       for at most so much more memory than the least of the delegates as they are cut; "0" spends none,
                       and above it delegates are cut where devices meet
    in_place, alias, reorder, fusion
                       False: no result in the place of an input; no views, slices and parts that share bytes; the
                       model's own order; no fused operators
    in_place_operators ["aten::relu"]: only these are computed in place; "+my::gain=self" is one more
    external_constants {"glob": "weights.ptd"}: constants of these names go to a data file; needs `output`
    constant_alignment, segment_alignment
                       bytes that constants and segments start at multiples of in the file
    time_limit         seconds for planning; without it the same model gives the same bytes everywhere
    dump_ir            a folder for the IR after every pass that changed it
    why                ["reuse"]: decisions and their reasons, in program.report["why"]; "all" for every pass
    stack_traces       True: each instruction names the node of the model that it comes from
    verify_ir          True: the IR is verified after every pass
    progress           a function (step, done) that is called when a step begins, and some 20 times a second while
                       memory is planned; done goes from 0 to 1. If it gives False, the compilation ends with
                       berth.FailedError; an exception ends it as well, and so does Ctrl-C. Without it there is a bar on
                       a terminal where compiling takes more than a second; False: none

    Returns a berth.Program, whose `report` says what was made. Raises berth.Error: NotSupportedError for what Berth
    cannot compile, InvalidArgumentError for what is wrong, both with the place in the model.
    """
    given = dict(
        target=target,
        cpu=cpu,
        precision=precision,
        activations=activations,
        place=place,
        node_device=node_device,
        specs=specs,
        split=split,
        by_cost=by_cost,
        device_io=device_io,
        banks=banks,
        pins=pins,
        states=states,
        planner=planner,
        alignment=alignment,
        in_place=in_place,
        in_place_operators=in_place_operators,
        alias=alias,
        reorder=reorder,
        overlap=overlap,
        fusion=fusion,
        external_constants=external_constants,
        constant_alignment=constant_alignment,
        segment_alignment=segment_alignment,
        time_limit=time_limit,
        dump_ir=dump_ir,
        why=why,
        stack_traces=stack_traces,
        verify_ir=verify_ir,
    )
    importing = {
        "input_shapes": [(name, shape_text(shape)) for name, shape in (input_shapes or {}).items()],
        "where": strings(where),
        "data": strings(data),
        "share_state": bool(share_state),
        "costs": "" if costs is None else path_text(costs),
    }
    named = model.items() if isinstance(model, dict) else [("", model)]
    files = [(ModelFile(one), name) for name, one in named]
    try:
        made, made_report = _berth.compile_models(
            [(file.path, name) for file, name in files],
            importing,
            _options(given),
            {name: _options(settings) for name, settings in (methods or {}).items()},
            plugin_list(plugins),
            "" if output is None else path_text(output),
            progress if callable(progress) else None,
            progress is None,
        )
    except Error as error:
        for file, _ in files:
            file.name_in(error)
        raise
    finally:
        for file, _ in files:
            file.close()
    return Program(made, made_report)


def verify(file: Model | Program, *, data: Path | Sequence[Path] = (), plugins: Plugins = ()) -> dict[str, Any]:
    """Checks every index, offset, size and overlap of a program or a data file: a path, or bytes.

    Returns what was checked, with the keys of `berth verify --json`; raises berth.Error with the place of what is
    wrong.
    """
    with ModelFile(_file_of(file)) as path:
        return _subcommand("verify", path, plugins, [("--data", data)])[0]


def inspect(
    file: Model | Program,
    *,
    input_shapes: dict[str, Shape] | None = None,
    where: str | Sequence[str] = (),
    data: Path | Sequence[Path] = (),
    plugins: Plugins = (),
    values: bool = False,
    instructions: bool = False,
    plan: bool = False,
) -> dict[str, Any]:
    """What is in a program, a model, or a data file: a path, or bytes.

    Returns the keys of `berth inspect --json`; with `values`, `instructions` or `plan` (a picture of each arena) also
    "text", a list of lines.
    """
    shapes = [f"{name}={shape_text(shape)}" for name, shape in (input_shapes or {}).items()]
    flags = [flag for flag, on in (("--values", values), ("--instructions", instructions), ("--plan", plan)) if on]
    with ModelFile(_file_of(file)) as path:
        return _subcommand("inspect", path, plugins, [("--input-shape", shapes), ("--where", strings(where)), ("--data", data)], flags)[0]


def replan(program: Model | Program, output: Path | None = None) -> Program:
    """A program with a better memory plan, and nothing else changed: of a path, bytes or a berth.Program.

    Returns a berth.Program, whose `report` has the keys of `berth replan --json`. With `output` it is written there.
    """
    with ModelFile(_file_of(program)) as path:
        report, made = _subcommand("replan", path, (), [])
    from ._program import load

    replanned = load(made)
    replanned.report = report
    if output is not None:
        replanned.save(output)
    return replanned


def quantize(
    model: Model,
    samples: Path | Iterable[Any],
    target: str | Sequence[str] | None = None,
    *,
    input_shapes: dict[str, Shape] | None = None,
    where: str | Sequence[str] = (),
    output: Path | None = None,
    data: Path | Sequence[Path] = (),
    method: str | None = None,
    ranges: str = "minmax",
    percentile: float | None = None,
    activations: str = "u8",
    bias_correction: bool = True,
    keep: str | Sequence[str] = (),
    max_error: float | None = None,
    min_sqnr: float | None = None,
    sensitivity: bool = False,
    cpu: str | None = None,
    threads: int | None = None,
) -> Program:
    """A program that computes on integers of 8 bits, of a model of f32 and samples of its inputs.

    samples          a folder, as `berth quantize --calibrate` takes it; or any number of samples: an array each, of a
                     model with one input, a list of arrays in the order of the inputs, or a dict of them by name
    ranges           "minmax", "percentile" (with `percentile`) or "entropy"
    activations      "u8" or "i8"
    keep             names or patterns of layers that stay in f32
    max_error, min_sqnr  let the most sensitive layers stay in f32 until the outputs are as near to those of f32
    sensitivity      measures what each layer alone does to the outputs, without a bound too

    Returns a berth.Program, whose `report` has the keys of `berth quantize --json`. docs/quantize.md explains the rest.
    """
    from tempfile import TemporaryDirectory

    from ._program import load

    shapes = [f"{name}={shape_text(shape)}" for name, shape in (input_shapes or {}).items()]
    flags = [flag for flag, on in (("--no-bias-correction", not bias_correction), ("--sensitivity", sensitivity)) if on]
    options = [("--input-shape", shapes), ("--where", strings(where)), ("--data", data), ("--keep", keep), ("--ranges", ranges), ("--activations", activations)]
    single = {"--target": ",".join(strings(target or ())), "--method": method, "--percentile": percentile,
              "--max-error": max_error, "--min-sqnr": min_sqnr, "--cpu": cpu, "--threads": threads}
    options += [(option, str(value)) for option, value in single.items() if value not in (None, "")]
    with ModelFile(model) as path, TemporaryDirectory() as folder:
        if not isinstance(samples, (str, os.PathLike)):
            _write_samples(samples, lambda: _input_names(path, shapes, strings(where), data, method), folder)
            samples = folder
        report, made = _subcommand("quantize", path, (), [*options, ("--calibrate", samples)], flags)
    quantized = load(made)
    quantized.report = report
    if output is not None:
        quantized.save(output)
    return quantized


def _input_names(path, shapes, where, data, method):
    methods = _subcommand("inspect", path, (), [("--input-shape", shapes), ("--where", where), ("--data", data)])[0]["methods"]
    named = [m for m in methods if m["name"] == (method or "forward")] or methods
    return [entry["name"] for entry in named[0]["inputs"]]


def _write_samples(samples, names, folder):
    """A folder for each sample, with in0.npy, in1.npy… in the order of the inputs; `names` gives what these are
    called."""
    import numpy as np

    count = 0
    for sample in samples:
        if hasattr(sample, "items"):
            missing = [name for name in names() if name not in sample]
            if missing:
                raise InvalidArgumentError("InvalidArgument", f"sample {count}", f"has no array for input {missing[0]}")
            sample = [sample[name] for name in names()]
        elif not isinstance(sample, (list, tuple)):
            sample = [sample]
        place = os.path.join(folder, str(count))
        os.mkdir(place)
        for i, array in enumerate(sample):
            np.save(os.path.join(place, f"in{i}.npy"), np.ascontiguousarray(array))
        count += 1


def plan(
    lower: Numbers,
    upper: Numbers,
    size: Numbers,
    alignment: Numbers | None = None,
    *,
    capacity: int | None = None,
    planner: str = "best",
    time_limit: float | None = None,
) -> dict[str, Any]:
    """Places buffers so that no two that are live at once share a byte: the packing problem alone.

    lower, upper  arrays of whole numbers: buffer i is alive in steps lower[i] to upper[i] - 1
    size          its bytes
    alignment     what its offset is a multiple of, a power of two; default: 1
    capacity      bytes: the first plan that needs no more is good enough
    planner       "naive", "greedy", "breadth", "best-fit", "heuristic" or "best"
    time_limit    seconds to search; without it the same problem gives the same plan everywhere

    Returns a dict: "offsets" (an array of int64), "height" (bytes), "lower_bound" (no plan needs fewer bytes),
    "optimal", "truncated", "seconds".
    """
    return _berth.plan(
        lower, upper, size, alignment, -1 if capacity is None else int(capacity), planner, float(time_limit or 0)
    )


def report(program: Model | Program, other: Model | Program | None = None, output: Path | None = None) -> str:
    """The memory plan of a program over time as an HTML page, or of two beside each other.

    `program` and `other` are berth.Programs, paths or bytes. Returns the page as text; with `output`, a path, it is
    written there too.
    """
    from ._program import load

    first = program if isinstance(program, Program) else load(program)
    second = other if other is None or isinstance(other, Program) else load(other)
    return first._page(second, output)


def _file_of(file):
    return bytes(file) if isinstance(file, Program) else file


def _subcommand(name, path, plugins, options, flags=()):
    given = [f"{option}={value}" for option, values in options for value in strings(values)]
    return _berth.subcommand(name, ["--json", *flags, *given], path, plugin_list(plugins))
