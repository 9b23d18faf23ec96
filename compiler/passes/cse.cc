#include "compiler/passes/cse.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <string>
#include <tuple>
#include <unordered_map>

#include "compiler/passes/rewrite.h"

namespace berth::passes {
namespace {

using ir::Argument;
using ir::Graph;
using ir::Method;
using ir::Node;
using ir::NodeId;
using ir::ValueId;

template <typename T>
void append(std::string& key, T number) {
  key.append(reinterpret_cast<const char*>(&number), sizeof number);
}

// Bytes that are equal exactly for equal arguments.
void append(std::string& key, const Argument& a) {
  append(key, a.index());
  const auto size = [&](size_t items) { append(key, items); };
  if (const auto* id = std::get_if<ValueId>(&a)) append(key, id->index);
  if (const auto* dim = std::get_if<ir::Dim>(&a)) append(key, dim->symbol.index), append(key, dim->value);
  if (const auto* real = std::get_if<double>(&a)) append(key, *real);
  if (const auto* truth = std::get_if<bool>(&a)) append(key, *truth);
  if (const auto* values = std::get_if<ir::ValueList>(&a)) {
    size(values->size());
    for (ValueId id : *values) append(key, id.index);
  }
  if (const auto* dims = std::get_if<ir::DimList>(&a)) {
    size(dims->size());
    for (ir::Dim dim : *dims) append(key, dim.symbol.index), append(key, dim.value);
  }
  if (const auto* reals = std::get_if<ir::FloatList>(&a)) {
    size(reals->size());
    for (double real : *reals) append(key, real);
  }
  if (const auto* truths = std::get_if<ir::BoolList>(&a)) {
    size(truths->size());
    for (bool truth : *truths) append(key, truth);
  }
  if (const auto* text = std::get_if<std::string>(&a)) {
    size(text->size());
    key += *text;
  }
}

class Finder {
 public:
  Finder(Method& method, const Options& options) : method_(method), options_(options), outputs_(method) {
    replacements_.resize(method.values.size());
  }

  bool run() {
    graph(method_.body);
    return changed_;
  }

 private:
  void resolve(Argument& a) {
    ir::for_each_value(a, [&](ValueId& id) {
      const ValueId other = replacements_[id];
      if (other.valid()) id = other;
    });
  }

  static bool is_pure(const Node& node) {
    return node.regions.empty() && !node.state.valid() && !node.delegate.valid() && !node.results.empty() &&
           !node.op->is_random() && !node.op->has_effects;
  }

  bool same_types(const Node& a, const Node& b) const {
    for (size_t i = 0; i < a.results.size(); ++i) {
      if (method_.value(a.results[i]).type != method_.value(b.results[i]).type) return false;
    }
    return true;
  }

  bool must_stay(const Node& node, const Node& first) const {
    for (size_t i = 0; i < node.results.size(); ++i) {
      if (outputs_.must_stay_apart(method_, node.results[i], first.results[i])) return true;
    }
    return false;
  }

  void graph(Graph& graph) {
    const size_t outer = scope_.size();
    std::vector<NodeId> kept;
    for (NodeId id : graph.nodes) {
      Node& node = method_.node(id);
      for (Argument& a : node.args) resolve(a);
      // A delegate's region sees nothing of what was computed around it.
      const bool closed = node.is(ir::OpId::delegate);
      std::unordered_map<std::string, NodeId> around;
      if (closed) around.swap(seen_);
      for (Graph& region : node.regions) this->graph(region);
      if (closed) around.swap(seen_);
      if (!is_pure(node) || !merge(node, id)) kept.push_back(id);
    }
    graph.nodes = std::move(kept);
    for (Argument& output : graph.outputs) resolve(output);
    for (; scope_.size() > outer; scope_.pop_back()) seen_.erase(scope_.back());
  }

  // Whether an earlier node gives what this one gives.
  bool merge(Node& node, NodeId id) {
    std::string key;
    append(key, node.op);
    for (const Argument& a : node.args) append(key, a);
    const auto [found, fresh] = seen_.emplace(key, id);
    if (fresh) {
      scope_.push_back(std::move(key));
      return false;
    }
    const Node& first = method_.node(found->second);
    if (first.results.size() != node.results.size() || !same_types(node, first)) return false;
    if (must_stay(node, first)) {
      remark(options_, "cse", method_, node, "keep: graph-output");
      return false;
    }
    remark(options_, "cse", method_, node, "gone: computed-before");
    for (size_t i = 0; i < node.results.size(); ++i) {
      replacements_[node.results[i]] = first.results[i];
      outputs_.replace_and_rename(method_, node.results[i], first.results[i]);
    }
    changed_ = true;
    return true;
  }

  Method& method_;
  const Options& options_;
  OutputSet outputs_;
  IdVector<ValueId, ValueId> replacements_;
  std::unordered_map<std::string, NodeId> seen_;
  std::vector<std::string> scope_;
  bool changed_ = false;
};

// What two constants must share to be worth comparing: the size, the type and the first bytes.
using Sketch = std::tuple<size_t, DType, std::vector<int64_t>, std::vector<uint8_t>, std::string>;

Sketch sketch(const ir::Constant& c) {
  constexpr size_t kBytes = 64;
  std::string head(std::min(kBytes, c.blob.size()), '\0');
  c.blob.read(0, Span<uint8_t>(reinterpret_cast<uint8_t*>(head.data()), head.size()));
  std::vector<int64_t> shape;
  for (ir::Dim dim : c.type.shape) shape.push_back(dim.value);
  std::vector<uint8_t> order = c.type.is_contiguous() ? std::vector<uint8_t>() : c.type.dim_order;
  return Sketch(c.blob.size(), c.type.dtype, std::move(shape), std::move(order), std::move(head));
}

}  // namespace

bool merge_equal_constants(ir::Module& module) {
  std::map<Sketch, std::vector<ir::ConstantId>> classes;
  IdVector<ir::ConstantId, ir::ConstantId> same_as(module.constants.size());
  bool any = false;
  for (ir::ConstantId id : module.constants.ids()) {
    const ir::Constant& c = module.constants[id];
    std::vector<ir::ConstantId>& candidates = classes[sketch(c)];
    const auto twin = std::find_if(candidates.begin(), candidates.end(), [&](ir::ConstantId other) {
      const ir::Blob& blob = module.constants[other].blob;
      const bool equal = ir::Blob::equal(blob, c.blob);
      blob.release();
      return equal;
    });
    c.blob.release();
    if (twin == candidates.end()) {
      // Constants that begin alike and differ are rare; a file made of them shall not take quadratic time.
      constexpr size_t kMostCandidates = 64;
      if (candidates.size() < kMostCandidates) candidates.push_back(id);
    } else {
      same_as[id] = *twin;
      any = true;
    }
  }
  if (!any) return false;
  bool changed = false;
  for (Method& method : module.methods) {
    const IdVector<ValueId, int> uses = ir::count_uses(method);
    IdVector<ValueId, ValueId> replacements(method.values.size());
    for (ValueId id : uses.ids()) {
      const ir::Value& value = method.values[id];
      if (value.kind != ir::ValueKind::kConstant || uses[id] == 0) continue;
      const ir::ConstantId twin = same_as[value.constant];
      if (!twin.valid()) continue;
      replacements[id] = method.constant_value(module, twin);
      changed = true;
    }
    ir::replace_values(method, replacements);
  }
  return changed;
}

Expected<Changed> cse(ir::Module& module, const Options& options) {
  bool changed = merge_equal_constants(module);
  for (Method& method : module.methods) changed = Finder(method, options).run() || changed;
  return changed_if(changed);
}

}  // namespace berth::passes
