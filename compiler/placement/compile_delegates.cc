#include "compiler/placement/compile_delegates.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <string>
#include <utility>

#include "base/compile_specs.h"
#include "base/delegate_specs.h"
#include "compiler/ir/delegate.h"
#include "compiler/ir/text.h"
#include "compiler/placement/graph_walk.h"
#include "compiler/placement/keep_state.h"

namespace berth::placement {
namespace {

using passes::Changed;

constexpr char kCompileDelegates[] = "compile_delegates";

bool equal(Span<const uint8_t> a, Span<const uint8_t> b) {
  return a.size() == b.size() && (a.size() == 0 || std::memcmp(a.data(), b.data(), a.size()) == 0);
}

class DelegateCompiler {
 public:
  DelegateCompiler(Module& module, const Options& options, const passes::Options& pass_options)
      : module_(module), options_(options), pass_options_(pass_options) {
    for (size_t i = 0; i < module.named_data.size(); ++i) by_key_.emplace(module.named_data[i].key, i);
  }

  Expected<Changed> run() {
    for (Method& method : module_.methods) {
      targets_ = options_of(options_, method).targets;
      BERTH_TRY(for_each_delegate_call(method, method.body,
                                       [&](Graph& graph, size_t* place) { return call(method, graph, place); }));
    }
    return passes::changed_if(changed_);
  }

 private:
  const targets::Target* target_of(const ir::Delegate& delegate) const {
    const auto device = ir::delegate_device(delegate);
    for (const targets::Target& target : targets_) {
      if (target.compile && target.backend == delegate.backend && device.ok() && *device == target.device) {
        return &target;
      }
    }
    return nullptr;
  }

  Status call(Method& method, Graph& graph, size_t* place) {
    Node& node = method.node(graph.nodes[*place]);
    ir::Delegate& delegate = module_.delegates[node.delegate];
    if (delegate.payload.has_value() || node.regions.empty()) return Done{};
    const targets::Target* target = target_of(delegate);
    if (target == nullptr) return Done{};
    auto compiled = target->compile(module_, method, node);
    if (!compiled.ok()) return at_call(method, node, compiled.error());
    if (compiled->scratch_bytes > 0) {
      compiled->specs.push_back({kScratchSpec, std::to_string(compiled->scratch_bytes)});
    }
    if (compiled->state.has_value()) {
      compiled->specs.push_back({kStateSpec, std::to_string(compiled->state->bytes)});
    }
    for (ir::CompileSpec& spec : compiled->specs) delegate.specs.push_back(std::move(spec));
    if (delegate.specs.size() > kMostCompileSpecs) {
      return at_call(
          method, node,
          Failure{Error::kInvalidArgument, "target " + target->name,
                  "its delegate has " + std::to_string(delegate.specs.size()) +
                      " compile specs, Berth's own and those of --spec among them; a runtime takes at most " +
                      std::to_string(kMostCompileSpecs)});
    }
    for (ir::NamedData& data : compiled->named_data) BERTH_TRY(add_named_data(method, node, std::move(data)));
    passes::remark(pass_options_, kCompileDelegates, method, node,
                   ir::named('@', delegate.name) + " on " + target->name + ": payload of " +
                       std::to_string(compiled->payload.size()) + " bytes, scratch of " +
                       std::to_string(compiled->scratch_bytes));
    delegate.payload = ir::Blob::owned(std::move(compiled->payload));
    node.regions.clear();
    changed_ = true;
    return compiled->state.has_value() ? keep(method, graph, place, std::move(*compiled->state), *target) : Done{};
  }

  // State that has a name is shared by the delegates of its backend and device that give the same.
  Status keep(Method& method, Graph& graph, size_t* place, targets::KeptState state, const targets::Target& target) {
    const Node& node = method.node(graph.nodes[*place]);
    const std::string own = module_.delegates[node.delegate].name + ".state";
    const std::string wish = state.name.empty() ? own : target.backend + "." + state.name;
    const auto known = state.name.empty() ? kept_.end() : kept_.find({target.name, state.name});
    if (known != kept_.end()) {
      const ir::State& other = module_.states[known->second];
      const bool same_start = other.initial.has_value() == state.initial.has_value() &&
                              (!other.initial.has_value() || equal(other.initial->bytes(), state.initial->bytes()));
      if (other.type.shape[0] != ir::Dim(state.bytes) || !same_start) {
        return at_call(method, node,
                       Failure{Error::kInvalidArgument, "state " + ir::quoted(state.name),
                               "is there already with another size or other first contents"});
      }
      give_state(module_, method, graph, place, known->second);
      return Done{};
    }
    const ir::StateId id = add_kept_state(module_, wish, state.bytes, target.device, std::move(state.initial));
    if (!state.name.empty()) kept_[{target.name, state.name}] = id;
    give_state(module_, method, graph, place, id);
    return Done{};
  }

  Status add_named_data(const Method& method, const Node& node, ir::NamedData data) {
    const auto [known, fresh] = by_key_.emplace(data.key, module_.named_data.size());
    if (fresh) {
      module_.named_data.push_back(std::move(data));
    } else if (!equal(module_.named_data[known->second].blob.bytes(), data.blob.bytes())) {
      return at_call(
          method, node,
          Failure{Error::kInvalidArgument, "named data '" + data.key + "'", "is there already with other bytes"});
    }
    return Done{};
  }

  Failure at_call(const Method& method, const Node& node, const Failure& failure) const {
    return Failure{failure.code, place_of(method, node) + ": " + failure.place, failure.message};
  }

  Module& module_;
  const Options& options_;
  const passes::Options& pass_options_;
  std::vector<targets::Target> targets_;                             // of the method
  std::map<std::string, size_t> by_key_;                             // places in Module::named_data
  std::map<std::pair<std::string, std::string>, ir::StateId> kept_;  // by target and name
  bool changed_ = false;
};

}  // namespace

Expected<Changed> compile_delegates(Module& module, const Options& options, const passes::Options& pass_options) {
  return DelegateCompiler(module, options, pass_options).run();
}

}  // namespace berth::placement
