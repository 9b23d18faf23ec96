#include "format/plan_check/verify_plan.h"

#include <algorithm>
#include <cinttypes>
#include <cstring>

#include "base/result.h"
#include "format/plan_check/build_graph.h"
#include "format/plan_check/relations.h"
#include "format/plan_check/stacks.h"
#include "format/plan_check/sweep.h"

namespace berth::format {
namespace {

using plan_check::PlanGraph;
using plan_check::PlanSize;
using plan_check::Scratch;
using plan_check::Sweep;
using plan_check::SweepMemory;

const fb::MethodMeta* method_meta(const ProgramView& program, size_t method) {
  const fb::Meta* meta = program.meta();
  if (meta == nullptr) return nullptr;
  const char* name = text(program.method(method).name());
  for (uint32_t i = 0; i < length(meta->methods()); ++i) {
    if (std::strcmp(text(meta->methods()->Get(i)->name()), name) == 0) return meta->methods()->Get(i);
  }
  return nullptr;
}

bool is_too_large(const PlanSize& size, const ProgramView& program) {
  const uint64_t program_size = program.layout().program_size;
  return plan_check::too_many_rows(size, program_size) || plan_check::too_many_relations(size, program_size) ||
         plan_check::too_many_blocks(size, program_size);
}

/// A sweep looks at each argument a few times; a file gets dozens of sweeps, and small files some more. Concatenations
/// that grow part by part are wholes of as many parts as were added before: so there is also some tenth of a second for
/// what grows as the square.
uint64_t steps_for(uint64_t program_size) {
  return 8 * program_size + std::min<uint64_t>(64 * program_size, uint64_t{1} << 26) + (uint64_t{1} << 22);
}

size_t memory_for(const PlanSize& size) {
  Scratch scratch;
  PlanGraph graph;
  SweepMemory memory;
  const bool good = take_graph_memory(size, &scratch, &graph) && take_sweep_memory(size, &scratch, &memory);
  return good ? scratch.used() : SIZE_MAX;
}

/// The sweep once more, for the offsets that follow the sizes.
Error verify_stacks(PlanGraph* graph, SweepMemory* memory, int method, Report* report) {
  graph->budget = steps_for(graph->program->layout().program_size);
  BERTH_RETURN_IF_ERROR(plan_check::move_blocks_apart(graph, method, report));
  graph->by_blocks = true;
  std::fill(memory->rows.begin(), memory->rows.end(), uint64_t{0});
  std::fill(memory->at_end.begin(), memory->at_end.end(), uint64_t{0});
  return Sweep(graph, memory, method, report).run();
}

}  // namespace

size_t plan_scratch_bytes(const ProgramView& program, size_t method) {
  const PlanSize size = plan_check::measure_plan(program.method(method), method_meta(program, method));
  return is_too_large(size, program) ? 0 : memory_for(size);
}

Error verify_plan(const ProgramView& program, size_t method, Span<uint8_t> scratch_memory, PlanFacts* facts,
                  Report* report) {
  PlanGraph graph;
  graph.program = &program;
  graph.plan = &program.method(method);
  graph.meta = method_meta(program, method);
  graph.size = plan_check::measure_plan(*graph.plan, graph.meta);
  graph.budget = steps_for(program.layout().program_size);

  const int index = static_cast<int>(method);
  if (is_too_large(graph.size, program)) return plan_check::out_of_budget(index, report);
  Scratch scratch(scratch_memory);
  SweepMemory memory;
  if (!take_graph_memory(graph.size, &scratch, &graph) || !take_sweep_memory(graph.size, &scratch, &memory)) {
    return fail(report, Error::kMemoryAllocationFailed, "memory plan",
                "checking it takes %zu bytes of scratch memory, %zu were given", memory_for(graph.size),
                scratch_memory.size());
  }
  BERTH_RETURN_IF_ERROR(plan_check::build_graph(&graph, index, report));
  if (facts != nullptr) {
    facts->inferred = graph.meta == nullptr;
    facts->planned_values = static_cast<uint32_t>(graph.size.planned);
    facts->unknown_operators = 0;
    for (const OperatorAccess& access : graph.access) facts->unknown_operators += access.known ? 0 : 1;
  }
  BERTH_RETURN_IF_ERROR(Sweep(&graph, &memory, index, report).run());
  return graph.size.blocks == 0 ? Error::kOk : verify_stacks(&graph, &memory, index, report);
}

}  // namespace berth::format
