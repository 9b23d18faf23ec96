#include "compiler/placement/work.h"

#include <algorithm>
#include <cstdlib>

#include "base/math.h"
#include "compiler/placement/operator_work.h"

namespace berth::placement {
namespace {

// Sums of these stay exact as doubles, so that they are the same on every machine.
constexpr int64_t kMost = int64_t{1} << 52;

int64_t plus(int64_t a, int64_t b) { return std::min(kMost, a + b); }

int64_t times(int64_t a, int64_t b) {
  int64_t product = 0;
  return checked_mul(a, b, &product) ? std::min(product, kMost) : kMost;
}

int64_t elements(const ir::Module& module, const ir::Method& method, ir::ValueId id) {
  return std::min(kMost, ir::max_numel(method.tensor(id), module.symbols));
}

int64_t size_at(const ir::Module& module, const ir::Method& method, ir::ValueId id, int from_end) {
  const ir::TensorType& type = method.tensor(id);
  if (type.rank() < from_end) return 1;
  return module.symbols.upper(type.shape[type.shape.size() - from_end]);
}

int64_t bytes(const ir::Module& module, const ir::Method& method, ir::ValueId id) {
  const ir::TensorType* type = method.value(id).tensor();
  return type == nullptr ? 0 : std::min(kMost, ir::max_bytes(*type, module.symbols));
}

// Multiplications that each element of the result takes.
int64_t depth(const ir::Module& module, const ir::Method& method, const ir::Node& node) {
  const auto tensor = [&](size_t i) { return std::get<ir::ValueId>(node.args[i]); };
  switch (node.op->id) {
    case ir::OpId::mm_out:
    case ir::OpId::bmm_out: return size_at(module, method, tensor(0), 1);
    case ir::OpId::addmm_out: return size_at(module, method, tensor(1), 1);
    case ir::OpId::convolution_out: {
      // A weight holds the channels of one result times what each of its elements takes.
      const int64_t out = size_at(module, method, node.results[0], method.tensor(node.results[0]).rank() - 1);
      return elements(module, method, tensor(1)) / std::max<int64_t>(1, out);
    }
    default: return 0;
  }
}

}  // namespace

int64_t work_of(const ir::Module& module, const ir::Method& method, const ir::Node& node) {
  int64_t made = 0;
  for (const ir::ValueId id : node.results) made = plus(made, bytes(module, method, id));
  int64_t work = made;
  for (size_t k = 0; k < node.args.size(); ++k) {
    const bool picks = static_cast<int>(k) == picked_argument(node.op->id);
    ir::for_each_value(node.args[k], [&](ir::ValueId id) {
      const int64_t all = bytes(module, method, id);
      work = plus(work, picks ? std::min(all, made) : all);
    });
  }
  for (const ir::Graph& region : node.regions) {
    for (ir::NodeId id : region.nodes) work = plus(work, work_of(module, method, method.node(id)));
  }
  const bool computes = node.op->infer != nullptr && !node.results.empty() && !node.op->is_reshape() &&
                        method.value(node.results[0]).tensor() != nullptr;
  if (!computes) return work;
  const int64_t each = std::max<int64_t>(1, times(2, depth(module, method, node)));
  return plus(work, times(elements(module, method, node.results[0]), each));
}

std::vector<size_t> cut(const std::vector<int64_t>& work, const std::vector<int64_t>& crossing, size_t parts) {
  const size_t items = work.size();
  std::vector<double> before(items + 1);
  for (size_t i = 0; i < items; ++i) before[i + 1] = before[i] + static_cast<double>(work[i]);
  const double whole = before[items];
  std::vector<size_t> starts = {0};
  for (size_t part = 1; part < parts; ++part) {
    const double due = whole * static_cast<double>(part) / static_cast<double>(parts);
    const double room = whole / static_cast<double>(parts) / 10;
    const auto distance = [&](size_t i) { return std::abs(before[i] - due); };
    size_t best = items;
    size_t nearest = starts.back();
    for (size_t i = starts.back(); i < items; ++i) {
      if (distance(i) < distance(nearest)) nearest = i;
      if (distance(i) > room) continue;
      const bool better = best == items || crossing[i] < crossing[best] ||
                          (crossing[i] == crossing[best] && distance(i) < distance(best));
      if (better) best = i;
    }
    starts.push_back(best < items ? best : nearest);
  }
  return starts;
}

}  // namespace berth::placement
