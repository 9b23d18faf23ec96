// The end of a method: what is returned, and what is left in state.
#include <algorithm>

#include "compiler/memory/liveness_analysis.h"
#include "compiler/memory/state_in_place.h"

namespace berth::memory::internal {

using ir::TensorType;
using ir::ValueId;

/// Gives `value` a copy of its own that the write-backs leave alone.
Status Analysis::save(ValueId value) {
  for (const Save& save : out_.copies.saves) {
    if (save.value == value && save.output < 0) return Done{};
  }
  BERTH_ASSIGN_OR_RETURN(const BufferId buffer,
                         add_buffer(method_.tensor(value), false, out_.steps.save, out_.steps.read + 1,
                                    "%" + method_.value(value).name, ValueId{}));
  out_.copies.saves.push_back({value, buffer, -1});
  return Done{};
}

bool Analysis::is_written(ir::StateId state) const {
  const auto& writes = out_.copies.write_backs;
  return std::any_of(writes.begin(), writes.end(), [&](const WriteBack& write) { return write.state == state; });
}

Status Analysis::finish_outputs() {
  out_.steps.save = step_ + 1;
  out_.steps.write_back = step_ + 2;
  out_.steps.read = step_ + 3;
  for (const BufferId buffer : out_.buffers.states) {
    if (buffer.valid()) out_.buffers.all[buffer].upper = out_.steps.read + 1;
  }
  auto& writes = out_.copies.write_backs;
  // A state that is given its own value keeps it.
  const auto idle = [&](const WriteBack& write) { return state_at(write.value) == write.state; };
  writes.erase(std::remove_if(writes.begin(), writes.end(), idle), writes.end());
  for (const WriteBack& write : writes) read_at(write.value, out_.steps.write_back);
  for (size_t k = 0; k < method_.body.outputs.size(); ++k) {
    const ValueId* value = std::get_if<ValueId>(&method_.body.outputs[k]);
    if (value == nullptr) continue;
    const TensorType* type = method_.value(*value).tensor();
    if (type != nullptr && is_callers(*value)) {
      finish_callers_output(*value, static_cast<int32_t>(k));
    } else {
      read_at(*value, out_.steps.read);
    }
  }
  if (options_.allows_in_place()) {
    StateInPlace in_place = compute_state_in_place(module_, method_, options_, out_);
    out_.aliases.homes = std::move(in_place.homes);
    out_.aliases.state_updates = std::move(in_place.updates);
    out_.copies.write_backs = std::move(in_place.write_backs);
  }
  BERTH_TRY(check_state_ports());
  return save_what_write_backs_change();
}

Status Analysis::save_what_write_backs_change() {
  for (const WriteBack& write : out_.copies.write_backs) {
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
  const bool scratch = is_scratch_output(value) && lies_in_scratch_output(value);
  const bool made_there = (scratch || out_.aliases.homes[value].home == Home::kCaller) &&
                          method_.value(value).kind == ir::ValueKind::kNode && !out_.aliases.bases[value].valid();
  if (made_there && !given_[value]) {
    given_[value] = true;
    if (scratch) read_at(value, out_.steps.read);
    return;
  }
  read_at(value, out_.steps.save);
  out_.copies.saves.push_back({value, {}, output});
}

}  // namespace berth::memory::internal
