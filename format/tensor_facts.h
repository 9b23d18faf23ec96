// What a tensor's entry in a program file says, worked out. Nothing here needs a verified file beyond the FlatBuffer's
// own structure; sizes are checked where they are computed.
#pragma once

#include <cstdint>

#include "base/device.h"
#include "format/program_view.h"

namespace berth::format {

/// The largest rank that any runtime of this format loads.
constexpr uint32_t kMaxFileRank = 16;

/// Where a tensor's bytes come from; the cases of `Tensor` in program.fbs.
enum class Storage : uint8_t {
  kConstant,          // Program.constant_segment
  kPlanned,           // an arena
  kState,             // an arena, with an initial value in the file
  kNone,              // the caller gives memory; or there is none
  kExternalConstant,  // another file
  kExternalState,     // an arena, with an initial value in another file
};

Storage storage_of(const fb::Tensor& tensor);

/// Whether the tensor has a place in an arena.
inline bool is_planned(const fb::Tensor& tensor) { return tensor.allocation_info() != nullptr; }

/// Offset in bytes from the start of the arena.
uint64_t planned_offset(const fb::AllocationDetails& place);

/// Number of elements, and bytes, at the sizes in the file (upper bounds for dynamic shapes). False when a size is
/// negative, the element type is no type, or a product overflows.
bool tensor_numel(const fb::Tensor& tensor, uint64_t* numel);
bool tensor_nbytes(const fb::Tensor& tensor, uint64_t* nbytes);

/// The device that the tensor's entry names.
Device tensor_device(const fb::Tensor& tensor);

/// The device of an arena by its index in non_const_buffer_sizes.
Device arena_device(const fb::ExecutionPlan& plan, uint32_t memory_id);

/// The tensor in slot `index` of the value table, or null when the slot holds something else or does not exist.
const fb::Tensor* tensor_at(const fb::ExecutionPlan& plan, int64_t index);

}  // namespace berth::format
