// The arguments of berth::grouped_attention, checked once for every kernel of it.
//
//     out[b, h, i, :] = sum over j of softmax_j(scale * query[b, h, i, :] . key[b, g, j, :] + mask) * value[b, g, j, :]
//
// with g = h / (heads / groups): several heads of queries read one head of keys. Query i sees the keys j with
// before[i] < j <= last[i], where these are given. Keys that no query sees are not read; one that only others see
// counts with a weight of 0, like one that a mask hides. A query whose scores are all -infinity, or that sees no key,
// gives NaN, as softmax does; `guarded` makes that zeros, as PyTorch's scaled_dot_product_attention has it. Where there
// are no keys at all, the sum over them is zero.
//
// berth::grouped_attention.rows reads key[b, j, g, :] and value[b, j, g, :]: caches whose rows hold all heads.
#pragma once

#include "base/half.h"
#include "kernels/portable/arguments.h"
#include "runtime/kernel.h"

namespace berth::portable {

/// Keys or values: f32, or bf16 or f16, which are widened as they are read.
struct CacheRows {
  const void* data = nullptr;
  DType dtype = DType::kF32;

  bool is_wide() const { return dtype == DType::kF32; }
  /// REQUIRES: T is what `dtype` says: float, BFloat16 or Half.
  template <typename T>
  const T* as() const {
    return static_cast<const T*>(data);
  }
  float at(int64_t i) const {
    if (is_wide()) return as<float>()[i];
    return dtype == DType::kBF16 ? static_cast<float>(as<BFloat16>()[i]) : static_cast<float>(as<Half>()[i]);
  }
  /// From element `i` on.
  CacheRows from(int64_t i) const {
    return {as<uint8_t>() + i * (is_wide() ? sizeof(float) : sizeof(uint16_t)), dtype};
  }
};

/// The arguments of either operator.
struct GroupedOperands {
  template <typename Args>
  GroupedOperands(const Args& args, bool rows_of_heads)
      : query(args.query),
        key(args.key),
        value(args.value),
        mask(args.mask),
        last(args.last),
        before(args.before),
        scale(args.scale),
        guarded(args.guarded),
        out(args.out),
        by_rows(rows_of_heads) {}
  explicit GroupedOperands(const arguments::grouped_attention_out& args) : GroupedOperands(args, false) {}
  explicit GroupedOperands(const arguments::grouped_attention_rows_out& args) : GroupedOperands(args, true) {}

  const Tensor& query;
  const Tensor& key;
  const Tensor& value;
  const Tensor* mask;
  const Tensor* last;
  const Tensor* before;
  double scale;
  bool guarded;
  Tensor& out;
  bool by_rows;  // a row of the cache holds all heads of a key

  /// The dimensions of key and value that are heads, and keys.
  int heads_dim() const { return by_rows ? 2 : 1; }
  int keys_dim() const { return by_rows ? 1 : 2; }
};

/// Query [batch, heads, queries, size] of f32, key [batch, groups, keys, size] and value [batch, groups, keys,
/// value_size], or [batch, keys, groups, …] by rows, both of one of f32, bf16 and f16; all row-major.
struct GroupedAttention {
  const float* query;
  CacheRows key;
  CacheRows value;
  float* out;
  const Tensor* mask;     // f32, added to the scores, or bool; may be null
  const int64_t* last;    // of each query; may be null
  const int64_t* before;  // the same
  int64_t batch, heads, groups, queries, keys, size, value_size;
  float scale;
  bool guarded;
  int64_t mask_stride[4];  // of batch, head, query and key; 0 where it stretches
  bool by_rows;

  /// From one key of a group to the next.
  int64_t key_row() const { return by_rows ? groups * size : size; }
  int64_t value_row() const { return by_rows ? groups * value_size : value_size; }
  /// From key `j` of a group on.
  CacheRows keys_from(int64_t b, int64_t group, int64_t j) const { return key.from(element(b, group, j, size)); }
  CacheRows values_from(int64_t b, int64_t group, int64_t j) const {
    return value.from(element(b, group, j, value_size));
  }
  int64_t heads_per_group() const { return heads / groups; }
  /// The keys [begin, end) that query `i` sees, those of the mask apart.
  int64_t first_key(int64_t i) const;
  int64_t end_key(int64_t i) const;
  /// What a query gives whose scores are all -infinity.
  float hidden_result() const;
  /// What is added to the score of a key: 0 or a number of the mask, -infinity where it hides the key.
  float mask_at(int64_t b, int64_t head, int64_t i, int64_t j) const;

 private:
  int64_t element(int64_t b, int64_t group, int64_t j, int64_t row) const {
    return (by_rows ? (b * keys + j) * groups + group : (b * groups + group) * keys + j) * row;
  }
};

/// Checks dtypes, sizes and memory of all arguments and sets the sizes of the output.
Error read_grouped_attention(KernelContext& context, const GroupedOperands& args, GroupedAttention* attention);

}  // namespace berth::portable
