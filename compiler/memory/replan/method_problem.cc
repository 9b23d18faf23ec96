#include "compiler/memory/replan/method_problem.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "format/delegate_device.h"
#include "format/tensor_facts.h"

namespace berth::replan {
namespace {

class ProblemMaker {
 public:
  ProblemMaker(MethodGraph* method, std::vector<LiveRange> ranges)
      : method_(*method), graph_(method->graph), items_(ranges.size()), ranges_(std::move(ranges)) {}

  Expected<MethodProblem> run() {
    widen_to_views();
    tie();
    if (graph_.budget == 0) return too_large();
    add_buffers();
    align_buffers();
    return std::move(out_);
  }

 private:
  size_t root(size_t item) {
    while (group_[item] != item) item = group_[item] = group_[group_[item]];
    return item;
  }

  bool meet(size_t a, size_t b) const {
    return ranges_[a].lower < ranges_[b].upper && ranges_[b].lower < ranges_[a].upper;
  }

  // Views live as long as what they show, so a group's range is known before the others are looked at.
  void widen_to_views() {
    for (size_t i = 0; i < items_; ++i) group_.push_back(graph_.group[i]);
    std::vector<LiveRange> whole(items_);
    for (size_t i = 0; i < items_; ++i) {
      LiveRange& range = whole[root(i)];
      range.add(ranges_[i]);
      range.state = range.state || ranges_[i].state;
    }
    for (size_t i = 0; i < items_; ++i) {
      ranges_[i] = whole[root(i)];
      if (!ranges_[i].state) continue;
      ranges_[i].lower = 0;
      ranges_[i].upper = method_.end_step() + 1;
    }
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

  // A buffer's size is its end, until the offsets of all its values are known.
  void add_buffers() {
    packing::Problem& problem = out_.problem;
    problem.spaces.assign(graph_.plan->non_const_buffer_sizes()->size() - 1, packing::Space{});
    std::map<size_t, size_t> buffer_of;
    for (size_t i = 0; i < items_; ++i) {
      if (ranges_[i].lower >= ranges_[i].upper) ranges_[i].add(0);  // mentioned by nothing: it keeps a place
      const auto [found, fresh] = buffer_of.emplace(root(i), problem.buffers.size());
      const size_t b = found->second;
      if (fresh) {
        problem.buffers.emplace_back();
        problem.buffers[b].space = static_cast<int32_t>(method_.tensor(i).allocation_info()->memory_id()) - 1;
        problem.buffers[b].lower = INT64_MAX;
        out_.values.emplace_back();
        out_.offsets.push_back(INT64_MAX);
      }
      packing::Buffer& buffer = problem.buffers[b];
      buffer.lower = std::min(buffer.lower, ranges_[i].lower);
      buffer.upper = std::max(buffer.upper, ranges_[i].upper);
      out_.offsets[b] = std::min(out_.offsets[b], method_.offset_of(i));
      buffer.size = std::max(buffer.size, method_.offset_of(i) + method_.bytes_of(i));
      if (ranges_[i].state && graph_.program->method_count() > 1) buffer.fixed = 0;
      out_.values[b].push_back({graph_.value[i], method_.offset_of(i)});
    }
  }

  void align_buffers() {
    const std::vector<int64_t> alignments = alignments_of_spaces();
    for (size_t b = 0; b < out_.values.size(); ++b) {
      packing::Buffer& buffer = out_.problem.buffers[b];
      const bool fixed = buffer.fixed != packing::kAnywhere;
      buffer.alignment = fixed ? 1 : alignments[buffer.space];
      // What is tied stays aligned: the buffer begins at a multiple of the alignment, wherever its first value lies.
      out_.offsets[b] &= -buffer.alignment;
      buffer.size -= out_.offsets[b];
      if (fixed) buffer.fixed = out_.offsets[b];
      for (ValueInBuffer& value : out_.values[b]) value.shift -= out_.offsets[b];
    }
  }

  // 16 on the host, as every maker of programs has it; elsewhere what all present offsets are multiples of. More where
  // a delegate asks for it.
  std::vector<int64_t> alignments_of_spaces() const {
    std::vector<int64_t> bits(out_.problem.spaces.size(), 256);
    for (size_t b = 0; b < out_.offsets.size(); ++b) bits[out_.problem.buffers[b].space] |= out_.offsets[b];
    for (size_t k = 0; k < bits.size(); ++k) {
      const bool host = format::arena_device(*graph_.plan, static_cast<uint32_t>(k + 1)).is_cpu();
      bits[k] = host ? 16 : std::max<int64_t>(16, bits[k] & -bits[k]);  // never above 256
      bits[k] = std::max(bits[k], asked_alignment());
    }
    return bits;
  }

  int64_t asked_alignment() const {
    int64_t alignment = 1;
    for (const fb::BackendDelegate* delegate : *graph_.plan->delegates()) {
      alignment = std::max(alignment, format::delegate_specs(*delegate).alignment);
    }
    return alignment;
  }

  const MethodGraph& method_;
  format::plan_check::PlanGraph& graph_;
  const size_t items_;
  std::vector<LiveRange> ranges_;  // of each item
  std::vector<size_t> group_;      // of each item, a tree: its root is one of those in the same buffer
  MethodProblem out_;
};

}  // namespace

Expected<MethodProblem> method_problem(const format::ProgramView& program, size_t method,
                                       const std::vector<Reserved>& elsewhere) {
  BERTH_ASSIGN_OR_RETURN(MethodGraph graph, graph_of(program, method));
  BERTH_ASSIGN_OR_RETURN(std::vector<LiveRange> ranges, live_ranges(&graph, elsewhere));
  return ProblemMaker(&graph, std::move(ranges)).run();
}

}  // namespace berth::replan
