// topk: the k largest or smallest elements along a dimension, best first; NaN is larger than every number. Of equal
// elements the one with the smaller index comes first.
//
// The k best are kept in the outputs themselves, as a heap whose root is the worst of them, and sorted there, so no
// temporary memory is taken: O(n log k) at worst, and one comparison an element once the heap is good. A few are kept
// in order on the stack. Until the end the output of the elements has their keys, so that one sort is for all types of
// a size.
#include "kernels/portable/best_first.h"
#include "kernels/portable/dispatch.h"
#include "kernels/portable/layout_arguments.h"
#include "kernels/portable/order_key.h"
#include "kernels/portable/portable.h"

namespace berth::portable {
namespace {

// One row along the dimension.
template <typename T>
struct Row {
  using Key = UnsignedOf<sizeof(T)>;
  const T* self;
  int64_t size;
  int64_t stride;
  T* values;
  int64_t values_stride;
  int64_t* indices;
  int64_t indices_stride;
  int64_t k;
  Key flip;  // all ones to look for the smallest

  Key key(int64_t index) const { return order_key(self[index * stride]) ^ flip; }
  RankedSlots<Key> slots() const { return {values, values_stride, indices, indices_stride}; }
  // The index in slot `slot`. It is one that this row stored, but a file may have laid the memories over one another.
  int64_t index(int64_t slot) const {
    const int64_t index = indices[slot * indices_stride];
    return static_cast<uint64_t>(index) < static_cast<uint64_t>(size) ? index : 0;
  }
};

// The most that are kept in order: one more moves those behind it.
constexpr int64_t kFew = 32;

// REQUIRES: row.k <= kFew.
template <typename T>
void select_few(const Row<T>& row) {
  Ranked<typename Row<T>::Key> best[kFew];
  int64_t count = 0;
  for (int64_t i = 0; i < row.size; ++i) {
    const auto key = row.key(i);
    if (count == row.k && key <= best[count - 1].key) continue;  // an equal one that comes later is worse
    int64_t slot = count < row.k ? count++ : count - 1;
    for (; slot > 0 && best[slot - 1].key < key; --slot) best[slot] = best[slot - 1];
    best[slot] = {key, i};
  }
  for (int64_t i = 0; i < row.k; ++i) row.indices[i * row.indices_stride] = best[i].index;
}

template <typename T>
void select_many(const Row<T>& row) {
  const auto slots = row.slots();
  for (int64_t i = 0; i < row.k; ++i) slots.put(i, {row.key(i), i});
  if (row.k < row.size) {
    make_heap(slots, 0, row.k);
    auto worst = slots.key(0);
    for (int64_t i = row.k; i < row.size; ++i) {
      const auto key = row.key(i);
      if (key <= worst) continue;  // an equal one that comes later is worse
      sink(slots, 0, row.k, 0, {key, i});
      worst = slots.key(0);
    }
  }
  sort_slots(slots, row.k);
}

template <typename T>
void select_row(const Row<T>& row) {
  row.k <= kFew ? select_few(row) : select_many(row);
  for (int64_t i = 0; i < row.k; ++i) row.values[i * row.values_stride] = row.self[row.index(i) * row.stride];
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
    const auto flip = static_cast<typename Row<T>::Key>(largest ? 0 : UINT64_MAX);
    context.parallel_for(values.numel() / k, 16384 / size + 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        select_row(Row<T>{self.data<T>() + row_offset(self, dim, i), size, scalar ? 0 : self.stride(dim),
                          values.data<T>() + row_offset(values, dim, i), scalar ? 0 : values.stride(dim),
                          indices.data<int64_t>() + row_offset(indices, dim, i), scalar ? 0 : indices.stride(dim), k,
                          flip});
      }
    });
    return Error::kOk;
  });
}

}  // namespace berth::portable
