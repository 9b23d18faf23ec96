#include "kernels/cpu/conv_weight.h"

#include "kernels/portable/convert.h"
#include "runtime/log.h"

namespace berth::cpu {

Error unpack_weight(PrepareContext& context, const Weight& weight, Buffer& dense) {
  const size_t size = element_size(weight.tensor->dtype());
  if (!dense.allocate(weight.layout.numel() * size)) {
    return context.fail(Error::kMemoryAllocationFailed, "there is no memory to unpack its weight");
  }
  unpack(weight.layout, weight.tensor->raw(), dense.floats(), size);
  return Error::kOk;
}

Error fit_weight(PrepareContext& context, const Weight& weight, const Engine& engine, FittedWeight* fitted) {
  const WeightLayout& wanted = engine.weight();
  const DType type = weight.tensor->dtype();
  const void* given = weight.tensor->raw();
  if (weight.packed && type == engine.weight_type() && same_layout(weight.layout, wanted)) {
    fitted->data = given;
    if (same_derived(weight.layout, wanted)) {
      fitted->derived = static_cast<const float*>(given) + weight.layout.derived_offset();
    }
    return Error::kOk;
  }
  Buffer dense, wide;
  if (weight.packed) {
    BERTH_RETURN_IF_ERROR(unpack_weight(context, weight, dense));
    given = dense.floats();
    log_message(LogLevel::kInfo, "a weight of %lld elements is packed for another processor or version: repacked",
                static_cast<long long>(weight.layout.numel()));
  }
  if (type != engine.weight_type()) {
    if (!wide.allocate(weight.dense.numel() * sizeof(float))) {
      return context.fail(Error::kMemoryAllocationFailed, "there is no memory to widen its weight");
    }
    portable::convert_elements(type, given, DType::kF32, wide.floats(), weight.dense.numel());
    given = wide.floats();
  }
  const size_t size = element_size(engine.weight_type());
  if (!fitted->owned.allocate(wanted.packed_numel() * size)) {
    return context.fail(Error::kMemoryAllocationFailed, "there is no memory to pack its weight");
  }
  pack(wanted, given, fitted->owned.floats(), size);
  fitted->data = fitted->owned.floats();
  return Error::kOk;
}

}  // namespace berth::cpu
