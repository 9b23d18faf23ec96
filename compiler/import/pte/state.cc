// State: what a program keeps in its arenas from one call to the next.
#include "compiler/import/pte/method_importer.h"

namespace berth::pte {

// Those that the file marks: with an initial value or a name.
Status MethodImporter::find_states() {
  for (uint32_t i = 0; i < plan_.values()->size(); ++i) {
    const Slot slot = static_cast<Slot>(i);
    const fb::Tensor* t = tensor(slot);
    if (t == nullptr || inputs_.count(slot) != 0) continue;
    const format::Storage storage = format::storage_of(*t);
    const fb::ExtraTensorInfo* extra = t->extra_tensor_info();
    const bool named = extra != nullptr && format::length(extra->fully_qualified_name()) > 0;
    const bool initial = storage == format::Storage::kState || storage == format::Storage::kExternalState;
    if (initial || (named && storage == format::Storage::kPlanned)) {
      uint64_t bytes = 0;
      if (!format::tensor_nbytes(*t, &bytes) || bytes == 0) continue;
      if (memory_.find(range_of(slot)) != MemoryMap::kNothing) continue;  // another name of state, or of an input
      BERTH_TRY(add_state(slot));
    }
  }
  return Done{};
}

Status MethodImporter::add_state(Slot slot) {
  const fb::Tensor& t = *tensor(slot);
  if (t.shape_dynamism() != fb::TensorShapeDynamism::STATIC) {
    return unsupported(slot_text(slot) + " is state whose size may change");
  }
  ir::State state;
  // Methods may call the value by other names.
  const fb::ExtraTensorInfo* extra = t.extra_tensor_info();
  const char* own_name = extra == nullptr ? "" : format::text(extra->fully_qualified_name());
  state.name = own_name[0] == '\0' ? slot_name(slot) : own_name;
  BERTH_ASSIGN_OR_RETURN(state.type, held(declared_type(slot), slot));
  const ByteRange range = range_of(slot);
  StateKey key(range.space, range.begin, static_cast<int>(state.type.dtype), {t.sizes()->begin(), t.sizes()->end()},
               extra == nullptr ? "" : state.name);
  auto found = shared_.states.find(key);
  if (found == shared_.states.end()) {
    if (format::storage_of(t) != format::Storage::kPlanned) {
      BERTH_ASSIGN_OR_RETURN(const Stored bytes, stored(slot));
      state.initial = bytes.blob();
    }
    const std::string wish = state.name;
    for (int suffix = 2; !shared_.state_names.insert(state.name).second; ++suffix) {
      state.name = wish + "." + std::to_string(suffix);
    }
    found = shared_.states.emplace(key, module_.states.next_id()).first;
    module_.states.push_back(std::move(state));
  }
  const ir::State& known = module_.states[found->second];
  if (known.type != declared_type(slot)) {
    return unsupported(slot_text(slot) + " is state that another method has in another order or on another device");
  }
  ir::Node node;
  node.op = &ir::operator_of(OpId::state_read);
  node.state = found->second;
  node.source = known.name;
  const ir::NodeId id{static_cast<int32_t>(method_.nodes.size())};
  ValueId value = method_.add_value(known.type, known.name);
  method_.value(value).kind = ir::ValueKind::kNode;
  method_.value(value).node = id;
  node.results = {value};
  method_.nodes.push_back(std::move(node));
  // Before everything else, whatever branch of the program is being read.
  ir::Graph* const within = graph_;
  graph_ = &prologue_;
  prologue_.nodes.push_back(id);
  auto ordered = row_major(value, slot_name(slot));
  graph_ = within;
  if (!ordered.ok()) return ordered.error();
  record(slot, *ordered, range);
  states_.push_back({found->second, slot, static_cast<int>(writes_.size()) - 1});
  return Done{};
}

Status MethodImporter::write_states() {
  const std::vector<StateSlot> states = states_;
  for (const StateSlot& state : states) {
    const ByteRange range = writes_[state.write].range;
    const int write = memory_.find(range);
    if (write == state.write) continue;
    if (write < 0) return unsupported(slot_text(state.slot) + " is state of which a part is changed");
    BERTH_ASSIGN_OR_RETURN(ValueId value, read_from(write, state.slot));
    const ir::State& known = module_.states[state.id];
    BERTH_ASSIGN_OR_RETURN(value, in_order(value, known.type.dim_order, slot_name(state.slot)));
    if (method_.tensor(value) != known.type) {
      return unsupported(slot_text(state.slot) + " is state whose new value has another type or device");
    }
    ir::Node node;
    node.op = &ir::operator_of(OpId::state_write);
    node.args = {value};
    node.state = state.id;
    node.source = known.name;
    graph_->nodes.push_back(method_.nodes.next_id());
    method_.nodes.push_back(std::move(node));
  }
  return Done{};
}

}  // namespace berth::pte
