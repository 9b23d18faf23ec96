#include "tools/names.h"

#include <cstring>

#include "base/backend_facts.h"
#include "format/delegate_device.h"

namespace berth::tool {

std::string port_name(const char* name, bool input, size_t index) {
  return name[0] != '\0' ? std::string(name) : (input ? "in" : "out") + std::to_string(index);
}

std::string device_name(Device device) {
  const char* type = to_string(device.type);
  if (device.is_cpu() && device.index == 0) return "cpu";
  const std::string name = type != nullptr ? type : "device" + std::to_string(static_cast<int>(device.type));
  return name + ":" + std::to_string(device.index);
}

const char* tag_name(Tag tag) {
  switch (tag) {
    case Tag::kNone: return "none";
    case Tag::kTensor: return "tensor";
    case Tag::kString: return "string";
    case Tag::kDouble: return "float";
    case Tag::kInt: return "int";
    case Tag::kBool: return "bool";
    case Tag::kBoolList: return "bool list";
    case Tag::kDoubleList: return "float list";
    case Tag::kIntList: return "int list";
    case Tag::kTensorList: return "tensor list";
  }
  return "unknown";
}

const fb::MethodMeta* method_names(const format::ProgramView& program, size_t index) {
  const fb::Meta* meta = program.meta();
  if (meta == nullptr) return nullptr;
  const char* name = format::text(program.method(index).name());
  for (flatbuffers::uoffset_t i = 0; i < format::length(meta->methods()); ++i) {
    if (std::strcmp(format::text(meta->methods()->Get(i)->name()), name) == 0) return meta->methods()->Get(i);
  }
  return nullptr;
}

std::string delegate_device(const fb::ExecutionPlan& method, size_t delegate) {
  const auto* entry = method.delegates()->Get(static_cast<flatbuffers::uoffset_t>(delegate));
  const TargetDevice target = format::target_device(*entry);
  return target.ok() ? device_name(target.device()) : target.unregistered();
}

int64_t delegate_state(const fb::ExecutionPlan& method, size_t delegate) {
  const auto* entry = method.delegates()->Get(static_cast<flatbuffers::uoffset_t>(delegate));
  return runs_nested_programs(format::text(entry->id())) ? 0 : format::delegate_specs(*entry).state;
}

}  // namespace berth::tool
