// Small programs for tests, as descriptions that a test can bend before it writes them.
#pragma once

#include <vector>

#include "format/write/write_program.h"

namespace berth::format::testing {

/// A contiguous tensor; the place is arena 1 at `offset` when that is not negative.
inline TensorDesc tensor(std::vector<int32_t> sizes, int64_t offset = -1, DType dtype = DType::kF32) {
  TensorDesc t;
  t.dtype = dtype;
  for (size_t i = 0; i < sizes.size(); ++i) t.dim_order.push_back(static_cast<uint8_t>(i));
  t.sizes = std::move(sizes);
  if (offset >= 0) t.place = Place{1, static_cast<uint64_t>(offset)};
  return t;
}

/// A constant tensor.
inline TensorDesc constant(std::vector<int32_t> sizes, uint32_t index, DType dtype = DType::kF32) {
  TensorDesc t = tensor(std::move(sizes), -1, dtype);
  t.data_buffer_idx = index;
  return t;
}

/// y = relu(x + w) of four floats:
///
///     0 x [0, 16)   1 w constant   2 alpha   3 sum [16, 32)   4 y [32, 48)
///     0: aten::add.out(x, w, alpha, sum, sum)   1: aten::relu.out(sum, y, y)
inline ProgramDesc add_relu() {
  MethodDesc method;
  method.name = "forward";
  method.values = {tensor({4}, 0), constant({4}, 1), int64_t{1}, tensor({4}, 16), tensor({4}, 32)};
  method.inputs = {0};
  method.outputs = {4};
  method.operators = {{"aten::add", "out"}, {"aten::relu", "out"}};
  method.instructions = {KernelCallDesc{0, {0, 1, 2, 3, 3}}, KernelCallDesc{1, {3, 4, 4}}};
  method.arenas = {{48, Device()}};
  ProgramDesc program;
  program.methods = {method};
  const uint8_t floats[16] = {0, 0, 0x80, 0xbf, 0, 0, 0, 0x40, 0, 0, 0x40, 0xc0, 0, 0, 0x80, 0x40};  // -1, 2, -3, 4
  program.constants = {Bytes::of(std::vector<uint8_t>(floats, floats + sizeof floats))};
  return program;
}

/// The file of `program`. Only for programs that can be written.
inline std::vector<uint8_t> bytes_of(const ProgramDesc& program) {
  auto bytes = program_bytes(program);
  return std::move(bytes).value();
}

}  // namespace berth::format::testing
