// MethodMeta: what a method takes, gives and needs, read from the file without loading the method.
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
  /// Upper bounds when `dynamism` is kBounded.
  Span<const int32_t> sizes;
  Span<const uint8_t> dim_order;
  DType dtype = DType::kF32;
  ShapeDynamism dynamism = ShapeDynamism::kStatic;
  Device device;
  /// Whether its memory lies in an arena (or is a constant's). If not, the caller gives it.
  bool is_memory_planned = false;
  /// Bytes at the largest size.
  size_t nbytes = 0;
};

/// A name that Berth's compiler left in the file; both texts are empty when there is none. Null-terminated, in the
/// file.
struct ValueNames {
  const char* name = "";
  /// The model's node that makes the value.
  const char* node = "";
};

/// Cheap to copy; valid as long as its Program. May be used from several threads.
class MethodMeta {
 public:
  /// For Program and Method: `names` may be null. All devices that it answers are those after `devices`.
  MethodMeta(const fb::ExecutionPlan* plan, const fb::MethodMeta* names, const DeviceMap& devices)
      : plan_(plan), names_(names), devices_(devices) {}

  /// Null-terminated, in the file.
  const char* name() const;

  size_t num_inputs() const;
  size_t num_outputs() const;
  /// InvalidArgument for an index that is not there; InvalidProgram when the file is wrong.
  Result<Tag> input_tag(size_t index) const;
  Result<Tag> output_tag(size_t index) const;
  /// Also InvalidArgument for an input that is no tensor.
  Result<TensorInfo> input_tensor_meta(size_t index) const;
  Result<TensorInfo> output_tensor_meta(size_t index) const;
  ValueNames input_names(size_t index) const;
  ValueNames output_names(size_t index) const;
  /// The names of entry `value` of the method's value table.
  ValueNames value_names(size_t value) const;

  /// Parameters and state that the file names (external ones too): how many, the k-th's name and description.
  /// InvalidArgument or null for an index that is not there. Each call walks the value table.
  size_t num_attributes() const;
  const char* attribute_name(size_t index) const;
  Result<TensorInfo> attribute_tensor_meta(size_t index) const;

  /// Arenas that HierarchicalAllocator must have, and their bytes and devices: enough to allocate them before anything
  /// is loaded. InvalidArgument for an index that is not there.
  size_t num_memory_planned_buffers() const;
  Result<uint64_t> memory_planned_buffer_size(size_t index) const;
  Result<Device> memory_planned_buffer_device(size_t index) const;
  /// What the arena's address must be a multiple of: kArenaAlignment, or more if the compiler says so.
  size_t memory_planned_buffer_alignment(size_t index) const;

  size_t num_operators() const;
  size_t num_instructions() const;
  size_t num_delegates() const;
  /// The name of a delegate's backend, null-terminated, in the file; null for an index that is not there.
  const char* delegate_id(size_t index) const;

  /// The table in the file, for tools that look deeper (format/).
  const fb::ExecutionPlan* plan() const { return plan_; }
  /// What the compiler left about this method; null when it left nothing.
  const fb::MethodMeta* names() const { return names_; }

 private:
  const fb::ExecutionPlan* plan_;
  const fb::MethodMeta* names_;
  DeviceMap devices_;
};

}  // namespace berth
