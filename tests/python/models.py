"""Small models as IR text, for the tests of the Python package."""

import os

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
DIGITS = os.path.join(ROOT, "models", "digits")

ADD = b"""
method forward(%x: f32[2,3], %z: f32[2,3]) {
  %y: f32[2,3] = aten::add.Tensor(%x, %z)
  return %y
}
"""

# Three steps, so that inputs are overwritten and an arena is used again; the last output is an input.
CHAIN = b"""
const @w: f32[1024] = splat<2>
method forward(%x: f32[1024], %z: f32[1024]) {
  %w: f32[1024] = const @w
  %a: f32[1024] = aten::mul.Tensor(%x, %w)
  %b: f32[1024] = aten::add.Tensor(%a, %z)
  %y: f32[1024] = aten::relu(%b)
  %n: f32[1024] = aten::neg(%b)
  return %y, %n, %x
}
"""

COUNTER = b"""
state @sum: f32[4]
method push(%x: f32[4]) {
  %old: f32[4] = berth::state_read() @sum
  %new: f32[4] = aten::add.Tensor(%old, %x)
  berth::state_write(%new) @sum
  return %new
}
method look() {
  %now: f32[4] = berth::state_read() @sum
  %out: f32[4] = aten::neg(%now)
  return %out
}
"""

DYNAMIC = b"""
symbol n in [1, 8]
method forward(%x: f32[n,3]) {
  %y: f32[n,3] = aten::relu(%x)
  return %y
}
"""


def flipped(dtype, shape):
    """A model of one operator that takes every element type, and moves elements: a reversal of the last dimension."""
    sizes = ",".join(map(str, shape))
    last = len(shape) - 1
    return f"""
method forward(%x: {dtype}[{sizes}]) {{
  %y: {dtype}[{sizes}] = aten::flip(%x, [{last}])
  return %y
}}
""".encode()


RELU_1 = b"""
method forward(%x: f32[1]) {
  %y: f32[1] = aten::relu(%x)
  return %y
}
"""
