#include "compiler/placement/size_carriers.h"

#include <algorithm>

#include "compiler/targets/target.h"

namespace berth::placement {
namespace {

using ir::Dim;
using Symbols = IdVector<ir::SymbolId, bool>;

// The symbols that the node's kernel is given as numbers. An instruction that gives a view its sizes needs them, too,
// unless one follows from the others.
Symbols symbols_needed(const Module& module, const Method& method, const Node& node) {
  Symbols needed(module.symbols.size());
  for (size_t i = 0; i < node.args.size(); ++i) {
    if (node.op->parameters[i].functional_only) continue;
    ir::for_each_dim(node.args[i], [&](const Dim& dim) { targets::mark_symbols(module.symbols, dim, &needed); });
  }
  if (!node.op->is_reshape()) return needed;
  const std::vector<Dim>& shape = method.tensor(node.results[0]).shape;
  const auto is_symbol = [](Dim dim) { return !dim.is_constant(); };
  const auto may_be_zero = [&](Dim dim) { return module.symbols.lower(dim) <= 0; };
  const bool follows = std::count_if(shape.begin(), shape.end(), is_symbol) == 1 &&
                       std::none_of(shape.begin(), shape.end(), may_be_zero);
  if (follows) return needed;
  for (Dim dim : shape) targets::mark_symbols(module.symbols, dim, &needed);
  return needed;
}

// The input of the method with this dimension that is the cheapest to have on `device`; invalid where none has it.
ValueId find_carrier(const Module& module, const Method& method, ir::SymbolId symbol, Device device) {
  ValueId best;
  int64_t best_cost = 0;
  for (ValueId input : method.body.inputs) {
    const ir::TensorType* type = method.value(input).tensor();
    if (type == nullptr) continue;
    const auto same = [&](Dim dim) { return dim.symbol == symbol; };
    if (std::none_of(type->shape.begin(), type->shape.end(), same)) continue;
    const int64_t cost = type->device == device ? 0 : ir::max_bytes(*type, module.symbols);
    if (best.valid() && cost >= best_cost) continue;
    best = input;
    best_cost = cost;
  }
  return best;
}

}  // namespace

std::vector<UnknownSize> add_size_carriers(const Module& module, const Method& method, const std::vector<NodeId>& nodes,
                                           Device device, std::vector<ValueId>* inputs) {
  Symbols known(module.symbols.size());
  const auto learn = [&](ValueId id) {
    for (Dim dim : method.tensor(id).shape) {
      if (!dim.is_constant()) known[dim.symbol] = true;
    }
  };
  for (ValueId input : *inputs) learn(input);
  std::vector<UnknownSize> unknown;
  for (NodeId id : nodes) {
    const Symbols needed = symbols_needed(module, method, method.node(id));
    for (ir::SymbolId s : needed.ids()) {
      const bool free = module.symbols[s].kind == ir::SymbolKind::kInput;
      if (!free || !needed[s] || known[s]) continue;
      const ValueId carrier = find_carrier(module, method, s, device);
      if (!carrier.valid()) {
        unknown.push_back({id, s});
        break;
      }
      inputs->push_back(carrier);
      learn(carrier);
    }
  }
  return unknown;
}

}  // namespace berth::placement
