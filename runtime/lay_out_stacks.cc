// measure() and lay_out(): where tensors lie in arenas that follow the sizes.

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstring>

#include "base/math.h"
#include "format/tensor_facts.h"
#include "runtime/log.h"
#include "runtime/method_data.h"

namespace berth::internal {
namespace {

const fb::Symbol& symbol_at(const MethodData& data, int32_t index) {
  return *data.meta->symbols()->Get(static_cast<uint32_t>(index));
}

// The symbol's value, or the largest that it may have.
uint64_t size_of(const MethodData& data, int32_t symbol) {
  const int64_t most = std::max<int64_t>(symbol_at(data, symbol).max(), 0);
  const int64_t value = data.symbols[symbol];
  if (value == kUnknownSize || value > most) return static_cast<uint64_t>(most);
  return value < 0 ? 0 : static_cast<uint64_t>(value);
}

void measure_tensors(MethodData& data, const InputSizes& sizes) {
  for (size_t i = 0; i < data.counts.stacked_tensors; ++i) {
    StackedTensor& stacked = data.stacked[i];
    uint64_t bytes = stacked.fixed;
    for (uint32_t d = 0; d < stacked.dimensions.count; ++d) {
      const int32_t symbol = data.meta->dimensions()->Get(stacked.dimensions.first + d)->symbol();
      if (!checked_mul(bytes, size_of(data, symbol), &bytes)) bytes = stacked.bound;
    }
    stacked.bytes = std::min(bytes, stacked.bound);
    if (stacked.scratch) stacked.bytes = 0;
    // An input may be set before those that its size follows from.
    const bool set = stacked.input >= 0 && sizes.own() &&
                     (data.inputs[stacked.input].fresh || static_cast<size_t>(stacked.input) == data.setting);
    if (set && stacked.tensor->nbytes() > stacked.bytes) {
      stacked.bytes = stacked.tensor->nbytes();
      data.raised = true;
    }
  }
}

// The sizes of an argument with these symbols, into `out`; -1 where they are not known.
void argument_sizes(const MethodData& data, size_t value, const fb::Tensor& tensor, int32_t* out) {
  const uint32_t rank = tensor.sizes()->size();
  for (uint32_t d = 0; d < rank; ++d) out[d] = tensor.sizes()->Get(d);
  if (tensor.shape_dynamism() == fb::TensorShapeDynamism::STATIC) return;
  const ValueDimensions own = dimensions_of(*data.meta, static_cast<int64_t>(value));
  const bool replaced = (data.value_flags[value] & kVolatileValue) != 0;
  if (own.count == 0 || replaced) std::fill(out, out + rank, -1);
  for (uint32_t d = 0; d < own.count && !replaced; ++d) {
    const fb::SymbolicDimension& entry = *data.meta->dimensions()->Get(own.first + d);
    const int64_t size = data.symbols[entry.symbol()];
    out[entry.dimension()] = size < 0 || size > INT32_MAX ? -1 : static_cast<int32_t>(size);
  }
}

Error ask_delegate(MethodData& data, const Delegate& delegate) {
  const Instruction& call = data.instructions[delegate.call];
  int32_t* next = data.call_sizes;
  const auto stacked_at = [&](size_t i) -> StackedTensor* {
    const int32_t stacked = data.stacked_of[call.args[i] - data.values];
    return stacked < 0 ? nullptr : &data.stacked[stacked];
  };
  for (size_t i = 0; i < call.count; ++i) {
    const size_t value = call.args[i] - data.values;
    const fb::Tensor* tensor = format::tensor_at(*data.plan, static_cast<int64_t>(value));
    data.call_spans[i] = {};
    data.call_bytes[i] = 0;
    if (tensor == nullptr) continue;
    argument_sizes(data, value, *tensor, next);
    data.call_spans[i] = {next, tensor->sizes()->size()};
    next += tensor->sizes()->size();
    const StackedTensor* stacked = stacked_at(i);
    if (stacked != nullptr) data.call_bytes[i] = stacked->scratch ? stacked->bound : stacked->bytes;
  }
  const Error error =
      delegate.backend->argument_bytes(delegate.handle, {data.call_spans, call.count}, {data.call_bytes, call.count});
  if (error != Error::kOk) {
    return format::fail(&data.report, error, delegate.name, "it does not say what it needs at these sizes");
  }
  for (size_t i = 0; i < call.count; ++i) {
    StackedTensor* stacked = stacked_at(i);
    if (stacked == nullptr || data.call_bytes[i] <= stacked->bytes) continue;
    // A tensor's room is counted in its elements.
    const uint64_t element = element_size(stacked->tensor->dtype());
    const uint64_t elements = data.call_bytes[i] / element + (data.call_bytes[i] % element == 0 ? 0 : 1);
    stacked->bytes = elements > stacked->bound / element ? stacked->bound : elements * element;
  }
  return Error::kOk;
}

bool align(uint64_t alignment, uint64_t* value) {
  if (!checked_add(*value, alignment - 1, value)) return false;
  *value &= ~(alignment - 1);
  return true;
}

// Each block at the end of the highest of its supports. False when that overflows.
bool place_blocks(MethodData& data, const StackedArena& arena, uint64_t* height) {
  const fb::Stack& stack = *arena.stack;
  const uint32_t* supports = stack.supports()->data();
  uint64_t* const begins = data.block_begins + arena.first_block;
  uint64_t* const ends = data.block_ends + arena.first_block;
  const StackedTensor* tensor = data.stacked + arena.first_tensor;
  uint32_t support = 0;
  *height = 0;
  for (uint32_t b = 0; b < stack.value_ends()->size(); ++b) {
    uint64_t begin = 0;
    for (; support < stack.support_ends()->Get(b); ++support) begin = std::max(begin, ends[supports[support]]);
    if (!align(stack.alignment(), &begin)) return false;
    begins[b] = ends[b] = begin;
    const StackedTensor* const after = data.stacked + arena.first_tensor + stack.value_ends()->Get(b);
    for (; tensor != after; ++tensor) {
      uint64_t end = 0;
      if (!checked_add(begin + tensor->inside, tensor->bytes, &end) || begin + tensor->inside < begin) return false;
      if (tensor->bytes > 0) ends[b] = std::max(ends[b], end);
    }
    *height = std::max(*height, ends[b]);
  }
  return true;
}

void place(MethodData& data, StackedArena& arena) {
  uint64_t height = 0;
  uint64_t asked = 0;
  arena.as_in_file = !place_blocks(data, arena, &height) ||
                     !checked_add(height, height == 0 ? 0 : arena.behind, &asked) || asked > arena.bound;
  arena.asked = arena.as_in_file ? arena.bound : asked;
}

bool fits(const StackedArena& arena) { return arena.deferred || arena.asked <= arena.given; }

bool all_fit(const MethodData& data) { return std::all_of(data.stacks, data.stacks + data.counts.stacks, fits); }

// "; n up to 12 fits": the largest value of a symbol with which, beside the others as they are, all arenas have room.
void say_what_fits(MethodData& data, char* text, size_t size) {
  static constexpr Span<const int32_t> kNoSizes[1] = {};
  const InputSizes other(data, {kNoSizes, 1});
  size_t used = 0;
  for (size_t s = 0; s < data.counts.symbols && used < size; ++s) {
    const fb::Symbol& symbol = symbol_at(data, static_cast<int32_t>(s));
    const int64_t now = data.symbols[s];
    if (symbol.kind() != fb::SymbolKind::INPUT || now == kUnknownSize) continue;
    int64_t low = symbol.min() - 1;
    int64_t high = now - 1;
    while (low < high) {
      data.symbols[s] = low + (high - low + 1) / 2;
      compute_derived_symbols(data);
      if (measure(data, other) == Error::kOk && all_fit(data)) {
        low = data.symbols[s];
      } else {
        high = data.symbols[s] - 1;
      }
    }
    data.symbols[s] = now;
    if (low < symbol.min()) continue;
    const int written = std::snprintf(text + used, size - used, "%s %.32s up to %" PRId64 " fits",
                                      used == 0 ? ";" : " or", format::text(symbol.name()), low);
    used += written < 0 ? 0 : static_cast<size_t>(written);
  }
}

Error check_room(MethodData& data) {
  for (size_t k = 0; k < data.counts.stacks; ++k) {
    const StackedArena& arena = data.stacks[k];
    if (fits(arena)) continue;
    const uint64_t asked = arena.asked;
    char place[96];
    char text[160] = "";
    std::snprintf(place, sizeof place, "methods[%.40s].arenas[%zu]", format::text(data.plan->name()), arena.index());
    say_what_fits(data, text, sizeof text);
    format::fail(&data.report, Error::kMemoryAllocationFailed, place,
                 "%" PRIu64 " bytes are needed at these sizes, %" PRIu64 " were given%s", asked, arena.given, text);
    log_message(LogLevel::kError, "%s: %s", place, data.report.message);
    return Error::kMemoryAllocationFailed;
  }
  return Error::kOk;
}

uint64_t new_offset(const MethodData& data, const StackedArena& arena, uint32_t block, const StackedTensor& tensor) {
  return arena.as_in_file ? tensor.in_file : data.block_begins[arena.first_block + block] + tensor.inside;
}

// Calls `visit(tensor, its offset)` for all tensors of the arena.
template <typename Visit>
void for_each_tensor(MethodData& data, const StackedArena& arena, Visit&& visit) {
  StackedTensor* tensor = data.stacked + arena.first_tensor;
  for (uint32_t b = 0; b < arena.stack->value_ends()->size(); ++b) {
    StackedTensor* const after = data.stacked + arena.first_tensor + arena.stack->value_ends()->Get(b);
    for (; tensor != after; ++tensor) visit(*tensor, new_offset(data, arena, b, *tensor));
  }
}

// Moves what was set already. Blocks of inputs never change their order, so that those that go down can be moved from
// the lowest, and then those that go up from the highest, over nothing that is yet to be moved.
Error move_inputs(MethodData& data, const StackedArena& arena) {
  if (arena.memory == nullptr || arena.asked > arena.given) return Error::kOk;
  size_t count = 0;
  InputMove* const moves = data.moves;
  for_each_tensor(data, arena, [&](const StackedTensor& tensor, uint64_t offset) {
    if (tensor.input < 0 || tensor.tensor->raw() == nullptr) return;
    const Port& port = data.inputs[tensor.input];
    if (!port.fresh || port.stays) return;
    const uint64_t bytes = std::min<uint64_t>(tensor.tensor->nbytes(), tensor.bytes);
    if (bytes > 0 && tensor.offset <= arena.given && bytes <= arena.given - tensor.offset) {
      moves[count++] = {tensor.offset, offset, bytes};
    }
  });
  std::sort(moves, moves + count, [](const InputMove& a, const InputMove& b) { return a.from < b.from; });
  for (size_t i = 0; i < count; ++i) {
    const bool crosses = i > 0 && moves[i - 1].to + moves[i - 1].bytes > moves[i].to;
    const bool on_device = moves[i].from != moves[i].to && !arena.on_host;
    if (!crosses && !on_device) continue;
    return format::fail(&data.report, crosses ? Error::kInvalidProgram : Error::kNotSupported, "inputs",
                        crosses ? "at other sizes, inputs lie in another order" : "inputs on a device cannot be moved");
  }
  for (size_t i = 0; i < count; ++i) {
    const InputMove& move = moves[i];
    if (move.to < move.from) std::memmove(arena.memory + move.to, arena.memory + move.from, move.bytes);
  }
  for (size_t i = count; i-- > 0;) {
    const InputMove& move = moves[i];
    if (move.to > move.from) std::memmove(arena.memory + move.to, arena.memory + move.from, move.bytes);
  }
  return Error::kOk;
}

void set_room(StackedTensor& stacked) {
  Tensor& tensor = *stacked.tensor;
  if (tensor.dynamism() == ShapeDynamism::kStatic) return;
  const int64_t elements = static_cast<int64_t>(stacked.bytes / element_size(tensor.dtype()));
  tensor.set_capacity(elements);
  if (stacked.scratch) {
    const int32_t size = static_cast<int32_t>(elements);
    static_cast<void>(tensor.resize({&size, 1}));
  } else if (tensor.numel() > elements) {
    // The sizes of an earlier run, for which there is no room now.
    static constexpr int32_t kNone[kMaxRank] = {};
    static_cast<void>(tensor.resize({kNone, tensor.sizes().size()}));
  }
}

void commit(MethodData& data, StackedArena& arena) {
  for_each_tensor(data, arena, [&](StackedTensor& tensor, uint64_t offset) {
    tensor.offset = offset;
    set_room(tensor);
  });
  if (arena.asked > arena.given) {
    arena.memory = nullptr;
    arena.given = 0;
  }
  point_tensors(data, arena);
  const bool changed = arena.needed != arena.asked;
  arena.needed = arena.asked;
  if (changed && data.follow.call != nullptr) data.follow.call(data.follow.context, arena.index(), arena.needed);
}

bool lies_so(const MethodData& data) {
  return data.laid_out && !data.raised &&
         std::equal(data.symbols, data.symbols + data.counts.symbols, data.laid_out_symbols);
}

}  // namespace

Span<const int32_t> InputSizes::of(size_t input) const {
  return own_ ? data_->inputs[input].tensor->sizes() : given_[input];
}

Error measure(MethodData& data, const InputSizes& sizes) {
  if (sizes.own()) data.raised = false;
  measure_tensors(data, sizes);
  for (size_t d = 0; d < data.counts.delegates; ++d) {
    if (data.delegates[d].handle != nullptr) BERTH_RETURN_IF_ERROR(ask_delegate(data, data.delegates[d]));
  }
  for (size_t k = 0; k < data.counts.stacks; ++k) place(data, data.stacks[k]);
  return Error::kOk;
}

Error lay_out(MethodData& data, size_t first) {
  if (data.counts.stacks == 0) return Error::kOk;
  const InputSizes sizes(data);
  data.setting = first;
  compute_symbols(data, sizes, first);
  if (lies_so(data)) return Error::kOk;
  if (data.running) {
    return format::fail(&data.report, Error::kInvalidState, "inputs", "their sizes cannot change during a run");
  }
  data.laid_out = false;
  BERTH_RETURN_IF_ERROR(measure(data, sizes));
  BERTH_RETURN_IF_ERROR(check_room(data));
  for (size_t k = 0; k < data.counts.stacks; ++k) BERTH_RETURN_IF_ERROR(move_inputs(data, data.stacks[k]));
  for (size_t k = 0; k < data.counts.stacks; ++k) commit(data, data.stacks[k]);
  std::copy(data.symbols, data.symbols + data.counts.symbols, data.laid_out_symbols);
  data.laid_out = true;
  return Error::kOk;
}

StackedArena* find_stack(MethodData& data, size_t index) {
  for (size_t k = 0; k < data.counts.stacks; ++k) {
    if (data.stacks[k].index() == index) return &data.stacks[k];
  }
  return nullptr;
}

void point_tensors(MethodData& data, const StackedArena& arena) {
  const StackedTensor* tensor = data.stacked + arena.first_tensor;
  const StackedTensor* const end = tensor + arena.stack->values()->size();
  for (; tensor != end; ++tensor) {
    tensor->tensor->set_data(arena.memory == nullptr ? nullptr : arena.memory + tensor->offset);
  }
}

}  // namespace berth::internal
