#include "kernels/portable/fused_grouped_attention.h"

#include <algorithm>
#include <limits>

#include "kernels/portable/gemm_slots.h"
#include "kernels/portable/layout_arguments.h"
#include "kernels/portable/math.h"
#include "kernels/portable/temp_bytes.h"

namespace berth::portable {
namespace {

constexpr float kMinusInfinity = -std::numeric_limits<float>::infinity();

bool has_rows(const Tensor& tensor) { return tensor.rank() == 4 && tensor.is_contiguous(); }

bool takes(const Tensor& tensor) { return tensor.dtype() == DType::kF32 && has_rows(tensor); }

bool takes_caches(const Tensor& key, const Tensor& value) {
  const DType type = key.dtype();
  const bool known = type == DType::kF32 || has_16_bits(type);
  return known && type == value.dtype() && has_rows(key) && has_rows(value);
}

Error read_rows(KernelContext& context, const GroupedOperands& args, GroupedAttention* a) {
  if (!takes(args.query) || !takes_caches(args.key, args.value)) {
    return context.fail(
        Error::kInvalidArgument,
        "grouped attention takes f32, and keys and values of f32, bf16 or f16, of four row-major dimensions");
  }
  const Tensor* const tensors[] = {&args.query, &args.key, &args.value};
  for (const Tensor* tensor : tensors) BERTH_RETURN_IF_ERROR(check_memory(context, *tensor));
  const Tensor& key = args.key;
  const Tensor& value = args.value;
  a->batch = args.query.size(0);
  a->heads = args.query.size(1);
  a->queries = args.query.size(2);
  a->size = args.query.size(3);
  a->by_rows = args.by_rows;
  a->groups = key.size(args.heads_dim());
  a->keys = key.size(args.keys_dim());
  a->value_size = value.size(3);
  if (key.size(0) != a->batch || value.size(0) != a->batch || key.size(3) != a->size ||
      value.size(args.heads_dim()) != a->groups || value.size(args.keys_dim()) != a->keys) {
    return context.fail(Error::kInvalidArgument, "grouped attention's queries, keys and values differ in their sizes");
  }
  if (a->groups < 1 || a->heads < 1 || a->heads % a->groups != 0) {
    return context.fail(Error::kInvalidArgument, "the heads of queries do not divide among those of keys");
  }
  a->query = args.query.data<float>();
  a->key = {key.data<uint8_t>(), key.dtype()};
  a->value = {value.data<uint8_t>(), value.dtype()};
  a->scale = static_cast<float>(args.scale);
  a->guarded = args.guarded;
  return Error::kOk;
}

Error read_mask(KernelContext& context, const Tensor* mask, GroupedAttention* a) {
  a->mask = mask;
  std::fill_n(a->mask_stride, 4, 0);
  if (mask == nullptr) return Error::kOk;
  BERTH_RETURN_IF_ERROR(check_memory(context, *mask));
  if ((mask->dtype() != DType::kF32 && mask->dtype() != DType::kBool) || mask->rank() > 4) {
    return context.fail(Error::kInvalidArgument, "a mask is f32 or bool and has at most four dimensions");
  }
  const int64_t sizes[4] = {a->batch, a->heads, a->queries, a->keys};
  for (int d = 0; d < mask->rank(); ++d) {
    const int at = d + 4 - mask->rank();
    if (mask->size(d) != 1 && mask->size(d) != sizes[at]) {
      return context.fail(Error::kInvalidArgument, "the mask does not stretch to the scores");
    }
    a->mask_stride[at] = mask->size(d) == 1 ? 0 : mask->stride(d);
  }
  return Error::kOk;
}

Error read_limit(KernelContext& context, const Tensor* limit, int64_t queries, const int64_t** out) {
  *out = nullptr;
  if (limit == nullptr) return Error::kOk;
  BERTH_RETURN_IF_ERROR(check_memory(context, *limit));
  if (limit->dtype() != DType::kI64 || limit->rank() != 1 || limit->size(0) != queries) {
    return context.fail(Error::kInvalidArgument, "the keys that queries see end at an i64 for each query");
  }
  *out = limit->data<int64_t>();
  return Error::kOk;
}

}  // namespace

int64_t GroupedAttention::end_key(int64_t i) const {
  return last == nullptr || last[i] >= keys ? keys : std::max<int64_t>(last[i] + 1, 0);
}

int64_t GroupedAttention::first_key(int64_t i) const {
  return before == nullptr || before[i] < 0 ? 0 : std::min(before[i], keys - 1) + 1;
}

float GroupedAttention::hidden_result() const { return guarded ? 0 : std::numeric_limits<float>::quiet_NaN(); }

float GroupedAttention::mask_at(int64_t b, int64_t head, int64_t i, int64_t j) const {
  if (mask == nullptr) return 0;
  const int64_t at = b * mask_stride[0] + head * mask_stride[1] + i * mask_stride[2] + j * mask_stride[3];
  if (mask->dtype() == DType::kF32) return mask->data<float>()[at];
  return mask->data<uint8_t>()[at] != 0 ? 0 : kMinusInfinity;
}

Error read_grouped_attention(KernelContext& context, const GroupedOperands& args, GroupedAttention* a) {
  BERTH_RETURN_IF_ERROR(read_rows(context, args, a));
  BERTH_RETURN_IF_ERROR(read_mask(context, args.mask, a));
  BERTH_RETURN_IF_ERROR(read_limit(context, args.last, a->queries, &a->last));
  BERTH_RETURN_IF_ERROR(read_limit(context, args.before, a->queries, &a->before));
  Tensor& out = args.out;
  Sizes sizes;
  for (const int64_t size : {a->batch, a->heads, a->queries, a->value_size}) push_size(&sizes, size);
  if (out.rank() != 4) return context.fail(Error::kInvalidArgument, "grouped attention gives four dimensions");
  BERTH_RETURN_IF_ERROR(resize_out(context, out, sizes.span()));
  if (!takes(out)) {
    return context.fail(Error::kInvalidArgument, "grouped attention gives f32 of four row-major dimensions");
  }
  BERTH_RETURN_IF_ERROR(check_memory(context, out));
  a->out = out.data<float>();
  return Error::kOk;
}

namespace {

// One query of one head: `scores` holds a number a key.
void attend(const GroupedAttention& a, int64_t batch, int64_t head, int64_t row, float* scores) {
  const int64_t group = head / a.heads_per_group();
  const float* q = a.query + ((batch * a.heads + head) * a.queries + row) * a.size;
  const CacheRows keys = a.keys_from(batch, group, 0);
  const CacheRows values = a.values_from(batch, group, 0);
  float* out = a.out + ((batch * a.heads + head) * a.queries + row) * a.value_size;
  const int64_t first = a.first_key(row);
  const int64_t end = a.end_key(row);
  float most = kMinusInfinity;
  for (int64_t j = first; j < end; ++j) {
    float sum = 0;
    for (int64_t e = 0; e < a.size; ++e) sum += q[e] * keys.at(j * a.key_row() + e);
    scores[j] = sum * a.scale + a.mask_at(batch, head, row, j);
    most = scores[j] > most || scores[j] != scores[j] ? scores[j] : most;
  }
  const bool hidden = most == kMinusInfinity;
  for (int64_t e = 0; e < a.value_size; ++e) out[e] = hidden ? a.hidden_result() : 0;
  if (hidden) return;
  float total = 0;
  for (int64_t j = first; j < end; ++j) {
    scores[j] = math::exp(scores[j] - most);
    total += scores[j];
  }
  for (int64_t j = first; j < end; ++j) {
    const float share = scores[j] / total;
    for (int64_t e = 0; e < a.value_size; ++e) out[e] += share * values.at(j * a.value_row() + e);
  }
}

}  // namespace

static Error run(KernelContext& context, const GroupedOperands& args) {
  GroupedAttention a;
  BERTH_RETURN_IF_ERROR(read_grouped_attention(context, args, &a));
  if (args.out.numel() == 0) return Error::kOk;
  if (a.keys == 0) {
    std::fill_n(a.out, args.out.numel(), 0.0f);
    return Error::kOk;
  }
  const int64_t items = a.batch * a.heads * a.queries;
  const double work = static_cast<double>(items) * static_cast<double>(a.keys);
  const int slots = slots_for(context.threads(), items, work, 16384);
  auto* scores = static_cast<float*>(context.allocate_temp((slots * a.keys) * sizeof(float)));
  if (scores == nullptr) return Error::kMemoryAllocationFailed;
  const auto one = [&](float* row_scores, int64_t item) {
    attend(a, item / a.queries / a.heads, item / a.queries % a.heads, item % a.queries, row_scores);
  };
  for_each_item(context, slots, items, one, [&](int64_t slot) { return scores + slot * a.keys; });
  return Error::kOk;
}

static size_t temp_bytes(const Tensor& key, int keys_dim, int threads) {
  if (key.rank() != 4) return 0;
  const int64_t slots = threads < 1 ? 1 : threads > kMaxSlots ? kMaxSlots : threads;
  // A key's count is at most the elements there are.
  const int64_t keys = key.dynamism() == ShapeDynamism::kStatic ? key.size(keys_dim) : key.numel();
  return (slots * keys) * sizeof(float) + kTempPadding;
}

Error grouped_attention_out(KernelContext& context, const arguments::grouped_attention_out& args) {
  return run(context, GroupedOperands(args));
}

Error grouped_attention_rows_out(KernelContext& context, const arguments::grouped_attention_rows_out& args) {
  return run(context, GroupedOperands(args));
}

size_t grouped_attention_temp_bytes(const arguments::grouped_attention_out& args, int threads) {
  return temp_bytes(args.key, GroupedOperands(args).keys_dim(), threads);
}

size_t grouped_attention_rows_temp_bytes(const arguments::grouped_attention_rows_out& args, int threads) {
  return temp_bytes(args.key, GroupedOperands(args).keys_dim(), threads);
}

}  // namespace berth::portable
