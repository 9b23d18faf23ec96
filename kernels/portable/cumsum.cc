// cumsum: running sums along one dimension. Sums of f16, bf16 and f32 run in double and are rounded once an element.
#include "kernels/portable/broadcast.h"
#include "kernels/portable/dispatch.h"
#include "kernels/portable/iterate.h"
#include "kernels/portable/portable.h"
#include "kernels/portable/reduce.h"

namespace berth::portable {
namespace {

constexpr int64_t kChunk = 256;
constexpr int64_t kLeastWidth = 16;  // of rows: of fewer elements a line at a time is faster

struct Line {
  int64_t size;
  int64_t out_stride;
  int64_t self_stride;
};

template <typename T, typename S>
S run_chunk(T* x, int64_t n, S sum) {
  for (int64_t i = 0; i < n; ++i) {
    sum += static_cast<S>(x[i]);
    x[i] = static_cast<T>(sum);
  }
  return sum;
}

// One line, a chunk at a time: gathered, converted to `common` and on to f64 or i64, summed, and stored. Each chunk is
// read before it is written, for when both tensors are the same memory.
void sum_line(const Line& line, const Tensor& self, DType common, const char* from, Tensor& out, char* to) {
  Walk source(1);
  Walk target(1);
  source.add(line.size, &line.self_stride);
  target.add(line.size, &line.out_stride);
  const size_t from_bytes = element_size(self.dtype());
  const size_t to_bytes = element_size(out.dtype());
  const bool whole = !is_floating(common);
  const DType state = whole ? DType::kI64 : DType::kF64;
  alignas(8) unsigned char raw[kChunk * 8];
  alignas(8) unsigned char middle[kChunk * 8];
  union {
    double real[kChunk];
    uint64_t whole[kChunk];
  } values;
  double real_sum = 0;
  uint64_t whole_sum = 0;
  for (int64_t begin = 0; begin < line.size; begin += kChunk) {
    const int64_t n = line.size - begin < kChunk ? line.size - begin : kChunk;
    gather_elements(source, from, from_bytes, begin, n, raw);
    convert_elements(self.dtype(), raw, common, middle, n);
    convert_elements(common, middle, state, &values, n);
    if (whole) whole_sum = run_chunk(values.whole, n, whole_sum);
    if (!whole) real_sum = run_chunk(values.real, n, real_sum);
    convert_elements(state, &values, out.dtype(), raw, n);
    scatter_elements(target, to, to_bytes, begin, n, raw);
  }
}

// `n` lines beside each other, at most kChunk: a row of them at a time, which lies without gaps in both tensors.
void sum_rows(const Line& line, int64_t n, const Tensor& self, DType common, const char* from, Tensor& out, char* to) {
  const bool whole = !is_floating(common);
  const DType state = whole ? DType::kI64 : DType::kF64;
  alignas(8) unsigned char middle[kChunk * 8];
  union Numbers {
    double real[kChunk];
    uint64_t whole[kChunk];
  };
  Numbers values;
  Numbers sums = {};
  const auto add = [n](auto* to_sums, const auto* row) {
    for (int64_t i = 0; i < n; ++i) to_sums[i] += row[i];
  };
  const int64_t from_bytes = line.self_stride * static_cast<int64_t>(element_size(self.dtype()));
  const int64_t to_bytes = line.out_stride * static_cast<int64_t>(element_size(out.dtype()));
  for (int64_t k = 0; k < line.size; ++k, from += from_bytes, to += to_bytes) {
    convert_elements(self.dtype(), from, common, middle, n);
    convert_elements(common, middle, state, &values, n);
    whole ? add(sums.whole, values.whole) : add(sums.real, values.real);
    convert_elements(state, &sums, out.dtype(), to, n);
  }
}

// The dimension whose lines lie beside each other in both tensors, while those along `dim` do not; -1: there is none.
int dim_of_rows(const Tensor& self, const Tensor& out, int dim) {
  if (self.rank() == 0 || self.stride(dim) == 1) return -1;
  for (int d = 0; d < self.rank(); ++d) {
    if (d != dim && self.size(d) >= kLeastWidth && self.stride(d) == 1 && out.stride(d) == 1) return d;
  }
  return -1;
}

}  // namespace

Error cumsum_out(KernelContext& context, const arguments::cumsum_out& args) {
  const Tensor& self = args.self;
  Tensor& out = args.out;
  int dim = 0;
  if (!normalize_dim(args.dim, self.rank(), &dim)) {
    return context.fail(Error::kInvalidArgument, "the dimension to sum along is out of range");
  }
  if (!is_real(self.dtype()) || !is_real(out.dtype())) return unsupported_dtype(context);
  DType common = DType::kF32;
  if (const Error error = read_sum_dtype(context, self, args.dtype, &common); error != Error::kOk) return error;
  if (!can_cast(common, out.dtype())) {
    return context.fail(Error::kInvalidArgument, "the result's dtype cannot be cast to the output's");
  }
  if (const Error error = resize_out(context, out, self.sizes()); error != Error::kOk) return error;
  if (out.numel() == 0) return Error::kOk;
  const bool scalar = self.rank() == 0;
  const Line line = {scalar ? 1 : self.size(dim), scalar ? 1 : out.stride(dim), scalar ? 1 : self.stride(dim)};
  const Tensor* tensors[] = {&out, &self};
  const char* const from = self.data<char>();
  char* const to = out.data<char>();
  const auto from_bytes = static_cast<int64_t>(element_size(self.dtype()));
  const auto to_bytes = static_cast<int64_t>(element_size(out.dtype()));
  const int rows = dim_of_rows(self, out, dim);
  if (rows >= 0) {
    const Walk blocks = walk_dims(tensors, ~(uint32_t{1} << dim | uint32_t{1} << rows));
    const int64_t width = self.size(rows);
    const int64_t chunks = (width + kChunk - 1) / kChunk;
    const int64_t work = line.size * (width < kChunk ? width : kChunk);
    context.parallel_for(blocks.count * chunks, 4096 / work + 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        int64_t offsets[Walk::kMaxOperands];
        blocks.offsets(i / chunks, offsets);
        const int64_t first = i % chunks * kChunk;
        const int64_t n = width - first < kChunk ? width - first : kChunk;
        sum_rows(line, n, self, common, from + (offsets[1] + first) * from_bytes, out,
                 to + (offsets[0] + first) * to_bytes);
      }
    });
    return Error::kOk;
  }
  const Walk lines = walk_dims(tensors, ~(uint32_t{1} << dim));
  context.parallel_for(lines.count, 4096 / line.size + 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      int64_t offsets[Walk::kMaxOperands];
      lines.offsets(i, offsets);
      sum_line(line, self, common, from + offsets[1] * from_bytes, out, to + offsets[0] * to_bytes);
    }
  });
  return Error::kOk;
}

}  // namespace berth::portable
