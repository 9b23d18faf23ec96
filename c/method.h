// The handle of a method: in memory of the caller's or of its own, with room for what is bound to its inputs and
// outputs.
#pragma once

#include <optional>

#include "base/dtype.h"
#include "c/program.h"
#include "runtime/memory.h"
#include "runtime/method.h"

namespace berth::c {

/// The caller's memory for an input or output of each run.
struct Bound {
  bool is_set = false;
  bool is_copied = false;  // to or from an arena, in each run
  void* data = nullptr;
  size_t bytes = 0;
  DType dtype = DType::kF32;
  Device device;
  int32_t rank = 0;
  int32_t sizes[kMaxRank] = {};
};

/// What stands behind a handle: offsets from its beginning.
struct HandleLayout {
  explicit HandleLayout(const MethodMeta& meta);
  size_t inputs, outputs, numbers, arenas, devices;
  size_t bytes;  // of all; a multiple of 64
};

}  // namespace berth::c

struct berth_method : berth::c::Handle {
  explicit berth_method(berth_program* of) : Handle(Kind::kMethod), program(of), uses_program(of) {}

  berth::Method& method() { return host.has_value() ? host->method() : *own; }
  const berth::Method& method() const { return const_cast<berth_method*>(this)->method(); }

  berth_program* program;
  berth::c::Use uses_program;
  berth::c::Use uses_threads;
  berth::c::Use uses_arenas;
  bool in_callers_memory = false;

  // Behind the handle, in the same memory:
  berth::Span<berth::c::Bound> inputs;
  berth::Span<berth::c::Bound> outputs;
  berth::Span<int64_t> numbers;              // outputs that are one
  berth::Span<berth::Span<uint8_t>> arenas;  // of the caller's
  berth::Span<berth::Device> devices;

  // One of the two: with all its memory, or in the caller's.
  std::optional<berth::HostMethod> host;
  std::optional<berth::Method> own;
  std::optional<berth::InstructionEvents> instructions;  // of `own`
};

namespace berth::c {

/// Why the last call of the method failed, as it reported; without a report, the code's name at `place`.
Failure said_by(const berth_method& method, Error error, const std::string& place);

}  // namespace berth::c
