#include "format/delegate_device.h"

#include "format/tensor_facts.h"

namespace berth::format {

TargetDevice target_device(const fb::BackendDelegate& delegate) {
  TargetDevice target;
  for (uint32_t i = 0; i < length(delegate.compile_specs()); ++i) {
    const fb::CompileSpec* spec = delegate.compile_specs()->Get(i);
    if (spec == nullptr) continue;
    const auto* value = spec->value();
    target.read(text(spec->key()), value == nullptr ? nullptr : value->data(), length(value));
  }
  return target;
}

DelegateSpecs delegate_specs(const fb::BackendDelegate& delegate) {
  DelegateSpecs specs;
  for (uint32_t i = 0; i < length(delegate.compile_specs()); ++i) {
    const fb::CompileSpec* spec = delegate.compile_specs()->Get(i);
    if (spec == nullptr) continue;
    const auto* value = spec->value();
    specs.read(text(spec->key()), value == nullptr ? nullptr : value->data(), length(value));
  }
  return specs;
}

bool is_given_state(const fb::ExecutionPlan& plan, const DelegateSpecs& specs,
                    const flatbuffers::Vector<int32_t>& args) {
  if (specs.state == 0) return true;
  for (const int32_t arg : args) {
    const fb::Tensor* tensor = tensor_at(plan, arg);
    if (tensor == nullptr || tensor->scalar_type() != fb::ScalarType::BYTE) continue;
    const Storage storage = storage_of(*tensor);
    const bool kept = storage == Storage::kState || storage == Storage::kExternalState;
    if (kept && length(tensor->sizes()) == 1 && tensor->sizes()->Get(0) == specs.state) return true;
  }
  return false;
}

}  // namespace berth::format
