// Offsets that follow the sizes (fb::Stack): indices, and lists that belong together. Whether blocks keep apart what
// must not share bytes is a question of the plan check.

#include <cinttypes>

#include "base/math.h"
#include "base/result.h"
#include "format/tensor_facts.h"
#include "format/verify_parts.h"

namespace berth::format::internal {
namespace {

constexpr uint32_t kMaxAlignment = 1u << 30;

/// Whether `ends` ascend to `size`.
bool are_ends(const flatbuffers::Vector<uint32_t>* ends, uint32_t size) {
  uint32_t previous = 0;
  for (uint32_t i = 0; i < length(ends); ++i) {
    if (ends->Get(i) < previous) return false;
    previous = ends->Get(i);
  }
  return previous == size;
}

Error verify_values(const Spot& spot, const fb::ExecutionPlan& plan, const fb::Stack& stack) {
  for (uint32_t i = 0; i < length(stack.values()); ++i) {
    const fb::Tensor* tensor = tensor_at(plan, stack.values()->Get(i));
    uint64_t nbytes = 0;
    if (tensor != nullptr && is_planned(*tensor) && tensor->allocation_info()->memory_id() == stack.memory_id() &&
        tensor_nbytes(*tensor, &nbytes) && nbytes > 0) {
      continue;
    }
    return spot.fail(Error::kInvalidProgram, "value %d is not a tensor with bytes in arena %u", stack.values()->Get(i),
                     stack.memory_id());
  }
  return Error::kOk;
}

Error verify_supports(const Spot& spot, const fb::Stack& stack) {
  uint32_t next = 0;
  for (uint32_t block = 0; block < length(stack.support_ends()); ++block) {
    for (; next < stack.support_ends()->Get(block); ++next) {
      if (stack.supports()->Get(next) < block) continue;
      return spot.fail(Error::kInvalidProgram, "block %u rests on block %u, which is not an earlier one", block,
                       stack.supports()->Get(next));
    }
  }
  return Error::kOk;
}

Error verify_stack(const Spot& spot, const fb::ExecutionPlan& plan, const fb::Stack& stack) {
  const uint64_t items = uint64_t{length(stack.values())} + length(stack.supports()) + length(stack.value_ends()) +
                         length(stack.support_ends());
  BERTH_RETURN_IF_ERROR(spot.spend(items));
  if (stack.memory_id() == 0 || stack.memory_id() >= plan.non_const_buffer_sizes()->size()) {
    return spot.fail(Error::kInvalidProgram, "arena %u does not exist", stack.memory_id());
  }
  if (stack.alignment() < 16 || stack.alignment() > kMaxAlignment || !is_power_of_two(stack.alignment())) {
    return spot.fail(Error::kInvalidProgram, "alignment %u is not a power of two from 16 to 2^30", stack.alignment());
  }
  const bool lists = stack.values() != nullptr && stack.value_ends() != nullptr && stack.supports() != nullptr &&
                     stack.support_ends() != nullptr && stack.value_ends()->size() == stack.support_ends()->size() &&
                     are_ends(stack.value_ends(), stack.values()->size()) &&
                     are_ends(stack.support_ends(), stack.supports()->size());
  if (!lists) {
    return spot.fail(Error::kInvalidProgram, "the lists of its blocks are missing or do not belong together");
  }
  BERTH_RETURN_IF_ERROR(verify_values(spot, plan, stack));
  return verify_supports(spot, stack);
}

}  // namespace

Error verify_stacks(const Spot& spot, const fb::ExecutionPlan& plan, const fb::MethodMeta& method) {
  uint32_t arena = 0;
  for (uint32_t i = 0; i < length(method.stacks()); ++i) {
    const fb::Stack& stack = *method.stacks()->Get(i);
    const Spot here = spot.at("meta.stacks", i);
    if (stack.memory_id() < arena) {
      return here.fail(Error::kInvalidProgram, "arena %u after arena %u; they ascend", stack.memory_id(), arena);
    }
    arena = stack.memory_id();
    BERTH_RETURN_IF_ERROR(verify_stack(here, plan, stack));
  }
  if (length(method.stacks()) == 0) return Error::kOk;
  for (uint32_t i = 1; i < length(method.dimensions()); ++i) {
    const fb::SymbolicDimension& before = *method.dimensions()->Get(i - 1);
    const fb::SymbolicDimension& entry = *method.dimensions()->Get(i);
    if (before.value() < entry.value() || (before.value() == entry.value() && before.dimension() < entry.dimension())) {
      continue;
    }
    return spot.at("meta.dimensions", i)
        .fail(Error::kInvalidProgram, "dimension %d of value %d does not come after dimension %d of value %d",
              entry.dimension(), entry.value(), before.dimension(), before.value());
  }
  return Error::kOk;
}

}  // namespace berth::format::internal
