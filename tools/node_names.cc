#include "tools/node_names.h"

#include "base/backend_facts.h"
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

const NodeNames* NodeNames::inside(size_t index) const {
  return index < entries_.size() ? entries_[index].inside.get() : nullptr;
}

}  // namespace berth::tool
