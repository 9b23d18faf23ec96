#include "compiler/import/pte/method_importer.h"

#include <cstring>

#include "compiler/import/pte/trim_loops.h"

namespace berth::pte {

MethodImporter::MethodImporter(Source& source, size_t index, ir::Module& module, Shared& shared, SizeFacts& facts)
    : source_(source),
      method_index_(index),
      plan_(source.program.method(index)),
      module_(module),
      shared_(shared),
      facts_(facts) {
  method_.name = format::text(plan_.name());
  graph_ = &method_.body;
  const fb::Meta* meta = source.program.meta();
  for (uint32_t i = 0; meta != nullptr && i < format::length(meta->methods()); ++i) {
    const fb::MethodMeta* one = meta->methods()->Get(i);
    if (std::strcmp(format::text(one->name()), format::text(plan_.name())) == 0) meta_ = one;
  }
}

Failure MethodImporter::fail(Error code, std::string message) const {
  std::string place = "method " + method_.name;
  if (instruction_ >= 0) place += ", instruction " + std::to_string(instruction_) + " " + operator_;
  return Failure{code, std::move(place), std::move(message)};
}

Status MethodImporter::run() {
  for (uint32_t i = 0; meta_ != nullptr && i < format::length(meta_->values()); ++i) {
    const fb::ValueName& one = *meta_->values()->Get(i);
    if (format::length(one.name()) > 0) names_[one.value()] = format::text(one.name());
    if (format::length(one.node()) > 0) nodes_[one.value()] = format::text(one.node());
  }
  BERTH_TRY(find_rows());
  BERTH_TRY(read_symbols());
  BERTH_TRY(import_inputs());
  BERTH_TRY(find_states());
  for (const fb::Chain* chain : *plan_.chains()) BERTH_TRY(import_chain(*chain));
  instruction_ = -1;
  BERTH_TRY(import_outputs());
  BERTH_TRY(write_states());
  std::vector<ir::NodeId> nodes = std::move(prologue_.nodes);
  nodes.insert(nodes.end(), method_.body.nodes.begin(), method_.body.nodes.end());
  method_.body.nodes = std::move(nodes);
  trim_loops(&method_);
  module_.methods.push_back(std::move(method_));
  return Done{};
}

Status MethodImporter::import_inputs() {
  for (uint32_t i = 0; i < plan_.inputs()->size(); ++i) {
    const Slot slot = plan_.inputs()->Get(i);
    if (tensor(slot) == nullptr) continue;  // a number that only repeats what the program was exported with
    const format::Storage storage = format::storage_of(*tensor(slot));
    const bool caller = storage == format::Storage::kPlanned || storage == format::Storage::kNone;
    if (!caller) return unsupported("input " + std::to_string(i) + " is a constant, state or of another file as well");
    if (!inputs_.insert(slot).second)
      return unsupported("input " + std::to_string(i) + " is the same value as another");
    BERTH_ASSIGN_OR_RETURN(ir::TensorType type, input_type(static_cast<int>(i), slot));
    ValueId value = method_.add_input(std::move(type), slot_name(slot));
    BERTH_ASSIGN_OR_RETURN(value, row_major(value, slot_name(slot)));
    record(slot, value, range_of(slot));
  }
  return Done{};
}

Status MethodImporter::import_outputs() {
  for (const Slot slot : *plan_.outputs()) {
    method_.output_names.push_back(output_name(method_.output_names.size(), slot));
    if (tensor(slot) != nullptr) {
      BERTH_ASSIGN_OR_RETURN(ValueId value, read(slot));
      BERTH_ASSIGN_OR_RETURN(value, in_order(value, declared_type(slot).dim_order, slot_name(slot)));
      method_.body.outputs.emplace_back(value);
      continue;
    }
    if (const ValueId read_value = number_in_tensor(slot); read_value.valid()) {
      method_.body.outputs.emplace_back(read_value);
      continue;
    }
    BERTH_ASSIGN_OR_RETURN(Argument value, number(slot));
    method_.body.outputs.push_back(std::move(value));
  }
  // What the program leaves in bytes of the caller's own: outputs behind its own, as for archives of torch.export.
  for (const Slot slot : *plan_.inputs()) {
    if (tensor(slot) == nullptr || format::is_planned(*tensor(slot))) continue;
    const int write = memory_.find(range_of(slot));
    const bool changed = write >= 0 && static_cast<size_t>(write) >= inputs_.size();
    if (!changed) continue;
    BERTH_ASSIGN_OR_RETURN(ValueId value, read(slot));
    BERTH_ASSIGN_OR_RETURN(value, in_order(value, declared_type(slot).dim_order, slot_name(slot)));
    method_.body.outputs.emplace_back(value);
  }
  return Done{};
}

}  // namespace berth::pte
