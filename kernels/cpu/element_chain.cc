#include "kernels/cpu/element_chain.h"

#include <algorithm>

#include "kernels/cpu/element_step.h"
#include "kernels/portable/iterate.h"

namespace berth::cpu {
namespace {

using elementwise::Op;

constexpr int64_t kRun = 512;
// Steps on elements that are worth another thread: some microseconds.
constexpr int64_t kGrainWork = 65536;

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

// Which buffer holds each step's result, so that few are in use; the last step writes to the output.
struct Buffers {
  uint8_t of_step[elementwise::kMaxSteps] = {};

  explicit Buffers(const Chain& chain) {
    const size_t first = chain.inputs + chain.constants;
    size_t last_use[elementwise::kMaxSteps] = {};
    for (size_t s = 0; s < chain.steps; ++s) {
      for_each_operand(chain.step[s], [&](size_t operand) {
        if (operand >= first) last_use[operand - first] = s;
      });
    }
    bool taken[elementwise::kMaxSteps] = {};
    for (size_t s = 0; s < chain.steps; ++s) {
      // A result may take the buffer of an operand that ends here: each element is read before it is written.
      for_each_operand(chain.step[s], [&](size_t operand) {
        if (operand >= first && last_use[operand - first] == s) taken[of_step[operand - first]] = false;
      });
      uint8_t buffer = 0;
      while (taken[buffer]) ++buffer;
      of_step[s] = buffer;
      taken[buffer] = last_use[s] > s;
    }
  }

  template <typename F>
  static void for_each_operand(const ChainStep& step, F&& f) {
    for (int k = 0; k < elementwise::operands(step.op); ++k) f(size_t{step.operand[k]});
  }
};

// The work of one thread.
class Runner {
 public:
  Runner(const Chain& chain, const Buffers& buffers, const Space& space, float* out)
      : chain_(chain), buffers_(buffers), space_(space), out_(out) {
    const int last = space.rank - 1;
    columns_ = space.size[last];
    rows_ = space.size[last - 1];
    row_block_ = std::max<int64_t>(1, std::min(rows_, kRun / columns_));
    column_block_ = std::min(columns_, kRun);
    for (size_t k = 0; k < chain.constants; ++k) runs_[chain.inputs + k] = {&chain.constant[k], true};
  }

  int64_t row_blocks() const { return (rows_ + row_block_ - 1) / row_block_; }
  int64_t column_blocks() const { return (columns_ + column_block_ - 1) / column_block_; }
  int64_t blocks_of_plane() const { return row_blocks() * column_blocks(); }

  void run(int64_t plane, int64_t block) {
    const int64_t row = block / column_blocks() * row_block_;
    const int64_t column = block % column_blocks() * column_block_;
    const int64_t rows = std::min(row_block_, rows_ - row);
    const int64_t columns = std::min(column_block_, columns_ - column);
    for (size_t k = 0; k < chain_.inputs; ++k) load(k, plane, row, column, rows, columns);
    run_steps(out_ + (plane * rows_ + row) * columns_ + column, rows * columns);
  }

 private:
  const float* input_at(size_t k, int64_t plane) const {
    int64_t offset = 0;
    for (int d = space_.rank - 3; d >= 0; --d) {
      offset += plane % space_.size[d] * space_.stride[k][d];
      plane /= space_.size[d];
    }
    return chain_.input[k]->data<float>() + offset;
  }

  void load(size_t k, int64_t plane, int64_t row, int64_t column, int64_t rows, int64_t columns) {
    const int64_t row_stride = space_.stride[k][space_.rank - 2];
    const int64_t column_stride = space_.stride[k][space_.rank - 1];
    const float* in = input_at(k, plane) + row * row_stride + column * column_stride;
    const bool one_row = rows == 1;
    if (column_stride == 1 && (one_row || row_stride == columns)) {
      runs_[k] = {in, false};
    } else if (column_stride == 0 && (one_row || row_stride == 0)) {
      runs_[k] = {in, true};
    } else {
      const bool repeats = row_stride == 0;
      if (!repeats || repeated_[k] != in || repeated_rows_[k] < rows) {
        gather(in, row_stride, column_stride, rows, columns, inputs_[k]);
        repeated_[k] = repeats ? in : nullptr;
        repeated_rows_[k] = rows;
      }
      runs_[k] = {inputs_[k], false};
    }
  }

  static void gather(const float* in, int64_t row_stride, int64_t column_stride, int64_t rows, int64_t columns,
                     float* to) {
    for (int64_t r = 0; r < rows; ++r, in += row_stride, to += columns) {
      if (column_stride == 1) {
        std::copy(in, in + columns, to);
      } else if (column_stride == 0) {
        std::fill(to, to + columns, *in);
      } else {
        for (int64_t c = 0; c < columns; ++c) to[c] = in[c * column_stride];
      }
    }
  }

  void run_steps(float* out, int64_t n) {
    const size_t first = chain_.inputs + chain_.constants;
    for (size_t s = 0; s < chain_.steps; ++s) {
      const ChainStep& step = chain_.step[s];
      float* to = s + 1 == chain_.steps ? out : results_[buffers_.of_step[s]];
      run_element_step(step.op, runs_[step.operand[0]], runs_[step.operand[1]], runs_[step.operand[2]], n, to);
      runs_[first + s] = {to, false};
    }
  }

  const Chain& chain_;
  const Buffers& buffers_;
  const Space& space_;
  float* out_;
  int64_t rows_, columns_, row_block_, column_block_;
  const float* repeated_[elementwise::kMaxInputs] = {};  // which run inputs_ holds, when its rows repeat
  int64_t repeated_rows_[elementwise::kMaxInputs] = {};
  ElementRun runs_[elementwise::kMaxInputs + elementwise::kMaxConstants + elementwise::kMaxSteps];
  alignas(64) float inputs_[elementwise::kMaxInputs][kRun];
  alignas(64) float results_[elementwise::kMaxSteps][kRun];
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
    case Op::kGeluTanh: return 8;
    default: return 1;
  }
}

// `*sum` from a chain that adds its inputs one after the other, and perhaps ends with relu; false for any other.
bool read_sum(const Chain& chain, ElementSum* sum) {
  if (chain.inputs < 2 || chain.inputs > ElementSum::kMax || chain.constants != 0) return false;
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

}  // namespace

void run_chain(KernelContext& context, const Chain& chain, Tensor& out) {
  if (out.numel() == 0) return;
  const Space space = space_of(chain, out);
  ElementSum sum;
  if (is_flat(chain, space) && read_sum(chain, &sum)) {
    const int64_t grain = kGrainWork / (2 * sum.count);
    return context.parallel_for(
        out.numel(), grain, [&](int64_t begin, int64_t end) { run_element_sum(sum, begin, end, out.data<float>()); });
  }
  const Buffers buffers(chain);
  int64_t work = static_cast<int64_t>(chain.inputs);
  for (size_t s = 0; s < chain.steps; ++s) work += cost(chain.step[s].op);
  const Runner shape(chain, buffers, space, nullptr);
  const int64_t blocks = shape.blocks_of_plane();
  const int64_t items = out.numel() / (space.size[space.rank - 1] * space.size[space.rank - 2]) * blocks;
  const int64_t grain = std::max<int64_t>(1, kGrainWork / (work * std::max<int64_t>(1, out.numel() / items)));
  context.parallel_for(items, grain, [&](int64_t begin, int64_t end) {
    Runner runner(chain, buffers, space, out.data<float>());
    for (int64_t item = begin; item < end; ++item) runner.run(item / blocks, item % blocks);
  });
}

}  // namespace berth::cpu
