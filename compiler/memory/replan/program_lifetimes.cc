#include "compiler/memory/replan/program_lifetimes.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "format/plan_check/access.h"
#include "format/plan_check/build_graph.h"
#include "format/plan_check/verify_plan.h"

namespace berth::replan {
namespace {

using format::plan_check::CallShape;
using format::plan_check::kNone;
using format::plan_check::PlanGraph;
using format::plan_check::WriteKind;

constexpr uint64_t kMaxRowBits = uint64_t{1} << 31;

Failure failure(const format::Report& report) { return Failure{report.code, report.place, report.message}; }

/// What one instruction reads and wholly writes, in items.
struct Access {
  std::vector<int32_t> reads;
  std::vector<int32_t> writes;
  std::vector<int32_t> mentions;  // of delegates
  int32_t jump = -1;              // destination
};

struct Life {
  int64_t lower = INT64_MAX;
  int64_t upper = 0;
  bool state = false;
  void add(int64_t step) {
    lower = std::min(lower, step);
    upper = std::max(upper, step + 1);
  }
};

class Analysis {
 public:
  Analysis(const format::ProgramView& program, size_t method, const std::vector<Reserved>& elsewhere)
      : program_(program), method_(static_cast<int>(method)), elsewhere_(elsewhere) {
    graph_.program = &program;
    graph_.plan = &program.method(method);
  }

  Status prepare() {
    graph_.meta = meta();
    graph_.size = format::plan_check::measure_plan(*graph_.plan, graph_.meta);
    graph_.budget = 64 * program_.layout().program_size + (uint64_t{1} << 24);
    format::plan_check::Scratch measure;
    take_graph_memory(graph_.size, &measure, &graph_);
    memory_.resize(measure.used() + 64);
    format::plan_check::Scratch scratch(memory_);
    format::Report report;
    if (!take_graph_memory(graph_.size, &scratch, &graph_)) {
      return Failure{Error::kOutOfResources, "memory plan", "the method is too large to be looked at"};
    }
    if (build_graph(&graph_, method_, &report) != Error::kOk) return failure(report);
    items_ = graph_.size.planned;
    lives_.resize(items_);
    collect();
    BERTH_TRY(sweep());
    find_beginnings();
    find_state();
    spread();
    if (graph_.budget == 0) return too_large();
    return Done{};
  }

  Expected<Lifetimes> run() {
    BERTH_TRY(prepare());
    return group();
  }

  Expected<std::vector<Reserved>> reserved() {
    BERTH_TRY(prepare());
    std::vector<Reserved> out;
    for (size_t i = 0; i < items_; ++i) {
      if (!lives_[i].state) continue;
      out.push_back({tensor(i).allocation_info()->memory_id(), offset_of(i), bytes_of(i)});
    }
    return out;
  }

 private:
  const fb::MethodMeta* meta() const {
    const fb::Meta* meta = program_.meta();
    if (meta == nullptr || meta->methods() == nullptr) return nullptr;
    for (const fb::MethodMeta* method : *meta->methods()) {
      if (std::strcmp(format::text(method->name()), format::text(graph_.plan->name())) == 0) return method;
    }
    return nullptr;
  }

  const fb::Tensor& tensor(size_t item) const { return *format::tensor_at(*graph_.plan, graph_.value[item]); }
  int64_t offset_of(size_t item) const {
    return static_cast<int64_t>(format::planned_offset(*tensor(item).allocation_info()));
  }
  int64_t bytes_of(size_t item) const { return static_cast<int64_t>(graph_.end[item] - graph_.begin[item]); }
  int64_t end_step() const { return static_cast<int64_t>(code_.size()) + 1; }

  int32_t item_of(int32_t value) const { return graph_.item[value]; }

  void add(int32_t value, std::vector<int32_t>* list) const {
    if (item_of(value) != kNone) list->push_back(item_of(value));
  }

  void collect() {
    std::vector<uint8_t> written(graph_.plan->values()->size());
    for (const int32_t input : *graph_.plan->inputs()) written[input] = 1;
    format::plan_check::for_each_instruction(
        *graph_.plan, [&](const fb::Instruction& instruction, int32_t, int32_t chain) {
          code_.emplace_back();
          Access& access = code_.back();
          if (const auto* call = instruction.instr_args_as_KernelCall()) {
            kernel(*call, &access);
          } else if (const auto* delegate = instruction.instr_args_as_DelegateCall()) {
            this->delegate(*delegate, written, &access);
          } else if (const auto* move = instruction.instr_args_as_MoveCall()) {
            rename(move->move_from(), move->move_to(), &access);
          } else if (const auto* jump = instruction.instr_args_as_JumpFalseCall()) {
            add(jump->cond_value_index(), &access.reads);
            access.jump = chain + jump->destination_instruction();
          }
          for (const int32_t item : access.writes) written[graph_.value[item]] = 1;
          return Error::kOk;
        });
  }

  void kernel(const fb::KernelCall& call, Access* access) {
    const CallShape shape = shape_of(graph_, call);
    if (shape.access->kind == format::OperatorAccess::Kind::kView && call.args()->size() >= 3) {
      return rename(call.args()->Get(0), call.args()->Get(2), access);
    }
    visit_reads(graph_, shape, [&](int32_t v) { add(v, &access->reads); });
    visit_writes(graph_, shape, [&](int32_t v, WriteKind kind) {
      // What is written in part holds what it held otherwise; a stack begins with its first row.
      add(v, kind == WriteKind::kPart ? &access->reads : &access->mentions);
      if (kind == WriteKind::kWhole) add(v, &access->writes);
    });
  }

  void delegate(const fb::DelegateCall& call, const std::vector<uint8_t>& written, Access* access) {
    for (const int32_t argument : *call.args()) {
      for_each_tensor(graph_, argument, [&](int32_t v) {
        add(v, &access->mentions);
        if (item_of(v) == kNone) return;
        const bool given = written[v] != 0 || (graph_.mark(v) & format::plan_check::kHasInitialValue) != 0 ||
                           graph_.parent[item_of(v)] != kNone;
        add(v, given ? &access->reads : &access->writes);
      });
    }
  }

  // Bytes with a second name are wanted as long as either of them.
  void rename(int32_t from, int32_t to, Access* access) {
    add(from, &access->reads);
    names_.push_back({from, to});
    renamed_[to].push_back(static_cast<int32_t>(code_.size()) - 1);
    if (item_of(to) != kNone) access->mentions.push_back(item_of(to));
  }

  // Names without bytes of their own take part in the sweep as bits after the items.
  Status sweep() {
    std::map<int32_t, size_t> bit_of_value;
    size_t bits = items_;
    for (const auto& [value, calls] : renamed_) bit_of_value[value] = bits++;
    const size_t words = (bits + 63) / 64;
    for (const Access& access : code_) {
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
      keep_row(code_.size());
      for (size_t k = code_.size(); k-- > 0;) {
        step_back(k);
        keep_row(k);
        if (graph_.budget == 0) return too_large();
      }
    }
    for_each_bit(live_, [&](size_t bit) { life_of(bit).add(1); });
    entry_ = live_;
    return Done{};
  }

  static Failure too_large() {
    return Failure{Error::kOutOfResources, "memory plan", "the method has too many jumps and views for its values"};
  }

  void step_back(size_t k) {
    const Access& access = code_[k];
    const auto step = static_cast<int64_t>(k) + 1;
    graph_.spend(1 + access.reads.size() + access.writes.size());
    if (access.jump >= 0) {
      const std::vector<uint64_t>& row = rows_[access.jump];
      graph_.spend(row.size());
      for (size_t w = 0; w < row.size(); ++w) {
        for (uint64_t word = row[w] & ~live_[w]; word != 0; word &= word - 1) {
          life_of(w * 64 + static_cast<size_t>(__builtin_ctzll(word))).add(step);
        }
        live_[w] |= row[w];
      }
    }
    for (const auto* list : {&access.reads, &access.writes, &access.mentions}) {
      for (const int32_t item : *list) lives_[item].add(step);
    }
    for (const size_t bit : name_reads_[k]) life_of(bit).add(step);
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
    name_reads_.resize(code_.size());
    name_writes_.resize(code_.size());
    name_life_.resize(renamed_.size());
    for (const auto& [value, calls] : renamed_) {
      for (const int32_t call : calls) name_writes_[call].push_back(bits.at(value));
    }
    if (renamed_.empty()) return;
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
      life_of(bit).add(end_step());
    };
    if (item_of(value) != kNone) keep(item_of(value));
    const auto found = bits.find(value);
    if (found != bits.end()) keep(found->second);
  }

  Life& life_of(size_t bit) { return bit < items_ ? lives_[bit] : name_life_[bit - items_]; }

  void set(size_t bit) { live_[bit / 64] |= uint64_t{1} << (bit % 64); }

  // Backwards: what is written in this step was not wanted before it.
  void end(size_t bit, int64_t step) {
    const uint64_t mask = uint64_t{1} << (bit % 64);
    if ((live_[bit / 64] & mask) != 0) life_of(bit).add(step);
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
    for (bool moved = true; moved && graph_.spend(code_.size());) {
      moved = false;
      for (size_t k = 0; k < code_.size(); ++k) {
        const int64_t begin = code_[k].jump + 1;
        if (code_[k].jump < 0 || begin >= step || static_cast<int64_t>(k) + 1 < step) continue;
        step = begin;
        moved = true;
      }
    }
    return step;
  }

  // Nothing writes all of what is stacked row by row, or put together of parts: it begins with the first of them.
  void find_beginnings() {
    std::vector<int64_t> written(items_, INT64_MAX);
    for (size_t k = code_.size(); k-- > 0;) {
      for (const auto* list : {&code_[k].writes, &code_[k].mentions}) {
        for (const int32_t item : *list) written[item] = static_cast<int64_t>(k) + 1;
      }
    }
    std::vector<int64_t> group_begin(items_, INT64_MAX);
    for (size_t i = 0; i < items_; ++i) {
      const uint8_t mark = graph_.mark(graph_.value[i]);
      const bool whole = (mark & (format::plan_check::kIsInput | format::plan_check::kHasInitialValue |
                                  format::plan_check::kIsWritten)) != 0;
      if (!whole && (mark & format::plan_check::kIsStacked) != 0 && written[i] != INT64_MAX) {
        lives_[i].lower = loop_start(written[i]);
        entry_[i / 64] &= ~(uint64_t{1} << (i % 64));
      }
      int64_t& begin = group_begin[graph_.group[i]];
      if (graph_.is_defined(graph_.value[i])) begin = std::min(begin, lives_[i].lower);
    }
    for (size_t i = 0; i < items_; ++i) {
      const int64_t begin = group_begin[graph_.group[i]];
      if (!graph_.is_defined(graph_.value[i]) && begin != INT64_MAX) {
        lives_[i].lower = std::min(begin, lives_[i].upper - 1);
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
      const fb::ExtraTensorInfo* extra = tensor(i).extra_tensor_info();
      const bool named = extra != nullptr && format::text(extra->fully_qualified_name())[0] != '\0';
      const bool initial = (graph_.mark(value) & format::plan_check::kHasInitialValue) != 0;
      const bool view = graph_.parent[i] != kNone && !graph_.is_defined(value);
      // What is put together of parts or is a name of others is defined by them.
      const bool others = is_aggregate(value) && (has_parts[graph_.group[i]] != 0 || is_renamed(value));
      const bool read_first = !view && !others && (entry_[i / 64] >> (i % 64) & 1) != 0;
      graph_.spend(1 + elsewhere_.size());
      lives_[i].state = (!input && (named || initial || read_first)) || is_state_elsewhere(i);
      if (input) lives_[i].add(0);
    }
    for (const int32_t output : *graph_.plan->outputs()) {
      if (item_of(output) != kNone) lives_[item_of(output)].add(end_step());
    }
  }

  bool is_aggregate(int32_t value) const { return (graph_.mark(value) & format::plan_check::kIsAggregate) != 0; }
  bool is_renamed(int32_t value) const { return (graph_.mark(value) & format::plan_check::kIsRenamed) != 0; }

  // Another method may read here what this one leaves.
  bool is_state_elsewhere(size_t item) const {
    const uint32_t id = tensor(item).allocation_info()->memory_id();
    const int64_t begin = offset_of(item);
    return std::any_of(elsewhere_.begin(), elsewhere_.end(), [&](const Reserved& state) {
      return state.memory_id == id && state.offset < begin + bytes_of(item) && begin < state.offset + state.bytes;
    });
  }

  void join(int32_t value, const Life& life) {
    if (item_of(value) == kNone || life.lower > life.upper) return;
    Life& own = lives_[item_of(value)];
    own.lower = std::min(own.lower, life.lower);
    own.upper = std::max(own.upper, life.upper);
  }

  // Lives of names go to the bytes that they name, through names of names.
  void spread() {
    std::map<int32_t, size_t> index;
    for (const auto& [value, calls] : renamed_) index.emplace(value, index.size());
    for (bool changed = true; changed && graph_.spend(names_.size());) {
      changed = false;
      for (const auto& [from, to] : names_) {
        const Life life = name_life_[index.at(to)];
        const auto named = index.find(from);
        if (named != index.end()) {
          Life& other = name_life_[named->second];
          changed = changed || life.upper > other.upper || life.lower < other.lower;
          other.lower = std::min(other.lower, life.lower);
          other.upper = std::max(other.upper, life.upper);
        }
        join(from, life);
      }
    }
  }

  size_t root(size_t item) {
    while (group_[item] != item) item = group_[item] = group_[group_[item]];
    return item;
  }

  bool meet(size_t a, size_t b) const {
    const Life& x = lives_[a];
    const Life& y = lives_[b];
    return x.lower < y.upper && y.lower < x.upper;
  }

  // Ties what lies in the same bytes in the same step.
  void tie() {
    std::vector<size_t> order(items_);
    std::iota(order.begin(), order.end(), size_t{0});
    std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return graph_.begin[a] < graph_.begin[b]; });
    for (size_t i = 0; i < items_; ++i) {
      for (size_t k = i + 1; k < items_ && graph_.begin[order[k]] < graph_.end[order[i]]; ++k) {
        if (!graph_.spend(1)) return;
        const size_t a = root(order[i]);
        const size_t b = root(order[k]);
        if (a != b && meet(order[i], order[k])) group_[b] = a;
      }
    }
  }

  // 16 on the host, as every maker of programs has it; elsewhere what all present offsets are multiples of.
  std::vector<int64_t> alignments(const Lifetimes& lifetimes) const {
    std::vector<int64_t> bits(lifetimes.problem.spaces.size(), 256);
    for (size_t s = 0; s < lifetimes.offsets.size(); ++s)
      bits[lifetimes.problem.buffers[s].space] |= lifetimes.offsets[s];
    for (size_t k = 0; k < bits.size(); ++k) {
      const bool host = format::arena_device(*graph_.plan, static_cast<uint32_t>(k + 1)).is_cpu();
      bits[k] = host ? 16 : std::max<int64_t>(16, bits[k] & -bits[k]);  // never above 256
    }
    return bits;
  }

  Expected<Lifetimes> group() {
    group_.resize(items_);
    for (size_t i = 0; i < items_; ++i) group_[i] = graph_.group[i];
    // Views live as long as what they show, so a group's life is known before the others are looked at.
    std::vector<Life> whole(items_);
    for (size_t i = 0; i < items_; ++i) {
      Life& life = whole[root(i)];
      life.lower = std::min(life.lower, lives_[i].lower);
      life.upper = std::max(life.upper, lives_[i].upper);
      life.state = life.state || lives_[i].state;
    }
    for (size_t i = 0; i < items_; ++i) {
      lives_[i] = whole[root(i)];
      if (lives_[i].state) {
        lives_[i].lower = 0;
        lives_[i].upper = end_step() + 1;
      }
    }
    tie();
    if (graph_.budget == 0) return too_large();
    Lifetimes out;
    out.problem.spaces.assign(graph_.plan->non_const_buffer_sizes()->size() - 1, packing::Space{});
    std::map<size_t, size_t> storage_of;
    for (size_t i = 0; i < items_; ++i) {
      if (lives_[i].lower >= lives_[i].upper) lives_[i].add(0);  // mentioned by nothing: it keeps a place
      const auto [found, fresh] = storage_of.emplace(root(i), out.problem.buffers.size());
      if (fresh) {
        out.problem.buffers.emplace_back();
        out.problem.buffers.back().space = static_cast<int32_t>(tensor(i).allocation_info()->memory_id()) - 1;
        out.problem.buffers.back().lower = INT64_MAX;
        out.members.emplace_back();
        out.offsets.push_back(INT64_MAX);
      }
      packing::Buffer& storage = out.problem.buffers[found->second];
      storage.lower = std::min(storage.lower, lives_[i].lower);
      storage.upper = std::max(storage.upper, lives_[i].upper);
      out.offsets[found->second] = std::min(out.offsets[found->second], offset_of(i));
      storage.size = std::max(storage.size, offset_of(i) + bytes_of(i));  // an end, until all are known
      if (lives_[i].state && program_.method_count() > 1) storage.fixed = 0;
      out.members[found->second].push_back({graph_.value[i], offset_of(i)});
    }
    const std::vector<int64_t> alignment = alignments(out);
    for (size_t s = 0; s < out.members.size(); ++s) {
      packing::Buffer& storage = out.problem.buffers[s];
      const bool fixed = storage.fixed != packing::kAnywhere;
      storage.alignment = fixed ? 1 : alignment[storage.space];
      // What is tied stays aligned: the storage begins at a multiple of the alignment, wherever its first value lies.
      out.offsets[s] &= -storage.alignment;
      storage.size -= out.offsets[s];
      if (fixed) storage.fixed = out.offsets[s];
      for (Member& member : out.members[s]) member.delta -= out.offsets[s];
    }
    return out;
  }

  const format::ProgramView& program_;
  const int method_;
  const std::vector<Reserved>& elsewhere_;
  PlanGraph graph_;
  std::vector<uint8_t> memory_;
  size_t items_ = 0;
  std::vector<Access> code_;
  std::vector<Life> lives_;
  std::vector<Life> name_life_;
  std::vector<std::pair<int32_t, int32_t>> names_;   // from, to: values
  std::map<int32_t, std::vector<int32_t>> renamed_;  // value → the instructions that rename it
  std::vector<std::vector<size_t>> name_reads_;
  std::vector<std::vector<size_t>> name_writes_;
  std::map<int32_t, std::vector<uint64_t>> rows_;  // destination of jumps → what is wanted there
  std::vector<uint64_t> live_;
  bool changed_ = false;
  std::vector<uint64_t> entry_;
  std::vector<size_t> group_;
};

}  // namespace

Expected<Lifetimes> program_lifetimes(const format::ProgramView& program, size_t method,
                                      const std::vector<Reserved>& elsewhere) {
  return Analysis(program, method, elsewhere).run();
}

Expected<std::vector<Reserved>> reserved_state(const format::ProgramView& program, size_t method) {
  const std::vector<Reserved> none;
  return Analysis(program, method, none).reserved();
}

}  // namespace berth::replan
