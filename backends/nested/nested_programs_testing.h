// Small nested programs for tests, and programs that call them on a device, as descriptions that a test can modify.
#pragma once

#include <cstring>
#include <string>
#include <vector>

#include "format/nested.h"
#include "format/write/programs_testing.h"

namespace berth::testing {

/// The key of the constant of these programs, and its values, repeated: -1, 2, -3, 4.
constexpr const char* kWeightKey = "berth.c.00112233445566778899aabbccddeeff";

inline std::vector<uint8_t> weight_bytes(int32_t count) {
  constexpr float kValues[4] = {-1, 2, -3, 4};
  std::vector<uint8_t> bytes(count * sizeof(float));
  for (size_t i = 0; i < static_cast<size_t>(count); ++i) std::memcpy(&bytes[4 * i], &kValues[i % 4], sizeof(float));
  return bytes;
}

/// y = relu(x + w) of `count` floats, or, bounded, of up to so many rows of 4:
///
///     0 x   1 w external   2 alpha   3 sum in the scratch   4 y
///
/// Bounded, w has one row, and is added to each.
inline format::ProgramDesc nested_add_relu(int32_t count = 4, bool bounded = false) {
  using format::KernelCallDesc;
  using format::testing::tensor;
  const std::vector<int32_t> sizes = bounded ? std::vector<int32_t>{count / 4, 4} : std::vector<int32_t>{count};
  format::TensorDesc x = tensor(sizes);
  format::TensorDesc sum = tensor(sizes, 0);
  x.bounded = sum.bounded = bounded;
  format::TensorDesc weight = tensor({bounded ? 4 : count});
  weight.external = true;
  weight.name = kWeightKey;
  format::MethodDesc method;
  method.name = format::kNestedMethodName;
  method.values = {x, weight, int64_t{1}, sum, x};
  method.inputs = {0};
  method.outputs = {4};
  method.operators = {{"aten::add", "out"}, {"aten::relu", "out"}};
  method.instructions = {KernelCallDesc{0, {0, 1, 2, 3, 3}}, KernelCallDesc{1, {3, 4, 4}}};
  method.arenas = {{4 * static_cast<uint64_t>(count), Device()}};
  format::ProgramDesc program;
  program.methods = {method};
  return program;
}

/// y = relu(x + w) + x of `count` floats; the sum is in y's bytes:
///
///     0 x   1 w external   2 alpha   3 sum in y's bytes   4 its positive part in the scratch   5 y
inline format::ProgramDesc nested_with_output_scratch(int32_t count = 4) {
  using format::KernelCallDesc;
  format::ProgramDesc program = nested_add_relu(count);
  format::MethodDesc& method = program.methods[0];
  format::TensorDesc part = std::get<format::TensorDesc>(method.values[3]);
  format::TensorDesc y = part;
  y.planned->memory_id = format::nested_output_arena(0);
  method.values[3] = y;
  method.values[4] = part;
  method.values.emplace_back(y);
  method.outputs = {5};
  method.instructions = {KernelCallDesc{0, {0, 1, 2, 3, 3}}, KernelCallDesc{1, {3, 4, 4}},
                         KernelCallDesc{0, {4, 0, 2, 5, 5}}};
  method.arenas.push_back(method.arenas[0]);
  return program;
}

/// The payload of a delegate that runs `program`.
inline std::vector<uint8_t> payload_of(const format::ProgramDesc& program, uint32_t version) {
  const std::vector<uint8_t> file = format::testing::bytes_of(program);
  const format::NestedHeader header = format::make_nested_header(file.size(), version);
  std::vector<uint8_t> payload(sizeof(header.bytes) + file.size());
  std::memcpy(payload.data(), header.bytes, sizeof(header.bytes));
  std::memcpy(payload.data() + sizeof(header.bytes), file.data(), file.size());
  return payload;
}
/// The same in the lowest version that supports its arenas.
inline std::vector<uint8_t> payload_of(const format::ProgramDesc& program) {
  const bool has_output_scratch = program.methods[0].arenas.size() > 1;
  return payload_of(program, has_output_scratch ? format::kNestedOutputScratchVersion : format::kNestedVersion);
}

struct Calls {
  Device device = Device(DeviceType::kSim, 0);
  std::string backend = "berth.sim";
  int32_t count = 4;
  bool bounded = false;
};

/// A program that brings x to a device, runs nested_add_relu() there, and brings y back:
///
///     0 x   1 x on the device   2 y on the device   3 scratch   4 y
///     0: et_copy::_h2d_copy.out(0, 1)   1: delegate(1, 2, 3)   2: et_copy::_d2h_copy.out(2, 4)
///
/// Arena 1 is the host's, arena 2 the device's. On the host there are no copies: 0: delegate(0, 4, 3).
inline format::ProgramDesc program_with_delegate(const Calls& calls, const format::ProgramDesc& nested) {
  using format::DelegateCallDesc;
  using format::KernelCallDesc;
  using format::testing::tensor;
  const bool on_host = calls.device.is_cpu();
  const std::vector<int32_t> sizes =
      calls.bounded ? std::vector<int32_t>{calls.count / 4, 4} : std::vector<int32_t>{calls.count};
  const uint64_t bytes = (4 * static_cast<uint64_t>(calls.count) + 63) / 64 * 64;
  const auto place = [&](uint64_t slot, bool device) {
    format::TensorDesc t = tensor(sizes, static_cast<int64_t>(slot * bytes));
    t.bounded = calls.bounded;
    if (device && !on_host) {
      t.planned->memory_id = 2;
      t.device = calls.device;
    }
    return t;
  };
  format::TensorDesc scratch = place(2, true);
  scratch.sizes = {static_cast<int32_t>(4 * calls.count)};
  scratch.dim_order = {0};
  scratch.bounded = false;
  scratch.dtype = DType::kU8;
  format::MethodDesc method;
  method.name = "forward";
  method.values = {place(0, false), place(0, true), place(1, true), scratch, place(1, false)};
  method.inputs = {0};
  method.outputs = {4};
  method.operators = {{"et_copy::_h2d_copy", "out"}, {"et_copy::_d2h_copy", "out"}};
  method.instructions = {KernelCallDesc{0, {0, 1, 1}}, DelegateCallDesc{0, {1, 2, 3}}, KernelCallDesc{1, {2, 4, 4}}};
  method.arenas = {{2 * bytes, Device()}, {3 * bytes, calls.device}};
  if (on_host) {
    method.operators.clear();
    method.instructions = {DelegateCallDesc{0, {0, 4, 3}}};
    method.arenas = {{3 * bytes, Device()}};
  }
  const std::string device = to_text(calls.device).text;
  method.delegates = {{calls.backend, 0, {{"target_device", std::vector<uint8_t>(device.begin(), device.end())}}}};
  format::ProgramDesc program;
  program.methods = {method};
  program.payloads = {format::Bytes::of(payload_of(nested))};
  program.named_data = {{kWeightKey, format::Bytes::of(weight_bytes(calls.bounded ? 4 : calls.count)), 64}};
  return program;
}

inline format::ProgramDesc program_with_delegate(const Calls& calls = {}) {
  return program_with_delegate(calls, nested_add_relu(calls.count, calls.bounded));
}

/// x → device `a` → nested_add_relu() there → device `b`, of the same type → the same there → y; all of four floats:
///
///     0 x   1, 2, 3 x, y, scratch on a   4, 5, 6 on b   7 y
inline format::ProgramDesc program_on_two_devices(Device a, Device b, const std::string& backend) {
  using format::DelegateCallDesc;
  using format::KernelCallDesc;
  format::ProgramDesc program = program_with_delegate({a, backend, 4, false});
  format::MethodDesc& method = program.methods[0];
  const format::ValueDesc y = method.values[4];
  method.values.resize(4);
  for (size_t i = 1; i <= 3; ++i) {
    format::TensorDesc t = std::get<format::TensorDesc>(method.values[i]);
    t.planned->memory_id = 3;
    t.device = b;
    method.values.emplace_back(t);
  }
  method.values.push_back(y);
  method.outputs = {7};
  method.operators.push_back({"berth::_d2d_copy", "out"});
  method.instructions = {KernelCallDesc{0, {0, 1, 1}}, DelegateCallDesc{0, {1, 2, 3}}, KernelCallDesc{2, {2, 4, 4}},
                         DelegateCallDesc{1, {4, 5, 6}}, KernelCallDesc{1, {5, 7, 7}}};
  method.arenas.push_back({method.arenas[1].bytes, b});
  const std::string name = to_text(b).text;
  method.delegates.push_back({backend, 0, {{"target_device", std::vector<uint8_t>(name.begin(), name.end())}}});
  return program;
}

}  // namespace berth::testing
