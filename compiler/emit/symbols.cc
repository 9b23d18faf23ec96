#include "compiler/emit/symbols.h"

#include <optional>

#include "compiler/ir/arguments.h"
#include "compiler/ir/same_product.h"

namespace berth::emit {

using ir::Dim;
using ir::SymbolId;
using ir::SymbolKind;

namespace {

// Whether `sizes[open]`, the one symbol of `sizes`, is what `from` leaves for it wherever there is such a number: both
// have the same number of elements as expressions, or it is a quotient of that number.
bool follows(const ir::DimList& sizes, size_t open, ir::DimList from, const ir::Symbols& symbols) {
  if (ir::same_product(symbols, sizes, from)) return true;
  const ir::Symbol& symbol = symbols[sizes[open].symbol];
  if (symbol.kind != SymbolKind::kFloorDiv) return false;
  ir::DimList dividend = sizes;
  dividend[open] = symbol.a;
  from.push_back(symbol.b);
  return ir::same_product(symbols, dividend, from);
}

// The one dimension of `sizes` that is not a number; nothing where there are several, or where there may be no elements
// at all, so that any size would do.
std::optional<size_t> open_dimension(const ir::DimList& sizes, const ir::Symbols& symbols) {
  std::optional<size_t> open;
  for (size_t d = 0; d < sizes.size(); ++d) {
    if (symbols.lower(sizes[d]) <= 0 || (open && !sizes[d].is_constant())) return std::nullopt;
    if (!sizes[d].is_constant()) open = d;
  }
  return open;
}

}  // namespace

SymbolSlots::SymbolSlots(const ir::Module& module, const ir::Method& method, const memory::Aliases& aliases)
    : symbols_(module.symbols) {
  needed_.assign(symbols_.size(), false);
  sources_.resize(symbols_.size());
  slots_.assign(symbols_.size(), -1);
  for (const ir::ValueId input : method.body.inputs) offer(method, input);
  for (const ir::NodeId id : method.body.nodes) {
    // What a branch or loop makes may never be made, so no symbol is read from it.
    for (const ir::ValueId result : method.node(id).results) offer(method, result);
  }
  need_in(method, method.body, aliases);
  for (const ir::Argument& output : method.body.outputs) need(output);
  // Operands were made before what is computed from them, so their numbers are smaller.
  for (SymbolId s{static_cast<int32_t>(symbols_.size()) - 1}; s.valid(); --s.index) {
    const ir::Symbol& symbol = symbols_[s];
    if (!needed_[s] || symbol.kind == SymbolKind::kInput) continue;
    need(symbol.a);
    need(symbol.b);
  }
}

void SymbolSlots::need_in(const ir::Method& method, const ir::Graph& graph, const memory::Aliases& aliases) {
  for (const ir::NodeId id : graph.nodes) {
    const ir::Node& node = method.node(id);
    const memory::ViewReason reason = aliases.reasons[id];
    if (reason == memory::ViewReason::kView) continue;
    if (reason == memory::ViewReason::kSizesChange || reason == memory::ViewReason::kCallersMemory) {
      need(view_sizes(method, node));
      continue;
    }
    for (size_t k = 0; k < node.args.size(); ++k) {
      if (!node.op->parameters[k].functional_only) need(node.args[k]);
    }
    if (node.is(ir::OpId::delegate)) continue;
    for (const ir::Graph& region : node.regions) need_in(method, region, aliases);
  }
}

ir::DimList SymbolSlots::view_sizes(const ir::Method& method, const ir::Node& view) const {
  const ir::ValueId result = view.results[0];
  ir::DimList sizes = method.tensor(result).shape;
  const std::optional<size_t> open = open_dimension(sizes, symbols_);
  if (!open) return sizes;
  // A size that this view is the first to have is whatever the view finds.
  const bool defines = sources_[sizes[*open].symbol].value == result;
  const ir::DimList& from = method.tensor(std::get<ir::ValueId>(view.args[arg::view::self])).shape;
  if (defines || follows(sizes, *open, from, symbols_)) sizes[*open] = Dim(-1);
  return sizes;
}

void SymbolSlots::need(const ir::Argument& argument) {
  ir::for_each_dim(argument, [&](const Dim& dim) {
    if (!dim.is_constant()) needed_[dim.symbol] = true;
  });
}

void SymbolSlots::offer(const ir::Method& method, ir::ValueId value) {
  const ir::TensorType* type = method.value(value).tensor();
  if (type == nullptr) return;
  for (size_t d = 0; d < type->shape.size(); ++d) {
    const Dim dim = type->shape[d];
    if (dim.is_constant()) continue;
    Source& source = sources_[dim.symbol];
    if (!source.value.valid()) source = {value, static_cast<int32_t>(d)};
  }
}

void SymbolSlots::compute_ready(const IdVector<ir::ValueId, int32_t>& value_of, Code* code) {
  if (complete_) return;
  complete_ = true;
  for (SymbolId s : slots_.ids()) {
    if (!needed_[s] || slots_[s] >= 0) continue;
    const ir::Symbol& symbol = symbols_[s];
    if (symbol.kind == SymbolKind::kInput) {
      const Source& source = sources_[s];
      const int32_t tensor = source.value.valid() ? value_of[source.value] : -1;
      if (tensor >= 0) {
        const int32_t dimension = code->values.integer(source.dimension);
        slots_[s] = code->values.add(int64_t{0});
        code->call("aten::sym_size", "int", {tensor, dimension, slots_[s]});
      }
    } else if (is_ready(symbol.a) && is_ready(symbol.b)) {
      slots_[s] = compute(symbol, code);
    }
    if (slots_[s] < 0) complete_ = false;
  }
}

int32_t SymbolSlots::slot(Dim dim, Code* code) const {
  return dim.is_constant() ? code->values.integer(dim.value) : slots_[dim.symbol];
}

int32_t SymbolSlots::compute(const ir::Symbol& symbol, Code* code) const {
  const auto call = [code](const char* name, int32_t a, int32_t b) {
    const int32_t result = code->values.add(int64_t{0});
    code->call(name, "Scalar", {a, b, result});
    return result;
  };
  const int32_t a = slot(symbol.a, code);
  const int32_t b = slot(symbol.b, code);
  switch (symbol.kind) {
    case SymbolKind::kInput: break;
    case SymbolKind::kAdd: return call("executorch_prim::add", a, b);
    case SymbolKind::kMul: return call("executorch_prim::mul", a, b);
    case SymbolKind::kFloorDiv: return call("executorch_prim::floordiv", a, b);
    case SymbolKind::kMax: return call("executorch_prim::sym_max", a, b);
    case SymbolKind::kMin: return call("executorch_prim::sym_min", a, b);
    case SymbolKind::kMod:
      if (symbols_.lower(symbol.a) >= 0 && symbols_.lower(symbol.b) > 0) return call("executorch_prim::mod", a, b);
      // That operator rounds towards zero, a symbol towards minus infinity.
      return call("executorch_prim::sub", a, call("executorch_prim::mul", call("executorch_prim::floordiv", a, b), b));
  }
  BERTH_CHECK(false);
}

Expected<int32_t> SymbolSlots::integer(Dim dim, Code* code) const {
  if (!is_ready(dim)) {
    return Failure{Error::kInvalidArgument, "",
                   "the size " + symbols_.text(dim) + " is needed, but no tensor before has it as a dimension"};
  }
  return slot(dim, code);
}

}  // namespace berth::emit
