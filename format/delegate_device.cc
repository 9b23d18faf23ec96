#include "format/delegate_device.h"

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

}  // namespace berth::format
