#include "tools/largest_sizes.h"

#include <algorithm>

#include "format/program_view.h"

namespace berth::tool {
namespace {

constexpr int kMostTries = 100000;
constexpr int64_t kFar = INT64_MAX / 2;

/// All numbers from `low` to `high`.
struct Range {
  int64_t low = -kFar, high = kFar;

  bool is_one() const { return low == high; }
};

Range range_of(__int128 low, __int128 high) {
  return {static_cast<int64_t>(std::clamp<__int128>(low, -kFar, kFar)),
          static_cast<int64_t>(std::clamp<__int128>(high, -kFar, kFar))};
}

__int128 floor_div(__int128 a, __int128 b) {
  const __int128 q = a / b;
  return q - ((a % b != 0 && (a < 0) != (b < 0)) ? 1 : 0);
}

// What a computed symbol may be where its operands lie in `a` and `b`.
Range computed(fb::SymbolKind kind, Range a, Range b) {
  const auto ends = [&](auto f) {
    const __int128 all[] = {f(a.low, b.low), f(a.low, b.high), f(a.high, b.low), f(a.high, b.high)};
    return range_of(*std::min_element(all, all + 4), *std::max_element(all, all + 4));
  };
  const bool may_be_zero = b.low <= 0 && b.high >= 0;
  switch (kind) {
    case fb::SymbolKind::ADD: return range_of(__int128{a.low} + b.low, __int128{a.high} + b.high);
    case fb::SymbolKind::MUL: return ends([](__int128 x, __int128 y) { return x * y; });
    case fb::SymbolKind::FLOOR_DIV:
      if (may_be_zero) return b.is_one() ? Range{0, 0} : Range();
      return ends(floor_div);
    case fb::SymbolKind::MOD:
      if (may_be_zero) return b.is_one() ? Range{0, 0} : Range();
      if (a.is_one() && b.is_one()) {
        const __int128 rest = a.low - floor_div(a.low, b.low) * b.low;
        return range_of(rest, rest);
      }
      return b.low > 0 ? Range{0, b.high - 1} : Range{b.low + 1, 0};
    case fb::SymbolKind::MAXIMUM: return {std::max(a.low, b.low), std::max(a.high, b.high)};
    default: return {std::min(a.low, b.low), std::min(a.high, b.high)};
  }
}

class Chooser {
 public:
  explicit Chooser(const fb::MethodMeta& names) : names_(names), values_(format::length(names.symbols())) {}

  /// False where no sizes are found.
  bool choose() { return go_down() || search(); }

  void put(const std::function<int64_t(const char*, int64_t, int64_t)>& place) {
    for (int32_t s = 0; s < static_cast<int32_t>(values_.size()); ++s) {
      if (symbol(s).kind() != fb::SymbolKind::INPUT) continue;
      const char* const name = symbol(s).name() == nullptr ? "" : symbol(s).name()->c_str();
      const int64_t wanted =
          std::clamp<int64_t>(place(name, symbol(s).min(), symbol(s).max()), symbol(s).min(), symbol(s).max());
      values_[s] = wanted - (wanted - symbol(s).min()) % step_of(s);
    }
    compute();
  }

  int64_t value(int32_t s) const { return values_[s]; }

 private:
  // Makes sizes smaller until all relations hold.
  bool go_down() {
    for (uint32_t s = 0; s < values_.size(); ++s) values_[s] = names_.symbols()->Get(s)->max();
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
      values_[largest] -= step_of(largest);
    }
    return false;
  }

  // For what becoming smaller passes by, such as H*W==6000: halves ranges, the upper half first, and leaves out those
  // in which a relation cannot hold.
  bool search() {
    std::vector<Range> all(values_.size());
    for (uint32_t s = 0; s < all.size(); ++s)
      all[s] = {names_.symbols()->Get(s)->min(), names_.symbols()->Get(s)->max()};
    left_ = kMostTries;
    return search_in(std::move(all));
  }

  bool search_in(std::vector<Range> ranges) {
    if (--left_ < 0 || !may_hold(&ranges)) return false;
    int32_t widest = -1;
    int64_t most = 0;
    for (int32_t s = 0; s < static_cast<int32_t>(ranges.size()); ++s) {
      const int64_t steps =
          symbol(s).kind() == fb::SymbolKind::INPUT ? (ranges[s].high - ranges[s].low) / step_of(s) : 0;
      if (steps > most) {
        most = steps;
        widest = s;
      }
    }
    if (widest < 0) {
      for (size_t s = 0; s < ranges.size(); ++s) values_[s] = ranges[s].high;
      return true;
    }
    const int64_t middle = ranges[widest].high - most / 2 * step_of(widest);
    std::vector<Range> upper = ranges;
    upper[widest].low = middle;
    if (search_in(std::move(upper))) return true;
    ranges[widest].high = middle - step_of(widest);
    return search_in(std::move(ranges));
  }

  // Sets what is computed from the others, too.
  bool may_hold(std::vector<Range>* ranges) const {
    const auto of = [&](const fb::Operand& operand) {
      return operand.symbol() < 0 ? Range{operand.constant(), operand.constant()} : (*ranges)[operand.symbol()];
    };
    for (uint32_t s = 0; s < ranges->size(); ++s) {
      const fb::Symbol& it = *names_.symbols()->Get(s);
      if (it.kind() != fb::SymbolKind::INPUT) (*ranges)[s] = computed(it.kind(), of(*it.a()), of(*it.b()));
    }
    for (uint32_t i = 0; i < format::length(names_.size_relations()); ++i) {
      const fb::SizeRelation& relation = *names_.size_relations()->Get(i);
      if (relation.kind() == fb::SizeRelationKind::NAMED) continue;
      const Range a = of(*relation.a()), b = of(*relation.b());
      const bool equal = relation.kind() == fb::SizeRelationKind::EQUAL;
      if (a.low > b.high || (equal && b.low > a.high)) return false;
    }
    return true;
  }

  int64_t step_of(int32_t s) const { return std::max<int64_t>(symbol(s).step(), 1); }

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
  int left_ = 0;  // of search()'s halves
};

}  // namespace

namespace {

using AllSizes = std::vector<std::vector<int32_t>>;

AllSizes bounds_of(const MethodMeta& meta) {
  AllSizes sizes(meta.num_inputs());
  for (size_t i = 0; i < sizes.size(); ++i) {
    const auto info = meta.input_tensor_meta(i);
    if (info.ok()) sizes[i].assign(info->sizes.begin(), info->sizes.end());
  }
  return sizes;
}

// Puts the sizes that have symbols in their places.
void set_open(const MethodMeta& meta, const Chooser& chooser, AllSizes& sizes) {
  const fb::MethodMeta* const names = meta.names();
  for (uint32_t d = 0; d < format::length(names->dimensions()); ++d) {
    const fb::SymbolicDimension& entry = *names->dimensions()->Get(d);
    for (size_t i = 0; i < sizes.size(); ++i) {
      if (meta.plan()->inputs()->Get(static_cast<uint32_t>(i)) != entry.value() || sizes[i].empty()) continue;
      const int64_t size = chooser.value(entry.symbol());
      if (size >= 0 && size <= INT32_MAX) sizes[i][entry.dimension()] = static_cast<int32_t>(size);
    }
  }
}

}  // namespace

std::vector<std::vector<int32_t>> largest_sizes(const MethodMeta& meta) {
  AllSizes sizes = bounds_of(meta);
  const fb::MethodMeta* const names = meta.names();
  if (names == nullptr || format::length(names->size_relations()) == 0) return sizes;
  Chooser chooser(*names);
  if (chooser.choose()) set_open(meta, chooser, sizes);
  return sizes;
}

std::vector<std::vector<int32_t>> sizes_at(const MethodMeta& meta,
                                           const std::function<int64_t(const char*, int64_t, int64_t)>& place) {
  AllSizes sizes = bounds_of(meta);
  if (meta.names() == nullptr) return sizes;
  Chooser chooser(*meta.names());
  chooser.put(place);
  set_open(meta, chooser, sizes);
  return sizes;
}

}  // namespace berth::tool
