#include "tools/node_names.h"

#include <algorithm>

#include "base/backend_facts.h"
#include "compiler/ir/operators.h"
#include "format/nested.h"
#include "format/verify.h"
#include "runtime/method_meta.h"
#include "tools/names.h"

namespace berth::tool {
namespace {

// "model.py:12 forward" for a line of source, "Conv_26" for a node without one.
std::string frame_text(const fb::FrameList* list) {
  const uint32_t count = list == nullptr ? 0 : format::length(list->items());
  const fb::Frame* frame = count == 0 ? nullptr : list->items()->Get(count - 1);
  if (frame == nullptr) return "";
  const std::string name = format::text(frame->name());
  const std::string file = format::text(frame->filename());
  if (file.empty()) return name;
  return file.substr(file.rfind('/') + 1) + ":" + std::to_string(frame->lineno()) + (name.empty() ? "" : " " + name);
}

// The value that the instruction computes; -1 if it computes none.
int32_t result_of(const fb::Instruction& instruction) {
  if (const auto* call = instruction.instr_args_as_KernelCall()) {
    const uint32_t count = format::length(call->args());
    return count == 0 ? -1 : call->args()->Get(count - 1);
  }
  const auto* move = instruction.instr_args_as_MoveCall();
  return move == nullptr ? -1 : move->move_to();
}

// The arguments that the instruction writes: [first, last) of its list. All of an operator's that is not known, and of
// a delegate's.
std::pair<uint32_t, uint32_t> written(const fb::ExecutionPlan& plan, const fb::Instruction& instruction) {
  if (const auto* call = instruction.instr_args_as_DelegateCall()) return {0, format::length(call->args())};
  const auto* call = instruction.instr_args_as_KernelCall();
  if (call == nullptr) return {0, 0};
  const fb::Operator& named = *plan.operators()->Get(call->op_index());
  const ir::Operator* op = ir::find_out_variant(format::text(named.name()), format::text(named.overload()));
  const uint32_t count = format::length(call->args());
  if (op == nullptr) return {count == 0 ? 0 : count - 1, count};
  if (op->writes_self) return {0, std::min(count, 1u)};
  uint32_t first = 0;
  for (const ir::Parameter& parameter : op->parameters) first += parameter.functional_only ? 0 : 1;
  return {std::min(first, count), std::min(first + static_cast<uint32_t>(op->outputs.size()), count)};
}

int32_t argument_of(const fb::Instruction& instruction, uint32_t i) {
  if (const auto* call = instruction.instr_args_as_DelegateCall()) return call->args()->Get(i);
  return instruction.instr_args_as_KernelCall()->args()->Get(i);
}

}  // namespace

NodeNames NodeNames::of(const format::ProgramView& program, size_t method) {
  const fb::ExecutionPlan& plan = program.method(method);
  const MethodMeta meta(&plan, method_names(program, method), DeviceMap());
  // Calls of one delegate share its names.
  std::vector<std::shared_ptr<const NodeNames>> delegates(format::length(plan.delegates()));
  for (uint32_t i = 0; i < delegates.size(); ++i) {
    const fb::BackendDelegate& delegate = *plan.delegates()->Get(i);
    Span<const uint8_t> payload;
    format::ProgramView nested;
    if (!runs_nested_programs(format::text(delegate.id())) ||
        program.delegate_payload(delegate, &payload) != Error::kOk) {
      continue;
    }
    const auto file = format::open_nested(payload, nullptr);
    if (!file.ok() || format::ProgramView::open(*file, &nested, nullptr) != Error::kOk ||
        format::verify_program(nested, nullptr) != Error::kOk || nested.method_count() == 0) {
      continue;
    }
    delegates[i] = std::make_shared<const NodeNames>(of(nested, 0));
  }
  NodeNames names;
  for (const fb::Chain* chain : *plan.chains()) {
    for (uint32_t i = 0; i < format::length(chain->instructions()); ++i) {
      const fb::Instruction& instruction = *chain->instructions()->Get(i);
      Entry entry;
      if (i < format::length(chain->stacktrace())) entry.node = frame_text(chain->stacktrace()->Get(i));
      const int32_t result = result_of(instruction);
      if (entry.node.empty() && result >= 0) entry.node = meta.value_names(result).node;
      const auto [first, last] = written(plan, instruction);
      for (uint32_t a = first; a < last; ++a) {
        const int32_t value = argument_of(instruction, a);
        const std::string name = value < 0 ? "" : meta.value_names(value).name;
        if (!name.empty()) entry.results.push_back({a, name});
      }
      if (const auto* call = instruction.instr_args_as_DelegateCall()) {
        entry.inside = delegates[call->delegate_index()];
      }
      names.entries_.push_back(std::move(entry));
    }
  }
  return names;
}

const std::string& NodeNames::node(size_t index) const {
  static const std::string none;
  return index < entries_.size() ? entries_[index].node : none;
}

const std::vector<std::pair<size_t, std::string>>& NodeNames::results(size_t index) const {
  static const std::vector<std::pair<size_t, std::string>> none;
  return index < entries_.size() ? entries_[index].results : none;
}

void NodeNames::collect(std::map<std::string, std::string>* names) const {
  for (const Entry& entry : entries_) {
    for (const auto& [argument, name] : entry.results) names->try_emplace(name, entry.node);
    if (entry.inside != nullptr) entry.inside->collect(names);
  }
}

const NodeNames* NodeNames::inside(size_t index) const {
  return index < entries_.size() ? entries_[index].inside.get() : nullptr;
}

}  // namespace berth::tool
