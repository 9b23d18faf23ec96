// LoadedModel: a program in memory, loaded on a device with the portable kernels for the rest. For tests.
#pragma once

#include <gtest/gtest.h>

#include <optional>
#include <utility>

#include "kernels/portable/portable.h"
#include "runtime/host/host_method.h"

namespace berth::device_tests {

class LoadedModel {
 public:
  /// What cannot be loaded fails the test. `file`, `backend` and `registry` outlive it. With `resident` what a device
  /// makes when it is first used is made now.
  LoadedModel(Span<const uint8_t> file, Backend& backend, const DeviceAllocatorRegistry& registry, bool resident)
      : loader_(file), backends_{&backend} {
    LoadOptions options;
    options.registry = &registry;
    options.backends = backends_;
    options.report = &report_;
    auto program = Program::load(loader_, portable::kernels(), options);
    if (program.ok()) {
      program_.emplace(std::move(*program));
      HostOptions host;
      host.report = &report_;
      host.resident = resident;
      auto method = HostMethod::load(*program_, "forward", host);
      if (method.ok()) method_.emplace(std::move(*method));
    }
    if (!ok()) ADD_FAILURE() << report_.place << ": " << report_.message;
  }
  LoadedModel(const LoadedModel&) = delete;
  LoadedModel& operator=(const LoadedModel&) = delete;

  bool ok() const { return method_.has_value(); }
  /// REQUIRES: ok().
  Method& method() { return method_->method(); }

 private:
  BufferLoader loader_;
  Backend* backends_[1];
  Report report_;
  std::optional<Program> program_;
  std::optional<HostMethod> method_;
};

}  // namespace berth::device_tests
