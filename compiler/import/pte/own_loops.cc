// Berth's own loops back to berth::while and berth::scan: both end with a jump that is always taken.
//
//     head:  … the condition …                    head:  executorch_prim::lt.Scalar(counter, length, more)
//            JumpFalseCall condition, end                JumpFalseCall more, end
//            … the body, what goes around …              select_copy.int_out(x, 0, counter, slice, slice) …
//            JumpFalseCall false, head                   … the body …  add.Scalar(counter, 1, counter)
//     end:                                               JumpFalseCall false, head      end:
//
// What goes around is what has contents before the loop, at a place that the loop writes.
#include <algorithm>

#include "compiler/import/pte/method_importer.h"

namespace berth::pte {
namespace {

constexpr char kNoLoop[] = "is not a loop that ExecuTorch's map or scan or Berth makes, and others are not read";

template <typename T>
bool has(const std::vector<T>& list, T one) {
  return std::find(list.begin(), list.end(), one) != list.end();
}

}  // namespace

bool MethodImporter::always_goes_back(uint32_t begin, uint32_t jump) const {
  const Slot asked = instruction(jump).instr_args_as_JumpFalseCall()->cond_value_index();
  const fb::Bool* truth = entry(asked).val_as_Bool();
  if (truth == nullptr || truth->bool_val() || numbers_.count(asked) != 0) return false;
  for (uint32_t i = begin; i < jump; ++i) {
    const fb::KernelCall* call = instruction(i).instr_args_as_KernelCall();
    if (call != nullptr && call->args()->size() > 0 && call->args()->Get(call->args()->size() - 1) == asked)
      return false;
    const fb::MoveCall* move = instruction(i).instr_args_as_MoveCall();
    if (move != nullptr && move->move_to() == asked) return false;
  }
  return true;
}

// The loop writes `slot`: the value that lies there goes around.
Status MethodImporter::note_write(Slot slot, const Loop& loop, Carried* carried) {
  const fb::TensorList* list = entry(slot).val_as_TensorList();
  if (list != nullptr) {
    BERTH_TRY(spend(list->items()->size()));
    for (int32_t item : *list->items()) {
      if (tensor(item) != nullptr) BERTH_TRY(note_write(item, loop, carried));
    }
    return Done{};
  }
  if (tensor(slot) == nullptr || named_.count(slot) != 0 || has(loop.slices, slot)) return Done{};
  const int write = memory_.find(range_of(slot));
  if (write < 0) return Done{};
  const Write& before = writes_[write];
  if (!before.value.valid() || !before.range.covers_same_bytes(range_of(slot))) return Done{};
  if (tensor(before.slot)->scalar_type() != tensor(slot)->scalar_type() || has(carried->slots, before.slot))
    return Done{};
  BERTH_TRY(spend(carried->slots.size()));
  BERTH_ASSIGN_OR_RETURN(const ValueId value, read_from(write, before.slot));
  carried->slots.push_back(before.slot);
  carried->start.push_back(value);
  return Done{};
}

// By the operators' rows, as the values are not known yet.
Expected<MethodImporter::Carried> MethodImporter::find_changed(uint32_t begin, uint32_t end, const Loop& loop) {
  Carried carried;
  for (uint32_t i = begin; i < end; ++i) {
    BERTH_TRY(spend(1));
    if (const fb::DelegateCall* call = instruction(i).instr_args_as_DelegateCall()) {
      BERTH_ASSIGN_OR_RETURN(const Positions changed, changed_arguments(*call));
      for (uint32_t k = changed.begin; k < changed.end; ++k) {
        const Slot slot = call->args()->Get(k);
        if (inputs_.count(slot) == 0) BERTH_TRY(note_write(slot, loop, &carried));
      }
    } else if (const fb::MoveCall* move = instruction(i).instr_args_as_MoveCall()) {
      if (tensor(move->move_to()) == nullptr) carried.numbers.insert(move->move_to());
    }
    const fb::KernelCall* call = instruction(i).instr_args_as_KernelCall();
    if (call == nullptr || call->args()->size() == 0) continue;
    const auto& args = *call->args();
    const fb::Operator& named = *plan_.operators()->Get(static_cast<uint32_t>(call->op_index()));
    const Slot last = args.Get(args.size() - 1);
    if (tensor(last) == nullptr && entry(last).val_as_TensorList() == nullptr) carried.numbers.insert(last);
    // What a loop carries from row to row is not written but pointed at the row.
    if (rows_.count(args.Get(0)) != 0 && call_of(i, "executorch_prim::et_view.default") != nullptr) {
      BERTH_TRY(note_write(last, loop, &carried));
      continue;
    }
    const ir::Operator* op = ir::find_out_variant(format::text(named.name()), format::text(named.overload()));
    if (op != nullptr && op->writes_self) {
      BERTH_TRY(note_write(args.Get(0), loop, &carried));
    } else if (op != nullptr) {
      const size_t results = op->output_is_list ? 1 : op->outputs.size();
      for (size_t k = 1; k <= results && k <= args.size(); ++k) {
        BERTH_TRY(note_write(args.Get(static_cast<uint32_t>(args.size() - k)), loop, &carried));
      }
    }
  }
  return carried;
}

// State that is first met within a loop and that the loop changes would have to go around.
Status MethodImporter::check_states(size_t known, size_t first_write) {
  for (size_t i = known; i < states_.size(); ++i) {
    const size_t own = states_[i].write;
    for (size_t w = first_write; w < writes_.size(); ++w) {
      BERTH_TRY(spend(1));
      const ByteRange &a = writes_[w].range, &b = writes_[own].range;
      if (w == own || a.space != b.space || a.end <= b.begin || b.end <= a.begin) continue;
      return unsupported(slot_text(states_[i].slot) + " is state without a name that a loop changes");
    }
  }
  return Done{};
}

void MethodImporter::open_region(const Carried& carried, ir::Graph* region) {
  for (size_t i = 0; i < carried.slots.size(); ++i) {
    const Slot slot = carried.slots[i];
    const ValueId value = method_.add_value(method_.value(carried.start[i]).type, slot_name(slot));
    region->inputs.push_back(value);
    if (carried.overwritten.count(i) == 0) record(slot, value, range_of(slot));
  }
  for (Slot slot : carried.numbers) numbers_[slot] = ValueId();
}

Status MethodImporter::import_within(uint32_t begin, uint32_t end, ir::Graph* region) {
  ir::Graph* const around = graph_;
  std::set<Slot> moved_around;
  std::swap(moved_, moved_around);
  Stack* const stack_around = stack_;
  stack_ = nullptr;
  graph_ = region;
  Status status = import_range(begin, end);
  graph_ = around;
  stack_ = stack_around;
  std::swap(moved_, moved_around);
  return status;
}

Status MethodImporter::import_condition(uint32_t begin, uint32_t exit, Carried* carried, ir::Graph* region) {
  open_region(*carried, region);
  const std::vector<ValueId> inputs = region->inputs;
  BERTH_TRY(import_within(begin, exit, region));
  instruction_ = static_cast<int32_t>(exit);
  operator_ = "JumpFalseCall";
  const Slot asked = instruction(exit).instr_args_as_JumpFalseCall()->cond_value_index();
  ValueId value = number_in_tensor(asked);
  if (!value.valid()) {
    ir::Graph* const around = graph_;
    graph_ = region;
    auto read_value = read(asked);
    graph_ = around;
    if (!read_value.ok()) return read_value.error();
    value = *read_value;
  }
  const ir::TensorType& type = method_.tensor(value);
  const bool single = std::all_of(type.shape.begin(), type.shape.end(), [](Dim d) { return d == Dim(1); });
  if (type.dtype != DType::kBool || !single) return unsupported("jumps by a tensor that is not one truth value");
  for (size_t i = 0; i < carried->slots.size(); ++i) {
    const int write = memory_.find(range_of(carried->slots[i]));
    if (write < 0 || writes_[write].value != inputs[i]) carried->overwritten.insert(i);
  }
  region->outputs.emplace_back(value);
  return Done{};
}

bool MethodImporter::is_read(ValueId value, const ir::Graph& graph) const {
  const auto mentions = [&](const Argument& argument) {
    bool found = false;
    ir::for_each_value(argument, [&](const ValueId& v) { found = found || v == value; });
    return found;
  };
  return std::any_of(graph.outputs.begin(), graph.outputs.end(), mentions) ||
         std::any_of(graph.nodes.begin(), graph.nodes.end(), [&](ir::NodeId id) {
           const ir::Node& node = method_.node(id);
           return std::any_of(node.args.begin(), node.args.end(), mentions) ||
                  std::any_of(node.regions.begin(), node.regions.end(),
                              [&](const ir::Graph& region) { return is_read(value, region); });
         });
}

// The exit: the jump to behind the loop.
Expected<uint32_t> MethodImporter::find_exit(uint32_t begin, uint32_t jump) {
  for (uint32_t i = begin; i < jump; ++i) {
    BERTH_TRY(spend(1));
    const fb::JumpFalseCall* forward = instruction(i).instr_args_as_JumpFalseCall();
    if (forward != nullptr && static_cast<uint32_t>(forward->destination_instruction()) == jump + 1) return i;
  }
  return unsupported(kNoLoop);
}

Expected<uint32_t> MethodImporter::import_while(uint32_t begin, uint32_t exit, uint32_t jump) {
  Loop loop;
  BERTH_ASSIGN_OR_RETURN(Carried carried, find_changed(begin, jump, loop));
  const Snapshot before = snapshot();
  BERTH_TRY(spend(before.writes + before.numbers.size() + before.views.size()));
  std::vector<ir::Graph> regions(2);
  BERTH_TRY(import_condition(begin, exit, &carried, &regions[0]));
  const size_t decided = writes_.size();
  restore(before);
  BERTH_TRY(forget(before.writes, decided));
  open_region(carried, &regions[1]);
  BERTH_TRY(import_within(exit + 1, jump, &regions[1]));
  BERTH_TRY(check_states(before.states, before.writes));
  instruction_ = static_cast<int32_t>(begin);
  operator_ = "the loop from here";
  Carried kept;
  std::vector<ir::Type> types;
  std::vector<std::vector<ValueId>> inputs(2);
  ir::Graph* const around = graph_;
  graph_ = &regions[1];
  const std::vector<ValueId> values = carried_on(carried.slots, carried.start);
  for (size_t i = 0; i < carried.slots.size(); ++i) {
    if (!values[i].valid()) {
      const bool wanted = is_read(regions[0].inputs[i], regions[0]) || is_read(regions[1].inputs[i], regions[1]) ||
                          has(values, regions[1].inputs[i]);
      if (wanted) return not_carried_on(carried.slots[i]);
      continue;  // bytes that were free before the loop
    }
    regions[1].outputs.emplace_back(values[i]);
    for (size_t r = 0; r < 2; ++r) inputs[r].push_back(regions[r].inputs[i]);
    kept.slots.push_back(carried.slots[i]);
    kept.start.push_back(carried.start[i]);
    types.push_back(method_.value(carried.start[i]).type);
  }
  graph_ = around;
  for (size_t r = 0; r < 2; ++r) regions[r].inputs = inputs[r];
  restore(before);
  const size_t last = writes_.size();
  BERTH_ASSIGN_OR_RETURN(const std::vector<ValueId> results,
                         append(OpId::while_, {kept.start}, std::move(regions), std::move(types), kept.slots));
  BERTH_TRY(forget(before.writes, last));
  for (size_t i = 0; i < results.size(); ++i) BERTH_TRY(define(kept.slots[i], results[i]));
  for (Slot slot : carried.numbers) numbers_[slot] = ValueId();
  return jump + 1;
}

// lt(counter, length, more), the jump out; at the end add(counter, 1, counter).
Expected<MethodImporter::Loop> MethodImporter::recognise_scan(uint32_t begin, uint32_t jump) {
  const fb::KernelCall* compare = call_of(begin, "executorch_prim::lt.Scalar");
  const fb::KernelCall* step = call_of(jump - 1, "executorch_prim::add.Scalar");
  const fb::JumpFalseCall* exit = instruction(begin + 1).instr_args_as_JumpFalseCall();
  if (step == nullptr || step->args()->size() != 3 || compare->args()->size() != 3 || jump < begin + 3 ||
      exit->cond_value_index() != compare->args()->Get(2)) {
    return unsupported(kNoLoop);
  }
  Loop loop;
  loop.begin = begin;
  loop.body = begin + 2;
  loop.last = jump - 1;
  loop.jump = jump;
  loop.index = compare->args()->Get(0);
  if (step->args()->Get(0) != loop.index || step->args()->Get(2) != loop.index) return unsupported(kNoLoop);
  BERTH_ASSIGN_OR_RETURN(const Argument first, number(loop.index));
  BERTH_ASSIGN_OR_RETURN(const Argument by, number(step->args()->Get(1)));
  BERTH_ASSIGN_OR_RETURN(loop.length, whole(compare->args()->Get(1)));
  if (first != Argument(Dim(0)) || by != Argument(Dim(1))) return unsupported(kNoLoop);
  BERTH_TRY(find_scanned(loop));
  BERTH_ASSIGN_OR_RETURN(const Carried carried, find_changed(loop.body, loop.last, loop));
  loop.slots = carried.slots;
  loop.carried = carried.start;
  return loop;
}

Expected<uint32_t> MethodImporter::import_own_loop(uint32_t begin, uint32_t end, uint32_t jump) {
  if (jump >= end || jump < begin + 1) return unsupported(kNoLoop);
  BERTH_ASSIGN_OR_RETURN(const uint32_t exit, find_exit(begin, jump));
  loops_.erase(begin);
  const bool counts = exit == begin + 1 && call_of(begin, "executorch_prim::lt.Scalar") != nullptr;
  auto done = [&]() -> Expected<uint32_t> {
    if (!counts) return import_while(begin, exit, jump);
    BERTH_ASSIGN_OR_RETURN(Loop loop, recognise_scan(begin, jump));
    return import_scan(std::move(loop));
  }();
  loops_[begin] = jump;
  return done;
}

}  // namespace berth::pte
