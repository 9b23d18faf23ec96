"""Programs with devices, in ExecuTorch's own Python tools and runtime.

Its deserialiser must read what Berth wrote for CUDA, write it again and read the same; its runtime must get through the
file up to the first thing that it does not have here: an allocator for the device.
"""
import pathlib
import tempfile

from drivers import ExecuTorch

# A part on {device} between two parts of the host.
MODEL = """
const @w: f32[4] = dense<[1, 2, 3, 4]>
delegate @part "berth.{kind}" {{target_device = "{device}"}}
method forward(%x: f32[4]) {{
  %w: f32[4] = const @w
  %h: f32[4] = aten::exp(%x)
  %xd: f32[4]@{device} = et_copy::_h2d_copy(%h)
  %yd: f32[4]@{device} = berth::delegate([%xd]) @part {{ (%a: f32[4]@{device})
    %b: f32[4]@{device} = aten::add.Tensor(%a, %w)
    %r: f32[4]@{device} = aten::relu(%a)
    %c: f32[4]@{device} = aten::mul.Tensor(%b, %r)
    yield %c
  }}
  %y: f32[4] = et_copy::_d2h_copy(%yd)
  %z: f32[4] = aten::exp(%y)
  return %z
}}
"""


def read_back(path, device):
    """Problem or None."""
    from executorch.exir._serialize._program import deserialize_pte_binary, serialize_pte_binary
    first = deserialize_pte_binary(path.read_bytes())
    plan = first.program.execution_plan[0]
    listed = [f"{d.device_type.name.lower()}:{d.device_index}" for d in plan.non_const_buffer_device or []]
    if listed != [device]:
        return f"its list of arenas' devices is {listed} instead of [{device}]"
    tensors = [v.val for v in plan.values if type(v.val).__name__ == "Tensor"]
    there = [t for t in tensors if t.extra_tensor_info and t.extra_tensor_info.device_type.name != "CPU"]
    if len(there) != 3 or any(t.allocation_info.memory_id != 2 for t in there):
        return f"{len(there)} tensors on the device instead of its input, its output and its scratch in arena 2"
    if deserialize_pte_binary(bytes(serialize_pte_binary(first))).program != first.program:
        return "written again, it reads differently"
    return None


def load(executorch, path):
    """Problem or None: the runtime must stop at the arena of the device, for want of an allocator."""
    answer = executorch.ask({"program": str(path), "inputs": [], "outputs": str(path.parent)})
    stopped = "Failed to allocate" in answer.get("error", "")
    return None if stopped else f"it was to stop for want of an allocator, and said {answer}"


def devices(berth, _, tally):
    executorch = ExecuTorch()
    for device in ("cuda:0", "cuda:1", "sim:0"):
        kind = device.split(":")[0]
        with tempfile.TemporaryDirectory() as work:
            model, program = pathlib.Path(work) / "model.ir", pathlib.Path(work) / "model.pte"
            model.write_text(MODEL.format(kind=kind, device=device))
            berth.compile(model, program)
            # ExecuTorch's tools know the types that it numbered; its runtime takes any.
            problem = read_back(program, device) if kind == "cuda" else None
            tally.add(f"device {device}", problem or load(executorch, program))
