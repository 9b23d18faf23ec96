// rand, randn, native_dropout.
#include <atomic>

#include "kernels/portable/convert.h"
#include "kernels/portable/dispatch.h"
#include "kernels/portable/iterate.h"
#include "kernels/portable/layout_arguments.h"
#include "kernels/portable/portable.h"
#include "kernels/portable/random_numbers.h"

namespace berth::portable {
namespace {

constexpr int64_t kGrain = 4096;
constexpr int64_t kChunk = 256;

// Digits of the mantissa; for a type with more than a double has, a double's.
int digits_of(DType dtype) {
  switch (dtype) {
    case DType::kF16: return 11;
    case DType::kBF16: return 8;
    case DType::kF32: return 24;
    default: return 53;
  }
}

// Fills `out` with draw(stream, index).
template <typename Args, typename Draw>
Error fill_random(KernelContext& context, const Args& args, Draw&& draw) {
  Tensor& out = args.out;
  if (!is_floating(out.dtype())) return unsupported_dtype(context);
  Sizes sizes;
  BERTH_RETURN_IF_ERROR(read_sizes(context, args.size, &sizes));
  BERTH_RETURN_IF_ERROR(resize_out(context, out, sizes.span()));
  BERTH_RETURN_IF_ERROR(check_memory(context, out));
  const RandomStream stream = RandomStream::next();
  const size_t bytes = element_size(out.dtype());
  context.parallel_for(out.numel(), kGrain, [&](int64_t begin, int64_t end) {
    double values[kChunk];
    for (int64_t i = begin; i < end; i += kChunk) {
      const int64_t n = end - i < kChunk ? end - i : kChunk;
      for (int64_t j = 0; j < n; ++j) values[j] = draw(stream, static_cast<uint64_t>(i + j));
      convert_elements(DType::kF64, values, out.dtype(), out.data<char>() + i * bytes, n);
    }
  });
  return Error::kOk;
}

struct Dropout {
  const Tensor& input;
  Tensor& out;
  Tensor& mask;
  double p;
  bool train;
};

// Positions of the walk are the elements of out in the order of its memory; mask and input follow.
void drop(KernelContext& context, const Dropout& dropout) {
  const Tensor* tensors[] = {&dropout.out, &dropout.input, &dropout.mask};
  const Walk walk = walk_broadcast(tensors);
  const Walk from = operand_walk(walk, 1);
  const Walk kept = operand_walk(walk, 2);
  const RandomStream stream = RandomStream::next();
  const double scale = dropout.train ? 1 / (1 - dropout.p) : 1;
  const DType dtype = dropout.out.dtype();
  const size_t bytes = element_size(dtype);
  context.parallel_for(walk.count, kGrain, [&](int64_t begin, int64_t end) {
    alignas(8) unsigned char raw[kChunk * 8];
    double values[kChunk];
    uint8_t keep[kChunk];
    for (int64_t i = begin; i < end; i += kChunk) {
      const int64_t n = end - i < kChunk ? end - i : kChunk;
      gather_elements(from, dropout.input.raw(), bytes, i, n, raw);
      convert_elements(dtype, raw, DType::kF64, values, n);
      for (int64_t j = 0; j < n; ++j) {
        keep[j] = !dropout.train || stream.uniform(static_cast<uint64_t>(i + j)) >= dropout.p ? 1 : 0;
        values[j] = keep[j] != 0 ? values[j] * scale : 0;
      }
      convert_elements(DType::kF64, values, dtype, dropout.out.data<char>() + i * bytes, n);
      scatter_elements(kept, dropout.mask.raw(), 1, i, n, keep);
    }
  });
}

}  // namespace

RandomStream RandomStream::next() {
  static std::atomic<uint32_t> count{0};
  return RandomStream(count.fetch_add(1, std::memory_order_relaxed));
}

Error rand_out(KernelContext& context, const arguments::rand_out& args) {
  const int digits = digits_of(args.out.dtype());
  return fill_random(context, args, [=](const RandomStream& stream, uint64_t i) { return stream.uniform(i, digits); });
}

Error randn_out(KernelContext& context, const arguments::randn_out& args) {
  return fill_random(context, args, [](const RandomStream& stream, uint64_t i) { return stream.normal(i); });
}

Error native_dropout_out(KernelContext& context, const arguments::native_dropout_out& args) {
  const bool train = !args.train.has_value() || *args.train;
  const Dropout dropout = {args.input, args.out0, args.out1, args.p, train};
  if (!(dropout.p >= 0 && dropout.p <= 1)) {
    return context.fail(Error::kInvalidArgument, "dropout's probability is not between 0 and 1");
  }
  if (!is_floating(dropout.input.dtype())) return unsupported_dtype(context);
  if (dropout.mask.dtype() != DType::kBool) {
    return context.fail(Error::kInvalidArgument, "dropout's mask must be bool");
  }
  BERTH_RETURN_IF_ERROR(prepare_out(context, dropout.input, dropout.out, sizes_of(dropout.input)));
  BERTH_RETURN_IF_ERROR(resize_out(context, dropout.mask, dropout.input.sizes()));
  BERTH_RETURN_IF_ERROR(check_memory(context, dropout.mask));
  if (dropout.out.numel() != 0) drop(context, dropout);
  return Error::kOk;
}

}  // namespace berth::portable
