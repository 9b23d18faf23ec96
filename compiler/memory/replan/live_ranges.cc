#include "compiler/memory/replan/live_ranges.h"

#include <map>
#include <utility>

#include "compiler/memory/replan/accesses.h"
#include "format/plan_check/access.h"
#include "format/tensor_facts.h"

namespace berth::replan {
namespace {

using format::plan_check::kNone;
using format::plan_check::PlanGraph;

constexpr uint64_t kMaxRowBits = uint64_t{1} << 31;

class LivenessSweep {
 public:
  LivenessSweep(MethodGraph* method, const std::vector<Reserved>& elsewhere)
      : method_(*method),
        elsewhere_(elsewhere),
        graph_(method->graph),
        items_(method->planned_items()),
        accesses_(accesses_of(&method->graph)) {}

  Expected<std::vector<LiveRange>> run() {
    ranges_.resize(items_);
    BERTH_TRY(sweep());
    find_beginnings();
    find_state();
    spread();
    if (graph_.budget == 0) return too_large();
    return std::move(ranges_);
  }

 private:
  int32_t item_of(int32_t value) const { return graph_.item[value]; }

  // Names without bytes of their own take part in the sweep as bits after the items.
  Status sweep() {
    std::map<int32_t, size_t> bit_of_value;
    size_t bits = items_;
    for (const auto& [value, calls] : accesses_.renamed) bit_of_value[value] = bits++;
    const size_t words = (bits + 63) / 64;
    for (const Access& access : accesses_.code) {
      if (access.jump >= 0) rows_[access.jump];
    }
    if (rows_.size() * words > kMaxRowBits / 64) return too_large();
    for (auto& row : rows_) row.second.resize(words);
    read_names(bit_of_value);
    for (changed_ = true; changed_;) {
      changed_ = false;
      live_.assign(words, 0);
      for (const int32_t output : *graph_.plan->outputs()) {
        for_each_tensor(graph_, output, [&](int32_t v) { mark(v, bit_of_value); });
      }
      keep_row(accesses_.code.size());
      for (size_t k = accesses_.code.size(); k-- > 0;) {
        step_back(k);
        keep_row(k);
        if (graph_.budget == 0) return too_large();
      }
    }
    for_each_bit(live_, [&](size_t bit) { range_of(bit).add(1); });
    entry_ = live_;
    return Done{};
  }

  void step_back(size_t k) {
    const Access& access = accesses_.code[k];
    const auto step = static_cast<int64_t>(k) + 1;
    graph_.spend(1 + access.reads.size() + access.writes.size());
    if (access.jump >= 0) {
      const std::vector<uint64_t>& row = rows_[access.jump];
      graph_.spend(row.size());
      for (size_t w = 0; w < row.size(); ++w) {
        for (uint64_t word = row[w] & ~live_[w]; word != 0; word &= word - 1) {
          range_of(w * 64 + static_cast<size_t>(__builtin_ctzll(word))).add(step);
        }
        live_[w] |= row[w];
      }
    }
    for (const auto* list : {&access.reads, &access.writes, &access.mentions}) {
      for (const int32_t item : *list) ranges_[item].add(step);
    }
    for (const size_t bit : name_reads_[k]) range_of(bit).add(step);
    for (const int32_t item : access.writes) clear_bytes(item, step);
    for (const size_t bit : name_writes_[k]) end(bit, step);
    for (const int32_t item : access.reads) set(item);
    for (const size_t bit : name_reads_[k]) set(bit);
  }

  // Before instruction k: what is wanted here is wanted at the jumps that come here.
  void keep_row(size_t k) {
    const auto found = rows_.find(static_cast<int32_t>(k));
    if (found == rows_.end()) return;
    std::vector<uint64_t>& row = found->second;
    graph_.spend(row.size());
    for (size_t w = 0; w < row.size(); ++w) {
      changed_ = changed_ || (live_[w] & ~row[w]) != 0;
      row[w] |= live_[w];
    }
  }

  // What is written anew, and its views with it.
  void clear_bytes(size_t item, int64_t step) {
    end(item, step);
    for (int32_t i = graph_.members[graph_.group[item]]; i != kNone; i = graph_.next[i]) {
      graph_.spend(1);
      if (!graph_.is_defined(graph_.value[i]) && graph_.covers(static_cast<int32_t>(item), i)) end(i, step);
    }
  }

  // For each instruction: the names that it reads, as a tensor argument, and those that it makes.
  void read_names(const std::map<int32_t, size_t>& bits) {
    name_reads_.resize(accesses_.code.size());
    name_writes_.resize(accesses_.code.size());
    name_ranges_.resize(accesses_.renamed.size());
    for (const auto& [value, calls] : accesses_.renamed) {
      for (const int32_t call : calls) name_writes_[call].push_back(bits.at(value));
    }
    if (accesses_.renamed.empty()) return;
    format::plan_check::for_each_instruction(*graph_.plan, [&](const fb::Instruction& instruction, int32_t k, int32_t) {
      const flatbuffers::Vector<int32_t>* args = nullptr;
      if (const auto* call = instruction.instr_args_as_KernelCall()) args = call->args();
      if (const auto* call = instruction.instr_args_as_DelegateCall()) args = call->args();
      const auto read = [&](int32_t v) {
        const auto found = bits.find(v);
        if (found != bits.end()) name_reads_[k].push_back(found->second);
      };
      if (args != nullptr) {
        for (const int32_t argument : *args) for_each_tensor(graph_, argument, read);
      }
      if (const auto* move = instruction.instr_args_as_MoveCall()) read(move->move_from());
      if (const auto* jump = instruction.instr_args_as_JumpFalseCall()) read(jump->cond_value_index());
      return Error::kOk;
    });
  }

  void mark(int32_t value, const std::map<int32_t, size_t>& bits) {
    const auto keep = [&](size_t bit) {
      set(bit);
      range_of(bit).add(method_.end_step());
    };
    if (item_of(value) != kNone) keep(item_of(value));
    const auto found = bits.find(value);
    if (found != bits.end()) keep(found->second);
  }

  LiveRange& range_of(size_t bit) { return bit < items_ ? ranges_[bit] : name_ranges_[bit - items_]; }

  void set(size_t bit) { live_[bit / 64] |= uint64_t{1} << (bit % 64); }

  // Backwards: what is written in this step was not wanted before it.
  void end(size_t bit, int64_t step) {
    const uint64_t mask = uint64_t{1} << (bit % 64);
    if ((live_[bit / 64] & mask) != 0) range_of(bit).add(step);
    live_[bit / 64] &= ~mask;
  }

  template <typename Visit>
  static void for_each_bit(const std::vector<uint64_t>& words, Visit&& visit) {
    for (size_t w = 0; w < words.size(); ++w) {
      for (uint64_t word = words[w]; word != 0; word &= word - 1) {
        visit(w * 64 + static_cast<size_t>(__builtin_ctzll(word)));
      }
    }
  }

  // The first step of the loops around a step; the step itself where there is none.
  int64_t loop_start(int64_t step) {
    for (bool moved = true; moved && graph_.spend(accesses_.code.size());) {
      moved = false;
      for (size_t k = 0; k < accesses_.code.size(); ++k) {
        const int64_t begin = accesses_.code[k].jump + 1;
        if (accesses_.code[k].jump < 0 || begin >= step || static_cast<int64_t>(k) + 1 < step) continue;
        step = begin;
        moved = true;
      }
    }
    return step;
  }

  // Nothing writes all of what is stacked row by row, or put together of parts: it begins with the first of them.
  void find_beginnings() {
    std::vector<int64_t> written(items_, INT64_MAX);
    for (size_t k = accesses_.code.size(); k-- > 0;) {
      for (const auto* list : {&accesses_.code[k].writes, &accesses_.code[k].mentions}) {
        for (const int32_t item : *list) written[item] = static_cast<int64_t>(k) + 1;
      }
    }
    std::vector<int64_t> group_begin(items_, INT64_MAX);
    for (size_t i = 0; i < items_; ++i) {
      const uint8_t mark = graph_.mark(graph_.value[i]);
      const bool whole = (mark & (format::plan_check::kIsInput | format::plan_check::kHasInitialValue |
                                  format::plan_check::kIsWritten)) != 0;
      if (!whole && (mark & format::plan_check::kIsStacked) != 0 && written[i] != INT64_MAX) {
        ranges_[i].lower = loop_start(written[i]);
        entry_[i / 64] &= ~(uint64_t{1} << (i % 64));
      }
      int64_t& begin = group_begin[graph_.group[i]];
      if (graph_.is_defined(graph_.value[i])) begin = std::min(begin, ranges_[i].lower);
    }
    for (size_t i = 0; i < items_; ++i) {
      const int64_t begin = group_begin[graph_.group[i]];
      if (!graph_.is_defined(graph_.value[i]) && begin != INT64_MAX) {
        ranges_[i].lower = std::min(begin, ranges_[i].upper - 1);
      }
    }
  }

  void find_state() {
    std::vector<uint8_t> has_parts(items_);
    for (size_t i = 0; i < items_; ++i) {
      if (graph_.is_defined(graph_.value[i])) has_parts[graph_.group[i]] = 1;
    }
    for (size_t i = 0; i < items_; ++i) {
      const int32_t value = graph_.value[i];
      const bool input = (graph_.mark(value) & format::plan_check::kIsInput) != 0;
      const fb::ExtraTensorInfo* extra = method_.tensor(i).extra_tensor_info();
      const bool named = extra != nullptr && format::text(extra->fully_qualified_name())[0] != '\0';
      const bool initial = (graph_.mark(value) & format::plan_check::kHasInitialValue) != 0;
      const bool view = graph_.parent[i] != kNone && !graph_.is_defined(value);
      // What is put together of parts or is a name of others is defined by them.
      const bool others = is_aggregate(value) && (has_parts[graph_.group[i]] != 0 || is_renamed(value));
      const bool read_first = !view && !others && (entry_[i / 64] >> (i % 64) & 1) != 0;
      graph_.spend(1 + elsewhere_.size());
      ranges_[i].state = (!input && (named || initial || read_first)) || is_state_elsewhere(i);
      if (input) ranges_[i].add(0);
    }
    for (const int32_t output : *graph_.plan->outputs()) {
      if (item_of(output) != kNone) ranges_[item_of(output)].add(method_.end_step());
    }
  }

  bool is_aggregate(int32_t value) const { return (graph_.mark(value) & format::plan_check::kIsAggregate) != 0; }
  bool is_renamed(int32_t value) const { return (graph_.mark(value) & format::plan_check::kIsRenamed) != 0; }

  // Another method may read here what this one leaves.
  bool is_state_elsewhere(size_t item) const {
    const uint32_t id = method_.tensor(item).allocation_info()->memory_id();
    const int64_t begin = method_.offset_of(item);
    return std::any_of(elsewhere_.begin(), elsewhere_.end(), [&](const Reserved& state) {
      return state.memory_id == id && state.offset < begin + method_.bytes_of(item) &&
             begin < state.offset + state.bytes;
    });
  }

  void join(int32_t value, const LiveRange& range) {
    if (item_of(value) != kNone && range.lower <= range.upper) ranges_[item_of(value)].add(range);
  }

  // The ranges of names go to the bytes that they name, through names of names.
  void spread() {
    std::map<int32_t, size_t> index;
    for (const auto& [value, calls] : accesses_.renamed) index.emplace(value, index.size());
    for (bool changed = true; changed && graph_.spend(accesses_.names.size());) {
      changed = false;
      for (const auto& [from, to] : accesses_.names) {
        const LiveRange range = name_ranges_[index.at(to)];
        const auto named = index.find(from);
        if (named != index.end()) {
          LiveRange& other = name_ranges_[named->second];
          changed = changed || range.upper > other.upper || range.lower < other.lower;
          other.add(range);
        }
        join(from, range);
      }
    }
  }

  const MethodGraph& method_;
  const std::vector<Reserved>& elsewhere_;
  PlanGraph& graph_;
  const size_t items_;
  const Accesses accesses_;
  std::vector<LiveRange> ranges_;
  std::vector<LiveRange> name_ranges_;
  std::vector<std::vector<size_t>> name_reads_;
  std::vector<std::vector<size_t>> name_writes_;
  std::map<int32_t, std::vector<uint64_t>> rows_;  // destination of jumps → what is wanted there
  std::vector<uint64_t> live_;
  bool changed_ = false;
  std::vector<uint64_t> entry_;
};

}  // namespace

Expected<std::vector<LiveRange>> live_ranges(MethodGraph* method, const std::vector<Reserved>& elsewhere) {
  return LivenessSweep(method, elsewhere).run();
}

Expected<std::vector<Reserved>> reserved_state(const format::ProgramView& program, size_t method) {
  BERTH_ASSIGN_OR_RETURN(MethodGraph graph, graph_of(program, method));
  BERTH_ASSIGN_OR_RETURN(const std::vector<LiveRange> ranges, live_ranges(&graph, {}));
  std::vector<Reserved> out;
  for (size_t i = 0; i < ranges.size(); ++i) {
    if (!ranges[i].state) continue;
    out.push_back({graph.tensor(i).allocation_info()->memory_id(), graph.offset_of(i), graph.bytes_of(i)});
  }
  return out;
}

}  // namespace berth::replan
