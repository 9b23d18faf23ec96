// The end of a method: what is returned, and what is left in state.
#include <algorithm>

#include "compiler/emit/lifetimes_analysis.h"
#include "compiler/emit/state_in_place.h"

namespace berth::emit::internal {

using ir::TensorType;
using ir::ValueId;

/// Gives `value` a copy of its own that the write-backs leave alone.
Status Analysis::save(ValueId value) {
  for (const Save& save : out_.saves) {
    if (save.value == value && save.output < 0) return Done{};
  }
  BERTH_ASSIGN_OR_RETURN(const int32_t storage,
                         add_storage(method_.tensor(value), false, out_.save_step, out_.read_step + 1,
                                     "%" + method_.value(value).name, ValueId{}));
  out_.saves.push_back({value, storage, -1});
  return Done{};
}

bool Analysis::is_written(ir::StateId state) const {
  const auto& writes = out_.write_backs;
  return std::any_of(writes.begin(), writes.end(), [&](const WriteBack& write) { return write.state == state; });
}

Status Analysis::finish_outputs() {
  out_.save_step = step_ + 1;
  out_.write_step = step_ + 2;
  out_.read_step = step_ + 3;
  for (const int32_t storage : out_.states) {
    if (storage >= 0) out_.problem.storages[static_cast<size_t>(storage)].upper = out_.read_step + 1;
  }
  auto& writes = out_.write_backs;
  // A state that is given its own value keeps it.
  const auto idle = [&](const WriteBack& write) { return state_at(write.value) == write.state; };
  writes.erase(std::remove_if(writes.begin(), writes.end(), idle), writes.end());
  for (const WriteBack& write : writes) read_at(write.value, out_.write_step);
  for (size_t k = 0; k < method_.body.outputs.size(); ++k) {
    const ValueId* value = std::get_if<ValueId>(&method_.body.outputs[k]);
    if (value == nullptr) continue;
    const TensorType* type = method_.value(*value).tensor();
    if (type != nullptr && is_callers(*value)) {
      finish_callers_output(*value, static_cast<int32_t>(k));
    } else {
      read_at(*value, out_.read_step);
    }
  }
  if (options_.in_place) compute_state_in_place(module_, method_, &out_);
  return save_what_write_backs_change();
}

Status Analysis::save_what_write_backs_change() {
  for (const WriteBack& write : out_.write_backs) {
    if (is_written(state_at(write.value))) BERTH_TRY(save(write.value));
  }
  for (const ir::Argument& output : method_.body.outputs) {
    const ValueId* value = std::get_if<ValueId>(&output);
    if (value == nullptr || !is_written(state_at(*value))) continue;
    const TensorType* type = method_.value(*value).tensor();
    if (type == nullptr || !is_callers(*value)) BERTH_TRY(save(*value));
  }
  return Done{};
}

/// A value that a node makes is made where the caller wants it, once; anything else is copied there.
void Analysis::finish_callers_output(ValueId value, int32_t output) {
  const bool lent = is_lent(value) && lies_in_lent(value);
  const bool made_there = (lent || out_.places[at(value)].home == Home::kCaller) &&
                          method_.value(value).kind == ir::ValueKind::kNode && !out_.bases[at(value)].valid();
  if (made_there && !given_[at(value)]) {
    given_[at(value)] = true;
    if (lent) read_at(value, out_.read_step);
    return;
  }
  read_at(value, out_.save_step);
  out_.saves.push_back({value, -1, output});
}

}  // namespace berth::emit::internal
