// berth::attention: for each head, softmax(query · key * scale + mask) · value, over columns of token-major matrices.
// berth::attention.biased: softmax(query · key * scale + bias + mask) · value.
//
// With `causal`, query i sees the keys 0 to i. A query that sees none gives NaN, as softmax does of a row of -inf.
#include "kernels/portable/fused_attention.h"

#include <limits>

#include "kernels/portable/gemm_slots.h"
#include "kernels/portable/layout_arguments.h"
#include "kernels/portable/math.h"
#include "kernels/portable/temp_bytes.h"

namespace berth::portable {
namespace {

constexpr float kMinusInfinity = -std::numeric_limits<float>::infinity();

bool takes(const Tensor& tensor) {
  return tensor.dtype() == DType::kF32 && tensor.rank() == 3 && tensor.is_contiguous();
}

Error check_tokens(KernelContext& context, const Attention& a) {
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
  if (a.heads < 1 || a.head_size < 1 || a.heads > kMost || a.head_size > kMost / a.heads) {
    return context.fail(Error::kInvalidArgument, "attention needs at least one head of at least one column");
  }
  const Tensor* const tensors[] = {a.query, a.key, a.value};
  for (size_t i = 0; i < 3; ++i) {
    const Tensor& tensor = *tensors[i];
    if (!takes(tensor))
      return context.fail(Error::kInvalidArgument, "attention takes f32 of three row-major dimensions");
    if (a.column[i] < 0 || a.column[i] > tensor.size(2) - a.heads * a.head_size) {
      return context.fail(Error::kInvalidArgument, "the heads' columns are not all there");
    }
    BERTH_RETURN_IF_ERROR(check_memory(context, tensor));
  }
  if (a.query->size(0) != a.key->size(0) || a.key->size(0) != a.value->size(0) || a.key->size(1) != a.value->size(1)) {
    return context.fail(Error::kInvalidArgument, "attention's tensors differ in batch or tokens");
  }
  return Error::kOk;
}

// How far one step in each dimension of the scores goes in `mask`, which may be null.
Error read_strides(KernelContext& context, const Attention& a, const Tensor* given, int64_t* strides) {
  if (given == nullptr) return Error::kOk;
  const Tensor& mask = *given;
  BERTH_RETURN_IF_ERROR(check_memory(context, mask));
  if (mask.rank() > 4) return context.fail(Error::kInvalidArgument, "a mask has at most four dimensions");
  const int64_t sizes[4] = {a.query->size(0), a.heads, a.query->size(1), a.key->size(1)};
  for (int d = 0; d < mask.rank(); ++d) {
    const int at = d + 4 - mask.rank();
    if (mask.size(d) != 1 && mask.size(d) != sizes[at]) {
      return context.fail(Error::kInvalidArgument, "the mask does not stretch to the scores");
    }
    strides[at] = mask.size(d) == 1 ? 0 : mask.stride(d);
  }
  return Error::kOk;
}

Error read_masks(KernelContext& context, Attention* a) {
  if (a->mask != nullptr && a->mask->dtype() != DType::kF32 && a->mask->dtype() != DType::kBool) {
    return context.fail(Error::kInvalidArgument, "a mask is f32 or bool");
  }
  if (a->bias != nullptr && a->bias->dtype() != DType::kF32) {
    return context.fail(Error::kInvalidArgument, "a bias of attention is f32");
  }
  BERTH_RETURN_IF_ERROR(read_strides(context, *a, a->bias, a->bias_stride));
  return read_strides(context, *a, a->mask, a->mask_stride);
}

}  // namespace

Error prepare_attention(KernelContext& context, Attention* a) {
  BERTH_RETURN_IF_ERROR(check_tokens(context, *a));
  BERTH_RETURN_IF_ERROR(read_masks(context, a));
  Tensor& out = *a->out;
  Sizes sizes;
  push_size(&sizes, a->query->size(0));
  push_size(&sizes, a->query->size(1));
  push_size(&sizes, a->heads * a->head_size);
  if (out.rank() != 3) return context.fail(Error::kInvalidArgument, "attention's result has three dimensions");
  BERTH_RETURN_IF_ERROR(resize_out(context, out, sizes.span()));
  if (!takes(out)) return context.fail(Error::kInvalidArgument, "attention gives f32 of three row-major dimensions");
  return check_memory(context, out);
}

namespace {

int64_t dot(const int64_t (&strides)[4], int64_t batch, int64_t head, int64_t row) {
  return batch * strides[0] + head * strides[1] + row * strides[2];
}

float mask_at(const Attention& a, int64_t offset) {
  if (a.mask->dtype() == DType::kF32) return a.mask->data<float>()[offset];
  return a.mask->data<uint8_t>()[offset] != 0 ? 0 : kMinusInfinity;
}

// One query of one head: `scores` holds a number a key.
void attend(const Attention& a, int64_t batch, int64_t head, int64_t row, float* scores, float* out) {
  const int64_t keys = a.key->size(1);
  const int64_t seen = a.causal && row + 1 < keys ? row + 1 : keys;
  const int64_t first = head * a.head_size;
  const float* q = a.query->data<float>() + batch * a.query->stride(0) + row * a.query->stride(1) + a.column[0] + first;
  const float* k = a.key->data<float>() + batch * a.key->stride(0) + a.column[1] + first;
  const float* v = a.value->data<float>() + batch * a.value->stride(0) + a.column[2] + first;
  const int64_t masked = dot(a.mask_stride, batch, head, row);
  const float* bias = a.bias == nullptr ? nullptr : a.bias->data<float>() + dot(a.bias_stride, batch, head, row);
  float most = kMinusInfinity;
  for (int64_t j = 0; j < seen; ++j) {
    float sum = 0;
    for (int64_t i = 0; i < a.head_size; ++i) sum += q[i] * k[j * a.key->stride(1) + i];
    const float added = bias == nullptr ? 0 : bias[j * a.bias_stride[3]];
    const float masked_by = a.mask == nullptr ? 0 : mask_at(a, masked + j * a.mask_stride[3]);
    scores[j] = sum * a.scale + added + masked_by;
    most = scores[j] > most || scores[j] != scores[j] ? scores[j] : most;
  }
  float total = 0;
  for (int64_t j = 0; j < seen; ++j) {
    scores[j] = math::exp(scores[j] - most);
    total += scores[j];
  }
  for (int64_t i = 0; i < a.head_size; ++i) out[i] = 0;
  for (int64_t j = 0; j < seen; ++j) {
    const float share = scores[j] / total;
    for (int64_t i = 0; i < a.head_size; ++i) out[i] += share * v[j * a.value->stride(1) + i];
  }
}

}  // namespace

static Error run_attention(KernelContext& context, Attention a) {
  BERTH_RETURN_IF_ERROR(prepare_attention(context, &a));
  Tensor& out = *a.out;
  const int64_t queries = a.query->size(1);
  const int64_t keys = a.key->size(1);
  const int64_t items = out.size(0) * a.heads * queries;
  if (items == 0) return Error::kOk;
  const int slots = slots_for(context.threads(), items, static_cast<double>(items) * static_cast<double>(keys), 16384);
  auto* scores = static_cast<float*>(context.allocate_temp((slots * keys) * sizeof(float)));
  if (scores == nullptr) return Error::kMemoryAllocationFailed;
  const auto one = [&](float* row_scores, int64_t item) {
    const int64_t row = item % queries;
    const int64_t head = item / queries % a.heads;
    const int64_t batch = item / queries / a.heads;
    float* to = out.data<float>() + batch * out.stride(0) + row * out.stride(1) + head * a.head_size;
    attend(a, batch, head, row, row_scores, to);
  };
  for_each_item(context, slots, items, one, [&](int64_t slot) { return scores + slot * keys; });
  return Error::kOk;
}

static size_t temp_bytes(const Tensor& key, int threads) {
  if (key.rank() != 3) return 0;
  const int64_t slots = threads < 1 ? 1 : threads > kMaxSlots ? kMaxSlots : threads;
  // A key's count is at most the elements there are.
  const int64_t keys = key.dynamism() == ShapeDynamism::kStatic ? key.size(1) : key.numel();
  return (slots * keys) * sizeof(float) + kTempPadding;
}

Error fused_attention_out(KernelContext& context, const arguments::fused_attention_out& args) {
  return run_attention(context, Attention(args));
}

Error fused_attention_biased_out(KernelContext& context, const arguments::fused_attention_biased_out& args) {
  return run_attention(context, Attention(args));
}

size_t fused_attention_temp_bytes(const arguments::fused_attention_out& args, int threads) {
  return temp_bytes(args.key, threads);
}

size_t fused_attention_biased_temp_bytes(const arguments::fused_attention_biased_out& args, int threads) {
  return temp_bytes(args.key, threads);
}

}  // namespace berth::portable
