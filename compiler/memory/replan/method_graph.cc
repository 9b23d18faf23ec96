#include "compiler/memory/replan/method_graph.h"

#include <cstring>

#include "format/plan_check/build_graph.h"
#include "format/tensor_facts.h"

namespace berth::replan {
namespace {

const fb::MethodMeta* meta_of(const format::ProgramView& program, const fb::ExecutionPlan& plan) {
  const fb::Meta* meta = program.meta();
  if (meta == nullptr || meta->methods() == nullptr) return nullptr;
  for (const fb::MethodMeta* method : *meta->methods()) {
    if (std::strcmp(format::text(method->name()), format::text(plan.name())) == 0) return method;
  }
  return nullptr;
}

}  // namespace

const fb::Tensor& MethodGraph::tensor(size_t item) const { return *format::tensor_at(*graph.plan, graph.value[item]); }

int64_t MethodGraph::offset_of(size_t item) const {
  return static_cast<int64_t>(format::planned_offset(*tensor(item).allocation_info()));
}

Expected<MethodGraph> graph_of(const format::ProgramView& program, size_t method) {
  MethodGraph out;
  format::plan_check::PlanGraph& graph = out.graph;
  graph.program = &program;
  graph.plan = &program.method(method);
  graph.meta = meta_of(program, *graph.plan);
  graph.size = format::plan_check::measure_plan(*graph.plan, graph.meta);
  graph.budget = 64 * program.layout().program_size + (uint64_t{1} << 24);
  format::plan_check::Scratch measure;
  take_graph_memory(graph.size, &measure, &graph);
  out.memory.resize(measure.used() + 64);
  format::plan_check::Scratch scratch(out.memory);
  if (!take_graph_memory(graph.size, &scratch, &graph)) {
    return Failure{Error::kOutOfResources, "memory plan", "the method is too large to be looked at"};
  }
  format::Report report;
  if (build_graph(&graph, static_cast<int>(method), &report) != Error::kOk) {
    return Failure{report.code, report.place, report.message};
  }
  return out;
}

Failure too_large() {
  return Failure{Error::kOutOfResources, "memory plan", "the method has too many jumps and views for its values"};
}

}  // namespace berth::replan
