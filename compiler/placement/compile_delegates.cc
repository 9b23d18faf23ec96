#include "compiler/placement/compile_delegates.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <string>

#include "base/delegate_specs.h"
#include "compiler/ir/delegate.h"
#include "compiler/ir/text.h"
#include "compiler/placement/graph_walk.h"

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
      BERTH_TRY(graph(method, method.body));
    }
    return passes::changed_if(changed_);
  }

 private:
  Status graph(Method& method, const Graph& graph) {
    for (NodeId id : graph.nodes) {
      if (is_delegate(method.node(id))) {
        BERTH_TRY(call(method, id));
        continue;
      }
      for (size_t r = 0; r < method.node(id).regions.size(); ++r) {
        BERTH_TRY(this->graph(method, method.node(id).regions[r]));
      }
    }
    return Done{};
  }

  const targets::Target* target_of(const ir::Delegate& delegate) const {
    const auto device = ir::delegate_device(delegate);
    for (const targets::Target& target : targets_) {
      if (target.compile && target.backend == delegate.backend && device.ok() && *device == target.device) {
        return &target;
      }
    }
    return nullptr;
  }

  Status call(Method& method, NodeId id) {
    Node& node = method.node(id);
    ir::Delegate& delegate = module_.delegates[node.delegate];
    if (delegate.payload.has_value() || node.regions.empty()) return Done{};
    const targets::Target* target = target_of(delegate);
    if (target == nullptr) return Done{};
    auto compiled = target->compile(module_, method, node);
    if (!compiled.ok()) return at_call(method, node, compiled.error());
    if (compiled->scratch_bytes > 0) {
      compiled->specs.push_back({kScratchSpec, std::to_string(compiled->scratch_bytes)});
    }
    for (ir::CompileSpec& spec : compiled->specs) delegate.specs.push_back(std::move(spec));
    for (ir::NamedData& data : compiled->named_data) BERTH_TRY(add_named_data(method, node, std::move(data)));
    passes::remark(pass_options_, kCompileDelegates, method, node,
                   ir::named('@', delegate.name) + " on " + target->name + ": payload of " +
                       std::to_string(compiled->payload.size()) + " bytes, scratch of " +
                       std::to_string(compiled->scratch_bytes));
    delegate.payload = ir::Blob::owned(std::move(compiled->payload));
    node.regions.clear();
    changed_ = true;
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
  std::vector<targets::Target> targets_;  // of the method
  std::map<std::string, size_t> by_key_;  // places in Module::named_data
  bool changed_ = false;
};

}  // namespace

Expected<Changed> compile_delegates(Module& module, const Options& options, const passes::Options& pass_options) {
  return DelegateCompiler(module, options, pass_options).run();
}

}  // namespace berth::placement
