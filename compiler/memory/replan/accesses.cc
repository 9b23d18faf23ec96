#include "compiler/memory/replan/accesses.h"

#include "format/plan_check/access.h"

namespace berth::replan {
namespace {

using format::plan_check::CallShape;
using format::plan_check::kNone;
using format::plan_check::PlanGraph;
using format::plan_check::WriteKind;
using Kind = format::OperatorAccess::Kind;

class AccessCollector {
 public:
  explicit AccessCollector(PlanGraph* graph) : graph_(*graph) {}

  Accesses run() {
    std::vector<uint8_t> written(graph_.plan->values()->size());
    for (const int32_t input : *graph_.plan->inputs()) written[input] = 1;
    format::plan_check::for_each_instruction(
        *graph_.plan, [&](const fb::Instruction& instruction, int32_t, int32_t chain) {
          out_.code.emplace_back();
          Access& access = out_.code.back();
          if (const auto* call = instruction.instr_args_as_KernelCall()) {
            kernel(*call, &access);
          } else if (const auto* delegate = instruction.instr_args_as_DelegateCall()) {
            this->delegate(*delegate, written, &access);
          } else if (const auto* move = instruction.instr_args_as_MoveCall()) {
            rename(move->move_from(), move->move_to(), Kind::kView, &access);
          } else if (const auto* jump = instruction.instr_args_as_JumpFalseCall()) {
            add(jump->cond_value_index(), &access.reads);
            access.jump = chain + jump->destination_instruction();
          }
          for (const int32_t item : access.writes) written[graph_.value[item]] = 1;
          return Error::kOk;
        });
    return std::move(out_);
  }

 private:
  int32_t item_of(int32_t value) const { return graph_.item[value]; }

  void add(int32_t value, std::vector<int32_t>* list) const {
    if (item_of(value) != kNone) list->push_back(item_of(value));
  }

  void kernel(const fb::KernelCall& call, Access* access) {
    const CallShape shape = shape_of(graph_, call);
    if (shape.names_bytes() && call.args()->size() >= 3) {
      return rename(call.args()->Get(0), call.args()->Get(2), shape.access->kind, access);
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
  void rename(int32_t from, int32_t to, Kind kind, Access* access) {
    // Rows that are still to be made are not read: the tensor begins with the first one, as with et_copy_index.
    add(from, kind == Kind::kRow ? &access->mentions : &access->reads);
    out_.names.push_back({from, to});
    out_.renamed[to].push_back(static_cast<int32_t>(out_.code.size()) - 1);
    if (item_of(to) != kNone) access->mentions.push_back(item_of(to));
  }

  PlanGraph& graph_;
  Accesses out_;
};

}  // namespace

Accesses accesses_of(PlanGraph* graph) { return AccessCollector(graph).run(); }

}  // namespace berth::replan
