#include "kernels/cpu/grouped_attention.h"

#include <algorithm>

#include "kernels/cpu/attention_head.h"
#include "kernels/cpu/grouped_rows.h"
#include "kernels/portable/fused_grouped_attention.h"
#include "kernels/portable/gemm_slots.h"

namespace berth::cpu {
namespace {

using portable::GroupedAttention;

// Fewer multiplications than this in all are done before another thread has woken.
constexpr double kSerialWork = 65536;
// Up to this many queries a key's row is read again for each of them; beyond, transposed tiles are faster.
constexpr int64_t kFewQueries = 4;
// Of the heads of a group, which are computed together. No tensor bounds how many there are.
constexpr int64_t kMostScores = int64_t{1} << 40;
constexpr const char* kManyScores = "the heads of a group have more than 2^40 scores of a query";

bool increases(const int64_t* limit, int64_t queries) {
  return limit == nullptr || std::is_sorted(limit, limit + queries);
}

bool takes_tiles(const GroupedAttention& a) {
  return a.queries > kFewQueries && a.size > 0 && a.keys > 0 && increases(a.last, a.queries) &&
         increases(a.before, a.queries);
}

double work(const GroupedAttention& a) {
  return static_cast<double>(a.batch * a.heads * a.queries) * static_cast<double>(a.keys * (a.size + a.value_size));
}

// Query by query, the heads of a group together.

GroupedRows rows_of(const GroupedAttention& a, int64_t batch, int64_t group, int64_t query) {
  GroupedRows rows;
  const int64_t head = group * a.heads_per_group();
  const int64_t line = (batch * a.heads + head) * a.queries + query;
  rows.heads = a.heads_per_group();
  rows.size = a.size;
  rows.value_size = a.value_size;
  rows.query = a.query + line * a.size;
  rows.query_head = a.queries * a.size;
  rows.out = a.out + line * a.value_size;
  rows.out_head = a.queries * a.value_size;
  rows.key = a.keys_from(batch, group, 0);
  rows.value = a.values_from(batch, group, 0);
  rows.key_row = a.key_row();
  rows.value_row = a.value_row();
  rows.first = a.first_key(query);
  rows.end = a.end_key(query);
  rows.scale = a.scale;
  rows.hidden_result = a.hidden_result();
  rows.mask_head = a.mask_stride[1];
  rows.mask_column = a.mask_stride[3];
  if (a.mask == nullptr) return rows;
  const int64_t at = batch * a.mask_stride[0] + head * a.mask_stride[1] + query * a.mask_stride[2];
  if (a.mask->dtype() == DType::kF32) rows.mask = a.mask->data<float>() + at;
  if (a.mask->dtype() == DType::kBool) rows.allowed = a.mask->data<bool>() + at;
  return rows;
}

void run_rows(KernelContext& context, const GroupedAttention& a, int slots, size_t floats, float* scratch) {
  const int64_t items = a.batch * a.groups * a.queries;
  context.parallel_for(slots, 1, [&](int64_t begin, int64_t end) {
    for (int64_t slot = begin; slot < end; ++slot) {
      for (int64_t item = items * slot / slots; item < items * (slot + 1) / slots; ++item) {
        const int64_t group = item / a.queries;
        attend_grouped_rows(rows_of(a, group / a.groups, group % a.groups, item % a.queries), scratch + slot * floats);
      }
    }
  });
}

// Tiles of queries, head by head.

AttentionHead head_of(const GroupedAttention& a, int64_t batch, int64_t index) {
  AttentionHead head;
  const int64_t group = index / a.heads_per_group();
  const int64_t line = (batch * a.heads + index) * a.queries;
  head.query = a.query + line * a.size;
  head.out = a.out + line * a.value_size;
  head.query_row = head.size = a.size;
  head.out_row = head.value_size = a.value_size;
  head.key_row = a.key_row();
  head.value_row = a.value_row();
  // What no query sees is not read.
  head.first_key = std::min(a.first_key(0), a.keys - 1);
  head.keys = std::max<int64_t>(a.end_key(a.queries - 1) - head.first_key, 1);
  head.key = a.keys_from(batch, group, head.first_key);
  head.value = a.values_from(batch, group, head.first_key);
  head.scale = a.scale;
  head.last = a.last;
  head.before = a.before;
  head.hidden_result = a.hidden_result();
  head.mask_row = a.mask_stride[2];
  head.mask_column = a.mask_stride[3];
  if (a.mask == nullptr) return head;
  const int64_t at = batch * a.mask_stride[0] + index * a.mask_stride[1] + head.first_key * a.mask_stride[3];
  if (a.mask->dtype() == DType::kF32) head.mask = a.mask->data<float>() + at;
  if (a.mask->dtype() == DType::kBool) head.allowed = a.mask->data<bool>() + at;
  return head;
}

void run_tiles(KernelContext& context, const GroupedAttention& a, int slots, size_t floats, float* scratch) {
  const int64_t heads = a.batch * a.heads;
  const int64_t blocks = (a.queries + kAttentionRows - 1) / kAttentionRows;
  const int64_t parts = heads % slots == 0 || heads >= 8 * slots ? 1 : blocks;
  const int64_t items = heads * parts;
  context.parallel_for(slots, 1, [&](int64_t begin, int64_t end) {
    for (int64_t slot = begin; slot < end; ++slot) {
      float* own = scratch + slot * floats;
      int64_t packed = -1;  // the group whose keys lie in the scratch
      for (int64_t item = items * slot / slots; item < items * (slot + 1) / slots; ++item) {
        const int64_t index = item / parts;
        const int64_t part = item % parts;
        const AttentionHead head = head_of(a, index / a.heads, index % a.heads);
        const int64_t group = index / a.heads_per_group();
        if (group != packed) pack_attention(head, own);
        packed = group;
        attend(head, blocks * part / parts * kAttentionRows,
               std::min(blocks * (part + 1) / parts * kAttentionRows, a.queries), own);
      }
    }
  });
}

int most_slots(const GroupedAttention& a, int threads) {
  const int64_t items = std::max(a.batch * a.groups * a.queries, a.batch * a.heads);
  return portable::slots_for(threads, items, work(a), kSerialWork);
}

// Of either way, so that it does not depend on what the limits are.
size_t floats_of(const GroupedAttention& a) {
  size_t floats = grouped_rows_scratch_floats(a.heads_per_group(), a.keys);
  if (a.queries <= kFewQueries || a.size == 0 || a.keys == 0) return floats;
  AttentionHead head;
  head.keys = a.keys;
  head.size = a.size;
  head.value_size = a.value_size;
  head.key = a.key;
  return std::max(floats, attention_scratch_floats(head));
}

bool has_too_many_scores(const GroupedAttention& a) {
  return a.heads_per_group() > kMostScores / std::max<int64_t>(a.keys, 1);
}

// Whether there are scores at all, of sizes that memory bounds. Rows of queries and keys may have no elements.
bool gives_scores(const portable::GroupedOperands& args) {
  const Tensor& query = args.query;
  const Tensor& key = args.key;
  const Tensor& out = args.out;
  if (query.rank() != 4 || key.rank() != 4 || args.value.rank() != 4 || out.rank() != 4) return false;
  if (args.value.numel() == 0 || out.numel() == 0) return false;
  const bool same_rows = std::equal(query.sizes().begin(), query.sizes().begin() + 3, out.sizes().begin());
  const bool same_keys = std::equal(key.sizes().begin(), key.sizes().begin() + 3, args.value.sizes().begin());
  return same_rows && same_keys && query.size(1) % key.size(args.heads_dim()) == 0;
}

// Of what the kernel takes: what it refuses takes nothing.
size_t temp_bytes(const portable::GroupedOperands& args, int threads) {
  if (!gives_scores(args)) return 0;
  const Tensor& query = args.query;
  const Tensor& key = args.key;
  const Tensor& value = args.value;
  GroupedAttention a = {};
  a.batch = query.size(0);
  a.heads = query.size(1);
  a.queries = query.size(2);
  a.size = query.size(3);
  a.groups = key.size(args.heads_dim());
  a.keys = key.size(args.keys_dim());
  a.value_size = value.size(3);
  a.key = {nullptr, key.dtype()};
  if (has_too_many_scores(a)) return 0;
  const size_t slots = most_slots(a, threads);
  return slots * floats_of(a) * sizeof(float) + portable::kTempPadding;
}

Error run(KernelContext& context, const portable::GroupedOperands& args) {
  GroupedAttention a;
  BERTH_RETURN_IF_ERROR(portable::read_grouped_attention(context, args, &a));
  if (args.out.numel() == 0) return Error::kOk;
  if (a.keys == 0) {
    std::fill_n(a.out, args.out.numel(), 0.0f);
    return Error::kOk;
  }
  if (has_too_many_scores(a)) return context.fail(Error::kInvalidArgument, kManyScores);
  const int slots = most_slots(a, context.threads());
  size_t floats = floats_of(a);
  auto* scratch = static_cast<float*>(context.allocate_temp(slots * floats * sizeof(float)));
  // Values of an open size need more than those of the largest one where they do not fill registers.
  const bool tiles = takes_tiles(a) && scratch != nullptr;
  if (scratch == nullptr) {
    floats = grouped_rows_scratch_floats(a.heads_per_group(), a.keys);
    scratch = static_cast<float*>(context.allocate_temp(slots * floats * sizeof(float)));
  }
  if (scratch == nullptr) return Error::kMemoryAllocationFailed;
  if (tiles) {
    run_tiles(context, a, slots, floats, scratch);
  } else {
    run_rows(context, a, slots, floats, scratch);
  }
  return Error::kOk;
}

}  // namespace

size_t grouped_attention_temp_bytes(const arguments::grouped_attention_out& args, int threads) {
  return temp_bytes(portable::GroupedOperands(args), threads);
}

size_t grouped_attention_rows_temp_bytes(const arguments::grouped_attention_rows_out& args, int threads) {
  return temp_bytes(portable::GroupedOperands(args), threads);
}

Error grouped_attention_out(KernelContext& context, const arguments::grouped_attention_out& args) {
  return run(context, portable::GroupedOperands(args));
}

Error grouped_attention_rows_out(KernelContext& context, const arguments::grouped_attention_rows_out& args) {
  return run(context, portable::GroupedOperands(args));
}

}  // namespace berth::cpu
