// quantized_decomposed::embedding_byte, _4bit, _2bit: rows of a quantised weight, dequantised.
#include <algorithm>

#include "kernels/portable/gemm_slots.h"
#include "kernels/portable/index_reader.h"
#include "kernels/portable/portable.h"
#include "kernels/portable/quantized_weight.h"

namespace berth::portable {
namespace {

constexpr int64_t kChunk = 256;

struct Embedding {
  QuantizedWeight weight;
  const Tensor* indices;
  Tensor* out;
};

// Row `row` of the weight to `to`, whose elements are `step` apart.
void write_row(const Embedding& e, int64_t row, char* to, int64_t step) {
  const DType dtype = e.out->dtype();
  const int64_t bytes = static_cast<int64_t>(element_size(dtype));
  float values[kChunk];
  alignas(8) unsigned char raw[kChunk * 8];
  for (int64_t begin = 0; begin < e.weight.columns; begin += kChunk) {
    const int64_t n = std::min(e.weight.columns - begin, kChunk);
    for (int64_t i = 0; i < n; ++i) {
      const int64_t group = (begin + i) / e.weight.group_columns();
      values[i] = (e.weight.number(row, begin + i) - e.weight.zero_point(row, group)) * e.weight.scale(row, group);
    }
    convert_elements(DType::kF32, values, dtype, raw, n);
    for (int64_t i = 0; i < n; ++i) std::copy_n(raw + i * bytes, bytes, to + (begin + i) * step * bytes);
  }
}

template <typename Args>
Error read_arguments(KernelContext& context, const Args& args, int bits, std::optional<int64_t> named, Embedding* e) {
  BERTH_RETURN_IF_ERROR(
      read_weight(context, args.weight, args.weight_scales, args.weight_zero_points, bits, &e->weight));
  const int64_t least = bits == 8 ? INT8_MIN : -(int64_t{1} << (bits - 1));
  const int64_t most = bits == 8 ? UINT8_MAX : (int64_t{1} << (bits - 1)) - 1;
  if (args.weight_quant_min < least || args.weight_quant_max > most || args.weight_quant_min > args.weight_quant_max) {
    return context.fail(Error::kInvalidArgument, "quant_min and quant_max are not a range of the weight's numbers");
  }
  e->indices = &args.indices;
  e->out = &args.out;
  BERTH_RETURN_IF_ERROR(check_index(context, *e->indices));
  // Without a dtype, programs of ExecuTorch's have f32 results of f16 scales, too.
  const int64_t dtype = static_cast<int64_t>(e->out->dtype());
  if (!is_floating(e->out->dtype()) || named.value_or(dtype) != dtype) {
    return context.fail(Error::kInvalidArgument, "out must be of a floating dtype, the one that is asked for");
  }
  return Error::kOk;
}

template <typename Args>
Error embed(KernelContext& context, const Args& args, int bits, std::optional<int64_t> dtype = std::nullopt) {
  Embedding e;
  BERTH_RETURN_IF_ERROR(read_arguments(context, args, bits, dtype, &e));
  Tensor& out = *e.out;
  Sizes sizes = sizes_of(*e.indices);
  if (!push_size(&sizes, e.weight.columns)) {
    return context.fail(Error::kInvalidArgument, "an embedding's indices have 16 dimensions");
  }
  BERTH_RETURN_IF_ERROR(resize_out(context, out, sizes.span()));
  BERTH_RETURN_IF_ERROR(check_memory(context, out));
  if (out.numel() == 0) return Error::kOk;
  const IndexReader reader(*e.indices);
  const int64_t bytes = static_cast<int64_t>(element_size(out.dtype()));
  AllOf in_range;
  context.parallel_for(e.indices->numel(), grain_of(4 * e.weight.columns), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t row = reader[element_offset(*e.indices, i)];
      if (row < 0 || row >= e.weight.rows()) return in_range.also(false);
      char* to = out.data<char>() + element_offset(out, i * e.weight.columns) * bytes;
      write_row(e, row, to, out.stride(out.rank() - 1));
    }
  });
  return in_range ? Error::kOk : index_out_of_range(context);
}

}  // namespace

Error embedding_byte_out(KernelContext& context, const arguments::embedding_byte_out& args) {
  return embed(context, args, 8);
}
Error embedding_byte_dtype_out(KernelContext& context, const arguments::embedding_byte_dtype_out& args) {
  return embed(context, args, 8, args.dtype);
}
Error embedding_4bit_out(KernelContext& context, const arguments::embedding_4bit_out& args) {
  return embed(context, args, 4);
}
Error embedding_4bit_dtype_out(KernelContext& context, const arguments::embedding_4bit_dtype_out& args) {
  return embed(context, args, 4, args.dtype);
}
Error embedding_2bit_out(KernelContext& context, const arguments::embedding_2bit_out& args) {
  return embed(context, args, 2);
}
Error embedding_2bit_dtype_out(KernelContext& context, const arguments::embedding_2bit_dtype_out& args) {
  return embed(context, args, 2, args.dtype);
}

}  // namespace berth::portable
