// MethodValues: which value of the file each value of a method is, with its place in the plan.
#pragma once

#include <string>

#include "compiler/emit/code.h"
#include "compiler/emit/emitted_method.h"
#include "compiler/ir/module.h"
#include "compiler/memory/plan_schedule.h"

namespace berth::emit {

/// NotSupported: what a program cannot say.
Failure unsupported(std::string where, std::string message);

/// Adds values to the table of `code` when they are first asked for. All that it is made from must outlive it.
class MethodValues {
 public:
  MethodValues(const ir::Module& module, const ir::Method& method, const memory::MethodPlan& plan,
               const MethodOptions& options, Pools* pools, Code* code);

  /// The index of `value`, which is made now.
  Expected<int32_t> define(ir::ValueId value);
  /// The index of `value`. Constants are made when they are first used; everything else stands there by now.
  Expected<int32_t> use(ir::ValueId value);
  /// The index of the tensor of a state.
  Expected<int32_t> state(ir::StateId id);
  /// A new tensor like `like`, without a place.
  Expected<int32_t> unplaced(ir::ValueId like);

  /// The index of `value`, or -1 when it is not made yet.
  int32_t operator[](ir::ValueId value) const { return values_[value]; }
  /// From here on `value` is value `index` of the file.
  void set(ir::ValueId value, int32_t index) { values_[value] = index; }

  const IdVector<ir::ValueId, int32_t>& values() const { return values_; }
  const IdVector<ir::StateId, int32_t>& states() const { return states_; }

  /// A tensor of `type` without contents. `value` is named when it is too large; it may be invalid.
  Expected<format::TensorDesc> tensor_of(const ir::TensorType& type, ir::ValueId value) const;
  format::ArenaOffset offset_of(memory::BufferId buffer) const;

 private:
  void set_data(ir::ConstantId id, format::TensorDesc* tensor);

  const ir::Module& module_;
  const ir::Method& method_;
  const memory::MemoryModel& model_;
  const packing::Plan& packing_;
  const MethodOptions& options_;
  Pools* const pools_;
  Code* const code_;
  IdVector<ir::ValueId, int32_t> values_;
  IdVector<ir::StateId, int32_t> states_;
};

}  // namespace berth::emit
