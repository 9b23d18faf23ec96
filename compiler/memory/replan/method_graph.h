// MethodGraph: a method of a program file as the plan check sees it, with the memory that this takes.
#pragma once

#include <cstdint>
#include <vector>

#include "base/failure.h"
#include "format/plan_check/graph.h"

namespace berth::replan {

/// Items (format/plan_check/graph.h) are numbered from 0: planned_items() planned tensors that have bytes.
struct MethodGraph {
  std::vector<uint8_t> memory;  // the graph's
  format::plan_check::PlanGraph graph;

  size_t planned_items() const { return graph.size.planned; }
  const fb::Tensor& tensor(size_t item) const;
  int64_t offset_of(size_t item) const;
  int64_t bytes_of(size_t item) const { return static_cast<int64_t>(graph.end[item] - graph.begin[item]); }
  /// The step in which the caller reads the outputs.
  int64_t end_step() const { return static_cast<int64_t>(graph.size.instructions) + 1; }
};

/// OutOfResources for a method that is too large. REQUIRES: the file passed verify_program() and verify_plan(); the
/// program outlives the graph.
Expected<MethodGraph> graph_of(const format::ProgramView& program, size_t method);

/// What is returned when graph.spend() is false: the work would be far more than the method's size justifies.
Failure too_large();

}  // namespace berth::replan
