#include "compiler/emit/device_rows.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "compiler/ir/arguments.h"

namespace berth::emit {

using ir::Argument;
using ir::ValueId;
using memory::RowHome;

Expected<int32_t> DeviceRows::copy_to_last_row(ir::NodeId loop, int32_t source, ValueId result) {
  const ir::Node& node = method_.node(loop);
  const size_t i = static_cast<size_t>(method_.value(result).result);
  const RowHome& home = model_.aliases.rows[std::get<ValueId>(node.regions.back().outputs[i])];
  int64_t last = 1;
  int32_t rows = 0;
  if (home.kind == RowHome::Kind::kPair) {
    rows = pair_of(result);
  } else {
    rows = values_[home.rows];
    last = std::get<ir::Dim>(node.args[arg::scan::length]).value - 1;
  }
  BERTH_ASSIGN_OR_RETURN(const int32_t row, values_.unplaced(result));
  find_row("write", rows, code_.values.integer(last), row);
  code_.copy(source, row);
  return row;
}

int32_t DeviceRows::begin_turns(const ir::Graph& body) {
  const auto is_pair = [&](const Argument& output) {
    const ValueId* value = std::get_if<ValueId>(&output);
    return value != nullptr && model_.aliases.rows[*value].kind == RowHome::Kind::kPair;
  };
  if (std::none_of(body.outputs.begin(), body.outputs.end(), is_pair)) return -1;
  const int32_t turn = code_.values.add(int64_t{0});
  code_.call("executorch_prim::sub", "Scalar", {turn, turn, turn});
  return turn;
}

void DeviceRows::end_turn(int32_t turn) {
  if (turn >= 0) code_.call("executorch_prim::sub", "Scalar", {code_.values.integer(1), turn, turn});
}

Status DeviceRows::find(const ir::Graph& body, int32_t counter, int32_t turn) {
  for (const Argument& output : body.outputs) {
    const ValueId* value = std::get_if<ValueId>(&output);
    if (value == nullptr) continue;
    const RowHome& home = model_.aliases.rows[*value];
    const bool pair = home.kind == RowHome::Kind::kPair;
    if ((!pair && home.kind != RowHome::Kind::kStack) || values_[*value] >= 0) continue;
    BERTH_ASSIGN_OR_RETURN(const int32_t row, values_.unplaced(*value));
    values_.set(*value, row);
    find_row("write", pair ? pair_of(home.rows) : values_[home.rows], pair ? turn : counter, row);
  }
  return Done{};
}

Status DeviceRows::slice(int32_t whole, ValueId input, int32_t slice, int32_t counter) {
  const bool is_row = model_.aliases.rows[input].in_row();
  BERTH_ASSIGN_OR_RETURN(const int32_t row, is_row ? Expected<int32_t>(slice) : values_.unplaced(input));
  find_row("read", whole, counter, row);
  if (!is_row) code_.copy(row, slice);
  return Done{};
}

Status DeviceRows::stack(int32_t row, ValueId value, ValueId stack, int32_t counter) {
  const RowHome& home = model_.aliases.rows[value];
  if (home.kind == RowHome::Kind::kStack && home.rows == stack) return Done{};
  BERTH_ASSIGN_OR_RETURN(const int32_t there, values_.unplaced(value));
  find_row("write", values_[stack], counter, there);
  code_.copy(row, there);
  return Done{};
}

void DeviceRows::find_row(const char* access, int32_t rows, int32_t index, int32_t row) {
  code_.call("berth::row", access, {rows, index, row});
}

// Bytes, as each of the two rows begins where the device aligns.
int32_t DeviceRows::pair_of(ValueId result) {
  const auto known = pairs_.find(result.index);
  if (known != pairs_.end()) return known->second;
  const memory::BufferId buffer = model_.aliases.homes[result].buffer;
  format::TensorDesc tensor;
  tensor.dtype = DType::kU8;
  tensor.sizes = {2, static_cast<int32_t>(model_.buffers.all[buffer].size / 2)};
  tensor.dim_order = {0, 1};
  tensor.planned = values_.offset_of(buffer);
  tensor.device = method_.tensor(result).device;
  return pairs_[result.index] = code_.values.add(std::move(tensor));
}

}  // namespace berth::emit
