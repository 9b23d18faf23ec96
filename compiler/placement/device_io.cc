#include "compiler/placement/device_io.h"

#include "compiler/ir/text.h"

namespace berth::placement {
namespace {

using Devices = std::map<ir::ValueId, Device>;

struct Port {
  ir::ValueId id;
  std::string name;
};

// Inputs and outputs that are tensors.
std::vector<Port> ports(const ir::Method& method) {
  std::vector<Port> ports;
  for (ir::ValueId id : method.body.inputs) {
    if (method.value(id).tensor() != nullptr) ports.push_back({id, method.value(id).name});
  }
  for (size_t k = 0; k < method.body.outputs.size(); ++k) {
    const ir::ValueId* id = std::get_if<ir::ValueId>(&method.body.outputs[k]);
    if (id != nullptr && id->valid() && method.value(*id).tensor() != nullptr) {
      ports.push_back({*id, method.output_name(k)});
    }
  }
  return ports;
}

std::string names_of(const ir::Module& module) {
  std::string names;
  for (const ir::Method& method : module.methods) {
    for (const Port& port : ports(method)) {
      if (!names.empty()) names += ", ";
      if (module.methods.size() > 1) names += method.name + ".";
      names += port.name;
    }
  }
  return names.empty() ? "none" : names;
}

class DeviceIoFinder {
 public:
  explicit DeviceIoFinder(const ir::Module& module) : module_(module), found_(module.methods.size()) {}

  Status add(const DeviceIo& asked) {
    bool any = false;
    for (size_t m = 0; m < found_.size(); ++m) {
      const ir::Method& method = module_.methods[m];
      if (!asked.method.empty() && asked.method != method.name) continue;
      for (const auto& [id, name] : ports(method)) {
        if (asked.name != name && asked.name != method.name + "." + name) continue;
        any = true;
        const auto [entry, fresh] = found_[m].emplace(id, asked.device);
        if (!fresh && entry->second != asked.device) {
          return fail(asked, std::string("is said twice: ") + to_text(entry->second).text + " and " +
                                 to_text(asked.device).text);
        }
      }
    }
    if (any) return Done{};
    return fail(asked, "is not a tensor among inputs and outputs; there are: " + names_of(module_));
  }

  std::vector<Devices> take() { return std::move(found_); }

 private:
  static Failure fail(const DeviceIo& asked, const std::string& message) {
    const std::string of = asked.method.empty() ? "" : asked.method + ":";
    return Failure{Error::kInvalidArgument, "device-io " + ir::quoted(of + asked.name), message};
  }

  const ir::Module& module_;
  std::vector<Devices> found_;
};

}  // namespace

Expected<std::vector<Devices>> find_device_io(const ir::Module& module, const std::vector<DeviceIo>& asked) {
  DeviceIoFinder finder(module);
  for (const DeviceIo& one : asked) BERTH_TRY(finder.add(one));
  return finder.take();
}

}  // namespace berth::placement
