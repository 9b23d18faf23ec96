#include "compiler/implied_sizes.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "compiler/eval/call.h"
#include "compiler/ir/arguments.h"

namespace berth {
namespace {

using ir::Dim;
using ir::Node;
using ir::NodeId;
using ir::OpId;
using ir::SymbolId;
using ir::ValueId;

// A range of more sizes is not tried, nor are longer expressions, nor more equalities: all of it takes a part of a
// second at most.
constexpr int64_t kMostSizes = 1 << 14;
constexpr int kMostTerms = 32;
constexpr size_t kMostEqualities = 64;

// Two dimensions that have to be equal.
using Equality = std::pair<Dim, Dim>;

class Equalities {
 public:
  explicit Equalities(const ir::Module& module) : symbols_(module.symbols) {
    for (const ir::Method& method : module.methods) read(method);
  }
  const std::vector<Equality>& all() const { return all_; }

 private:
  // Backwards, so that what no output needs is left out.
  void read(const ir::Method& method) {
    std::set<ValueId> needed;
    const auto need = [&](const ValueId& value) { needed.insert(value); };
    for (const ir::Argument& output : method.body.outputs) ir::for_each_value(output, need);
    for (size_t i = method.body.nodes.size(); i-- > 0;) {
      const Node& node = method.node(method.body.nodes[i]);
      const bool used =
          std::any_of(node.results.begin(), node.results.end(), [&](ValueId v) { return needed.count(v) != 0; });
      if (!used) continue;
      for (const ir::Argument& argument : node.args) ir::for_each_value(argument, need);
      read(method, node);
    }
  }

  void read(const ir::Method& method, const Node& node) {
    switch (node.op->id) {
      case OpId::cat_out: return joined(method, node);
      case OpId::add_out:
      case OpId::div_out:
      case OpId::mul_out:
      case OpId::sub_out: return stretched(method, node);
      default: return;
    }
  }

  void joined(const ir::Method& method, const Node& node) {
    const auto& parts = std::get<ir::ValueList>(node.args[arg::cat_out::tensors]);
    const Dim* given = std::get_if<Dim>(&node.args[arg::cat_out::dim]);
    if (parts.empty() || given == nullptr || !given->is_constant()) return;
    const std::vector<Dim>& first = method.tensor(parts[0]).shape;
    const auto rank = static_cast<int64_t>(first.size());
    const int64_t along = given->value < 0 ? given->value + rank : given->value;
    for (const ValueId part : parts) {
      const std::vector<Dim>& shape = method.tensor(part).shape;
      // A tensor of one dimension may be an empty one, which goes with any other.
      if (rank < 2 || shape.size() != first.size()) continue;
      for (int64_t d = 0; d < rank; ++d) {
        if (d != along) add(first[d], shape[d]);
      }
    }
  }

  void stretched(const ir::Method& method, const Node& node) {
    const ValueId *a = std::get_if<ValueId>(&node.args[0]), *b = std::get_if<ValueId>(&node.args[1]);
    if (a == nullptr || b == nullptr) return;
    const ir::TensorType *first = method.value(*a).tensor(), *second = method.value(*b).tensor();
    if (first == nullptr || second == nullptr) return;
    const size_t shared = std::min(first->shape.size(), second->shape.size());
    for (size_t d = 1; d <= shared; ++d) {
      const Dim one = first->shape[first->shape.size() - d], other = second->shape[second->shape.size() - d];
      // One element is stretched.
      if (symbols_.lower(one) > 1 && symbols_.lower(other) > 1) add(one, other);
    }
  }

  void add(Dim a, Dim b) {
    if (a == b || all_.size() == kMostEqualities) return;
    if (symbols_.terms(a) > kMostTerms || symbols_.terms(b) > kMostTerms) return;
    if (std::find(all_.begin(), all_.end(), Equality(a, b)) == all_.end()) all_.emplace_back(a, b);
  }

  const ir::Symbols& symbols_;
  std::vector<Equality> all_;
};

// The only input that `dim` is computed from goes to `*input`; false where there are several.
bool find_input(const ir::Symbols& symbols, Dim dim, SymbolId* input) {
  if (dim.is_constant()) return true;
  const ir::Symbol& symbol = symbols[dim.symbol];
  if (symbol.kind != ir::SymbolKind::kInput)
    return find_input(symbols, symbol.a, input) && find_input(symbols, symbol.b, input);
  if (input->valid() && *input != dim.symbol) return false;
  *input = dim.symbol;
  return true;
}

// The sizes of an input that fulfil all `equalities`, ascending.
std::vector<int64_t> sizes_of(const ir::Symbols& symbols, SymbolId input, const std::vector<Equality>& equalities) {
  const ir::Symbol& symbol = symbols[input];
  std::vector<int64_t> sizes;
  for (int64_t size = symbol.min; size <= symbol.max; size += symbol.step) {
    eval::Binding binding(symbols);
    binding.bind(Dim::of_symbol(input), size);
    const auto hold = [&](const Equality& one) {
      int64_t a = 0, b = 0;
      const bool known = binding.find(one.first, &a);
      return known == binding.find(one.second, &b) && (!known || a == b);
    };
    if (std::all_of(equalities.begin(), equalities.end(), hold)) sizes.push_back(size);
  }
  return sizes;
}

// "h%16==0", where `sizes` are all such sizes in the range of `symbol`, and not all sizes there; empty otherwise.
std::string text_of(const ir::Symbol& symbol, const std::vector<int64_t>& sizes) {
  if (sizes.size() < 2) return "";
  const int64_t step = sizes[1] - sizes[0];
  if (step == symbol.step || sizes.front() - step >= symbol.min || sizes.back() + step <= symbol.max) return "";
  for (size_t i = 1; i < sizes.size(); ++i) {
    if (sizes[i] - sizes[i - 1] != step) return "";
  }
  return symbol.name + "%" + std::to_string(step) + "==" + std::to_string(sizes[0] % step);
}

}  // namespace

std::vector<std::string> implied_sizes(const ir::Module& module) {
  const ir::Symbols& symbols = module.symbols;
  std::map<SymbolId, std::vector<Equality>> of_input;
  const Equalities equalities(module);
  for (const Equality& one : equalities.all()) {
    SymbolId input;
    if (!find_input(symbols, one.first, &input) || !find_input(symbols, one.second, &input) || !input.valid()) continue;
    if (symbols[input].max - symbols[input].min < kMostSizes) of_input[input].push_back(one);
  }
  std::vector<std::string> texts;
  for (const auto& [input, all] : of_input) {
    const std::string text = text_of(symbols[input], sizes_of(symbols, input, all));
    if (!text.empty()) texts.push_back(text);
  }
  return texts;
}

}  // namespace berth
