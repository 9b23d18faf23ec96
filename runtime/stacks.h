// Arenas that follow the sizes (fb::Stack): where their tensors lie is computed when the inputs' sizes are known.
// Private to runtime/.
//
//     build_stacks   at load: what is needed for that, in the method's memory
//     measure        at any sizes: what each tensor takes, where each block begins, what each arena needs
//     lay_out        for the next run: gives the tensors their places, and moves inputs that were set
#pragma once

#include <cstdint>

#include "format/program_view.h"
#include "runtime/tensor.h"

namespace berth::internal {

struct MethodData;

/// The value of a symbol that no input tells.
constexpr int64_t kUnknownSize = INT64_MIN;

/// Which of berth.meta's dimensions are those of a value.
struct ValueDimensions {
  uint32_t first = 0;
  uint32_t count = 0;
};

/// REQUIRES: they ascend, as they do in files with stacks.
ValueDimensions dimensions_of(const fb::MethodMeta& meta, int64_t value);

/// A tensor of such an arena.
struct StackedTensor {
  Tensor* tensor = nullptr;
  uint64_t inside = 0;   // bytes from where its block begins
  uint64_t in_file = 0;  // the offset at the largest sizes
  uint64_t bound = 0;    // bytes at the largest sizes
  uint64_t fixed = 0;    // the bytes of an element times the sizes that are numbers
  uint64_t bytes = 0;    // what measure() found
  uint64_t offset = 0;   // where it lies now
  ValueDimensions dimensions;
  int32_t input = -1;    // the input that it is
  bool scratch = false;  // of a delegate, which says how much it needs
};

struct StackedArena {
  const fb::Stack* stack = nullptr;
  size_t first_tensor = 0;
  size_t first_block = 0;
  uint64_t bound = 0;   // bytes of the arena in the file
  uint64_t behind = 0;  // of these, those that follow the last tensor
  bool on_host = true;
  bool deferred = false;
  uint8_t* memory = nullptr;
  uint64_t given = 0;
  uint64_t needed = 0;  // as the tensors lie now
  // What measure() found.
  uint64_t asked = 0;
  bool as_in_file = false;

  size_t index() const { return stack->memory_id() - 1; }
};

/// Bytes of an input that was set since the last run, and where they go.
struct InputMove {
  uint64_t from;
  uint64_t to;
  uint64_t bytes;
};

/// The sizes of inputs: those that were set, or others, -1 where one is not known.
class InputSizes {
 public:
  explicit InputSizes(const MethodData& data) : data_(&data) {}
  InputSizes(const MethodData& data, Span<const Span<const int32_t>> given)
      : data_(&data), given_(given), own_(false) {}
  /// REQUIRES: the input is a tensor.
  Span<const int32_t> of(size_t input) const;
  /// Whether they are those that were set.
  bool own() const { return own_; }

 private:
  const MethodData* data_;
  Span<const Span<const int32_t>> given_;
  bool own_ = true;
};

/// Fills MethodData::symbols. Where inputs disagree on a symbol, `first` is believed (SIZE_MAX: none), then those that
/// were set since the last run.
void compute_symbols(MethodData& data, const InputSizes& sizes, size_t first);

/// Computes those symbols anew that are not sizes of inputs.
void compute_derived_symbols(MethodData& data);

/// What is needed with these symbols; changes no tensor. The errors of delegates, with a report.
Error measure(MethodData& data, const InputSizes& sizes);

/// Lays out all arenas for the sizes of the inputs, unless they lie so already. `first`: see compute_symbols(). An
/// error changes nothing: MemoryAllocationFailed when an arena of fixed memory is too small, with a report.
Error lay_out(MethodData& data, size_t first);

/// The arena that follows the sizes with this index; null when it does not.
StackedArena* find_stack(MethodData& data, size_t index);

/// Points the tensors of the arena at their places in its memory; all at nothing when it has none.
void point_tensors(MethodData& data, const StackedArena& arena);

}  // namespace berth::internal
