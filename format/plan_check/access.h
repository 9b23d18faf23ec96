// What one instruction does to tensors, told to a visitor.
#pragma once

#include "format/plan_check/graph.h"
#include "format/plan_check/instructions.h"
#include "format/tensor_facts.h"

namespace berth::format::plan_check {

enum class WriteKind : uint8_t {
  kWhole,  // every byte
  kPart,   // some bytes: what was there stays otherwise
  kStack,  // et_copy_index and berth::row.write: row by row, from the first
};

/// Calls `call(value index)` for the tensor at `index`, or for each tensor of the list there. False: out of budget.
template <typename Call>
bool for_each_tensor(PlanGraph& graph, int32_t index, Call&& call) {
  const fb::EValue& value = *graph.plan->values()->Get(static_cast<uint32_t>(index));
  const flatbuffers::Vector<int32_t>* items = nullptr;
  switch (value.val_type()) {
    case fb::KernelTypes::Tensor: call(index); return graph.spend(1);
    case fb::KernelTypes::TensorList: items = value.val_as_TensorList()->items(); break;
    case fb::KernelTypes::OptionalTensorList: items = value.val_as_OptionalTensorList()->items(); break;
    default: return graph.spend(1);
  }
  if (!graph.spend(items->size() + 1)) return false;
  for (uint32_t i = 0; i < items->size(); ++i) {
    const int32_t item = items->Get(i);
    if (item >= 0 && tensor_at(*graph.plan, item) != nullptr) call(item);
  }
  return true;
}

/// A kernel call taken apart.
struct CallShape {
  const OperatorAccess* access = nullptr;
  const flatbuffers::Vector<int32_t>* args = nullptr;
  /// The result changes the first argument in place.
  bool in_place = false;
  /// Arguments from here on are results.
  uint32_t inputs = 0;

  /// Whether the third argument becomes a name of the first one's bytes.
  bool names_bytes() const {
    return access->kind == OperatorAccess::Kind::kView || access->kind == OperatorAccess::Kind::kRow;
  }
};

inline CallShape shape_of(const PlanGraph& graph, const fb::KernelCall& call) {
  CallShape shape;
  shape.access = &graph.access[call.op_index()];
  shape.args = call.args();
  const uint32_t count = shape.args->size();
  if (count == 0) return shape;
  const int32_t last = shape.args->Get(count - 1);
  shape.in_place = count >= 2 && shape.args->Get(0) == last && (count == 2 || shape.args->Get(count - 2) != last);
  shape.inputs = count - 1;
  if (shape.access->inputs >= 0 && static_cast<uint32_t>(shape.access->inputs) < count) {
    shape.inputs = static_cast<uint32_t>(shape.access->inputs);
  }
  return shape;
}

/// `write(value, WriteKind)` for each tensor that the kernel writes, or lets others write. False: out of budget.
template <typename Write>
bool visit_writes(PlanGraph& graph, const CallShape& shape, Write&& write) {
  const uint32_t count = shape.args->size();
  if (count == 0 || shape.access->kind == OperatorAccess::Kind::kView) return true;
  if (shape.access->kind == OperatorAccess::Kind::kCopyIndex || shape.access->kind == OperatorAccess::Kind::kRow) {
    return for_each_tensor(graph, shape.args->Get(0), [&](int32_t v) { write(v, WriteKind::kStack); });
  }
  for (uint32_t i = 0; i < count && i < 32; ++i) {
    if ((shape.access->changed >> i & 1) == 0) continue;
    if (!for_each_tensor(graph, shape.args->Get(i), [&](int32_t v) { write(v, WriteKind::kPart); })) return false;
  }
  const WriteKind kind = shape.in_place && !shape.access->replaces_self ? WriteKind::kPart : WriteKind::kWhole;
  return for_each_tensor(graph, shape.args->Get(count - 1), [&](int32_t v) { write(v, kind); });
}

/// Whether `value` is the call's result, or in the list of its results.
inline bool is_result(PlanGraph& graph, const CallShape& shape, int32_t value) {
  bool found = false;
  for_each_tensor(graph, shape.args->Get(shape.args->size() - 1), [&](int32_t v) { found = found || v == value; });
  return found;
}

/// `read(value)` for each tensor that the kernel reads. False: out of budget.
template <typename Read>
bool visit_reads(PlanGraph& graph, const CallShape& shape, Read&& read) {
  const bool view = shape.names_bytes();
  for (uint32_t i = 0; i < shape.inputs; ++i) {
    // A view reads no bytes; it is the readers of its result who do.
    if (view) break;
    if (shape.access->kind == OperatorAccess::Kind::kCopyIndex && i == 0) continue;
    const bool self = shape.in_place && i == 0;
    if (self && shape.access->replaces_self) continue;
    const bool inputs_known = shape.access->inputs >= 0;
    const bool good = for_each_tensor(graph, shape.args->Get(i), [&](int32_t v) {
      if (self || inputs_known || !is_result(graph, shape, v)) read(v);
    });
    if (!good) return false;
  }
  return true;
}

}  // namespace berth::format::plan_check
