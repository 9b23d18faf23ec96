#include "tests/plan/lives_at_sizes.h"

#include <algorithm>
#include <map>
#include <optional>

namespace berth::plan_test {
namespace {

using format::length;

class Symbols {
 public:
  Symbols(const fb::MethodMeta& meta, const format::MethodDesc& desc, int64_t size) : meta_(meta) {
    for (uint32_t d = 0; d < length(meta.dimensions()); ++d) {
      const fb::SymbolicDimension& entry = *meta.dimensions()->Get(d);
      const bool input = std::find(desc.inputs.begin(), desc.inputs.end(), entry.value()) != desc.inputs.end();
      if (input && symbol(entry.symbol()).kind() == fb::SymbolKind::INPUT) given_[entry.symbol()] = size;
    }
  }

  int64_t most(int32_t s) const {
    const int64_t largest = symbol(s).max();
    return std::clamp<int64_t>(value(s).value_or(largest), 0, largest);
  }

 private:
  const fb::Symbol& symbol(int32_t s) const { return *meta_.symbols()->Get(static_cast<uint32_t>(s)); }

  std::optional<int64_t> operand(const fb::Operand& operand) const {
    return operand.symbol() < 0 ? operand.constant() : value(operand.symbol());
  }

  std::optional<int64_t> value(int32_t s) const {
    const auto given = given_.find(s);
    if (given != given_.end()) return given->second;
    if (symbol(s).kind() == fb::SymbolKind::INPUT) return std::nullopt;
    const auto a = operand(*symbol(s).a());
    const auto b = operand(*symbol(s).b());
    if (!a || !b) return std::nullopt;
    const auto quotient = [&] { return *a / *b - (*a % *b != 0 && (*a < 0) != (*b < 0) ? 1 : 0); };
    switch (symbol(s).kind()) {
      case fb::SymbolKind::ADD: return *a + *b;
      case fb::SymbolKind::MUL: return *a * *b;
      case fb::SymbolKind::FLOOR_DIV: return *b == 0 ? std::nullopt : std::optional(quotient());
      case fb::SymbolKind::MOD: return *b == 0 ? std::nullopt : std::optional(*a - quotient() * *b);
      case fb::SymbolKind::MAXIMUM: return std::max(*a, *b);
      default: return std::min(*a, *b);
    }
  }

  const fb::MethodMeta& meta_;
  std::map<int32_t, int64_t> given_;
};

class Follower {
 public:
  Follower(const std::vector<LiveRange>& lives, const format::MethodDesc& desc, const fb::MethodMeta& meta,
           int64_t size)
      : lives_(lives), desc_(desc), meta_(meta), symbols_(meta, desc, size) {}

  std::vector<LiveRange> run() {
    uint32_t previous = 0;
    for (uint32_t s = 0; s < length(meta_.stacks()); ++s) {
      const fb::Stack& stack = *meta_.stacks()->Get(s);
      if (stack.memory_id() != previous) follow(stack);
      previous = stack.memory_id();
    }
    return lives_;
  }

 private:
  const format::TensorDesc& tensor(int32_t v) const { return std::get<format::TensorDesc>(desc_.values[v]); }

  uint64_t bytes_of(int32_t v) const {
    std::vector<int64_t> sizes(tensor(v).sizes.begin(), tensor(v).sizes.end());
    for (uint32_t d = 0; d < length(meta_.dimensions()); ++d) {
      const fb::SymbolicDimension& entry = *meta_.dimensions()->Get(d);
      if (entry.value() == v) sizes[entry.dimension()] = symbols_.most(entry.symbol());
    }
    uint64_t bytes = element_size(tensor(v).dtype);
    for (const int64_t size : sizes) bytes *= static_cast<uint64_t>(size);
    return bytes;
  }

  void follow(const fb::Stack& stack) {
    std::vector<LiveRange> moved = lives_;
    for (LiveRange& life : moved) {
      if (life.memory_id == stack.memory_id()) life.bytes = 0;
    }
    std::vector<uint64_t> ends;
    uint64_t height = 0;
    uint64_t height_in_file = 0;
    for (uint32_t b = 0; b < stack.value_ends()->size(); ++b) {
      uint64_t begin = 0;
      for (uint32_t s = b == 0 ? 0 : stack.support_ends()->Get(b - 1); s < stack.support_ends()->Get(b); ++s) {
        begin = std::max(begin, ends[stack.supports()->Get(s)]);
      }
      begin = (begin + stack.alignment() - 1) / stack.alignment() * stack.alignment();
      std::vector<int32_t> values;
      for (uint32_t i = b == 0 ? 0 : stack.value_ends()->Get(b - 1); i < stack.value_ends()->Get(b); ++i) {
        values.push_back(stack.values()->Get(i));
      }
      uint64_t lowest = UINT64_MAX;
      for (const int32_t v : values) lowest = std::min(lowest, tensor(v).planned->offset);
      ends.push_back(begin);
      for (const int32_t v : values) {
        LiveRange& life = moved[tensor(v).planned->buffer];
        life.offset = begin + tensor(v).planned->offset - lowest;
        life.bytes = std::max(life.bytes, bytes_of(v));
        ends.back() = std::max(ends.back(), life.offset + bytes_of(v));
        height_in_file = std::max(height_in_file, tensor(v).planned->offset + largest_bytes(v));
      }
      height = std::max(height, ends.back());
    }
    // Otherwise everything lies where the file says.
    if (height <= height_in_file) lives_ = moved;
  }

  uint64_t largest_bytes(int32_t v) const {
    uint64_t bytes = element_size(tensor(v).dtype);
    for (const int32_t size : tensor(v).sizes) bytes *= static_cast<uint64_t>(size);
    return bytes;
  }

  std::vector<LiveRange> lives_;
  const format::MethodDesc& desc_;
  const fb::MethodMeta& meta_;
  const Symbols symbols_;
};

}  // namespace

std::vector<LiveRange> lives_at_size(const std::vector<LiveRange>& lives, const format::MethodDesc& desc,
                                     const fb::MethodMeta& meta, int64_t size) {
  if (desc.delegates.empty()) return Follower(lives, desc, meta, size).run();
  std::vector<LiveRange> result;
  for (size_t k = 0; k < desc.arenas.size(); ++k) {
    result.push_back({static_cast<uint32_t>(k + 1), 0, static_cast<uint64_t>(desc.arenas[k].bytes), 0, 0, true});
  }
  return result;
}

}  // namespace berth::plan_test
