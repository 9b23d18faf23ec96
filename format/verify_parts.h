// The parts of verify_program(), one file each. For this room alone.
#pragma once

#include "format/program_view.h"

namespace berth::format::internal {

/// Where a check stands, whom it tells, and how much work the file may still ask for.
struct Spot {
  const ProgramView* program = nullptr;
  Report* report = nullptr;
  /// List items that may still be looked at; honest files never need more than their size.
  uint64_t* budget = nullptr;
  int method = -1;
  const char* list = nullptr;
  int64_t index = -1;

  Spot in_method(size_t i) const;
  Spot at(const char* name, int64_t i = -1) const;

  /// Fills the report with this place: "methods[0].values[7]".
  __attribute__((format(printf, 3, 4))) Error fail(Error code, const char* message, ...) const;

  /// Takes `items` from the budget; OutOfResources when it is spent.
  Error spend(uint64_t items) const;
};

Error verify_tables(const Spot& spot);
Error verify_segments(const Spot& spot);
Error verify_method(const Spot& spot, const fb::ExecutionPlan& plan);
Error verify_arenas(const Spot& spot, const fb::ExecutionPlan& plan);
Error verify_value(const Spot& spot, const fb::ExecutionPlan& plan, uint32_t index);
Error verify_tensor(const Spot& spot, const fb::ExecutionPlan& plan, const fb::Tensor& tensor);
Error verify_calls(const Spot& spot, const fb::ExecutionPlan& plan);
Error verify_meta(const Spot& spot);

/// Whether the items of a vector, which may be absent, lie at multiples of their size. FlatBuffers' own verifier holds
/// only the length in front of them to that. Where an empty one lies says nothing: builders do not align it.
template <typename T>
bool is_aligned(const flatbuffers::Vector<T>* vector) {
  return length(vector) == 0 || reinterpret_cast<uintptr_t>(vector->Data()) % alignof(T) == 0;
}

/// Whether the file's device is one that can be: a type that Berth knows, an index that is not negative.
Error verify_device_number(const Spot& spot, fb::DeviceType type, int8_t index);

}  // namespace berth::format::internal
