#include "format/plan_check/stacks.h"

#include <algorithm>
#include <cinttypes>
#include <cstdio>

#include "base/result.h"
#include "format/plan_check/each_stack.h"
#include "format/tensor_facts.h"
#include "format/verify.h"

namespace berth::format::plan_check {
namespace {

size_t words_of(size_t blocks) { return (blocks + 63) / 64; }

uint32_t arena_of(const PlanGraph& graph, size_t item) {
  return tensor_at(*graph.plan, graph.value[item])->allocation_info()->memory_id();
}

class Mover {
 public:
  Mover(PlanGraph* graph, int method, Report* report) : graph_(*graph), method_(method), report_(report) {}

  Error run() {
    if (!graph_.spend(graph_.item_count + 2 * graph_.size.relations)) return out_of_budget(method_, report_);
    std::fill(graph_.block.begin(), graph_.block.end(), kNone);
    const auto add_stack = [this](const fb::Stack& stack) { return add(stack); };
    BERTH_RETURN_IF_ERROR(for_each_stack(graph_.meta, add_stack));
    BERTH_RETURN_IF_ERROR(check_relations());
    return move_others();
  }

 private:
  template <typename... Args>
  Error fail(Error code, uint32_t arena, const char* message, Args... args) {
    char place[64];
    std::snprintf(place, sizeof place, "methods[%d].stacks, arena %u", method_, arena);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-security"
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    return format::fail(report_, code, place, message, args...);
#pragma GCC diagnostic pop
  }

  const char* name(int32_t value) { return describe_value(graph_, value, name_, sizeof name_); }

  Error add(const fb::Stack& stack) {
    stacked_[stack.memory_id()] = true;
    uint32_t value = 0;
    uint32_t support = 0;
    const size_t first = next_block_;
    for (uint32_t b = 0; b < stack.value_ends()->size(); ++b, ++next_block_) {
      graph_.block_arena[next_block_] = stack.memory_id();
      BERTH_RETURN_IF_ERROR(add_block(stack, value, stack.value_ends()->Get(b)));
      value = stack.value_ends()->Get(b);
      for (; support < stack.support_ends()->Get(b); ++support) {
        if (!graph_.spend(graph_.block_words())) return out_of_budget(method_, report_);
        put_below(first + stack.supports()->Get(support));
      }
    }
    return Error::kOk;
  }

  /// All that is below `support` is below the next block, and so is the support.
  void put_below(size_t support) {
    const size_t words = graph_.block_words();
    uint64_t* const row = graph_.below.data() + next_block_ * words;
    const uint64_t* const under = graph_.below.data() + support * words;
    for (size_t w = 0; w < words; ++w) row[w] |= under[w];
    row[support / 64] |= uint64_t{1} << (support % 64);
  }

  Error add_block(const fb::Stack& stack, uint32_t from, uint32_t to) {
    uint64_t begin = UINT64_MAX;
    uint64_t end = 0;
    if (!graph_.spend(2 * (to - from) + 1)) return out_of_budget(method_, report_);
    for (uint32_t i = from; i < to; ++i) {
      const int32_t value = stack.values()->Get(i);
      const int32_t item = graph_.item[value];
      if (graph_.block[item] != kNone) {
        return fail(Error::kInvalidProgram, stack.memory_id(), "%s is in two blocks", name(value));
      }
      graph_.block[item] = static_cast<int32_t>(next_block_);
      const AllocationPlace place(*tensor_at(*graph_.plan, value));
      begin = std::min(begin, place.offset);
      end = std::max(end, place.offset + (graph_.end[item] - graph_.begin[item]));
    }
    if (from == to) return Error::kOk;
    if (begin % stack.alignment() != 0) {
      return fail(Error::kInvalidProgram, stack.memory_id(), "the block of %s is not at a multiple of %u",
                  name(stack.values()->Get(from)), stack.alignment());
    }
    for (uint32_t i = from; i < to; ++i) {
      const int32_t value = stack.values()->Get(i);
      const int32_t item = graph_.item[value];
      const uint64_t bytes = graph_.end[item] - graph_.begin[item];
      BERTH_RETURN_IF_ERROR(place(item, AllocationPlace(*tensor_at(*graph_.plan, value)).offset - begin, bytes));
    }
    return advance(end - begin);
  }

  struct AllocationPlace {
    explicit AllocationPlace(const fb::Tensor& tensor) : offset(planned_offset(*tensor.allocation_info())) {}
    uint64_t offset;
  };

  Error place(int32_t item, uint64_t inside, uint64_t bytes) {
    uint64_t end = 0;
    if (!checked_add(next_address_, inside, &graph_.begin[item]) || !checked_add(graph_.begin[item], bytes, &end)) {
      return too_large();
    }
    graph_.end[item] = end;
    return Error::kOk;
  }

  Error advance(uint64_t bytes) { return checked_add(next_address_, bytes, &next_address_) ? Error::kOk : too_large(); }

  Error too_large() {
    return format::fail(report_, Error::kOutOfResources, "arenas",
                        "the blocks of method %d add up to more than 2^64 bytes", method_);
  }

  /// Before the items of other arenas are moved: theirs and the blocks' addresses are not compared here.
  Error check_relations() {
    for (uint32_t i = 0; i < length(graph_.meta->relations()); ++i) {
      const fb::Relation& relation = *graph_.meta->relations()->Get(i);
      const int32_t value = graph_.item[relation.value()];
      const int32_t base = graph_.item[relation.base()];
      if (value == kNone || base == kNone || graph_.block[value] == graph_.block[base]) continue;
      if (arena_of(graph_, value) != arena_of(graph_, base) || !overlap_in_file(value, base)) continue;
      return fail(Error::kInvalidProgram, arena_of(graph_, value), "value %d shares bytes with %s, in another block",
                  relation.value(), name(relation.base()));
    }
    return Error::kOk;
  }

  bool overlap_in_file(int32_t a, int32_t b) const {
    const uint64_t first = AllocationPlace(*tensor_at(*graph_.plan, graph_.value[a])).offset;
    const uint64_t second = AllocationPlace(*tensor_at(*graph_.plan, graph_.value[b])).offset;
    return first < second + (graph_.end[b] - graph_.begin[b]) && second < first + (graph_.end[a] - graph_.begin[a]);
  }

  /// Items of other arenas behind all blocks; aliases to where the tensors are whose bytes they name.
  Error move_others() {
    const uint64_t behind = next_address_;
    for (size_t i = 0; i < graph_.item_count; ++i) {
      if (graph_.is_alias(static_cast<int32_t>(i))) {
        graph_.begin[i] = graph_.begin[graph_.parent[i]];
        graph_.end[i] = graph_.end[graph_.parent[i]];
        graph_.block[i] = graph_.block[graph_.parent[i]];
        continue;
      }
      if (graph_.block[i] != kNone) continue;
      if (stacked_[arena_of(graph_, i)]) {
        return fail(Error::kInvalidProgram, arena_of(graph_, i), "%s is in no block", name(graph_.value[i]));
      }
      if (!checked_add(graph_.begin[i], behind, &graph_.begin[i]) ||
          !checked_add(graph_.end[i], behind, &graph_.end[i])) {
        return too_large();
      }
    }
    return Error::kOk;
  }

  PlanGraph& graph_;
  const int method_;
  Report* const report_;
  size_t next_block_ = 0;
  uint64_t next_address_ = 0;
  bool stacked_[kMaxArenas] = {};
  char name_[48] = "";
};

}  // namespace

bool too_many_blocks(const PlanSize& size, uint64_t program_size) {
  uint64_t bytes = 0;
  return !checked_mul<uint64_t>(8 * words_of(size.blocks), size.blocks, &bytes) ||
         bytes > 8 * program_size + (uint64_t{1} << 20);
}

Error move_blocks_apart(PlanGraph* graph, int method, Report* report) { return Mover(graph, method, report).run(); }

}  // namespace berth::format::plan_check
