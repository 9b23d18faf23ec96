// topk: the k largest or smallest elements along a dimension, best first; NaN is larger than every number. Of equal
// elements the one with the smaller index comes first.
//
// The k best indices are kept in the output itself, as a heap whose root is the worst of them, so no temporary memory
// is taken: O(n log k) at worst, and one comparison an element once the heap is good. A few are kept in order on the
// stack.
#include "kernels/portable/dispatch.h"
#include "kernels/portable/layout_arguments.h"
#include "kernels/portable/order_key.h"
#include "kernels/portable/portable.h"

namespace berth::portable {
namespace {

// One row along the dimension.
template <typename T>
struct Row {
  const T* self;
  int64_t size;
  int64_t self_stride;
  T* values;
  int64_t values_stride;
  int64_t* indices;
  int64_t indices_stride;
  int64_t k;
  uint64_t flip;  // all ones to look for the smallest

  // The index in slot `slot`. It is one that this row stored, but a file may have laid the memories over one another.
  int64_t at(int64_t slot) const {
    const int64_t index = indices[slot * indices_stride];
    return static_cast<uint64_t>(index) < static_cast<uint64_t>(size) ? index : 0;
  }
  void put(int64_t slot, int64_t index) const { indices[slot * indices_stride] = index; }
  uint64_t key(int64_t index) const { return order_key(self[index * self_stride]) ^ flip; }

  // Whether element `a` comes after element `b`.
  bool worse(int64_t a, int64_t b) const {
    const uint64_t key_a = key(a);
    const uint64_t key_b = key(b);
    return key_a != key_b ? key_a < key_b : a > b;
  }
};

// Lets the index in `slot` sink to its place in a heap of `count` slots whose root is the worst.
template <typename T>
void sink(const Row<T>& row, int64_t slot, int64_t count) {
  const int64_t index = row.at(slot);
  while (true) {
    int64_t child = 2 * slot + 1;
    if (child >= count) break;
    if (child + 1 < count && row.worse(row.at(child + 1), row.at(child))) ++child;
    if (!row.worse(row.at(child), index)) break;
    row.put(slot, row.at(child));
    slot = child;
  }
  row.put(slot, index);
}

// The most that are kept in order: one more moves those behind it.
constexpr int64_t kFew = 32;

// The indices of the k best, with their keys, best first. REQUIRES: row.k <= kFew.
template <typename T>
void select_few(const Row<T>& row) {
  uint64_t keys[kFew];
  int64_t indices[kFew];
  int64_t count = 0;
  for (int64_t i = 0; i < row.size; ++i) {
    const uint64_t key = row.key(i);
    if (count == row.k && key <= keys[count - 1]) continue;  // an equal one that comes later is worse
    int64_t slot = count < row.k ? count++ : count - 1;
    for (; slot > 0 && keys[slot - 1] < key; --slot) {
      keys[slot] = keys[slot - 1];
      indices[slot] = indices[slot - 1];
    }
    keys[slot] = key;
    indices[slot] = i;
  }
  for (int64_t i = 0; i < row.k; ++i) {
    row.put(i, indices[i]);
    row.values[i * row.values_stride] = row.self[indices[i] * row.self_stride];
  }
}

template <typename T>
void select_row(const Row<T>& row) {
  if (row.k <= kFew) return select_few(row);
  for (int64_t i = 0; i < row.k; ++i) row.put(i, i);
  for (int64_t i = row.k / 2 - 1; i >= 0; --i) sink(row, i, row.k);
  uint64_t worst = row.key(row.at(0));
  for (int64_t i = row.k; i < row.size; ++i) {
    if (row.key(i) <= worst) continue;  // an equal one that comes later is worse
    row.put(0, i);
    sink(row, 0, row.k);
    worst = row.key(row.at(0));
  }
  for (int64_t count = row.k - 1; count > 0; --count) {
    const int64_t last = row.at(0);
    row.put(0, row.at(count));
    row.put(count, last);
    sink(row, 0, count);
  }
  for (int64_t i = 0; i < row.k; ++i) row.values[i * row.values_stride] = row.self[row.at(i) * row.self_stride];
}

// Offset of row `row` in `tensor`: its coordinates in all dimensions but `dim`.
int64_t row_offset(const Tensor& tensor, int dim, int64_t row) {
  int64_t offset = 0;
  for (int d = tensor.rank() - 1; d >= 0; --d) {
    if (d == dim) continue;
    offset += row % tensor.size(d) * tensor.stride(d);
    row /= tensor.size(d);
  }
  return offset;
}

}  // namespace

Error topk_values(KernelContext& context, const arguments::topk_values& args) {
  const Tensor& self = args.self;
  const int64_t k = args.k;
  const bool largest = args.largest;
  Tensor& values = args.values;
  Tensor& indices = args.indices;
  int dim = 0;
  BERTH_RETURN_IF_ERROR(read_dim(context, args.dim, self, &dim));
  const int64_t size = self.rank() == 0 ? 1 : self.size(dim);
  if (k < 0 || k > size) return context.fail(Error::kInvalidArgument, "topk: k is not between 0 and the dimension");
  if (indices.dtype() != DType::kI64) return context.fail(Error::kInvalidArgument, "topk: indices must be i64");
  Sizes sizes = sizes_of(self);
  if (self.rank() > 0) sizes.data[dim] = static_cast<int32_t>(k);
  BERTH_RETURN_IF_ERROR(prepare_out(context, self, values, sizes));
  BERTH_RETURN_IF_ERROR(resize_out(context, indices, sizes.span()));
  BERTH_RETURN_IF_ERROR(check_memory(context, indices));
  if (k == 0 || values.numel() == 0) return Error::kOk;
  const bool scalar = self.rank() == 0;
  return dispatch_real(context, self.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    context.parallel_for(values.numel() / k, 16384 / size + 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        select_row(Row<T>{self.data<T>() + row_offset(self, dim, i), size, scalar ? 0 : self.stride(dim),
                          values.data<T>() + row_offset(values, dim, i), scalar ? 0 : values.stride(dim),
                          indices.data<int64_t>() + row_offset(indices, dim, i), scalar ? 0 : indices.stride(dim), k,
                          largest ? 0 : UINT64_MAX});
      }
    });
    return Error::kOk;
  });
}

}  // namespace berth::portable
