// The parts of verify_program(), one file each. Private to format/.
#pragma once

#include "format/program_view.h"

namespace berth::format::internal {

/// The context of a check: the place in the file, the report, and the remaining work budget.
struct Spot {
  const ProgramView* program = nullptr;
  Report* report = nullptr;
  /// The number of list items that may still be checked; valid files never need more than their size.
  uint64_t* budget = nullptr;
  int method = -1;
  const char* list = nullptr;
  int64_t index = -1;

  Spot in_method(size_t i) const;
  Spot at(const char* name, int64_t i = -1) const;

  /// Fills the report with this place, such as "methods[0].values[7]".
  __attribute__((format(printf, 3, 4))) Error fail(Error code, const char* message, ...) const;

  /// Subtracts `items` from the budget; OutOfResources when it is exhausted.
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
Error verify_stacks(const Spot& spot, const fb::ExecutionPlan& plan, const fb::MethodMeta& method);

/// Whether the items of a vector, which may be absent, are aligned. FlatBuffers' own verifier checks only the alignment
/// of the length in front of them. Builders do not align empty vectors, so these are not checked.
template <typename T>
bool is_aligned(const flatbuffers::Vector<T>* vector) {
  return length(vector) == 0 || reinterpret_cast<uintptr_t>(vector->Data()) % alignof(T) == 0;
}

/// Checks that a device in the file has a type that Berth knows and an index that is not negative.
Error verify_device_number(const Spot& spot, fb::DeviceType type, int8_t index);

}  // namespace berth::format::internal
