// MethodLoader: what a method needs to lay out arenas that follow the sizes (stacks.h).

#include <algorithm>
#include <new>

#include "base/math.h"
#include "format/delegate_device.h"
#include "format/plan_check/each_stack.h"
#include "format/tensor_facts.h"
#include "runtime/method_loader.h"

namespace berth::internal {

using format::length;
using format::plan_check::for_each_stack;

namespace {

bool is_scratch(const Tensor& tensor, const StackedTensor& stacked) {
  return tensor.dtype() == DType::kU8 && tensor.rank() == 1 && tensor.dynamism() == ShapeDynamism::kBounded &&
         stacked.dimensions.count == 0 && stacked.input < 0;
}

// The bytes that do not depend on symbols: of an element, times the sizes that are numbers.
uint64_t fixed_bytes(const fb::MethodMeta& meta, const fb::Tensor& tensor, const ValueDimensions& symbolic) {
  uint32_t open = 0;
  for (uint32_t d = 0; d < symbolic.count; ++d) {
    open |= uint32_t{1} << meta.dimensions()->Get(symbolic.first + d)->dimension();
  }
  uint64_t bytes = element_size(static_cast<DType>(tensor.scalar_type()));
  for (uint32_t d = 0; d < tensor.sizes()->size(); ++d) {
    if ((open >> d & 1) == 0) bytes *= static_cast<uint64_t>(tensor.sizes()->Get(d));
  }
  return bytes;
}

}  // namespace

ValueDimensions dimensions_of(const fb::MethodMeta& meta, int64_t value) {
  const auto* all = meta.dimensions();
  uint32_t low = 0;
  uint32_t high = length(all);
  while (low < high) {
    const uint32_t middle = low + (high - low) / 2;
    if (all->Get(middle)->value() < value) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  ValueDimensions found{low, 0};
  while (low + found.count < length(all) && all->Get(low + found.count)->value() == value) ++found.count;
  return found;
}

// Only where all backends take part, so that nothing keeps an address.
bool MethodLoader::follows_sizes() const {
  const fb::MethodMeta* meta = program_.names_of(plan_);
  if (meta == nullptr || length(meta->stacks()) == 0) return false;
  for (uint32_t i = 0; i < length(plan_.delegates()); ++i) {
    const fb::BackendDelegate& delegate = *plan_.delegates()->Get(i);
    const TargetDevice target = format::target_device(delegate);
    const Device device = target.ok() ? devices_(target.device()) : Device();
    const Backend* backend = program_.find_backend(format::text(delegate.id()), device.type);
    if (backend == nullptr || !backend->follows_sizes()) return false;
  }
  return true;
}

bool MethodLoader::is_stacked(uint32_t memory_id) const {
  if (!follows_) return false;
  bool found = false;
  for_each_stack(program_.names_of(plan_), [&](const fb::Stack& stack) {
    found = found || stack.memory_id() == memory_id;
    return Error::kOk;
  });
  return found;
}

void MethodLoader::count_stacks(MethodCounts* counts) {
  follows_ = follows_sizes();
  if (!follows_) return;
  for_each_stack(program_.names_of(plan_), [&](const fb::Stack& stack) {
    ++counts->stacks;
    counts->stacked_tensors += length(stack.values());
    counts->blocks += length(stack.value_ends());
    return Error::kOk;
  });
  for (uint32_t c = 0; c < length(plan_.chains()); ++c) {
    for (const fb::Instruction* instruction : *plan_.chains()->Get(c)->instructions()) {
      const fb::DelegateCall* call = instruction->instr_args_as_DelegateCall();
      if (call == nullptr) continue;
      size_t sizes = 0;
      for (uint32_t i = 0; i < length(call->args()); ++i) {
        const fb::Tensor* tensor = format::tensor_at(plan_, call->args()->Get(i));
        if (tensor != nullptr) sizes += length(tensor->sizes());
      }
      counts->call_args = std::max<size_t>(counts->call_args, length(call->args()));
      counts->call_sizes = std::max(counts->call_sizes, sizes);
    }
  }
}

void MethodLoader::build_stacks(MethodData& data, const HierarchicalAllocator& planned) {
  if (data.counts.stacks == 0) return;
  std::fill(data.stacked_of, data.stacked_of + data.counts.values, -1);
  size_t next_arena = 0;
  size_t next_tensor = 0;
  size_t next_block = 0;
  for_each_stack(data.meta, [&](const fb::Stack& stack) {
    StackedArena& arena = *new (&data.stacks[next_arena++]) StackedArena();
    arena.stack = &stack;
    arena.first_tensor = next_tensor;
    arena.first_block = next_block;
    arena.bound = static_cast<uint64_t>(plan_.non_const_buffer_sizes()->Get(stack.memory_id()));
    const Span<uint8_t> memory = planned.arena(stack.memory_id() - 1);
    arena.on_host = format::arena_device(plan_, stack.memory_id()).is_cpu();
    arena.deferred = memory.data() == nullptr;
    arena.memory = memory.data();
    arena.given = arena.deferred ? 0 : memory.size();
    arena.needed = arena.bound;
    next_tensor = add_tensors(data, stack, &arena);
    next_block += stack.value_ends()->size();
    return Error::kOk;
  });
  for (size_t i = 0; i < data.counts.inputs; ++i) {
    const int32_t stacked = data.stacked_of[data.inputs[i].value];
    if (stacked >= 0) data.stacked[stacked].input = static_cast<int32_t>(i);
  }
  for (size_t d = 0; d < data.counts.delegates; ++d) {
    if (data.delegates[d].call == Delegate::kNoCall) continue;
    const Instruction& call = data.instructions[data.delegates[d].call];
    if (call.count == 0) continue;
    const int32_t stacked = data.stacked_of[call.args[call.count - 1] - data.values];
    if (stacked < 0) continue;
    StackedTensor& last = data.stacked[stacked];
    last.scratch = is_scratch(*last.tensor, last);
  }
}

// The tensors of one arena, block by block. Returns the number of the next tensor.
size_t MethodLoader::add_tensors(MethodData& data, const fb::Stack& stack, StackedArena* arena) {
  size_t next = arena->first_tensor;
  uint32_t from = 0;
  uint64_t end = 0;
  for (const uint32_t to : *stack.value_ends()) {
    uint64_t begin = UINT64_MAX;
    for (uint32_t i = from; i < to; ++i, ++next) {
      const int32_t value = stack.values()->Get(i);
      const fb::Tensor& tensor = *format::tensor_at(plan_, value);
      StackedTensor& stacked = *new (&data.stacked[next]) StackedTensor();
      data.stacked_of[value] = static_cast<int32_t>(next);
      stacked.tensor = &data.values[value].tensor();
      stacked.in_file = stacked.offset = format::planned_offset(*tensor.allocation_info());
      stacked.bound = stacked.tensor->nbytes();
      stacked.dimensions = dimensions_of(*data.meta, value);
      stacked.fixed = fixed_bytes(*data.meta, tensor, stacked.dimensions);
      begin = std::min(begin, stacked.in_file);
      end = std::max(end, stacked.in_file + stacked.bound);
    }
    for (size_t k = next - (to - from); k < next; ++k) data.stacked[k].inside = data.stacked[k].in_file - begin;
    from = to;
  }
  arena->behind = arena->bound > end ? arena->bound - end : 0;
  return next;
}

}  // namespace berth::internal
