// Small programs for tests, as descriptions that a test can bend before it writes them.
#pragma once

#include <vector>

#include "format/write/meta_desc.h"
#include "format/write/write_program.h"

namespace berth::format::testing {

/// A contiguous tensor; the place is arena 1 at `offset` when that is not negative.
inline TensorDesc tensor(std::vector<int32_t> sizes, int64_t offset = -1, DType dtype = DType::kF32) {
  TensorDesc t;
  t.dtype = dtype;
  for (size_t i = 0; i < sizes.size(); ++i) t.dim_order.push_back(static_cast<uint8_t>(i));
  t.sizes = std::move(sizes);
  if (offset >= 0) t.planned = ArenaOffset{1, static_cast<uint64_t>(offset)};
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

/// A program with one of everything: all kinds of values and instructions, constants, initial values, a delegate on
/// another device with its payload in a segment and one with an empty payload, named data, berth.meta, two methods.
inline ProgramDesc one_of_everything() {
  MethodDesc m;
  m.name = "step";
  TensorDesc state = tensor({2, 3}, 64);
  state.data_buffer_idx = 1;
  state.name = "counter";
  TensorDesc bounded = tensor({3, 2}, 96);
  bounded.bounded = true;
  bounded.dim_order = {1, 0};
  TensorDesc on_device = tensor({4}, 0);
  on_device.planned = ArenaOffset{2, 0};
  on_device.device = Device(DeviceType::kCuda, 1);
  TensorDesc result = on_device;
  result.planned = ArenaOffset{2, 16};
  m.values = {tensor({4}, 0),                       // 0
              constant({4}, 1),                     // 1
              int64_t{1},                           // 2
              tensor({4}, 16),                      // 3
              tensor({}, 32, DType::kBool),         // 4
              state,                                // 5
              bounded,                              // 6
              on_device,                            // 7
              result,                               // 8
              2.5,                                  // 9
              std::string("floor"),                 // 10
              true,                                 // 11
              NullDesc{},                           // 12
              IntListDesc{{2, 2}},                  // 13
              DoubleListDesc{{0.5, -1.0}},          // 14
              BoolListDesc{{true, false}},          // 15
              TensorListDesc{{0, 3}},               // 16
              OptionalTensorListDesc{{-1, 12, 3}},  // 17
              tensor({2, 3}, 128),                  // 18
              tensor({4}, 160)};                    // 19
  m.inputs = {0, 11, 9};
  m.outputs = {19, 5, 2};
  m.operators = {{"aten::add", "out"}, {"aten::gt", "Scalar_out"}, {"aten::copy_", ""}, {"et_copy::_h2d_copy", "out"}};
  m.instructions = {KernelCallDesc{0, {0, 1, 2, 3, 3}},
                    KernelCallDesc{1, {3, 2, 4, 4}},
                    KernelCallDesc{3, {3, 7, 7}},
                    DelegateCallDesc{0, {7, 8}},
                    JumpFalseDesc{4, 7},
                    MoveDesc{3, 19},
                    JumpFalseDesc{4, 8},
                    MoveDesc{0, 19},
                    DelegateCallDesc{1, {5, 18}},
                    KernelCallDesc{2, {5, 18, 11, 5}}};
  m.delegates = {{"Chip", 0, {{"target_device", {'c', 'u', 'd', 'a', ':', '1'}}}}, {"Nothing", 1, {}}};
  m.arenas = {{256, Device()}, {32, Device(DeviceType::kCuda, 1)}};
  m.input_tree = "[]";
  m.stacktrace.resize(m.instructions.size());
  m.stacktrace[0] = {{"model.py", 7, "forward", "return x + w"}};

  ProgramDesc program = add_relu();
  program.methods.push_back(m);
  program.initial_values = {Bytes::of(std::vector<uint8_t>(24, 7))};
  program.payloads = {Bytes::of({1, 2, 3}), Bytes::of({})};
  program.named_data = {{"weights", Bytes::of(std::vector<uint8_t>(40, 9)), 64}};

  MethodMetaDesc meta;
  meta.name = "step";
  meta.values = {{0, "x", ""}, {3, "sum", "Add_0"}};
  meta.symbols = {{"n", fb::SymbolKind::INPUT, 1, 3, {0, -1}, {0, -1}},
                  {"", fb::SymbolKind::MUL, 2, 6, {0, 0}, {2, -1}}};
  meta.dimensions = {{6, 0, 0}};
  meta.arenas = {{1, 64, 200, fb::Proof::LOAD, 3, "", 0}};
  program.named_data.push_back(meta_blob({"berth test", {meta}}));
  return program;
}

/// The file of `program`. Only for programs that can be written.
inline std::vector<uint8_t> bytes_of(const ProgramDesc& program) {
  auto bytes = program_bytes(program);
  return std::move(bytes).value();
}

}  // namespace berth::format::testing
