// ExecuTorch's map and scan back to berth::scan:
//
//     first:  select_copy.int_out(x, 0, i, slice, slice)      for each scanned x
//             … copy_(carried, …), et_copy_index(stacked, row, i) …
//             add.Scalar(i, 1, i)   eq.Scalar(i, n, flag)
//     last:   JumpFalseCall flag, first
//
// On devices Berth's own point tensors at rows: a slice is berth::row.read(x, i, slice), perhaps with a copy behind it,
// and what is written to `row` after berth::row.write(stacked, i, row) is stacked. Rows of other tensors are places
// where what goes around lies by turns; there only what is written counts.
#include <algorithm>

#include "compiler/import/pte/method_importer.h"

namespace berth::pte {

const fb::KernelCall* MethodImporter::call_of(uint32_t at, std::string_view name) const {
  const fb::KernelCall* call = instruction(at).instr_args_as_KernelCall();
  if (call == nullptr) return nullptr;
  const fb::Operator& op = *plan_.operators()->Get(static_cast<uint32_t>(call->op_index()));
  const std::string found = std::string(format::text(op.name())) + "." + format::text(op.overload());
  return found == name ? call : nullptr;
}

namespace {

constexpr char kNoMap[] = "is not a loop that ExecuTorch's map or scan makes, and others are not read";

}  // namespace

// The loop's last instructions: index, length, and where it ends.
Expected<MethodImporter::Loop> MethodImporter::recognise_loop(uint32_t begin, uint32_t end, uint32_t jump) {
  if (jump >= end || jump < begin + 3) return unsupported(kNoMap);
  const Slot flag = instruction(jump).instr_args_as_JumpFalseCall()->cond_value_index();
  const fb::KernelCall* compare = call_of(jump - 1, "executorch_prim::eq.Scalar");
  const fb::KernelCall* step = call_of(jump - 2, "executorch_prim::add.Scalar");
  if (compare == nullptr || step == nullptr || compare->args()->size() != 3 || step->args()->size() != 3) {
    return unsupported(kNoMap);
  }
  Loop loop;
  loop.begin = begin;
  loop.body = begin;
  loop.last = jump - 2;
  loop.jump = jump;
  loop.index = step->args()->Get(0);
  if (step->args()->Get(2) != loop.index || compare->args()->Get(0) != loop.index || compare->args()->Get(2) != flag) {
    return unsupported(kNoMap);
  }
  BERTH_ASSIGN_OR_RETURN(const Argument first, number(loop.index));
  BERTH_ASSIGN_OR_RETURN(const Argument by, number(step->args()->Get(1)));
  BERTH_ASSIGN_OR_RETURN(loop.length, whole(compare->args()->Get(1)));
  if (first != Argument(Dim(0)) || by != Argument(Dim(1))) return unsupported(kNoMap);
  BERTH_TRY(find_carried(loop));
  BERTH_TRY(find_scanned(loop));
  return loop;
}

// What goes around: targets of copy_ that have contents already.
Status MethodImporter::find_carried(Loop& loop) {
  for (uint32_t i = loop.begin; i < loop.jump; ++i) {
    const fb::KernelCall* copy = call_of(i, "aten::copy_.");
    if (copy == nullptr || copy->args()->size() < 3) continue;
    const Slot slot = copy->args()->Get(0);
    if (tensor(slot) == nullptr || memory_.find(range_of(slot)) < 0) continue;
    if (std::find(loop.slots.begin(), loop.slots.end(), slot) != loop.slots.end()) continue;
    BERTH_TRY(spend(loop.slots.size()));
    BERTH_ASSIGN_OR_RETURN(const ValueId value, read(slot));
    loop.slots.push_back(slot);
    loop.carried.push_back(value);
  }
  return Done{};
}

// The slices with which the loop begins.
Status MethodImporter::find_scanned(Loop& loop) {
  for (; loop.body < loop.last; ++loop.body) {
    const fb::KernelCall* select = call_of(loop.body, "aten::select_copy.int_out");
    const fb::KernelCall* row = call_of(loop.body, "berth::row.read");
    if (select != nullptr && select->args()->size() == 5 && select->args()->Get(2) == loop.index) {
      BERTH_ASSIGN_OR_RETURN(const Argument dimension, number(select->args()->Get(1)));
      if (dimension != Argument(Dim(0))) return unsupported(kNoMap);
      BERTH_TRY(find_slice(loop, select->args()->Get(0), select->args()->Get(3)));
    } else if (row != nullptr && row->args()->size() == 3 && row->args()->Get(1) == loop.index) {
      Slot slice = row->args()->Get(2);
      const fb::KernelCall* copy = loop.body + 1 < loop.last ? call_of(loop.body + 1, "berth::_d2d_copy.out") : nullptr;
      if (copy != nullptr && copy->args()->size() == 3 && copy->args()->Get(0) == slice) {
        slice = copy->args()->Get(1);
        ++loop.body;
      }
      BERTH_TRY(find_slice(loop, row->args()->Get(0), slice));
    } else {
      break;
    }
  }
  return Done{};
}

Status MethodImporter::find_slice(Loop& loop, Slot from, Slot slice) {
  BERTH_ASSIGN_OR_RETURN(const ValueId value, read(from));
  const DimList& shape = method_.tensor(value).shape;
  if (shape.empty() || shape[0] != loop.length) return unsupported("goes through a tensor for another number of rows");
  if (tensor(slice) == nullptr) return invalid("expected a tensor as result, found " + slot_text(slice));
  loop.slices.push_back(slice);
  loop.scanned.push_back(value);
  return Done{};
}

// The instructions between slices and step, into loop.region; what they stack goes to `stack`.
Status MethodImporter::import_body(Loop& loop, Stack& stack) {
  const auto add_input = [&](Slot slot, ir::TensorType type) {
    const ValueId value = method_.add_value(std::move(type), slot_name(slot));
    loop.region.inputs.push_back(value);
    record(slot, value, range_of(slot));
  };
  for (size_t i = 0; i < loop.slots.size(); ++i) add_input(loop.slots[i], method_.tensor(loop.carried[i]));
  for (size_t i = 0; i < loop.slices.size(); ++i) {
    ir::TensorType type = method_.tensor(loop.scanned[i]);
    type.shape.erase(type.shape.begin());
    type.dim_order.clear();
    add_input(loop.slices[i], std::move(type));
  }
  numbers_[loop.index] = ValueId();
  ir::Graph* const around = graph_;
  Stack* const stack_around = stack_;
  std::set<Slot> moved_around;
  graph_ = &loop.region;
  stack_ = &stack;
  std::swap(moved_, moved_around);
  loops_.erase(loop.begin);
  BERTH_TRY(import_range(loop.body, loop.last));
  loops_[loop.begin] = loop.jump;
  instruction_ = static_cast<int32_t>(loop.begin);
  operator_ = "the loop from here";
  for (const auto& [stacked, row] : stack.made) BERTH_TRY(add_row(&stack, stacked, row));
  BERTH_TRY(keep_carried(loop, stack));
  std::swap(moved_, moved_around);
  stack_ = stack_around;
  graph_ = around;
  return Done{};
}

// What `slots` hold at the end of a body, invalid where it is nothing of the type with which they began.
std::vector<ValueId> MethodImporter::carried_on(const std::vector<Slot>& slots, const ir::ValueList& start) {
  std::vector<ValueId> values;
  for (size_t i = 0; i < slots.size(); ++i) {
    const auto value = read(slots[i]);
    const bool same = value.ok() && method_.value(*value).type == method_.value(start[i]).type;
    values.push_back(same ? *value : ValueId());
  }
  return values;
}

Failure MethodImporter::not_carried_on(Slot slot) {
  const auto value = read(slot);
  return value.ok() ? unsupported("carries " + slot_text(slot) + " with a type that changes") : value.error();
}

// Of what may go around, what does: the rest are bytes that were free before the loop, and nothing reads them.
Status MethodImporter::keep_carried(Loop& loop, const Stack& stack) {
  const std::vector<ValueId> values = carried_on(loop.slots, loop.carried);
  const std::vector<Slot> slots = std::move(loop.slots);
  const ir::ValueList carried = std::move(loop.carried);
  const std::vector<ValueId> inputs = std::move(loop.region.inputs);
  loop.slots.clear();
  loop.carried.clear();
  loop.region.inputs.clear();
  for (size_t i = 0; i < slots.size(); ++i) {
    if (values[i].valid()) {
      loop.slots.push_back(slots[i]);
      loop.carried.push_back(carried[i]);
      loop.region.inputs.push_back(inputs[i]);
      loop.region.outputs.emplace_back(values[i]);
      continue;
    }
    const bool stacked = std::any_of(stack.rows.begin(), stack.rows.end(),
                                     [&](const std::pair<Slot, ValueId>& row) { return row.second == inputs[i]; });
    const bool moves_on = std::find(values.begin(), values.end(), inputs[i]) != values.end();
    if (stacked || moves_on || is_read(inputs[i], loop.region)) return not_carried_on(slots[i]);
  }
  loop.region.inputs.insert(loop.region.inputs.end(), inputs.begin() + static_cast<std::ptrdiff_t>(slots.size()),
                            inputs.end());
  return Done{};
}

Expected<uint32_t> MethodImporter::import_loop(uint32_t begin, uint32_t end, uint32_t jump) {
  BERTH_TRY(spend(jump - begin));
  if (always_goes_back(begin, jump)) return import_own_loop(begin, end, jump);
  BERTH_ASSIGN_OR_RETURN(Loop loop, recognise_loop(begin, end, jump));
  return import_scan(std::move(loop));
}

Expected<uint32_t> MethodImporter::import_scan(Loop loop) {
  const uint32_t jump = loop.jump;
  const Snapshot before = snapshot();
  BERTH_TRY(spend(before.writes + before.numbers.size() + before.views.size()));
  Stack stack{loop.index, {}, {}};
  BERTH_TRY(import_body(loop, stack));
  BERTH_TRY(check_states(before.states, before.writes));
  std::vector<Slot> slots = loop.slots;
  std::vector<ir::Type> types;
  for (const ValueId value : loop.carried) types.push_back(method_.value(value).type);
  for (const auto& [slot, value] : stack.rows) {
    slots.push_back(slot);
    loop.region.outputs.push_back(value);
    ir::TensorType type = method_.tensor(value);
    type.shape.insert(type.shape.begin(), loop.length);
    types.push_back(std::move(type));
  }
  restore(before);
  const size_t last = writes_.size();
  std::vector<ir::Graph> regions;
  regions.push_back(std::move(loop.region));
  BERTH_ASSIGN_OR_RETURN(
      const std::vector<ValueId> results,
      append(OpId::scan, {loop.length, loop.carried, loop.scanned}, std::move(regions), std::move(types), slots));
  BERTH_TRY(forget(before.writes, last));
  for (size_t i = 0; i < slots.size(); ++i) BERTH_TRY(define(slots[i], results[i]));
  numbers_[loop.index] = loop.length;
  return jump + 1;
}

// executorch_prim::et_copy_index(stacked, row, index)
Status MethodImporter::import_copy_index(const flatbuffers::Vector<int32_t>& args) {
  if (args.size() < 3) return invalid("has only " + std::to_string(args.size()) + " arguments");
  if (stack_ == nullptr || args.Get(2) != stack_->index) return unsupported("stands outside of its loop");
  const Slot slot = args.Get(0);
  if (tensor(slot) == nullptr) return invalid("expected a tensor as result, found " + slot_text(slot));
  return add_row(stack_, slot, args.Get(1));
}

Status MethodImporter::add_row(Stack* stack, Slot stacked, Slot row) {
  BERTH_ASSIGN_OR_RETURN(const ValueId value, read(row));
  for (const auto& [other, known] : stack->rows) {
    if (other == stacked) return unsupported("stacks " + slot_text(stacked) + " twice in one loop");
  }
  BERTH_TRY(spend(stack->rows.size()));
  stack->rows.emplace_back(stacked, value);
  return Done{};
}

// berth::row.write(rows, index, row): what is written to `row` from here on lies in a row of `rows`.
Status MethodImporter::import_row(const flatbuffers::Vector<int32_t>& args) {
  if (args.size() < 3) return invalid("has only " + std::to_string(args.size()) + " arguments");
  for (const Slot slot : {args.Get(0), args.Get(2)}) {
    if (tensor(slot) == nullptr) return invalid("expected a tensor, found " + slot_text(slot));
  }
  if (format::is_planned(*tensor(args.Get(2)))) return unsupported("moves a tensor that has a place of its own");
  if (stack_ != nullptr && args.Get(1) == stack_->index) stack_->made.emplace_back(args.Get(0), args.Get(2));
  return Done{};
}

// The slots that row.write points at rows, and those that et_view points at what these name.
Status MethodImporter::find_rows() {
  for (const fb::Chain* chain : *plan_.chains()) {
    chain_ = chain;
    const uint32_t end = format::length(chain->instructions());
    for (uint32_t i = 0; i < end; ++i) {
      const fb::KernelCall* call = call_of(i, "berth::row.write");
      if (call == nullptr || call->args()->size() < 3) continue;
      rows_.insert(call->args()->Get(2));
      turns_.insert(call->args()->Get(1));
    }
    if (rows_.empty()) continue;
    for (bool more = true; more;) {
      more = false;
      BERTH_TRY(spend(end));
      for (uint32_t i = 0; i < end; ++i) {
        const fb::KernelCall* call = call_of(i, "executorch_prim::et_view.default");
        if (call == nullptr || call->args()->size() < 3 || rows_.count(call->args()->Get(0)) == 0) continue;
        more = rows_.insert(call->args()->Get(2)).second || more;
      }
    }
  }
  return Done{};
}

}  // namespace berth::pte
