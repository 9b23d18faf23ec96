// DeviceRows: instructions that find the rows of tensors on devices, where loops slice, stack and carry there
// (memory::RowHome).
#pragma once

#include <cstdint>
#include <unordered_map>

#include "compiler/emit/code.h"
#include "compiler/emit/method_values.h"
#include "compiler/ir/module.h"
#include "compiler/memory/model.h"

namespace berth::emit {

/// What a loop carries there lies in rows by turns: those of a stack, or two of its own, a pair.
class DeviceRows {
 public:
  DeviceRows(const ir::Method& method, const memory::MemoryModel& model, MethodValues* values, Code* code)
      : method_(method), model_(model), values_(*values), code_(*code) {}

  /// Before a loop: the row of `result` that the first iterations leave alone gets a copy of `source`. Its index.
  Expected<int32_t> copy_to_last_row(ir::NodeId loop, int32_t source, ir::ValueId result);

  /// The slot that counts 0, 1, 0, … in a loop with a pair, set to 0; -1 when it has none.
  int32_t begin_turns(const ir::Graph& body);
  void end_turn(int32_t turn);

  /// Before the body: finds the rows in which it makes what it gives. `counter` counts iterations, -1 without stacks.
  Status find(const ir::Graph& body, int32_t counter, int32_t turn);

  /// Before the body: `input`, value `slice` of the file, becomes row `counter` of `whole`.
  Status slice(int32_t whole, ir::ValueId input, int32_t slice, int32_t counter);

  /// After the body: `value`, value `row` of the file, becomes row `counter` of `stack`.
  Status stack(int32_t row, ir::ValueId value, ir::ValueId stack, int32_t counter);

 private:
  void find_row(const char* access, int32_t rows, int32_t index, int32_t row);
  int32_t pair_of(ir::ValueId result);

  const ir::Method& method_;
  const memory::MemoryModel& model_;
  MethodValues& values_;
  Code& code_;
  std::unordered_map<int32_t, int32_t> pairs_;  // ValueId of a loop's result → its two rows
};

}  // namespace berth::emit
