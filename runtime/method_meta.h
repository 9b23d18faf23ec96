// MethodMeta: the inputs, outputs and arenas of a method, read from the file without loading the method.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/device.h"
#include "base/dtype.h"
#include "base/result.h"
#include "base/span.h"
#include "runtime/device_map.h"
#include "runtime/value.h"

namespace berth {

namespace fb {
struct ExecutionPlan;
struct MethodMeta;
}  // namespace fb

/// A tensor as the file describes it. The spans point into the file.
struct TensorInfo {
  /// Upper bounds if `dynamism` is kBounded.
  Span<const int32_t> sizes;
  Span<const uint8_t> dim_order;
  DType dtype = DType::kF32;
  ShapeDynamism dynamism = ShapeDynamism::kStatic;
  Device device;
  /// Whether its memory is in an arena (or is a constant's). If not, the caller provides it.
  bool is_memory_planned = false;
  /// Bytes at the largest sizes.
  size_t nbytes = 0;
};

/// Names that Berth's compiler recorded; both are empty if it recorded none. Null-terminated, in the file.
struct ValueNames {
  const char* name = "";
  /// The model's node that computes the value.
  const char* node = "";
};

/// Cheap to copy; valid as long as its Program. May be used from several threads.
class MethodMeta {
 public:
  /// Used by Program and Method: `names` may be null. Every device returned below is mapped by `devices`.
  MethodMeta(const fb::ExecutionPlan* plan, const fb::MethodMeta* names, const DeviceMap& devices)
      : plan_(plan), names_(names), devices_(devices) {}

  /// Null-terminated, in the file.
  const char* name() const;

  size_t num_inputs() const;
  size_t num_outputs() const;
  /// InvalidArgument when the index is out of range; InvalidProgram when the file is invalid.
  Result<Tag> input_tag(size_t index) const;
  Result<Tag> output_tag(size_t index) const;
  /// Also InvalidArgument for an input or output that is not a tensor.
  Result<TensorInfo> input_tensor_meta(size_t index) const;
  Result<TensorInfo> output_tensor_meta(size_t index) const;
  ValueNames input_names(size_t index) const;
  ValueNames output_names(size_t index) const;
  /// The names of entry `value` of the method's value table.
  ValueNames value_names(size_t value) const;

  /// The named parameters and state of the file, including external ones: their number, and the name and description of
  /// each. InvalidArgument or null when the index is out of range. Each call walks the value table.
  size_t num_attributes() const;
  const char* attribute_name(size_t index) const;
  Result<TensorInfo> attribute_tensor_meta(size_t index) const;

  /// The arenas that HierarchicalAllocator must provide, with their sizes in bytes and devices. InvalidArgument when
  /// the index is out of range.
  size_t num_memory_planned_buffers() const;
  Result<uint64_t> memory_planned_buffer_size(size_t index) const;
  Result<Device> memory_planned_buffer_device(size_t index) const;
  /// The required alignment of the arena's address: kArenaAlignment, or more if the file asks for it.
  size_t memory_planned_buffer_alignment(size_t index) const;

  /// Whether the file says where the arena's tensors lie at other sizes than the largest (Method::planned_bytes).
  bool memory_planned_buffer_follows_sizes(size_t index) const;

  size_t num_operators() const;
  size_t num_instructions() const;
  size_t num_delegates() const;
  /// The name of a delegate's backend, null-terminated, in the file; null when the index is out of range.
  const char* delegate_id(size_t index) const;

  /// The table in the file, for tools (format/).
  const fb::ExecutionPlan* plan() const { return plan_; }
  /// What Berth's compiler recorded about this method; null if it recorded nothing.
  const fb::MethodMeta* names() const { return names_; }

 private:
  const fb::ExecutionPlan* plan_;
  const fb::MethodMeta* names_;
  DeviceMap devices_;
};

}  // namespace berth
