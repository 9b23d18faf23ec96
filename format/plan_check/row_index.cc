#include "format/plan_check/row_index.h"

#include <cstring>

#include "format/plan_check/access.h"
#include "format/plan_check/graph.h"

namespace berth::format::plan_check {
namespace {

/// A call of a prim with two arguments and a result, which stand last.
struct PrimCall {
  const char* name;
  int32_t a;
  int32_t b;
  int32_t result;

  bool is(const char* prim) const { return std::strcmp(name, prim) == 0; }
};

/// Whether `instruction` is a call of at least three arguments; then what `*call` says.
bool prim_call(const fb::ExecutionPlan& plan, const fb::Instruction& instruction, PrimCall* call) {
  const fb::KernelCall* kernel = instruction.instr_args_as_KernelCall();
  if (kernel == nullptr || kernel->args()->size() < 3) return false;
  const uint32_t n = kernel->args()->size();
  call->name = text(plan.operators()->Get(static_cast<uint32_t>(kernel->op_index()))->name());
  call->a = kernel->args()->Get(n - 3);
  call->b = kernel->args()->Get(n - 2);
  call->result = kernel->args()->Get(n - 1);
  return true;
}

/// Which argument of a call is the index of the row of its first one that is written; kNone: the call writes no row.
int32_t index_argument(const fb::ExecutionPlan& plan, const fb::KernelCall& call) {
  if (call.args()->size() < 3) return kNone;
  switch (operator_access(*plan.operators()->Get(static_cast<uint32_t>(call.op_index()))).kind) {
    case OperatorAccess::Kind::kCopyIndex: return 2;
    case OperatorAccess::Kind::kRow: return 1;
    default: return kNone;
  }
}

bool is_one(const fb::ExecutionPlan& plan, int32_t slot) {
  const fb::Int* number = plan.values()->Get(static_cast<uint32_t>(slot))->val_as_Int();
  return number != nullptr && number->int_val() == 1;
}

/// All that sets an index, in the order of the instructions.
class IndexWrites {
 public:
  IndexWrites(const fb::ExecutionPlan& plan, int32_t rows, int32_t index) : plan_(plan), rows_(rows), index_(index) {}

  void step(const fb::Instruction& instruction, int32_t i) {
    const int32_t known = known_;  // what the index equals here if only the instruction before leads here
    known_ = kNone;
    if (const fb::MoveCall* move = instruction.instr_args_as_MoveCall()) {
      strange_ = strange_ || move->move_to() == index_;
    }
    const fb::JumpFalseCall* jump = instruction.instr_args_as_JumpFalseCall();
    if (jump != nullptr && compared_ != kNone && jump->cond_value_index() == truth_) known_ = compared_;
    compared_ = kNone;
    PrimCall call;
    if (!prim_call(plan_, instruction, &call)) return;
    const fb::KernelCall& kernel = *instruction.instr_args_as_KernelCall();
    const int32_t at = index_argument(plan_, kernel);
    if (at != kNone) {
      const bool other = kernel.args()->Get(0) == rows_ && kernel.args()->Get(static_cast<uint32_t>(at)) != index_;
      strange_ = strange_ || other;
    } else if (call.result == index_) {
      write(call, i, known);
    } else if (call.is("executorch_prim::eq") && call.a == index_) {
      compared_ = call.b;
      truth_ = call.result;
    }
  }

  /// The last instruction that sets the index to zero; kNone if there is none or anything unexpected sets the index.
  int32_t reset() const { return strange_ ? kNone : reset_; }
  /// Whether that holds only for who comes from the two instructions before it.
  bool by_comparison() const { return by_comparison_; }

 private:
  void write(const PrimCall& call, int32_t i, int32_t known) {
    const bool back = call.is("executorch_prim::sub") && call.a == index_ && (call.b == index_ || call.b == known);
    const bool on = call.is("executorch_prim::add") && call.a == index_ && is_one(plan_, call.b);
    strange_ = strange_ || !(back || on);
    if (!back) return;
    reset_ = i;
    by_comparison_ = call.b != index_;
  }

  const fb::ExecutionPlan& plan_;
  const int32_t rows_;
  const int32_t index_;
  int32_t compared_ = kNone;  // of the instruction before: what it compared the index with, and where the result is
  int32_t truth_ = kNone;
  int32_t known_ = kNone;
  int32_t reset_ = kNone;
  bool by_comparison_ = false;
  bool strange_ = false;
};

}  // namespace

bool rows_begin_again(const fb::ExecutionPlan& plan, int32_t first, int32_t head, int32_t end) {
  int32_t rows = kNone;
  int32_t index = kNone;
  for_each_instruction(plan, [&](const fb::Instruction& instruction, int32_t i, int32_t) {
    const fb::KernelCall* call = instruction.instr_args_as_KernelCall();
    const int32_t at = i != first || call == nullptr ? kNone : index_argument(plan, *call);
    if (at == kNone) return Error::kOk;
    rows = call->args()->Get(0);
    index = call->args()->Get(static_cast<uint32_t>(at));
    return Error::kOk;
  });
  if (index == kNone) return false;
  IndexWrites writes(plan, rows, index);
  for_each_instruction(plan, [&](const fb::Instruction& instruction, int32_t i, int32_t) {
    writes.step(instruction, i);
    return Error::kOk;
  });
  const int32_t reset = writes.reset();
  if (reset == kNone || reset < head || reset > end) return false;
  bool passed = false;
  for_each_instruction(plan, [&](const fb::Instruction& instruction, int32_t i, int32_t chain_start) {
    const fb::JumpFalseCall* jump = instruction.instr_args_as_JumpFalseCall();
    if (jump == nullptr) return Error::kOk;
    const int32_t to = chain_start + jump->destination_instruction();
    passed = passed || (i >= head && i < reset && to > reset);
    // Who comes from elsewhere has compared nothing.
    passed = passed || (writes.by_comparison() && (to == reset || to == reset - 1));
    return Error::kOk;
  });
  return !passed;
}

}  // namespace berth::format::plan_check
