#include "compiler/ir/verify.h"

#include <unordered_set>
#include <utility>

#include "compiler/ir/builder.h"
#include "compiler/ir/delegate.h"
#include "compiler/ir/print.h"
#include "compiler/ir/shape_args.h"
#include "compiler/ir/text.h"
#include "compiler/ir/verify_regions.h"

namespace berth::ir {
namespace {

class Verifier {
 public:
  Verifier(Module& module, Method& method)
      : module_(module), method_(method), defined_(method.values.size()), placed_(method.nodes.size()) {}

  Status run() {
    BERTH_TRY(values());
    return graph(method_.body, 0);
  }

 private:
  Failure fail(const std::string& message) const { return fail("", message); }
  Failure fail(const std::string& where, const std::string& message) const {
    return Failure{Error::kInvalidArgument, "method " + method_.name + where, message};
  }
  Failure fail(NodeId id, const std::string& message) const {
    const Node& node = method_.node(id);
    std::string where = ", node " + std::to_string(id.index);
    if (node.op != nullptr) where += " " + node.op->functional_name;
    if (!node.source.empty()) where += " " + quoted(node.source);
    return fail(where, message);
  }
  bool exists(ValueId id) const { return method_.values.contains(id); }

  Status values() {
    std::unordered_set<std::string> names;
    for (ValueId id : method_.values.ids()) {
      const Value& v = method_.values[id];
      if (!names.insert(v.name).second) return fail("two values are called " + named('%', v.name));
      if (const TensorType* type = v.tensor()) {
        const std::string problem = type_problem(*type, module_.symbols);
        if (!problem.empty()) return fail(" " + named('%', v.name), problem);
      }
      if (v.kind != ValueKind::kConstant) continue;
      const bool known = module_.constants.contains(v.constant);
      if (!known || v.tensor() == nullptr || *v.tensor() != module_.constants[v.constant].type) {
        return fail(named('%', v.name) + " differs in type from its constant, or has none");
      }
      defined_[id] = true;
    }
    return Done{};
  }

  Status define(ValueId id, ValueKind kind, std::vector<ValueId>& here) {
    if (!exists(id)) return fail("a graph defines a value that does not exist");
    const Value& v = method_.value(id);
    if (v.kind != kind) return fail(named('%', v.name) + " is not of the kind that its place says");
    if (defined_[id]) return fail(named('%', v.name) + " is defined twice");
    defined_[id] = true;
    if (closed_) inside_[id] = true;
    here.push_back(id);
    return Done{};
  }

  bool is_visible(ValueId id) const {
    if (!defined_[id]) return false;
    return !closed_ || inside_[id] || method_.value(id).kind == ValueKind::kConstant;
  }

  Status uses(const Argument& argument, const std::string& where) {
    ValueId missing;
    for_each_value(argument, [&](const ValueId& id) {
      if (!exists(id) || !is_visible(id)) missing = id;
    });
    if (!missing.valid()) return Done{};
    const std::string name = exists(missing) ? named('%', method_.value(missing).name) : "a value that does not exist";
    if (closed_) return fail(where, "uses " + name + ", which its delegate's region neither takes nor has defined yet");
    return fail(where, "uses " + name + " before it is defined, or outside of its region");
  }

  Status graph(const Graph& graph, int depth) {
    std::vector<ValueId> here;
    for (ValueId id : graph.inputs) BERTH_TRY(define(id, ValueKind::kInput, here));
    for (NodeId id : graph.nodes) BERTH_TRY(node(id, depth, here));
    for (const Argument& output : graph.outputs) BERTH_TRY(uses(output, ", outputs"));
    // What a region defines ends with it.
    for (ValueId id : here) defined_[id] = depth == 0;
    return Done{};
  }

  Status node(NodeId id, int depth, std::vector<ValueId>& here) {
    if (!method_.nodes.contains(id)) {
      return fail("a graph names a node that does not exist");
    }
    if (placed_[id]) return fail(id, "stands in two places");
    placed_[id] = true;
    const Node& node = method_.node(id);
    if (node.op == nullptr) return fail(id, "has no operator");
    for (const Argument& argument : node.args) BERTH_TRY(uses(argument, ", node " + std::to_string(id.index)));
    if (!node.regions.empty()) {
      if (const std::string problem = depth_problem(node, depth); !problem.empty()) return fail(id, problem);
    }
    for (const Graph& region : node.regions) {
      BERTH_TRY(node.is(OpId::delegate) ? closed_graph(region, depth + 1) : graph(region, depth + 1));
    }
    BERTH_TRY(types(id));
    for (size_t i = 0; i < node.results.size(); ++i) {
      BERTH_TRY(define(node.results[i], ValueKind::kNode, here));
      const Value& v = method_.value(node.results[i]);
      if (v.node != id || v.result != static_cast<int>(i)) {
        return fail(id, "its result " + named('%', v.name) + " names another node as its origin");
      }
    }
    return Done{};
  }

  // A backend gets the region alone: of what lies around it, only constants are seen.
  Status closed_graph(const Graph& region, int depth) {
    const bool was_closed = std::exchange(closed_, true);
    inside_.resize(method_.values.size());
    BERTH_TRY(graph(region, depth));
    closed_ = was_closed;
    return Done{};
  }

  Status types(NodeId id) {
    const Node& node = method_.node(id);
    std::vector<Argument> args = node.args;
    if (args.size() != node.op->parameters.size()) {
      return fail(id, "expected " + std::to_string(node.op->parameters.size()) + " arguments, found " +
                          std::to_string(args.size()));
    }
    for (ValueId result : node.results) {
      if (!exists(result)) return fail(id, "has a result that does not exist");
    }
    if (node.op->infer == nullptr) {
      const Status complete = complete_arguments(method_, *node.op, args);
      if (!complete.ok()) return fail(id, complete.error().message);
      const std::string problem = region_problem(module_, method_, node);
      if (!problem.empty()) return fail(id, problem);
      return Done{};
    }
    if (!node.regions.empty() || node.state.valid() || node.delegate.valid()) {
      return fail(id, "this operator has neither regions nor a state nor a delegate");
    }
    const auto inferred = infer_types(module_, method_, *node.op, args);
    if (!inferred.ok()) return fail(id, inferred.error().message);
    if (inferred->size() != node.results.size()) {
      return fail(id, "expected " + std::to_string(inferred->size()) + " results, found " +
                          std::to_string(node.results.size()));
    }
    for (size_t i = 0; i < node.results.size(); ++i) {
      const Value& v = method_.value(node.results[i]);
      if (types_agree(*node.op, (*inferred)[i], v.type)) continue;
      return fail(id, "expected the result " + named('%', v.name) + ": " + print((*inferred)[i], module_.symbols) +
                          ", found " + print(v.type, module_.symbols));
    }
    return Done{};
  }

  Module& module_;
  Method& method_;
  IdVector<ValueId, bool> defined_;
  IdVector<NodeId, bool> placed_;
  bool closed_ = false;             // within the region of a delegate
  IdVector<ValueId, bool> inside_;  // defined in such a region
};

Status verify_contents(const Module& module, const std::string& what, const TensorType& type, const Blob* blob) {
  const auto fail = [&](const std::string& message) { return Failure{Error::kInvalidArgument, what, message}; };
  const std::string problem = type_problem(type, module.symbols);
  if (!problem.empty()) return fail(problem);
  if (!type.is_static()) return fail("its sizes are not all numbers");
  const size_t bytes = max_bytes(type, module.symbols);
  if (blob != nullptr && blob->size() != bytes) {
    return fail("expected " + std::to_string(bytes) + " bytes for " + print(Type(type), module.symbols) + ", found " +
                std::to_string(blob->size()));
  }
  return Done{};
}

}  // namespace

Status verify(Module& module) {
  std::unordered_set<std::string> names;
  for (const Constant& c : module.constants) {
    const std::string what = "constant " + named('@', c.name);
    if (!names.insert(c.name).second) return Failure{Error::kInvalidArgument, what, "the name is taken twice"};
    if (!c.type.device.is_cpu()) return Failure{Error::kInvalidArgument, what, "a constant lives on the cpu"};
    BERTH_TRY(verify_contents(module, what, c.type, &c.blob));
  }
  names.clear();
  for (const State& s : module.states) {
    const std::string what = "state " + named('@', s.name);
    if (!names.insert(s.name).second) return Failure{Error::kInvalidArgument, what, "the name is taken twice"};
    BERTH_TRY(verify_contents(module, what, s.type, s.initial.has_value() ? &*s.initial : nullptr));
  }
  names.clear();
  for (const Delegate& d : module.delegates) {
    const std::string what = "delegate " + named('@', d.name);
    if (!names.insert(d.name).second) return Failure{Error::kInvalidArgument, what, "the name is taken twice"};
    if (d.backend.empty()) return Failure{Error::kInvalidArgument, what, "expected the name of a backend"};
    const auto device = delegate_device(d);
    if (!device.ok()) return device.error();
  }
  names.clear();
  for (const NamedData& data : module.named_data) {
    if (names.insert(data.key).second) continue;
    return Failure{Error::kInvalidArgument, "data \"" + data.key + "\"", "the key is taken twice"};
  }
  names.clear();
  for (Method& method : module.methods) {
    if (!names.insert(method.name).second) {
      return Failure{Error::kInvalidArgument, "method " + method.name, "the name is taken twice"};
    }
    BERTH_TRY(Verifier(module, method).run());
  }
  return Done{};
}

}  // namespace berth::ir
