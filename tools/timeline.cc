#include "tools/timeline.h"

#include <algorithm>
#include <map>

#include "format/tensor_facts.h"
#include "runtime/method_meta.h"
#include "tools/names.h"

namespace berth::tool {
namespace {

/// The first and last step at which each value is used.
struct Mentions {
  std::vector<int64_t> first, last;

  explicit Mentions(size_t values) : first(values, -1), last(values, -1) {}
  void add(int64_t value, int64_t step) {
    const size_t v = value;
    if (first[v] < 0) first[v] = step;
    last[v] = std::max(last[v], step);
  }
};

class TimelineBuilder {
 public:
  TimelineBuilder(const format::ProgramView& program, size_t method)
      : plan_(program.method(method)),
        names_(method_names(program, method)),
        meta_(&plan_, names_, DeviceMap()),
        mentions_(plan_.values()->size()) {}

  Timeline run() {
    out_.method = format::text(plan_.name());
    walk();
    read_relations();
    for (uint32_t id = 1; id < plan_.non_const_buffer_sizes()->size(); ++id) add_arena(id);
    return std::move(out_);
  }

 private:
  void mention_arguments(const flatbuffers::Vector<int32_t>& args, int64_t step) {
    for (const int32_t arg : args) {
      mentions_.add(arg, step);
      const fb::EValue& value = *plan_.values()->Get(static_cast<uint32_t>(arg));
      if (const auto* list = value.val_as_TensorList()) {
        for (const int32_t item : *list->items()) mentions_.add(item, step);
      } else if (const auto* optional = value.val_as_OptionalTensorList()) {
        for (const int32_t item : *optional->items()) {
          if (item >= 0) mentions_.add(item, step);
        }
      }
    }
  }

  std::string label(const std::string& what, int32_t result) const {
    const std::string node = result < 0 ? "" : meta_.value_names(result).node;
    return node.empty() ? what : what + " " + node;
  }

  // A delegate's scratch is the last argument of its call: bytes that the file does not name.
  void note_scratch(const fb::DelegateCall& call) {
    const uint32_t count = format::length(call.args());
    const int32_t value = count == 0 ? -1 : call.args()->Get(count - 1);
    const fb::Tensor* tensor = format::tensor_at(plan_, value);
    if (tensor == nullptr || tensor->scalar_type() != fb::ScalarType::BYTE) return;
    if (meta_.value_names(value).name[0] == '\0') scratch_.emplace(value, call.delegate_index());
  }

  void walk_instruction(const fb::Instruction& instruction, int64_t step) {
    if (const auto* call = instruction.instr_args_as_KernelCall()) {
      const fb::Operator& op = *plan_.operators()->Get(static_cast<uint32_t>(call->op_index()));
      const std::string overload = format::text(op.overload());
      const std::string name = format::text(op.name()) + (overload.empty() ? "" : "." + overload);
      const uint32_t count = call->args()->size();
      out_.steps.push_back(label(name, count == 0 ? -1 : call->args()->Get(count - 1)));
      mention_arguments(*call->args(), step);
    } else if (const auto* delegate = instruction.instr_args_as_DelegateCall()) {
      const char* id = meta_.delegate_id(delegate->delegate_index());
      out_.steps.push_back("delegate " + std::string(id == nullptr ? "?" : id));
      mention_arguments(*delegate->args(), step);
      note_scratch(*delegate);
    } else if (const auto* move = instruction.instr_args_as_MoveCall()) {
      out_.steps.push_back(label("move", move->move_to()));
      mentions_.add(move->move_from(), step);
      mentions_.add(move->move_to(), step);
    } else if (const auto* jump = instruction.instr_args_as_JumpFalseCall()) {
      out_.steps.push_back("jump to " + std::to_string(jump->destination_instruction()) + " if false");
      mentions_.add(jump->cond_value_index(), step);
    } else {
      out_.steps.push_back("free");
    }
  }

  void walk() {
    out_.steps.push_back("inputs");
    for (const int32_t input : *plan_.inputs()) {
      mentions_.add(input, 0);
      roles_[input] = "input";
    }
    int64_t step = 0;
    for (const fb::Chain* chain : *plan_.chains()) {
      if (chain->instructions() == nullptr) continue;
      for (const fb::Instruction* instruction : *chain->instructions()) walk_instruction(*instruction, ++step);
    }
    out_.steps.push_back("outputs");
    for (const int32_t output : *plan_.outputs()) {
      mentions_.add(output, step + 1);
      roles_.emplace(output, "output");
    }
  }

  void read_relations() {
    if (names_ == nullptr || names_->relations() == nullptr) return;
    for (const fb::Relation* relation : *names_->relations()) {
      const char* what = relation->kind() == fb::RelationKind::VIEW       ? "view of "
                         : relation->kind() == fb::RelationKind::IN_PLACE ? "in place of "
                                                                          : "state ";
      relations_.emplace(relation->value(), std::make_pair(std::string(what), relation->base()));
    }
  }

  std::string name_of(int32_t value) const {
    const std::string name = meta_.value_names(value).name;
    return name.empty() ? "%" + std::to_string(value) : name;
  }

  static std::string type_of(const fb::Tensor& tensor) {
    std::string text = to_string(static_cast<DType>(tensor.scalar_type()));
    text += "[";
    for (uint32_t d = 0; d < tensor.sizes()->size(); ++d) {
      text += (d == 0 ? "" : ",") + std::to_string(tensor.sizes()->Get(d));
    }
    return text + "]" + (tensor.shape_dynamism() == fb::TensorShapeDynamism::STATIC ? "" : " at most");
  }

  void add_arena(uint32_t id) {
    TimelineArena arena;
    arena.id = id;
    arena.device = format::arena_device(plan_, id);
    arena.bytes = plan_.non_const_buffer_sizes()->Get(id);
    if (names_ != nullptr && names_->arenas() != nullptr) {
      for (const fb::ArenaPlan* promise : *names_->arenas()) {
        if (promise->memory_id() != id) continue;
        arena.lower_bound = static_cast<int64_t>(promise->lower_bound());
        arena.proven = promise->proof() != fb::Proof::OPEN;
        arena.bank = format::text(promise->bank());
      }
    }
    for (uint32_t v = 0; v < plan_.values()->size(); ++v) add_value(v, &arena);
    find_peak(&arena);
    out_.arenas.push_back(std::move(arena));
  }

  void add_value(uint32_t v, TimelineArena* arena) const {
    const fb::Tensor* tensor = format::tensor_at(plan_, v);
    uint64_t bytes = 0;
    if (tensor == nullptr || !format::is_planned(*tensor) || tensor->allocation_info()->memory_id() != arena->id ||
        !format::tensor_nbytes(*tensor, &bytes) || bytes == 0 || mentions_.first[v] < 0) {
      return;
    }
    TimelineValue value;
    value.index = static_cast<int32_t>(v);
    value.name = name_of(value.index);
    value.named = meta_.value_names(v).name[0] != '\0';
    const auto scratch = scratch_.find(value.index);
    if (scratch != scratch_.end() && mentions_.first[v] == mentions_.last[v]) {
      value.name = "scratch of delegate " + std::to_string(scratch->second);
      value.named = true;
    }
    value.node = meta_.value_names(v).node;
    value.type = type_of(*tensor);
    const auto role = roles_.find(value.index);
    value.role = role != roles_.end() ? role->second : "value";
    const auto relation = relations_.find(value.index);
    if (relation != relations_.end()) {
      value.base = relation->second.second;
      value.relation = relation->second.first + name_of(value.base);
    }
    const format::Storage storage = format::storage_of(*tensor);
    if (storage == format::Storage::kState || storage == format::Storage::kExternalState) value.role = "state";
    value.offset = static_cast<int64_t>(format::planned_offset(*tensor->allocation_info()));
    value.bytes = static_cast<int64_t>(bytes);
    value.first = value.role == "state" ? 0 : mentions_.first[v];
    value.last = value.role == "state" ? static_cast<int64_t>(out_.steps.size()) - 1 : mentions_.last[v];
    arena->values.push_back(std::move(value));
  }

  // Counts the bytes that are covered at each step where that can rise: where a value begins.
  static void find_peak(TimelineArena* arena) {
    std::vector<int64_t> steps;
    for (const TimelineValue& value : arena->values) steps.push_back(value.first);
    std::sort(steps.begin(), steps.end());
    steps.erase(std::unique(steps.begin(), steps.end()), steps.end());
    std::vector<const TimelineValue*> by_offset;
    for (const TimelineValue& value : arena->values) by_offset.push_back(&value);
    std::sort(by_offset.begin(), by_offset.end(), [](auto* a, auto* b) { return a->offset < b->offset; });
    for (const int64_t step : steps) {
      int64_t covered = 0;
      int64_t end = 0;
      for (const TimelineValue* value : by_offset) {
        if (value->first > step || value->last < step) continue;
        const int64_t top = value->offset + value->bytes;
        covered += std::max<int64_t>(0, top - std::max(end, value->offset));
        end = std::max(end, top);
      }
      if (covered <= arena->peak_bytes) continue;
      arena->peak_bytes = covered;
      arena->peak_step = step;
    }
  }

  const fb::ExecutionPlan& plan_;
  const fb::MethodMeta* names_;
  MethodMeta meta_;
  Mentions mentions_;
  std::map<int32_t, std::string> roles_;
  std::map<int32_t, int32_t> scratch_;  // to the delegate that may use it
  std::map<int32_t, std::pair<std::string, int32_t>> relations_;
  Timeline out_;
};

}  // namespace

Timeline timeline_of(const format::ProgramView& program, size_t method) {
  return TimelineBuilder(program, method).run();
}

ArenaPicture arena_picture(const TimelineArena& arena) {
  ArenaPicture picture;
  int64_t height = 0;
  for (const TimelineValue& value : arena.values) {
    packing::Buffer storage;
    storage.size = value.bytes;
    storage.fixed = value.offset;
    storage.lower = value.first;
    storage.upper = value.last + 1;
    height = std::max(height, storage.fixed + storage.size);
    picture.problem.buffers.push_back(storage);
    picture.plan.offsets.push_back(storage.fixed);
  }
  picture.plan.spaces.resize(1);
  picture.plan.spaces[0].height = height;
  return picture;
}

}  // namespace berth::tool
