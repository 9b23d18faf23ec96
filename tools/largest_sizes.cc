#include "tools/largest_sizes.h"

#include <algorithm>

#include "format/program_view.h"

namespace berth::tool {
namespace {

constexpr int kMostTries = 100000;

class Chooser {
 public:
  explicit Chooser(const fb::MethodMeta& names) : names_(names), values_(format::length(names.symbols())) {
    for (uint32_t s = 0; s < values_.size(); ++s) values_[s] = names.symbols()->Get(s)->max();
  }

  /// Makes sizes smaller until all relations hold; false where that does not end well.
  bool choose() {
    for (int tries = 0; tries < kMostTries; ++tries) {
      compute();
      const fb::SizeRelation* broken = find_broken();
      if (broken == nullptr) return true;
      // The largest goes down by a step.
      int32_t largest = -1;
      for (uint32_t k = 0; k < format::length(broken->symbols()); ++k) {
        const int32_t s = broken->symbols()->Get(k);
        const bool is_free = symbol(s).kind() == fb::SymbolKind::INPUT && values_[s] > symbol(s).min();
        if (is_free && (largest < 0 || values_[s] > values_[largest])) largest = s;
      }
      if (largest < 0) return false;
      values_[largest] -= std::max<int64_t>(symbol(largest).step(), 1);
    }
    return false;
  }

  int64_t value(int32_t s) const { return values_[s]; }

 private:
  const fb::Symbol& symbol(int32_t s) const { return *names_.symbols()->Get(static_cast<uint32_t>(s)); }

  int64_t operand(const fb::Operand& operand) const {
    return operand.symbol() < 0 ? operand.constant() : values_[operand.symbol()];
  }

  // What is computed from the others. The file is verified: its numbers are sizes.
  void compute() {
    for (uint32_t s = 0; s < values_.size(); ++s) {
      const fb::Symbol& it = *names_.symbols()->Get(s);
      if (it.kind() == fb::SymbolKind::INPUT) continue;
      const __int128 a = operand(*it.a());
      const __int128 b = operand(*it.b());
      const auto mod = [&] { return b == 0 ? __int128{0} : ((a % b) + b) % b; };
      __int128 result = 0;
      switch (it.kind()) {
        case fb::SymbolKind::ADD: result = a + b; break;
        case fb::SymbolKind::MUL: result = a * b; break;
        case fb::SymbolKind::FLOOR_DIV: result = b == 0 ? 0 : (a - mod()) / b; break;
        case fb::SymbolKind::MOD: result = mod(); break;
        case fb::SymbolKind::MAXIMUM: result = std::max(a, b); break;
        default: result = std::min(a, b);
      }
      values_[s] = static_cast<int64_t>(std::clamp<__int128>(result, INT64_MIN / 2, INT64_MAX / 2));
    }
  }

  const fb::SizeRelation* find_broken() const {
    for (uint32_t i = 0; i < format::length(names_.size_relations()); ++i) {
      const fb::SizeRelation& relation = *names_.size_relations()->Get(i);
      if (relation.kind() == fb::SizeRelationKind::NAMED) continue;
      const int64_t a = operand(*relation.a());
      const int64_t b = operand(*relation.b());
      if (relation.kind() == fb::SizeRelationKind::EQUAL ? a != b : a > b) return &relation;
    }
    return nullptr;
  }

  const fb::MethodMeta& names_;
  std::vector<int64_t> values_;
};

}  // namespace

std::vector<std::vector<int32_t>> largest_sizes(const MethodMeta& meta) {
  std::vector<std::vector<int32_t>> sizes(meta.num_inputs());
  for (size_t i = 0; i < sizes.size(); ++i) {
    const auto info = meta.input_tensor_meta(i);
    if (info.ok()) sizes[i].assign(info->sizes.begin(), info->sizes.end());
  }
  const fb::MethodMeta* const names = meta.names();
  if (names == nullptr || format::length(names->size_relations()) == 0) return sizes;
  Chooser chooser(*names);
  if (!chooser.choose()) return sizes;
  for (uint32_t d = 0; d < format::length(names->dimensions()); ++d) {
    const fb::SymbolicDimension& entry = *names->dimensions()->Get(d);
    for (size_t i = 0; i < sizes.size(); ++i) {
      if (meta.plan()->inputs()->Get(static_cast<uint32_t>(i)) != entry.value() || sizes[i].empty()) continue;
      const int64_t size = chooser.value(entry.symbol());
      if (size >= 0 && size <= INT32_MAX) sizes[i][entry.dimension()] = static_cast<int32_t>(size);
    }
  }
  return sizes;
}

}  // namespace berth::tool
