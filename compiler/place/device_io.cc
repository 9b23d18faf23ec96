#include "compiler/place/device_io.h"

#include "compiler/ir/text.h"

namespace berth::place {
namespace {

using Devices = std::map<ir::ValueId, Device>;

// Inputs and outputs that are tensors.
std::vector<ir::ValueId> ports(const ir::Method& method) {
  std::vector<ir::ValueId> ports;
  for (ir::ValueId id : method.body.inputs) {
    if (method.value(id).tensor() != nullptr) ports.push_back(id);
  }
  for (const ir::Argument& output : method.body.outputs) {
    const ir::ValueId* id = std::get_if<ir::ValueId>(&output);
    if (id != nullptr && id->valid() && method.value(*id).tensor() != nullptr) ports.push_back(*id);
  }
  return ports;
}

std::string names_of(const ir::Module& module) {
  std::string names;
  for (const ir::Method& method : module.methods) {
    for (ir::ValueId id : ports(method)) {
      if (!names.empty()) names += ", ";
      if (module.methods.size() > 1) names += method.name + ".";
      names += method.value(id).name;
    }
  }
  return names.empty() ? "none" : names;
}

class Finder {
 public:
  explicit Finder(const ir::Module& module) : module_(module), found_(module.methods.size()) {}

  Status add(const DeviceIo& asked) {
    bool any = false;
    for (size_t m = 0; m < found_.size(); ++m) {
      const ir::Method& method = module_.methods[m];
      for (ir::ValueId id : ports(method)) {
        const std::string& name = method.value(id).name;
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
    return fail(asked, "is no tensor among inputs and outputs; there are: " + names_of(module_));
  }

  std::vector<Devices> take() { return std::move(found_); }

 private:
  static Failure fail(const DeviceIo& asked, const std::string& message) {
    return Failure{Error::kInvalidArgument, "device-io " + ir::quoted(asked.name), message};
  }

  const ir::Module& module_;
  std::vector<Devices> found_;
};

}  // namespace

Expected<std::vector<Devices>> find_device_io(const ir::Module& module, const std::vector<DeviceIo>& asked) {
  Finder finder(module);
  for (const DeviceIo& one : asked) BERTH_TRY(finder.add(one));
  return finder.take();
}

}  // namespace berth::place
