// Properties of a tensor in a program file. Only the FlatBuffer's structure needs to be verified; sizes are checked
// here.
#pragma once

#include <cstdint>

#include "base/device.h"
#include "base/dtype.h"
#include "format/program_view.h"

namespace berth::format {

/// Where a tensor's bytes are; the cases of `Tensor` in program.fbs.
enum class Storage : uint8_t {
  kConstant,          // Program.constant_segment
  kPlanned,           // an arena
  kState,             // an arena, with an initial value in the file
  kNone,              // in memory of the caller, or nowhere
  kExternalConstant,  // a data file
  kExternalState,     // an arena, with an initial value in a data file
};

Storage storage_of(const fb::Tensor& tensor);

/// Whether the tensor lies in an arena.
inline bool is_planned(const fb::Tensor& tensor) { return tensor.allocation_info() != nullptr; }

/// The offset in bytes from the start of the arena.
uint64_t planned_offset(const fb::AllocationDetails& place);

/// What the address of an element must be a multiple of. Kernels access elements of up to 8 bytes directly, and complex
/// numbers as pairs.
size_t element_alignment(DType dtype);

/// The number of elements, and of bytes, for the sizes in the file (upper bounds for dynamic shapes). False when a size
/// is negative, the element type is unknown, or a product overflows.
bool tensor_numel(const fb::Tensor& tensor, uint64_t* numel);
bool tensor_nbytes(const fb::Tensor& tensor, uint64_t* nbytes);

/// The device of a tensor.
Device tensor_device(const fb::Tensor& tensor);

/// The device of an arena by its index in non_const_buffer_sizes.
Device arena_device(const fb::ExecutionPlan& plan, uint32_t memory_id);

/// Value `index` if it is a tensor; null when it is something else or does not exist.
const fb::Tensor* tensor_at(const fb::ExecutionPlan& plan, int64_t index);

}  // namespace berth::format
