// softmax and log_softmax: e^(x - max) / sum, along one dimension.
//
// Rows of f32 that lie densely are done in place of the output, rows side by side (another dimension is the innermost)
// as blocks of columns; everything else goes through a buffer, a chunk at a time.
#include <limits>

#include "kernels/portable/broadcast.h"
#include "kernels/portable/convert.h"
#include "kernels/portable/dispatch.h"
#include "kernels/portable/iterate.h"
#include "kernels/portable/math.h"
#include "kernels/portable/multiversion.h"
#include "kernels/portable/portable.h"
#include "kernels/portable/reduce.h"

namespace berth::portable {
namespace {

constexpr int64_t kGrainElements = 8192;
constexpr int64_t kColumns = 64;
constexpr int64_t kChunk = 256;

BERTH_MULTIVERSION void scale_f32(float* y, int64_t n, float factor) {
  BERTH_SIMD
  for (int64_t i = 0; i < n; ++i) y[i] *= factor;
}

BERTH_MULTIVERSION float store_exp_f32(const float* x, float* y, int64_t n, float max) {
  float sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t i = 0; i < n; ++i) {
    const float e = math::exp(x[i] - max);
    y[i] = e;
    sum += e;
  }
  return sum;
}

BERTH_MULTIVERSION float sum_exp_f32(const float* x, int64_t n, float max) {
  float sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t i = 0; i < n; ++i) sum += math::exp(x[i] - max);
  return sum;
}

BERTH_MULTIVERSION void subtract_f32(const float* x, float* y, int64_t n, float max, float log_sum) {
  BERTH_SIMD
  for (int64_t i = 0; i < n; ++i) y[i] = (x[i] - max) - log_sum;
}

void softmax_row(const float* x, float* y, int64_t n, bool log) {
  const float max = max_f32(x, n);
  if (log) return subtract_f32(x, y, n, max, math::log(sum_exp_f32(x, n, max)));
  const float sum = store_exp_f32(x, y, n, max);
  scale_f32(y, n, 1.0f / sum);
}

// `n` elements of a column lie `stride` apart; `columns` of them are side by side.
struct ColumnBlock {
  const float* x;
  float* y;
  int64_t n;
  int64_t x_stride;
  int64_t y_stride;
  int64_t columns;
};

template <bool log>
BERTH_MULTIVERSION void softmax_columns(const ColumnBlock& block) {
  float max[kColumns];
  float sum[kColumns];
  const int64_t columns = block.columns;
  for (int64_t j = 0; j < columns; ++j) max[j] = -std::numeric_limits<float>::infinity();
  for (int64_t j = 0; j < columns; ++j) sum[j] = 0;
  for (int64_t i = 0; i < block.n; ++i) {
    const float* x = block.x + i * block.x_stride;
    BERTH_SIMD
    for (int64_t j = 0; j < columns; ++j) max[j] = x[j] > max[j] ? x[j] : max[j];
  }
  for (int64_t i = 0; i < block.n; ++i) {
    const float* x = block.x + i * block.x_stride;
    float* y = block.y + i * block.y_stride;
    BERTH_SIMD
    for (int64_t j = 0; j < columns; ++j) {
      const float e = math::exp(x[j] - max[j]);
      sum[j] += e;
      if (!log) y[j] = e;
    }
  }
  BERTH_SIMD
  for (int64_t j = 0; j < columns; ++j) sum[j] = log ? math::log(sum[j]) : 1.0f / sum[j];
  for (int64_t i = 0; i < block.n; ++i) {
    const float* x = block.x + i * block.x_stride;
    float* y = block.y + i * block.y_stride;
    BERTH_SIMD
    for (int64_t j = 0; j < columns; ++j) y[j] = log ? x[j] - max[j] - sum[j] : y[j] * sum[j];
  }
}

// A row wherever it lies, of any floating type, in double.
struct Row {
  const Tensor& self;
  Tensor& out;
  const Walk& from;
  const Walk& to;
  const char* x;
  char* y;
};

template <typename F>
void for_each_chunk(const Row& row, F&& f) {
  const DType dtype = row.self.dtype();
  alignas(8) unsigned char raw[kChunk * 8];
  double values[kChunk];
  for (int64_t begin = 0; begin < row.from.count; begin += kChunk) {
    const int64_t n = row.from.count - begin < kChunk ? row.from.count - begin : kChunk;
    gather_elements(row.from, row.x, element_size(dtype), begin, n, raw);
    convert_elements(dtype, raw, DType::kF64, values, n);
    f(values, begin, n);
  }
}

void softmax_any_row(const Row& row, bool log) {
  double max = -std::numeric_limits<double>::infinity();
  double sum = 0;
  for_each_chunk(row, [&](const double* x, int64_t, int64_t n) {
    for (int64_t i = 0; i < n; ++i) max = x[i] > max ? x[i] : max;
  });
  for_each_chunk(row, [&](const double* x, int64_t, int64_t n) {
    for (int64_t i = 0; i < n; ++i) sum += std::exp(x[i] - max);
  });
  const double log_sum = std::log(sum);
  for_each_chunk(row, [&](double* x, int64_t begin, int64_t n) {
    for (int64_t i = 0; i < n; ++i) x[i] = log ? x[i] - max - log_sum : std::exp(x[i] - max) / sum;
    alignas(8) unsigned char raw[kChunk * 8];
    const DType dtype = row.out.dtype();
    convert_elements(DType::kF64, x, dtype, raw, n);
    scatter_elements(row.to, row.y, element_size(dtype), begin, n, raw);
  });
}

void run_any(KernelContext& context, const Tensor& self, Tensor& out, const Walk& rows, const Walk& row, bool log) {
  const Walk to = operand_walk(row, 0);
  const Walk from = operand_walk(row, 1);
  context.parallel_for(rows.count, kGrainElements / row.count + 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      int64_t offsets[Walk::kMaxOperands];
      rows.offsets(i, offsets);
      const char* x = self.data<char>() + offsets[1] * static_cast<int64_t>(element_size(self.dtype()));
      char* y = out.data<char>() + offsets[0] * static_cast<int64_t>(element_size(out.dtype()));
      softmax_any_row({self, out, from, to, x, y}, log);
    }
  });
}

void run_rows(KernelContext& context, const Tensor& self, Tensor& out, const Walk& rows, int64_t n, bool log) {
  context.parallel_for(rows.count, kGrainElements / n + 1, [&](int64_t begin, int64_t end) {
    for_each_run(rows, begin, end, [&](const int64_t* offsets, int64_t count) {
      for (int64_t i = 0; i < count; ++i) {
        softmax_row(self.data<float>() + offsets[1] + i * rows.step(1),
                    out.data<float>() + offsets[0] + i * rows.step(0), n, log);
      }
    });
  });
}

void run_columns(KernelContext& context, const Tensor& self, Tensor& out, const Walk& rows, const Walk& row, bool log) {
  context.parallel_for(rows.count, kGrainElements / row.count + 1, [&](int64_t begin, int64_t end) {
    for_each_run(rows, begin, end, [&](const int64_t* offsets, int64_t count) {
      for (int64_t i = 0; i < count; i += kColumns) {
        const int64_t columns = count - i < kColumns ? count - i : kColumns;
        const ColumnBlock block = {self.data<float>() + offsets[1] + i,
                                   out.data<float>() + offsets[0] + i,
                                   row.count,
                                   row.step(1),
                                   row.step(0),
                                   columns};
        if (log) softmax_columns<true>(block);
        if (!log) softmax_columns<false>(block);
      }
    });
  });
}

template <typename Args>
Error run_softmax(KernelContext& context, const Args& args, bool log) {
  const Tensor& self = args.self;
  Tensor& out = args.out;
  int dim = 0;
  if (!normalize_dim(args.dim, self.rank(), &dim)) {
    return context.fail(Error::kInvalidArgument, "softmax's dimension is out of range");
  }
  if (!is_floating(self.dtype()) || !is_floating(out.dtype())) {
    return context.fail(Error::kInvalidArgument, "softmax takes floating-point tensors only");
  }
  if (const Error error = resize_out(context, out, self.sizes()); error != Error::kOk) return error;
  if (out.numel() == 0) return Error::kOk;
  const Tensor* tensors[] = {&out, &self};
  const Walk rows = walk_dims(tensors, ~(uint32_t{1} << dim));
  const Walk row = walk_dims(tensors, uint32_t{1} << dim);
  const bool f32 = self.dtype() == DType::kF32 && out.dtype() == DType::kF32;
  if (f32 && (row.count == 1 || (row.step(0) == 1 && row.step(1) == 1))) {
    run_rows(context, self, out, rows, row.count, log);
  } else if (f32 && rows.step(0) == 1 && rows.step(1) == 1) {
    run_columns(context, self, out, rows, row, log);
  } else {
    run_any(context, self, out, rows, row, log);
  }
  return Error::kOk;
}

}  // namespace

Error softmax_out(KernelContext& context, const arguments::softmax_out& args) {
  return run_softmax(context, args, false);
}
Error log_softmax_out(KernelContext& context, const arguments::log_softmax_out& args) {
  return run_softmax(context, args, true);
}

}  // namespace berth::portable
