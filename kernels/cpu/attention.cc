#include "kernels/cpu/attention.h"

#include <algorithm>

#include "kernels/cpu/attention_head.h"
#include "kernels/portable/fused_attention.h"
#include "kernels/portable/gemm_slots.h"

namespace berth::cpu {
namespace {

// Fewer multiplications than this in all are done before another thread has woken.
constexpr double kSerialWork = 65536;

using portable::Attention;

int64_t batches(const Attention& a) { return a.query->size(0); }
int64_t queries(const Attention& a) { return a.query->size(1); }

double work(const Attention& a) {
  return static_cast<double>(batches(a) * a.heads * queries(a)) * 2.0 *
         static_cast<double>(a.key->size(1) * a.head_size);
}

// Any one head: all but the pointers.
AttentionHead any_head(const Attention& a) {
  AttentionHead head;
  head.keys = a.key->size(1);
  head.size = head.value_size = a.head_size;
  head.scale = a.scale;
  head.causal = a.causal;
  head.query_row = a.query->size(2);
  head.key_row = a.key->size(2);
  head.value_row = a.value->size(2);
  head.out_row = a.heads * a.head_size;
  head.mask_row = a.mask_stride[2];
  head.mask_column = a.mask_stride[3];
  head.bias_row = a.bias_stride[2];
  head.bias_column = a.bias_stride[3];
  return head;
}

AttentionHead head_of(const Attention& a, const AttentionHead& any, int64_t batch, int64_t index) {
  AttentionHead head = any;
  const int64_t column = index * head.size;
  head.query = a.query->data<float>() + batch * queries(a) * head.query_row + a.column[0] + column;
  head.key = {a.key->data<float>() + batch * head.keys * head.key_row + a.column[1] + column};
  head.value = {a.value->data<float>() + batch * head.keys * head.value_row + a.column[2] + column};
  head.out = a.out->data<float>() + batch * queries(a) * head.out_row + column;
  const int64_t mask = batch * a.mask_stride[0] + index * a.mask_stride[1];
  if (a.bias != nullptr) head.bias = a.bias->data<float>() + batch * a.bias_stride[0] + index * a.bias_stride[1];
  if (a.mask != nullptr && a.mask->dtype() == DType::kF32) head.mask = a.mask->data<float>() + mask;
  if (a.mask != nullptr && a.mask->dtype() == DType::kBool) head.allowed = a.mask->data<bool>() + mask;
  return head;
}

// Work is cut into parts of a head's queries: one where the heads share out evenly, else as many as there are blocks.
int64_t parts_of(const Attention& a, int slots) {
  const int64_t heads = batches(a) * a.heads;
  if (heads % slots == 0 || heads >= 8 * slots) return 1;
  return (queries(a) + kAttentionRows - 1) / kAttentionRows;
}

int most_slots(const Attention& a, int threads) {
  const int64_t blocks = (queries(a) + kAttentionRows - 1) / kAttentionRows;
  return portable::slots_for(threads, batches(a) * a.heads * blocks, work(a), kSerialWork);
}

void run(KernelContext& context, const Attention& a, int slots, size_t floats, float* scratch) {
  const AttentionHead any = any_head(a);
  const int64_t parts = parts_of(a, slots);
  const int64_t blocks = (queries(a) + kAttentionRows - 1) / kAttentionRows;
  const int64_t items = batches(a) * a.heads * parts;
  context.parallel_for(slots, 1, [&](int64_t begin, int64_t end) {
    for (int64_t slot = begin; slot < end; ++slot) {
      float* own = scratch + slot * floats;
      int64_t packed = -1;
      for (int64_t item = items * slot / slots; item < items * (slot + 1) / slots; ++item) {
        const int64_t index = item / parts;
        const int64_t part = item % parts;
        const AttentionHead head = head_of(a, any, index / a.heads, index % a.heads);
        if (index != packed) pack_attention(head, own);
        packed = index;
        attend(head, blocks * part / parts * kAttentionRows,
               std::min(blocks * (part + 1) / parts * kAttentionRows, queries(a)), own);
      }
    }
  });
}

// Whether the heads are columns of these tokens, so that memory bounds their sizes.
bool has_heads(const Attention& a, const Tensor& tokens) {
  return tokens.rank() == 3 && tokens.numel() > 0 && a.heads >= 1 && a.head_size >= 1 && a.heads <= tokens.size(2) &&
         a.head_size <= tokens.size(2) / a.heads;
}

// Of what prepare_attention() refuses, and of what has no elements, whose sizes may be anything: nothing.
size_t temp_bytes(const Attention& a, int threads) {
  if (!has_heads(a, *a.query) || !has_heads(a, *a.key) || a.value->rank() != 3) return 0;
  const size_t slots = most_slots(a, threads);
  return slots * attention_scratch_floats(any_head(a)) * sizeof(float) + portable::kTempPadding;
}

Error run_attention(KernelContext& context, Attention a) {
  BERTH_RETURN_IF_ERROR(portable::prepare_attention(context, &a));
  if (a.out->numel() == 0) return Error::kOk;
  if (a.key->size(1) == 0) {
    std::fill_n(a.out->data<float>(), a.out->numel(), 0.0f);
    return Error::kOk;
  }
  const int slots = most_slots(a, context.threads());
  const size_t floats = attention_scratch_floats(any_head(a));
  auto* scratch = static_cast<float*>(context.allocate_temp(slots * floats * sizeof(float)));
  if (scratch == nullptr) return Error::kMemoryAllocationFailed;
  run(context, a, slots, floats, scratch);
  return Error::kOk;
}

}  // namespace

size_t attention_temp_bytes(const arguments::fused_attention_out& args, int threads) {
  return temp_bytes(Attention(args), threads);
}

size_t attention_biased_temp_bytes(const arguments::fused_attention_biased_out& args, int threads) {
  return temp_bytes(Attention(args), threads);
}

Error attention_out(KernelContext& context, const arguments::fused_attention_out& args) {
  return run_attention(context, Attention(args));
}

Error attention_biased_out(KernelContext& context, const arguments::fused_attention_biased_out& args) {
  return run_attention(context, Attention(args));
}

}  // namespace berth::cpu
