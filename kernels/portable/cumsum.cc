// cumsum: running sums along one dimension. Sums of f16, bf16 and f32 run in double and are rounded once an element.
#include "kernels/portable/broadcast.h"
#include "kernels/portable/dispatch.h"
#include "kernels/portable/iterate.h"
#include "kernels/portable/portable.h"
#include "kernels/portable/reduce.h"

namespace berth::portable {
namespace {

constexpr int64_t kChunk = 256;

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
  const Walk lines = walk_dims(tensors, ~(uint32_t{1} << dim));
  context.parallel_for(lines.count, 4096 / line.size + 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      int64_t offsets[Walk::kMaxOperands];
      lines.offsets(i, offsets);
      sum_line(line, self, common, self.data<char>() + offsets[1] * static_cast<int64_t>(element_size(self.dtype())),
               out, out.data<char>() + offsets[0] * static_cast<int64_t>(element_size(out.dtype())));
    }
  });
  return Error::kOk;
}

}  // namespace berth::portable
