// Program: the devices that it uses instead of those in its file.

#include <cstring>

#include "format/program_view.h"
#include "format/tensor_facts.h"
#include "runtime/program.h"

namespace berth {

using format::fail;
using format::length;
using format::text;

namespace {

// Pairs of states that are compared, far more than a sound program has.
constexpr uint64_t kMostStatePairs = 100'000'000;

// The name of value `index` if it is state on a device; empty otherwise. A planned tensor with a name is state, also
// where the file has no initial value for it.
const char* device_state(const fb::ExecutionPlan& plan, uint32_t index, Device* device) {
  const fb::Tensor* tensor = format::tensor_at(plan, index);
  if (tensor == nullptr || !format::is_planned(*tensor)) return "";
  *device = format::tensor_device(*tensor);
  const fb::ExtraTensorInfo* info = tensor->extra_tensor_info();
  return device->is_cpu() || info == nullptr ? "" : text(info->fully_qualified_name());
}

uint64_t count_states(const fb::ExecutionPlan& plan) {
  uint64_t count = 0;
  Device device;
  for (uint32_t i = 0; i < length(plan.values()); ++i) count += device_state(plan, i, &device)[0] != '\0' ? 1 : 0;
  return count;
}

// A state of `a` that `b` has as well, where the two maps lead to two devices; null if there is none.
const char* state_on_two(const fb::ExecutionPlan& a, const DeviceMap& map_a, const fb::ExecutionPlan& b,
                         const DeviceMap& map_b) {
  for (uint32_t i = 0; i < length(a.values()); ++i) {
    Device device;
    const char* name = device_state(a, i, &device);
    if (name[0] == '\0' || map_a(device) == map_b(device)) continue;
    for (uint32_t k = 0; k < length(b.values()); ++k) {
      Device other;
      if (std::strcmp(device_state(b, k, &other), name) == 0 && other == device) return name;
    }
  }
  return nullptr;
}

}  // namespace

Error Program::map_devices(Span<const DeviceMapping> mappings, Report* report) {
  for (const DeviceMapping& mapping : mappings) {
    int method = ProgramDeviceMap::kEveryMethod;
    if (mapping.method != nullptr) {
      const fb::ExecutionPlan* plan = find_plan(mapping.method, nullptr);
      if (plan == nullptr) {
        return fail(report, Error::kInvalidArgument, "devices", "%s is mapped for method %.64s, which does not exist",
                    to_text(mapping.from).text, mapping.method);
      }
      method = static_cast<int>(index_of(*plan));
    }
    const Error error = devices_.add(method, mapping.from, mapping.to);
    if (error == Error::kOk) continue;
    return fail(report, error, "devices",
                "%s cannot be mapped to %s: at most %zu devices can be mapped, each once, and never the host",
                to_text(mapping.from).text, to_text(mapping.to).text, DeviceMap::kMax);
  }
  return devices_.has_own() ? check_shared_state(report) : Error::kOk;
}

// State is shared by its name. On two devices it would be two states, which no run would notice.
Error Program::check_shared_state(Report* report) const {
  const format::ProgramView view = this->view();
  uint64_t pairs = 0;
  for (size_t a = 0; a < view.method_count(); ++a) {
    const uint64_t states = count_states(view.method(a));
    for (size_t b = a + 1; b < view.method_count(); ++b) {
      pairs += 1 + states * length(view.method(b).values());
      if (pairs > kMostStatePairs) {
        return fail(report, Error::kNotSupported, "devices",
                    "devices cannot be mapped for one method of so many states");
      }
      const char* state = state_on_two(view.method(a), devices_.of(a), view.method(b), devices_.of(b));
      if (state == nullptr) continue;
      return fail(report, Error::kInvalidArgument, "devices",
                  "state \"%.40s\" of methods %.32s and %.32s would be on two devices; map the device for both", state,
                  text(view.method(a).name()), text(view.method(b).name()));
    }
  }
  return Error::kOk;
}

}  // namespace berth
