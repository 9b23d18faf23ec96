// Jumps back to regions: ExecuTorch's cond, and its map and scan.
#include <algorithm>

#include "compiler/import/pte/method_importer.h"
#include "compiler/ir/shape_args.h"
#include "compiler/ir/verify_regions.h"

namespace berth::pte {
namespace {

// The method's own graph, and regions within each other.
constexpr int kMaxDepth = ir::kMaxRegionDepth + 1;

}  // namespace

const fb::Instruction& MethodImporter::instruction(uint32_t at) const { return *chain_->instructions()->Get(at); }

Status MethodImporter::import_chain(const fb::Chain& chain) {
  chain_ = &chain;
  loops_.clear();
  const uint32_t count = chain.instructions()->size();
  for (uint32_t i = 0; i < count; ++i) {
    const fb::JumpFalseCall* jump = instruction(i).instr_args_as_JumpFalseCall();
    if (jump != nullptr && static_cast<uint32_t>(jump->destination_instruction()) <= i) {
      loops_[static_cast<uint32_t>(jump->destination_instruction())] = i;
    }
  }
  return import_range(0, count);
}

Status MethodImporter::import_range(uint32_t begin, uint32_t end) {
  if (++depth_ > kMaxDepth)
    return unsupported("branches and loops nest more than " + std::to_string(ir::kMaxRegionDepth) + " deep");
  for (uint32_t i = begin; i < end;) {
    instruction_ = static_cast<int32_t>(i);
    const auto loop = loops_.find(i);
    if (loop != loops_.end()) {
      operator_ = "the loop from here";
      BERTH_ASSIGN_OR_RETURN(i, import_loop(i, end, loop->second));
    } else if (instruction(i).instr_args_type() == fb::InstructionArguments::JumpFalseCall) {
      operator_ = "JumpFalseCall";
      BERTH_ASSIGN_OR_RETURN(i, import_branches(i, end));
    } else {
      BERTH_TRY(import_instruction(instruction(i)));
      ++i;
    }
  }
  --depth_;
  return Done{};
}

MethodImporter::Snapshot MethodImporter::snapshot() const {
  return {memory_, ranges_, views_, numbers_, named_, constants_, writes_.size(), states_.size()};
}

// Back to how things were before a branch or a body; but state that was met inside stays known.
void MethodImporter::restore(const Snapshot& before) {
  memory_ = before.memory;
  ranges_ = before.ranges;
  views_ = before.views;
  numbers_ = before.numbers;
  named_ = before.named;
  constants_ = before.constants;
  for (size_t i = before.states; i < states_.size(); ++i) {
    memory_.write(writes_[states_[i].write].range, states_[i].write);
  }
}

bool MethodImporter::is_state_write(int write) const {
  return std::any_of(states_.begin(), states_.end(), [&](const StateSlot& state) { return state.write == write; });
}

// What was written from write `first` on is no longer known. Each place counts once: what is forgotten is a write, too,
// and branches that lie within each other would double it.
Status MethodImporter::forget(size_t first, size_t last) {
  BERTH_TRY(spend(last - first + states_.size()));
  std::set<int> of_states;
  for (const StateSlot& state : states_) of_states.insert(state.write);
  std::set<std::tuple<uint32_t, uint64_t, uint64_t>> known;
  std::vector<ByteRange> ranges;
  for (size_t i = first; i < last; ++i) {
    const ByteRange& range = writes_[i].range;
    if (of_states.count(static_cast<int>(i)) != 0) continue;
    if (known.emplace(range.space, range.begin, range.end).second) ranges.push_back(range);
  }
  for (const ByteRange& range : ranges) record(-1, ValueId(), range);
  return Done{};
}

Expected<MethodImporter::Branch> MethodImporter::import_branch(uint32_t begin, uint32_t end, const Snapshot& before) {
  BERTH_TRY(spend(before.writes + before.numbers.size() + before.views.size()));
  Branch branch;
  ir::Graph* const around = graph_;
  std::set<Slot> moved_around;
  std::swap(moved_, moved_around);
  graph_ = &branch.graph;
  const size_t first = writes_.size();
  const Status status = import_range(begin, end);
  if (!status.ok()) return status.error();
  std::set<Slot> slots = moved_;
  for (size_t w = first; w < writes_.size(); ++w) {
    if (writes_[w].slot >= 0 && !is_state_write(static_cast<int>(w))) slots.insert(writes_[w].slot);
  }
  for (Slot slot : slots) {
    if (tensor(slot) == nullptr) continue;
    const bool moved = moved_.count(slot) != 0;
    const int write = named_.count(slot) != 0 ? 0 : memory_.find(range_of(slot));
    if (write < 0) continue;
    if (!moved && writes_[write].slot != slot) continue;
    auto value = read(slot);
    if (!value.ok()) continue;
    branch.results[slot] = *value;
    if (moved) branch.moved.insert(slot);
  }
  branch.numbers = numbers_;
  for (Slot slot : moved_) {
    ranges_.erase(slot);
    branch.touched.push_back(range_of(slot));
  }
  std::swap(moved_, moved_around);
  graph_ = around;
  restore(before);
  return branch;
}

// cond: jump to the else part; the then part, its moves; a jump on a constant false over the else part; the else part.
Expected<uint32_t> MethodImporter::import_branches(uint32_t at, uint32_t end) {
  const fb::JumpFalseCall& jump = *instruction(at).instr_args_as_JumpFalseCall();
  const uint32_t other = static_cast<uint32_t>(jump.destination_instruction());
  if (other <= at || other > end) return unsupported("jumps out of the branch or the loop that it stands in");
  uint32_t then_end = other;
  uint32_t next = other;
  if (other - 1 > at) {
    const fb::JumpFalseCall* over = instruction(other - 1).instr_args_as_JumpFalseCall();
    const fb::Bool* never = over == nullptr ? nullptr : entry(over->cond_value_index()).val_as_Bool();
    if (never != nullptr && !never->bool_val() && numbers_.count(over->cond_value_index()) == 0 &&
        static_cast<uint32_t>(over->destination_instruction()) >= other) {
      then_end = other - 1;
      next = static_cast<uint32_t>(over->destination_instruction());
    }
  }
  if (next > end) return unsupported("jumps out of the branch or the loop that it stands in");
  Argument condition;
  const ValueId number_read = number_in_tensor(jump.cond_value_index());
  if (tensor(jump.cond_value_index()) != nullptr || number_read.valid()) {
    ValueId value = number_read;
    if (!value.valid()) {
      BERTH_ASSIGN_OR_RETURN(value, read(jump.cond_value_index()));
    }
    const ir::TensorType& type = method_.tensor(value);
    const bool single = std::all_of(type.shape.begin(), type.shape.end(), [](Dim d) { return d == Dim(1); });
    if (type.dtype != DType::kBool || !single) return unsupported("jumps by a tensor that is not one truth value");
    condition = value;
  } else {
    BERTH_ASSIGN_OR_RETURN(condition, number(jump.cond_value_index()));
    const bool* known = std::get_if<bool>(&condition);
    if (known == nullptr)
      return invalid("jumps by " + slot_text(jump.cond_value_index()) + ", which is not a truth value");
    BERTH_TRY(*known ? import_range(at + 1, then_end) : import_range(other, next));
    return next;
  }
  const Snapshot before = snapshot();
  BERTH_ASSIGN_OR_RETURN(Branch yes, import_branch(at + 1, then_end, before));
  BERTH_ASSIGN_OR_RETURN(Branch no, import_branch(other, next, before));
  instruction_ = static_cast<int32_t>(at);
  operator_ = "JumpFalseCall";
  BERTH_TRY(join(before, condition, yes, no));
  return next;
}

Status MethodImporter::join(const Snapshot& before, const Argument& condition, Branch& yes, Branch& no) {
  std::vector<Slot> slots;
  std::vector<ir::Type> types;
  for (const auto& [slot, value] : yes.results) {
    const auto found = no.results.find(slot);
    if (found == no.results.end()) continue;
    if (method_.value(value).type != method_.value(found->second).type) continue;
    slots.push_back(slot);
    types.push_back(method_.value(value).type);
    yes.graph.outputs.push_back(value);
    no.graph.outputs.push_back(found->second);
  }
  const std::set<Slot> moved = yes.moved;
  std::vector<ByteRange> touched = yes.touched;
  touched.insert(touched.end(), no.touched.begin(), no.touched.end());
  std::vector<ir::Graph> regions;
  regions.push_back(std::move(yes.graph));
  regions.push_back(std::move(no.graph));
  BERTH_ASSIGN_OR_RETURN(const std::vector<ValueId> results,
                         append(OpId::if_, {condition}, std::move(regions), std::move(types), slots));
  BERTH_TRY(forget(before.writes, writes_.size()));
  for (const ByteRange& range : touched) record(-1, ValueId(), range);
  for (size_t i = 0; i < slots.size(); ++i) {
    if (moved.count(slots[i]) != 0) {
      moved_.insert(slots[i]);
      named_[slots[i]] = results[i];  // its own bytes are unused from now on
    } else {
      record(slots[i], results[i], range_of(slots[i]));
    }
  }
  // A number that differs from branch to branch is none that is known now.
  std::map<Slot, Argument> joined = yes.numbers;
  joined.insert(no.numbers.begin(), no.numbers.end());
  for (auto& [slot, value] : joined) {
    const auto a = yes.numbers.find(slot);
    const auto b = no.numbers.find(slot);
    const bool same = a != yes.numbers.end() && b != no.numbers.end() && a->second == b->second;
    if (!same) value = ValueId();
  }
  numbers_ = std::move(joined);
  return Done{};
}

Expected<std::vector<ValueId>> MethodImporter::append(OpId op, std::vector<Argument> args,
                                                      std::vector<ir::Graph> regions, std::vector<ir::Type> types,
                                                      const std::vector<Slot>& slots, ir::DelegateId delegate) {
  ir::Node node;
  node.op = &ir::operator_of(op);
  if (const Status fit = ir::check_results(module_, *node.op, types); !fit.ok()) {
    return unsupported(fit.error().message);
  }
  node.args = std::move(args);
  node.regions = std::move(regions);
  node.delegate = delegate;
  node.source = "instruction " + std::to_string(instruction_);
  const ir::NodeId id{static_cast<int32_t>(method_.nodes.size())};
  for (size_t i = 0; i < types.size(); ++i) {
    const ValueId result = method_.add_value(std::move(types[i]), slot_name(slots[i]));
    ir::Value& value = method_.value(result);
    value.kind = ir::ValueKind::kNode;
    value.node = id;
    value.result = static_cast<int>(i);
    node.results.push_back(result);
  }
  if (std::string problem = ir::region_problem(module_, method_, node); !problem.empty()) {
    return unsupported(std::move(problem));
  }
  const std::vector<ValueId> results = node.results;
  method_.nodes.push_back(std::move(node));
  graph_->nodes.push_back(id);
  return results;
}

}  // namespace berth::pte
