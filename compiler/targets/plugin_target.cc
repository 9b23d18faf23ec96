#include "compiler/targets/plugin_target.h"

#include "base/delegate_specs.h"
#include "compiler/ir/delegate.h"
#include "compiler/ir/text.h"
#include "compiler/targets/graph_view.h"

namespace berth::targets {
namespace {

std::vector<berth_spec> view_of(const std::vector<ir::CompileSpec>& specs) {
  std::vector<berth_spec> views;
  for (const ir::CompileSpec& spec : specs) {
    views.push_back({spec.key.c_str(), {spec.value.data(), spec.value.size()}});
  }
  return views;
}

std::string said(const berth_message& message, const char* otherwise) {
  const std::string text = text_of(message);
  return text.empty() ? otherwise : text;
}

Failure failure(const std::string& name, int32_t code, const berth_message& message) {
  const Error error = plugin_error(code);
  return Failure{error, "target " + name,
                 said(message, (std::string("the plug-in gives no reason: ") + to_string(error)).c_str())};
}

std::vector<ir::ValueId> values_of(const ir::Node& node) {
  std::vector<ir::ValueId> values;
  for (const ir::Argument& argument : node.args) {
    ir::for_each_value(argument, [&](const ir::ValueId& id) { values.push_back(id); });
  }
  return values;
}

/// Collects what preprocess() gives back. What cannot be is kept for after the call, which crosses a C interface.
struct Sink {
  Compiled compiled;
  std::string wrong;

  static Sink& of(void* self) { return *static_cast<Sink*>(self); }

  void complain(const std::string& what) {
    if (wrong.empty()) wrong = what;
  }
  static std::string bytes_of(const void* data, size_t size) {
    return size == 0 ? std::string() : std::string(static_cast<const char*>(data), size);
  }

  static void payload(void* self, const void* data, size_t size) {
    const auto* bytes = static_cast<const uint8_t*>(data);
    if (size > 0) of(self).compiled.payload.insert(of(self).compiled.payload.end(), bytes, bytes + size);
  }
  static void spec(void* self, const char* key, const void* value, size_t size) {
    const std::string name = key == nullptr ? "" : key;
    if (name.empty() || is_reserved_spec(name)) {
      of(self).complain("gives a delegate the compile spec '" + name + "', which is not a plug-in's to set");
      return;
    }
    of(self).compiled.specs.push_back({name, bytes_of(value, size)});
  }
  static void named_data(void* self, const char* key, const void* data, size_t size) {
    const std::string name = key == nullptr ? "" : key;
    if (name.empty()) {
      of(self).complain("gives named data without a key");
      return;
    }
    const auto* bytes = static_cast<const uint8_t*>(data);
    std::vector<uint8_t> copy;
    if (size > 0) copy.assign(bytes, bytes + size);
    of(self).compiled.named_data.push_back({name, ir::Blob::owned(std::move(copy))});
  }
  static void scratch(void* self, size_t bytes) {
    if (bytes > INT32_MAX) {
      of(self).complain("asks for " + std::to_string(bytes) + " bytes of scratch; expected less than 2 GiB");
      return;
    }
    of(self).compiled.scratch_bytes = static_cast<int64_t>(bytes);
  }
};

class PluginTarget {
 public:
  PluginTarget(const berth_target& from, std::string name) : from_(&from), name_(std::move(name)) {}

  Expected<Answer> takes(const AskedNode& asked) const {
    const std::vector<ir::ValueId> inputs = values_of(asked.node);
    const GraphView view(asked.module, asked.method, asked.uses, {asked.id}, inputs, asked.node.results);
    const std::vector<berth_spec> specs = view_of(asked.specs);
    berth_message message = {};
    const int32_t code = call_plugin(
        &message, [&] { return from_->takes(from_->self, &view.graph(), specs.data(), specs.size(), &message); });
    if (code == BERTH_OK) return Answer{};
    if (code == BERTH_NOT_SUPPORTED) return Answer{Support::kRefused, said(message, "no reason given")};
    return failure(name_, code, message);
  }

  Expected<Compiled> compile(const ir::Module& module, const ir::Method& method, const ir::Node& call) const {
    const ir::Graph& region = call.regions.front();
    std::vector<ir::ValueId> outputs;
    for (const ir::Argument& output : region.outputs) outputs.push_back(std::get<ir::ValueId>(output));
    const IdVector<ir::ValueId, int> uses = ir::count_uses(method);
    const GraphView view(module, method, uses, region.nodes, region.inputs, outputs);
    const std::vector<berth_spec> specs = view_of(module.delegates[call.delegate].specs);
    Sink sink;
    const berth_sink functions = {sizeof(berth_sink), &sink,        Sink::payload, Sink::spec,
                                  Sink::named_data,   Sink::scratch};
    berth_message message = {};
    const int32_t code = call_plugin(&message, [&] {
      return from_->preprocess(from_->self, &view.graph(), specs.data(), specs.size(), &functions, &message);
    });
    if (code != BERTH_OK) return failure(name_, code, message);
    if (!sink.wrong.empty()) return Failure{Error::kInvalidArgument, "target " + name_, "the plug-in " + sink.wrong};
    return std::move(sink.compiled);
  }

 private:
  const berth_target* from_;
  std::string name_;
};

}  // namespace

Target plugin_target(const berth_target& from, DeviceIndex index) {
  Target target;
  target.device = Device(static_cast<DeviceType>(from.device_type), index);
  target.name = from.name;
  if (!target.device.is_cpu()) target.name += ":" + std::to_string(index);
  target.backend = from.backend;
  const auto limit = [](size_t most) { return most == 0 ? SIZE_MAX : most; };
  target.limits = {limit(from.most_nodes), limit(from.most_inputs), limit(from.most_outputs)};
  if (from.alignment > 1) target.specs.push_back({kAlignmentSpec, std::to_string(from.alignment)});
  if (from.padding > 0) target.specs.push_back({kPaddingSpec, std::to_string(from.padding)});
  if (from.is_pure != 0) target.specs.push_back({kPureSpec, "1"});
  const PluginTarget plugin(from, target.name);
  target.takes = [plugin](const AskedNode& node) { return plugin.takes(node); };
  target.compile = [plugin](const ir::Module& module, const ir::Method& method, const ir::Node& call) {
    return plugin.compile(module, method, call);
  };
  return target;
}

}  // namespace berth::targets
