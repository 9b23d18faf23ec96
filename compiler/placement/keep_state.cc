#include "compiler/placement/keep_state.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>

#include "compiler/ir/arguments.h"
#include "compiler/ir/delegate.h"
#include "compiler/ir/text.h"

namespace berth::placement {
namespace {

using passes::Changed;

constexpr char kKeepState[] = "keep_state";

class StateKeeper {
 public:
  StateKeeper(Module& module, const passes::Options& options) : module_(module), options_(options) {}

  Expected<Changed> run() {
    for (Method& method : module_.methods) {
      BERTH_TRY(for_each_delegate_call(method, method.body,
                                       [&](Graph& graph, size_t* place) { return call(method, graph, place); }));
    }
    return passes::changed_if(changed_);
  }

 private:
  Status call(Method& method, Graph& graph, size_t* place) {
    const Node& node = method.node(graph.nodes[*place]);
    const ir::Delegate& delegate = module_.delegates[node.delegate];
    if (!delegate.payload.has_value()) return Done{};
    const DelegateSpecs specs = ir::delegate_specs(delegate);
    if (specs.problem() != nullptr) return fail(method, node, specs.problem());
    if (specs.state == 0 || has_state(method, node, specs.state)) return Done{};
    const auto known = states_.find(node.delegate.index);
    if (known == states_.end()) {
      BERTH_ASSIGN_OR_RETURN(const ir::StateId made, make_state(method, node, specs));
      states_[node.delegate.index] = made;
    }
    const ir::StateId state = states_[node.delegate.index];
    passes::remark(options_, kKeepState, method, node,
                   ir::named('@', delegate.name) + " keeps " + ir::named('@', module_.states[state].name) + " of " +
                       std::to_string(specs.state) + " bytes");
    give_state(module_, method, graph, place, state);
    changed_ = true;
    return Done{};
  }

  // Whether the last input is state of that many bytes.
  bool has_state(const Method& method, const Node& node, int64_t bytes) const {
    const auto& inputs = std::get<ir::ValueList>(node.args[arg::delegate::inputs]);
    if (inputs.empty()) return false;
    const ir::Value& last = method.value(inputs.back());
    if (last.kind != ir::ValueKind::kNode || !method.node(last.node).is(OpId::state_read)) return false;
    const ir::TensorType& type = method.tensor(inputs.back());
    return type.dtype == DType::kU8 && type.shape.size() == 1 && type.shape[0] == ir::Dim(bytes);
  }

  Expected<ir::StateId> make_state(const Method& method, const Node& node, const DelegateSpecs& specs) {
    const ir::Delegate& delegate = module_.delegates[node.delegate];
    BERTH_ASSIGN_OR_RETURN(const Device device, ir::delegate_device(delegate));
    std::optional<ir::Blob> initial;
    if (specs.state_init != nullptr) {
      const std::string key(specs.state_init, specs.state_init_size);
      const auto same = [&](const ir::NamedData& data) { return data.key == key; };
      const auto found = std::find_if(module_.named_data.begin(), module_.named_data.end(), same);
      if (found == module_.named_data.end()) {
        return fail(method, node, "its state begins as the named data " + ir::quoted(key) + ", which are not there");
      }
      if (static_cast<int64_t>(found->blob.size()) != specs.state) {
        return fail(method, node,
                    "its state of " + std::to_string(specs.state) + " bytes begins as the named data " +
                        ir::quoted(key) + ", which are " + std::to_string(found->blob.size()));
      }
      initial = found->blob;
    }
    return add_kept_state(module_, delegate.name + ".state", specs.state, device, std::move(initial));
  }

  Failure fail(const Method& method, const Node& node, const std::string& message) const {
    const ir::Delegate& delegate = module_.delegates[node.delegate];
    return Failure{Error::kInvalidArgument, place_of(method, node) + ": delegate " + ir::named('@', delegate.name),
                   message};
  }

  Module& module_;
  const passes::Options& options_;
  std::map<int32_t, ir::StateId> states_;  // by delegate
  bool changed_ = false;
};

}  // namespace

ir::StateId add_kept_state(Module& module, const std::string& wish, int64_t bytes, Device device,
                           std::optional<ir::Blob> initial) {
  ir::State state;
  const auto taken = [&](const ir::State& other) { return other.name == state.name; };
  state.name = wish;
  for (int suffix = 2; std::any_of(module.states.begin(), module.states.end(), taken); ++suffix) {
    state.name = wish + "_" + std::to_string(suffix);
  }
  state.type.dtype = DType::kU8;
  state.type.shape = {ir::Dim(bytes)};
  state.type.device = device;
  state.initial = std::move(initial);
  return module.states.push_back(std::move(state));
}

void give_state(Module& module, Method& method, Graph& graph, size_t* place, ir::StateId id) {
  const ir::State& state = module.states[id];
  Node read;
  read.op = &ir::operator_of(OpId::state_read);
  read.state = id;
  read.source = method.node(graph.nodes[*place]).source;
  const NodeId reader = method.nodes.next_id();
  const ValueId value = method.add_value(state.type, state.name);
  method.value(value).kind = ir::ValueKind::kNode;
  method.value(value).node = reader;
  read.results = {value};
  method.nodes.push_back(std::move(read));
  std::get<ir::ValueList>(method.node(graph.nodes[*place]).args[arg::delegate::inputs]).push_back(value);
  graph.nodes.insert(graph.nodes.begin() + static_cast<ptrdiff_t>(*place), reader);
  ++*place;
}

Expected<Changed> keep_state(Module& module, const passes::Options& pass_options) {
  return StateKeeper(module, pass_options).run();
}

}  // namespace berth::placement
