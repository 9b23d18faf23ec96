#include "kernels/cpu/attention.h"

#include <algorithm>

#include "kernels/cpu/attention_head.h"
#include "kernels/portable/broadcast.h"
#include "kernels/portable/fused_attention.h"
#include "kernels/portable/gemm_slots.h"

namespace berth::cpu {
namespace {

// Fewer multiplications than this in all are done before another thread has woken.
constexpr double kSerialWork = 65536;

struct Attention {
  const Tensor* query;
  const Tensor* key;
  const Tensor* value;
  const Tensor* bias;
  const Tensor* mask;
  Tensor* out;
  int64_t heads;
  AttentionHead head;  // of any one head: all but the pointers
  int64_t query_column, key_column, value_column;

  int64_t batches() const { return query->size(0); }
  int64_t queries() const { return query->size(1); }
  double work() const {
    return static_cast<double>(batches() * heads * queries()) * 2.0 * static_cast<double>(head.keys * head.size);
  }
};

Attention read(const portable::AttentionOperands& args) {
  Attention a = {};
  a.query = &args.query;
  a.key = &args.key;
  a.value = &args.value;
  a.bias = args.bias;
  a.mask = args.mask;
  a.out = &args.out;
  a.heads = args.heads;
  a.head.size = a.head.value_size = args.head_size;
  a.query_column = args.column[0];
  a.key_column = args.column[1];
  a.value_column = args.column[2];
  a.head.scale = static_cast<float>(args.scale);
  a.head.causal = args.causal;
  return a;
}

bool are_tokens(const Tensor& tensor) {
  return tensor.dtype() == DType::kF32 && tensor.rank() == 3 && tensor.is_contiguous();
}

bool has_columns(const Attention& a, const Tensor& tensor, int64_t column) {
  return column >= 0 && a.heads >= 1 && a.head.size >= 1 && a.heads <= tensor.size(2) &&
         a.head.size <= tensor.size(2) / a.heads && column <= tensor.size(2) - a.heads * a.head.size;
}

bool stretches(const Attention& a, const Tensor* mask) {
  if (mask == nullptr) return true;
  const int64_t scores[] = {a.batches(), a.heads, a.queries(), a.key->size(1)};
  for (int d = 0; d < mask->rank(); ++d) {
    const int64_t size = mask->size(mask->rank() - 1 - d);
    if (d >= 4 ? size != 1 : (size != 1 && size != scores[3 - d])) return false;
  }
  return true;
}

Error check(KernelContext& context, const Attention& a) {
  if (!are_tokens(*a.query) || !are_tokens(*a.key) || !are_tokens(*a.value) || !are_tokens(*a.out)) {
    return context.fail(Error::kInvalidArgument, "attention takes rows of tokens, contiguous f32 of three dimensions");
  }
  if (!has_columns(a, *a.query, a.query_column) || !has_columns(a, *a.key, a.key_column) ||
      !has_columns(a, *a.value, a.value_column)) {
    return context.fail(Error::kInvalidArgument, "attention's heads lie outside of the columns");
  }
  if (a.key->size(0) != a.batches() || a.value->size(0) != a.batches() || a.key->size(1) != a.value->size(1)) {
    return context.fail(Error::kInvalidArgument, "attention's queries, keys and values have different sizes");
  }
  if (a.mask != nullptr && a.mask->dtype() != DType::kF32 && a.mask->dtype() != DType::kBool) {
    return context.fail(Error::kInvalidArgument, "attention's mask must be f32 or bool");
  }
  if (a.bias != nullptr && a.bias->dtype() != DType::kF32) {
    return context.fail(Error::kInvalidArgument, "attention's bias must be f32");
  }
  if (!stretches(a, a.bias) || !stretches(a, a.mask))
    return context.fail(Error::kInvalidArgument, "attention's mask does not stretch to the scores");
  return Error::kOk;
}

// How far a mask goes with one step in dimension `d` of [batch, head, query, key].
int64_t stride_of(const Tensor* mask, int d) {
  if (mask == nullptr) return 0;
  const int own = d + mask->rank() - 4;
  return own < 0 || mask->size(own) == 1 ? 0 : mask->stride(own);
}

void set_strides(Attention& a) {
  a.head.keys = a.key->size(1);
  a.head.query_row = a.query->size(2);
  a.head.key_row = a.key->size(2);
  a.head.value_row = a.value->size(2);
  a.head.out_row = a.heads * a.head.size;
  a.head.mask_row = stride_of(a.mask, 2);
  a.head.mask_column = stride_of(a.mask, 3);
  a.head.bias_row = stride_of(a.bias, 2);
  a.head.bias_column = stride_of(a.bias, 3);
}

AttentionHead head_of(const Attention& a, int64_t batch, int64_t index) {
  AttentionHead head = a.head;
  const int64_t column = index * head.size;
  head.query = a.query->data<float>() + batch * a.queries() * head.query_row + a.query_column + column;
  head.key = {a.key->data<float>() + batch * head.keys * head.key_row + a.key_column + column};
  head.value = {a.value->data<float>() + batch * head.keys * head.value_row + a.value_column + column};
  head.out = a.out->data<float>() + batch * a.queries() * head.out_row + column;
  const int64_t mask = batch * stride_of(a.mask, 0) + index * stride_of(a.mask, 1);
  const int64_t bias = batch * stride_of(a.bias, 0) + index * stride_of(a.bias, 1);
  if (a.bias != nullptr) head.bias = a.bias->data<float>() + bias;
  if (a.mask != nullptr && a.mask->dtype() == DType::kF32) head.mask = a.mask->data<float>() + mask;
  if (a.mask != nullptr && a.mask->dtype() == DType::kBool) head.allowed = a.mask->data<bool>() + mask;
  return head;
}

// Work is cut into parts of a head's queries: one where the heads share out evenly, else as many as there are blocks.
int64_t parts_of(const Attention& a, int slots) {
  const int64_t heads = a.batches() * a.heads;
  if (heads % slots == 0 || heads >= 8 * slots) return 1;
  return (a.queries() + kAttentionRows - 1) / kAttentionRows;
}

int most_slots(const Attention& a, int threads) {
  const int64_t blocks = (a.queries() + kAttentionRows - 1) / kAttentionRows;
  return portable::slots_for(threads, a.batches() * a.heads * blocks, a.work(), kSerialWork);
}

void run(KernelContext& context, const Attention& a, int slots, size_t floats, float* scratch) {
  const int64_t parts = parts_of(a, slots);
  const int64_t blocks = (a.queries() + kAttentionRows - 1) / kAttentionRows;
  const int64_t items = a.batches() * a.heads * parts;
  context.parallel_for(slots, 1, [&](int64_t begin, int64_t end) {
    for (int64_t slot = begin; slot < end; ++slot) {
      float* own = scratch + slot * floats;
      int64_t packed = -1;
      for (int64_t item = items * slot / slots; item < items * (slot + 1) / slots; ++item) {
        const int64_t index = item / parts;
        const int64_t part = item % parts;
        const AttentionHead head = head_of(a, index / a.heads, index % a.heads);
        if (index != packed) pack_attention(head, own);
        packed = index;
        attend(head, blocks * part / parts * kAttentionRows,
               std::min(blocks * (part + 1) / parts * kAttentionRows, a.queries()), own);
      }
    }
  });
}

size_t temp_bytes(Attention a, int threads) {
  // What check() refuses takes nothing, nor does what has no elements, whose sizes may be anything.
  const bool tokens = are_tokens(*a.query) && are_tokens(*a.key) && are_tokens(*a.value);
  if (!tokens || a.query->numel() == 0 || a.key->numel() == 0) return 0;
  if (!has_columns(a, *a.query, a.query_column) || !has_columns(a, *a.key, a.key_column)) return 0;
  set_strides(a);
  const size_t slots = most_slots(a, threads);
  return slots * attention_scratch_floats(a.head) * sizeof(float) + portable::kTempPadding;
}

Error run_checked(KernelContext& context, Attention a) {
  if (const Error error = check(context, a); error != Error::kOk) return error;
  const int32_t sizes[] = {a.query->sizes()[0], a.query->sizes()[1], static_cast<int32_t>(a.heads * a.head.size)};
  if (const Error error = portable::resize_out(context, *a.out, sizes); error != Error::kOk) return error;
  set_strides(a);
  if (a.out->numel() == 0) return Error::kOk;
  if (a.head.keys == 0) {
    std::fill_n(a.out->data<float>(), a.out->numel(), 0.0f);
    return Error::kOk;
  }
  const int slots = most_slots(a, context.threads());
  const size_t floats = attention_scratch_floats(a.head);
  auto* scratch = static_cast<float*>(context.allocate_temp(slots * floats * sizeof(float)));
  if (scratch == nullptr) return Error::kMemoryAllocationFailed;
  run(context, a, slots, floats, scratch);
  return Error::kOk;
}

}  // namespace

size_t attention_temp_bytes(const arguments::fused_attention_out& args, int threads) {
  return temp_bytes(read(portable::AttentionOperands(args)), threads);
}

size_t attention_biased_temp_bytes(const arguments::fused_attention_biased_out& args, int threads) {
  return temp_bytes(read(portable::AttentionOperands(args)), threads);
}

Error attention_out(KernelContext& context, const arguments::fused_attention_out& args) {
  return run_checked(context, read(portable::AttentionOperands(args)));
}

Error attention_biased_out(KernelContext& context, const arguments::fused_attention_biased_out& args) {
  return run_checked(context, read(portable::AttentionOperands(args)));
}

}  // namespace berth::cpu
