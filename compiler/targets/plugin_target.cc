#include "compiler/targets/plugin_target.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "base/backend_facts.h"
#include "base/delegate_specs.h"
#include "base/math.h"
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

// What nodes read from elsewhere, constants excepted, and what of theirs is read elsewhere.
std::pair<std::vector<ir::ValueId>, std::vector<ir::ValueId>> ends_of(const ir::Method& method,
                                                                      const IdVector<ir::ValueId, int>& uses,
                                                                      const std::vector<ir::NodeId>& nodes) {
  std::vector<ir::ValueId> inputs;
  std::vector<ir::ValueId> outputs;
  IdVector<ir::ValueId, bool> known(method.values.size());
  IdVector<ir::ValueId, int> readers(method.values.size());
  for (const ir::NodeId id : nodes) {
    for (const ir::ValueId result : method.node(id).results) known[result] = true;
  }
  for (const ir::NodeId id : nodes) {
    for (const ir::ValueId value : values_of(method.node(id))) {
      if (!value.valid()) continue;
      ++readers[value];
      if (!known[value] && method.value(value).kind != ir::ValueKind::kConstant) inputs.push_back(value);
      known[value] = true;
    }
  }
  for (const ir::NodeId id : nodes) {
    for (const ir::ValueId result : method.node(id).results) {
      if (uses[result] > readers[result]) outputs.push_back(result);
    }
  }
  return {inputs, outputs};
}

/// Collects what preprocess() gives back. What cannot be is kept for after the call, which crosses a C interface.
struct Sink {
  Compiled compiled;
  std::string wrong;

  static Sink& of(void* self) { return *static_cast<Sink*>(self); }

  void complain(const std::string& what) {
    if (wrong.empty()) wrong = what;
  }
  // False for bytes that are not there.
  bool has(const void* data, size_t size, const std::string& what) {
    if (data != nullptr || size == 0) return true;
    complain("gives " + std::to_string(size) + " bytes of " + what + " at a null pointer");
    return false;
  }

  static void payload(void* self, const void* data, size_t size) {
    const auto* bytes = static_cast<const uint8_t*>(data);
    if (size == 0 || !of(self).has(data, size, "its payload")) return;
    of(self).compiled.payload.insert(of(self).compiled.payload.end(), bytes, bytes + size);
  }
  static void spec(void* self, const char* key, const void* value, size_t size) {
    const std::string name = key == nullptr ? "" : key;
    if (name.empty() || is_reserved_spec(name)) {
      of(self).complain("gives a delegate the compile spec '" + name + "', which is not a plug-in's to set");
      return;
    }
    if (!of(self).has(value, size, "the compile spec '" + name + "'")) return;
    const char* bytes = size == 0 ? "" : static_cast<const char*>(value);
    of(self).compiled.specs.push_back({name, std::string(bytes, size)});
  }
  static void named_data(void* self, const char* key, const void* data, size_t size) {
    const std::string name = key == nullptr ? "" : key;
    if (name.empty()) {
      of(self).complain("gives named data without a key");
      return;
    }
    if (name.rfind(kBerthSpec, 0) == 0) {
      of(self).complain("gives named data the key '" + name + "', and keys that begin with " + kBerthSpec +
                        " are Berth's own");
      return;
    }
    if (!of(self).has(data, size, "the named data '" + name + "'")) return;
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
  static void state(void* self, const char* name, size_t bytes, const void* initial) {
    if (of(self).compiled.state.has_value()) {
      of(self).complain("gives a delegate state twice");
      return;
    }
    if (bytes == 0 || bytes > INT32_MAX) {
      of(self).complain("asks for " + std::to_string(bytes) + " bytes of state; expected 1 or more, less than 2 GiB");
      return;
    }
    KeptState& kept = of(self).compiled.state.emplace();
    if (name != nullptr) kept.name = name;
    kept.bytes = static_cast<int64_t>(bytes);
    const auto* from = static_cast<const uint8_t*>(initial);
    if (from != nullptr) kept.initial = ir::Blob::owned({from, from + bytes});
  }
};

/// Collects what together() says of nodes, each a number of the graph that it was given. Sets that share a node become
/// one.
class Marks {
 public:
  explicit Marks(size_t count) : left_(count), set_(count) { std::iota(set_.begin(), set_.end(), size_t{0}); }

  berth_sets functions() { return {sizeof(berth_sets), this, together, leave}; }
  const std::string& wrong() const { return wrong_; }

  NodeSets of(const std::vector<ir::NodeId>& nodes) {
    NodeSets sets;
    std::map<size_t, std::vector<ir::NodeId>> by_first;
    for (size_t i = 0; i < nodes.size(); ++i) {
      if (left_[i]) sets.left.push_back(nodes[i]);
      by_first[first(i)].push_back(nodes[i]);
    }
    for (auto& [number, set] : by_first) {
      if (set.size() > 1) sets.together.push_back(std::move(set));
    }
    return sets;
  }

 private:
  static Marks& of(void* self) { return *static_cast<Marks*>(self); }

  static void together(void* self, const int32_t* nodes, size_t size) {
    if (!of(self).knows(nodes, size)) return;
    for (size_t i = 1; i < size; ++i) {
      const size_t a = of(self).first(nodes[0]);
      const size_t b = of(self).first(nodes[i]);
      of(self).set_[std::max(a, b)] = std::min(a, b);
    }
  }
  static void leave(void* self, const int32_t* nodes, size_t size) {
    if (!of(self).knows(nodes, size)) return;
    for (size_t i = 0; i < size; ++i) of(self).left_[nodes[i]] = true;
  }

  bool knows(const int32_t* nodes, size_t size) {
    for (size_t i = 0; i < size; ++i) {
      if (is_index(nodes[i], set_.size())) continue;
      wrong_ = "marks node " + std::to_string(nodes[i]) + "; there are " + std::to_string(set_.size());
      return false;
    }
    return true;
  }

  // The first node of the set that `node` is in.
  size_t first(size_t node) {
    while (set_[node] != node) node = set_[node] = set_[set_[node]];
    return node;
  }

  std::vector<bool> left_;
  std::vector<size_t> set_;  // of each node: itself, or an earlier one of its set
  std::string wrong_;
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

  Expected<NodeSets> marks(const ir::Module& module, const ir::Method& method, const IdVector<ir::ValueId, int>& uses,
                           const std::vector<ir::NodeId>& nodes, const std::vector<ir::CompileSpec>& its_specs) const {
    const auto [inputs, outputs] = ends_of(method, uses, nodes);
    const GraphView view(module, method, uses, nodes, inputs, outputs);
    const std::vector<berth_spec> specs = view_of(its_specs);
    Marks marks(nodes.size());
    const berth_sets sets = marks.functions();
    berth_message message = {};
    const int32_t code = call_plugin(&message, [&] {
      return from_->together(from_->self, &view.graph(), specs.data(), specs.size(), &sets, &message);
    });
    if (code != BERTH_OK) return failure(name_, code, message);
    if (!marks.wrong().empty()) {
      return Failure{Error::kInvalidArgument, "target " + name_, "the plug-in " + marks.wrong()};
    }
    return marks.of(nodes);
  }

  Expected<Compiled> compile(const ir::Module& module, const ir::Method& method, const ir::Node& call) const {
    const ir::Graph& region = call.regions.front();
    std::vector<ir::ValueId> outputs;
    for (const ir::Argument& output : region.outputs) outputs.push_back(std::get<ir::ValueId>(output));
    const IdVector<ir::ValueId, int> uses = ir::count_uses(method);
    const GraphView view(module, method, uses, region.nodes, region.inputs, outputs);
    const std::vector<berth_spec> specs = view_of(module.delegates[call.delegate].specs);
    Sink sink;
    const berth_sink functions = {sizeof(berth_sink), &sink,         Sink::payload, Sink::spec,
                                  Sink::named_data,   Sink::scratch, Sink::state};
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
  if (from.backend != nullptr) target.backend = from.backend;
  const auto limit = [](size_t most) { return most == 0 ? SIZE_MAX : most; };
  target.limits = {limit(from.most_nodes), limit(from.most_inputs), limit(from.most_outputs)};
  // What programs that call the backend have anyway need not be said.
  const size_t given = delegate_alignment(target.backend.c_str());
  if (from.alignment > 1 && (from.preprocess != nullptr || from.alignment > given))
    target.specs.push_back({kAlignmentSpec, std::to_string(from.alignment)});
  if (from.padding > 0) target.specs.push_back({kPaddingSpec, std::to_string(from.padding)});
  if (from.is_pure != 0 && from.preprocess != nullptr) target.specs.push_back({kPureSpec, "1"});
  target.fuses = from.fuses != 0;
  target.channels_last = from.channels_last != 0;
  target.depth_last = from.channels_last == 2;
  if (from.packs_weights != 0) target.isa = "native";
  target.narrow_tensors = target.backend == "berth.vulkan";
  target.narrow_weights = from.packs_weights != 0 || target.narrow_tensors;
  const PluginTarget plugin(from, target.name);
  if (from.takes != nullptr) target.takes = [plugin](const AskedNode& node) { return plugin.takes(node); };
  if (from.together != nullptr) {
    target.marks = [plugin](const ir::Module& module, const ir::Method& method, const IdVector<ir::ValueId, int>& uses,
                            const std::vector<ir::NodeId>& nodes, const std::vector<ir::CompileSpec>& specs) {
      return plugin.marks(module, method, uses, nodes, specs);
    };
  }
  if (from.preprocess != nullptr) {
    target.compile = [plugin](const ir::Module& module, const ir::Method& method, const ir::Node& call) {
      return plugin.compile(module, method, call);
    };
  }
  return target;
}

}  // namespace berth::targets
