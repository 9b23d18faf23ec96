#include "compiler/emit/stacks.h"

#include <algorithm>
#include <numeric>
#include <variant>

#include "base/backend_facts.h"
#include "compiler/ir/module.h"

namespace berth::emit {
namespace {

using memory::BufferId;

/// As many as the plan check compares in any file (plan_check/stacks.h).
constexpr size_t kMostBlocks = 2048;

/// What taken candidates hold at fixed distances.
struct Body {
  std::vector<BufferId> buffers;
  int64_t lower = 0;  // alive in [lower, upper), though perhaps not throughout
  int64_t upper = 0;
  int64_t offset = 0;
  std::vector<int32_t> values;  // of the file
};

bool are_alive_together(const memory::Buffers& buffers, const Body& a, const Body& b) {
  if (a.lower >= b.upper || b.lower >= a.upper) return false;
  for (const BufferId x : a.buffers) {
    for (const BufferId y : b.buffers) {
      const packing::Buffer& first = buffers.all[x];
      const packing::Buffer& second = buffers.all[y];
      if (first.lower < second.upper && second.lower < first.upper) return true;
    }
  }
  return false;
}

class StackMaker {
 public:
  StackMaker(const memory::MethodPlan& plan, const format::MethodDesc& desc)
      : buffers_(plan.model.buffers), plan_(plan), desc_(desc), root_(buffers_.all.size()) {
    std::iota(root_.begin(), root_.end(), 0);
    for (const memory::CandidateId id : plan.model.candidates.all.ids()) {
      if (!memory::is_taken(plan.packing, id)) continue;
      const packing::Candidate& taken = plan.model.candidates.all[id].buffers;
      root_[find(taken.from)] = find(taken.to);
    }
  }

  std::vector<format::StackDesc> run() {
    std::vector<format::StackDesc> stacks;
    for (size_t k = 0; k < plan_.model.arenas.size(); ++k) {
      const memory::Arena& arena = plan_.model.arenas[k];
      if (arena.holds_state || !is_bounded(static_cast<uint32_t>(k + 1))) continue;
      std::vector<Body> bodies = bodies_of(static_cast<uint32_t>(k + 1));
      const auto misaligned = [&](const Body& body) { return body.offset % arena.alignment != 0; };
      if (bodies.size() > kMostBlocks || std::any_of(bodies.begin(), bodies.end(), misaligned)) continue;
      stacks.push_back(stack(static_cast<uint32_t>(k + 1), arena.alignment, bodies));
    }
    return stacks;
  }

 private:
  int32_t find(int32_t buffer) {
    while (root_[buffer] != buffer) buffer = root_[buffer] = root_[root_[buffer]];
    return buffer;
  }

  /// Calls `visit(index, tensor)` for the tensors with bytes in the arena.
  template <typename Visit>
  void for_each_tensor(uint32_t memory_id, Visit&& visit) const {
    for (size_t v = 0; v < desc_.values.size(); ++v) {
      const auto* tensor = std::get_if<format::TensorDesc>(&desc_.values[v]);
      if (tensor == nullptr || !tensor->planned || tensor->planned->memory_id != memory_id) continue;
      const bool empty = std::find(tensor->sizes.begin(), tensor->sizes.end(), 0) != tensor->sizes.end();
      if (!empty) visit(static_cast<int32_t>(v), *tensor);
    }
  }

  bool is_bounded(uint32_t memory_id) const {
    bool bounded = false;
    for_each_tensor(memory_id, [&](int32_t, const format::TensorDesc& tensor) { bounded |= tensor.bounded; });
    return bounded;
  }

  /// From the lowest; those without a tensor in the file are left out.
  std::vector<Body> bodies_of(uint32_t memory_id) {
    std::vector<int32_t> body_of(root_.size(), -1);
    std::vector<Body> bodies;
    for_each_tensor(memory_id, [&](int32_t value, const format::TensorDesc& tensor) {
      BERTH_CHECK(tensor.planned->buffer >= 0);
      int32_t& body = body_of[find(tensor.planned->buffer)];
      if (body < 0) {
        body = static_cast<int32_t>(bodies.size());
        bodies.emplace_back();
        bodies.back().offset = static_cast<int64_t>(tensor.planned->offset);
      }
      bodies[body].offset = std::min(bodies[body].offset, static_cast<int64_t>(tensor.planned->offset));
      bodies[body].values.push_back(value);
    });
    for (const BufferId id : buffers_.all.ids()) {
      const int32_t body = body_of[find(id.index)];
      if (body < 0 || buffers_.all[id].size == 0) continue;
      Body& its = bodies[body];
      its.lower = its.buffers.empty() ? buffers_.all[id].lower : std::min(its.lower, buffers_.all[id].lower);
      its.upper = std::max(its.upper, buffers_.all[id].upper);
      its.buffers.push_back(id);
    }
    std::stable_sort(bodies.begin(), bodies.end(), [](const Body& a, const Body& b) { return a.offset < b.offset; });
    return bodies;
  }

  /// Of the blocks that a block must not share bytes with, it rests on those that are below no other of them.
  format::StackDesc stack(uint32_t memory_id, int64_t alignment, const std::vector<Body>& bodies) const {
    format::StackDesc stack;
    stack.memory_id = memory_id;
    stack.alignment = static_cast<uint32_t>(alignment);
    std::vector<std::vector<bool>> below(bodies.size());
    for (size_t k = 0; k < bodies.size(); ++k) {
      format::StackDesc::Block block;
      block.values = bodies[k].values;
      below[k].assign(k, false);
      for (size_t j = k; j-- > 0;) {
        if (below[k][j] || !are_alive_together(buffers_, bodies[j], bodies[k])) continue;
        block.supports.push_back(static_cast<uint32_t>(j));
        below[k][j] = true;
        for (size_t i = 0; i < j; ++i) below[k][i] = below[k][i] || below[j][i];
      }
      stack.blocks.push_back(std::move(block));
    }
    return stack;
  }

  const memory::Buffers& buffers_;
  const memory::MethodPlan& plan_;
  const format::MethodDesc& desc_;
  std::vector<int32_t> root_;  // of each buffer, towards the body's
};

}  // namespace

bool follows_sizes(const ir::Module& module, const ir::Method& method) {
  for (const ir::Node& node : method.nodes) {
    if (node.is(ir::OpId::delegate) && !runs_nested_programs(module.delegates[node.delegate].backend.c_str()))
      return false;
  }
  return !ir::has_static_sizes(method);
}

std::vector<format::StackDesc> make_stacks(const memory::MethodPlan& plan, const format::MethodDesc& desc) {
  return StackMaker(plan, desc).run();
}

}  // namespace berth::emit
