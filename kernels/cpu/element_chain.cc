#include "kernels/cpu/element_chain.h"

#include <algorithm>
#include <cmath>

#include "kernels/cpu/element_ends.h"
#include "kernels/cpu/element_step.h"
#include "kernels/cpu/widen.h"
#include "kernels/portable/broadcast.h"
#include "kernels/portable/convert.h"
#include "kernels/portable/iterate.h"

namespace berth::cpu {
namespace {

using elementwise::Op;

constexpr int64_t kRun = 512;
// Steps on elements that are worth another thread: some microseconds.
constexpr int64_t kGrainWork = 65536;
// Bytes to look up that are worth another thread.
constexpr int64_t kGrainBytes = 1 << 18;

// The output's dimensions, outermost first, and how far each input goes in them.
struct Space {
  int rank = 0;
  int64_t size[kMaxRank];
  int64_t stride[elementwise::kMaxInputs][kMaxRank];
};

// Whether every input goes from the last dimension of `space` to one of `size` elements inside of it as if they were
// one.
bool merges(const Chain& chain, const Space& space, int64_t size, const int64_t* strides) {
  if (space.rank == 0) return false;
  for (size_t k = 0; k < chain.inputs; ++k) {
    if (space.stride[k][space.rank - 1] != strides[k] * size) return false;
  }
  return true;
}

Space space_of(const Chain& chain, const Tensor& out) {
  Space space;
  for (const uint8_t d : out.dim_order()) {
    if (out.size(d) == 1) continue;
    int64_t strides[elementwise::kMaxInputs];
    for (size_t k = 0; k < chain.inputs; ++k) strides[k] = portable::broadcast_stride(*chain.input[k], out.rank(), d);
    const bool merged = merges(chain, space, out.size(d), strides);
    if (!merged) space.size[space.rank++] = 1;
    space.size[space.rank - 1] *= out.size(d);
    for (size_t k = 0; k < chain.inputs; ++k) space.stride[k][space.rank - 1] = strides[k];
  }
  while (space.rank < 2) {
    for (int i = space.rank; i > 0; --i) {
      space.size[i] = space.size[i - 1];
      for (size_t k = 0; k < chain.inputs; ++k) space.stride[k][i] = space.stride[k][i - 1];
    }
    space.size[0] = 1;
    for (size_t k = 0; k < chain.inputs; ++k) space.stride[k][0] = 0;
    ++space.rank;
  }
  return space;
}

// Which buffer holds each step's result, so that few are in use; the last step of floats writes to the output.
struct Buffers {
  uint8_t of_step[elementwise::kMaxSteps] = {};

  Buffers(const Chain& chain, const ChainEnds& ends) {
    const size_t first = chain.inputs + chain.constants;
    size_t last_use[elementwise::kMaxSteps] = {};
    for (size_t s = 0; s < chain.steps; ++s) {
      if (!ends.computes(s)) continue;
      for_each_operand(chain, ends, s, [&](size_t operand) {
        if (operand >= first) last_use[operand - first] = s;
      });
    }
    if (ends.source >= first) last_use[ends.source - first] = chain.steps;
    bool taken[elementwise::kMaxSteps] = {};
    for (size_t s = 0; s < chain.steps; ++s) {
      if (!ends.computes(s)) continue;
      // A result may take the buffer of an operand that ends here: each element is read before it is written.
      for_each_operand(chain, ends, s, [&](size_t operand) {
        const bool ends_here = operand >= first && last_use[operand - first] == s;
        if (ends_here && ends.computes(operand - first)) taken[of_step[operand - first]] = false;
      });
      uint8_t buffer = 0;
      while (taken[buffer]) ++buffer;
      of_step[s] = buffer;
      taken[buffer] = last_use[s] > s;
    }
  }

  template <typename F>
  static void for_each_operand(const Chain& chain, const ChainEnds& ends, size_t s, F&& f) {
    const ChainEnds::Rounding* rounding = ends.rounding_of(s);
    if (rounding != nullptr) return f(rounding->source);
    const ChainStep& step = chain.step[s];
    for (int k = 0; k < elementwise::operands(step.op); ++k) f(size_t{step.operand[k]});
  }
};

// Where the elements of a chain lie.
struct Memory {
  const char* input[elementwise::kMaxInputs];
  DType type[elementwise::kMaxInputs];
  char* out;
  DType out_type;

  Memory(const Chain& chain, Tensor& result) : out(result.data<char>()), out_type(result.dtype()) {
    for (size_t k = 0; k < chain.inputs; ++k) {
      input[k] = chain.input[k]->data<char>();
      type[k] = chain.input[k]->dtype();
    }
  }
};

// How the two innermost dimensions are cut into what is done at a time.
struct Blocks {
  explicit Blocks(const Space& space)
      : rows(space.size[space.rank - 2]),
        columns(space.size[space.rank - 1]),
        row_block(std::max<int64_t>(1, std::min(rows, kRun / columns))),
        column_block(std::min(columns, kRun)) {}

  int64_t across() const { return (columns + column_block - 1) / column_block; }
  int64_t count() const { return (rows + row_block - 1) / row_block * across(); }

  int64_t rows, columns, row_block, column_block;
};

// The work of one thread.
class Runner {
 public:
  Runner(const Chain& chain, const ChainEnds& ends, const Buffers& buffers, const Space& space, const Blocks& blocks,
         const Memory& memory)
      : chain_(chain), ends_(ends), buffers_(buffers), space_(space), blocks_(blocks), memory_(memory) {
    for (size_t k = 0; k < chain.constants; ++k) runs_[chain.inputs + k] = {&chain.constant[k], true};
  }

  void run(int64_t plane, int64_t block) {
    const int64_t across = blocks_.across();
    const int64_t row = block / across * blocks_.row_block;
    const int64_t column = block % across * blocks_.column_block;
    const int64_t rows = std::min(blocks_.row_block, blocks_.rows - row);
    const int64_t columns = std::min(blocks_.column_block, blocks_.columns - column);
    for (size_t k = 0; k < chain_.inputs; ++k) load(k, plane, row, column, rows, columns);
    const int64_t element = (plane * blocks_.rows + row) * blocks_.columns + column;
    run_steps(memory_.out + element * static_cast<int64_t>(element_size(memory_.out_type)), rows * columns);
  }

 private:
  const char* input_at(size_t k, int64_t plane, int64_t in_plane) const {
    int64_t offset = in_plane;
    for (int d = space_.rank - 3; d >= 0; --d) {
      offset += plane % space_.size[d] * space_.stride[k][d];
      plane /= space_.size[d];
    }
    return memory_.input[k] + offset * static_cast<int64_t>(element_size(memory_.type[k]));
  }

  void load(size_t k, int64_t plane, int64_t row, int64_t column, int64_t rows, int64_t columns) {
    const int64_t row_stride = space_.stride[k][space_.rank - 2];
    const int64_t column_stride = space_.stride[k][space_.rank - 1];
    const char* in = input_at(k, plane, row * row_stride + column * column_stride);
    const bool one_row = rows == 1;
    const bool floats = memory_.type[k] == DType::kF32;
    if (column_stride == 1 && (one_row || row_stride == columns)) {
      if (!floats) convert(k, in, rows * columns, inputs_[k]);
      runs_[k] = {floats ? reinterpret_cast<const float*>(in) : inputs_[k], false};
    } else if (column_stride == 0 && (one_row || row_stride == 0)) {
      if (!floats) convert(k, in, 1, inputs_[k]);
      runs_[k] = {floats ? reinterpret_cast<const float*>(in) : inputs_[k], true};
    } else {
      const bool repeats = row_stride == 0;
      if (!repeats || repeated_[k] != in || repeated_rows_[k] < rows) {
        gather(k, in, row_stride, column_stride, rows, columns);
        repeated_[k] = repeats ? in : nullptr;
        repeated_rows_[k] = rows;
      }
      runs_[k] = {inputs_[k], false};
    }
  }

  void convert(size_t k, const char* in, int64_t n, float* to) const {
    const DType type = memory_.type[k];
    if (chain_.table[k] != nullptr) {
      return look_up_numbers(*chain_.table[k], reinterpret_cast<const uint8_t*>(in), n, to);
    }
    if (is_byte(type) || type == DType::kI32) {
      dequantise_elements(type, in, n, ends_.load[k], to);
    } else if (has_16_bits(type)) {
      widen(type, in, to, n);
    } else {
      portable::convert_elements(type, in, DType::kF32, to, n);
    }
  }

  void gather(size_t k, const char* in, int64_t row_stride, int64_t column_stride, int64_t rows, int64_t columns) {
    const auto size = static_cast<int64_t>(element_size(memory_.type[k]));
    float* to = inputs_[k];
    for (int64_t r = 0; r < rows; ++r, in += row_stride * size, to += columns) {
      if (column_stride == 1) {
        convert(k, in, columns, to);
      } else if (column_stride == 0) {
        convert(k, in, 1, to);
        std::fill(to + 1, to + columns, *to);
      } else {
        for (int64_t c = 0; c < columns; ++c) convert(k, in + c * column_stride * size, 1, to + c);
      }
    }
  }

  // Where rounding follows, the bits are the portable kernel's: a byte more or less is not a last bit.
  void run_step(const ChainStep& step, int64_t n, float* to) {
    const auto run = is_byte(memory_.out_type) ? run_plain_element_step : run_element_step;
    run(step.op, runs_[step.operand[0]], runs_[step.operand[1]], runs_[step.operand[2]], n, to);
  }

  static void expand(const ElementRun& run, int64_t begin, int64_t n, float* to) {
    if (run.splat) return std::fill(to, to + n, *run.data);
    std::copy(run.data + begin, run.data + begin + n, to);
  }

  void run_steps(char* out, int64_t n) {
    const size_t first = chain_.inputs + chain_.constants;
    const bool floats = memory_.out_type == DType::kF32;
    for (size_t s = 0; s < chain_.steps; ++s) {
      if (ends_.loaded[s] != ChainEnds::kNone) runs_[first + s] = runs_[ends_.loaded[s]];
      if (!ends_.computes(s)) continue;
      const bool last = floats && s + 1 == chain_.steps;
      float* to = last ? reinterpret_cast<float*>(out) : results_[buffers_.of_step[s]];
      const ChainEnds::Rounding* rounding = ends_.rounding_of(s);
      if (rounding != nullptr) {
        round(runs_[rounding->source], n, rounding->by, to);
      } else {
        run_step(chain_.step[s], n, to);
      }
      runs_[first + s] = {to, false};
    }
    if (!floats) store(runs_[ends_.source], n, out);
  }

  static void round(const ElementRun& run, int64_t n, const Quantising& by, float* to) {
    if (run.splat) expand(run, 0, n, to);
    round_elements(run.splat ? to : run.data, n, by, to);
  }

  void store(const ElementRun& run, int64_t n, char* out) {
    const float* from = run.data;
    if (run.splat) {
      expand(run, 0, n, splat_);
      from = splat_;
    }
    if (ends_.quantises) return quantise_elements(from, n, ends_.store, memory_.out_type, out);
    if (has_16_bits(memory_.out_type)) return narrow(memory_.out_type, from, out, n);
    portable::convert_elements(DType::kF32, from, memory_.out_type, out, n);
  }

  const Chain& chain_;
  const ChainEnds& ends_;
  const Buffers& buffers_;
  const Space& space_;
  const Blocks& blocks_;
  const Memory memory_;
  const char* repeated_[elementwise::kMaxInputs] = {};  // which run inputs_ holds, when its rows repeat
  int64_t repeated_rows_[elementwise::kMaxInputs] = {};
  ElementRun runs_[elementwise::kMaxInputs + elementwise::kMaxConstants + elementwise::kMaxSteps];
  alignas(64) float inputs_[elementwise::kMaxInputs][kRun];
  alignas(64) float results_[elementwise::kMaxSteps][kRun];
  alignas(64) float splat_[kRun];
};

// In additions.
int64_t cost(Op op) {
  switch (op) {
    case Op::kPow:
    case Op::kSin:
    case Op::kCos: return 64;
    case Op::kExp:
    case Op::kLog:
    case Op::kTanh:
    case Op::kSigmoid:
    case Op::kErf:
    case Op::kElu:
    case Op::kSilu:
    case Op::kGelu:
    case Op::kGeluTanh:
    case Op::kLog1p:
    case Op::kExpm1:
    case Op::kMish: return 8;
    default: return 1;
  }
}

// `*sum` from a chain that adds its inputs one after the other, and perhaps ends with relu; false for any other.
bool read_sum(const Chain& chain, ElementSum* sum) {
  if (chain.inputs < 2 || chain.inputs > ElementSum::kMax || chain.constants != 0) return false;
  for (size_t k = 0; k < chain.inputs; ++k) {
    if (chain.input[k]->dtype() != DType::kF32) return false;
  }
  const size_t additions = chain.inputs - 1;
  sum->count = static_cast<int>(chain.inputs);
  sum->relu = chain.steps == additions + 1 && chain.step[additions].op == Op::kRelu &&
              chain.step[additions].operand[0] == chain.inputs + additions - 1;
  if (chain.steps != additions + (sum->relu ? 1 : 0)) return false;
  for (size_t s = 0; s < additions; ++s) {
    const ChainStep& step = chain.step[s];
    const size_t before = s == 0 ? 0 : chain.inputs + s - 1;
    if (step.op != Op::kAdd || step.operand[0] != before || step.operand[1] != s + 1) return false;
  }
  for (size_t k = 0; k < chain.inputs; ++k) sum->data[k] = chain.input[k]->data<float>();
  return true;
}

// Whether all inputs lie as the output does, one element after the other.
bool is_flat(const Chain& chain, const Space& space) {
  bool flat = space.rank == 2 && space.size[0] == 1;
  for (size_t k = 0; k < chain.inputs; ++k) flat = flat && space.stride[k][1] == 1;
  return flat;
}

// Both terms of a chain that adds two tensors of bytes and quantises the sum; false for any other.
bool read_byte_sum(const Chain& chain, const ChainEnds& ends, ByteTerm (&terms)[2]) {
  if (!ends.quantises || ends.source < chain.inputs + chain.constants) return false;
  const size_t first = chain.inputs + chain.constants;
  const size_t sum = ends.source - first;
  for (size_t s = 0; s < chain.steps; ++s) {
    if (ends.computes(s) != (s == sum)) return false;
  }
  if (chain.step[sum].op != Op::kAdd) return false;
  for (int k = 0; k < 2; ++k) {
    size_t operand = chain.step[sum].operand[k];
    if (operand >= first && ends.loaded[operand - first] != ChainEnds::kNone) operand = ends.loaded[operand - first];
    if (operand >= chain.inputs || !is_byte(chain.input[operand]->dtype()) || chain.table[operand] != nullptr) {
      return false;
    }
    const Dequantising& by = ends.load[operand];
    if (by.zero != std::nearbyint(by.zero) || std::fabs(by.zero) > kMostZero) return false;
    terms[k] = {static_cast<const uint8_t*>(chain.input[operand]->raw()), chain.input[operand]->dtype() == DType::kI8,
                by};
  }
  return true;
}

}  // namespace

void run_chain(KernelContext& context, const Chain& chain, Tensor& out) {
  if (out.numel() == 0) return;
  const Space space = space_of(chain, out);
  const bool flat = is_flat(chain, space);
  ElementSum sum;
  if (flat && read_sum(chain, &sum)) {
    const int64_t grain = kGrainWork / (2 * sum.count);
    return context.parallel_for(
        out.numel(), grain, [&](int64_t begin, int64_t end) { run_element_sum(sum, begin, end, out.data<float>()); });
  }
  if (chain.whole != nullptr && portable::same_layout(*chain.input[chain.whole_input], out)) {
    const auto* const in = static_cast<const uint8_t*>(chain.input[chain.whole_input]->raw());
    auto* const to = static_cast<uint8_t*>(out.raw());
    return context.parallel_for(out.numel(), kGrainBytes, [&](int64_t begin, int64_t end) {
      look_up_bytes(*chain.whole, in + begin, end - begin, to + begin);
    });
  }
  const ChainEnds ends(chain);
  ByteTerm terms[2];
  if (flat && read_byte_sum(chain, ends, terms)) {
    auto* const to = static_cast<uint8_t*>(out.raw());
    return context.parallel_for(out.numel(), kGrainWork / 4, [&](int64_t begin, int64_t end) {
      ByteTerm a = terms[0], b = terms[1];
      a.data += begin;
      b.data += begin;
      add_bytes(a, b, end - begin, ends.store, out.dtype(), to + begin);
    });
  }
  const Buffers buffers(chain, ends);
  const Memory memory(chain, out);
  int64_t work = static_cast<int64_t>(chain.inputs);
  for (size_t s = 0; s < chain.steps; ++s) work += cost(chain.step[s].op);
  const Blocks blocks(space);
  const int64_t count = blocks.count();
  const int64_t items = out.numel() / (blocks.rows * blocks.columns) * count;
  const int64_t grain = std::max<int64_t>(1, kGrainWork / (work * std::max<int64_t>(1, out.numel() / items)));
  context.parallel_for(items, grain, [&](int64_t begin, int64_t end) {
    Runner runner(chain, ends, buffers, space, blocks, memory);
    for (int64_t item = begin; item < end; ++item) runner.run(item / count, item % count);
  });
}

}  // namespace berth::cpu
