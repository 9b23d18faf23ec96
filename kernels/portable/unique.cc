// unique: which rows of [count, width] differ, ordered by their elements or by where they first stand.
//
// No temporary memory is taken: the permutation that is sorted lies in `first`, which has room for an index a row. A
// file may have laid the memories over one another: what is read back from an output is held to be a row of `self`, and
// heaps stay within their bounds where the order changes while they are made.
#include <algorithm>

#include "kernels/portable/dispatch.h"
#include "kernels/portable/layout_arguments.h"
#include "kernels/portable/order_key.h"
#include "kernels/portable/portable.h"

namespace berth::portable {
namespace {

template <typename T>
struct Rows {
  const T* data;
  int64_t count;
  int64_t width;

  int64_t held(int64_t row) const { return row >= 0 && row < count ? row : 0; }
  const T* row(int64_t i) const { return data + held(i) * width; }

  /// Below 0 where row `a` comes first, above 0 where `b` does.
  int compare(int64_t a, int64_t b) const {
    const T* row_a = row(a);
    const T* row_b = row(b);
    for (int64_t i = 0; i < width; ++i) {
      const uint64_t key_a = order_key(row_a[i]);
      const uint64_t key_b = order_key(row_b[i]);
      if (key_a != key_b) return key_a < key_b ? -1 : 1;
    }
    return 0;
  }
};

struct Places {
  int64_t* first;
  int64_t* inverse;
  int64_t* counts;
};

// Equal rows stand together in `first`; each group's first row is the group's, as ties keep their order.
template <typename T>
int64_t number_by_elements(const Rows<T>& rows, const Places& places) {
  int64_t groups = 0;
  for (int64_t i = 0; i < rows.count; ++i) {
    const int64_t row = rows.held(places.first[i]);
    if (groups == 0 || rows.compare(places.first[groups - 1], row) != 0) {
      places.first[groups] = row;
      places.counts[groups++] = 0;
    }
    places.inverse[row] = groups - 1;
    ++places.counts[groups - 1];
  }
  return groups;
}

// `inverse` holds the first row of each row's group, which lies before the row; then the group's number.
template <typename T>
int64_t number_by_place(const Rows<T>& rows, const Places& places) {
  for (int64_t i = 0, leader = 0; i < rows.count; ++i) {
    const int64_t row = rows.held(places.first[i]);
    if (i == 0 || rows.compare(leader, row) != 0) leader = row;
    places.inverse[row] = leader;
  }
  int64_t groups = 0;
  for (int64_t row = 0; row < rows.count; ++row) {
    const int64_t leader = rows.held(places.inverse[row]);
    const int64_t group = leader == row ? groups : rows.held(places.inverse[leader]);
    if (leader == row) {
      places.first[groups] = row;
      places.counts[groups++] = 0;
    }
    places.inverse[row] = group;
    ++places.counts[group];
  }
  return groups;
}

Error shrink(KernelContext& context, Tensor& out, int64_t count) {
  Sizes sizes = sizes_of(out);
  sizes.data[0] = static_cast<int32_t>(count);
  return resize_out(context, out, sizes.span());
}

Error check_arguments(KernelContext& context, const arguments::unique_out& args) {
  if (args.self.rank() != 2) return context.fail(Error::kInvalidArgument, "unique takes rows: [count, width]");
  for (const Tensor* list : {&args.first, &args.inverse, &args.counts}) {
    if (list->dtype() != DType::kI64) return context.fail(Error::kInvalidArgument, "unique: indices must be i64");
  }
  if (!args.self.is_contiguous() || !args.rows.is_contiguous()) {
    return context.fail(Error::kInvalidArgument, "unique takes and gives rows that lie one after another");
  }
  return Error::kOk;
}

}  // namespace

Error unique_out(KernelContext& context, const arguments::unique_out& args) {
  const Tensor& self = args.self;
  BERTH_RETURN_IF_ERROR(prepare_out(context, self, args.rows, sizes_of(self)));
  BERTH_RETURN_IF_ERROR(check_arguments(context, args));
  const int64_t count = self.size(0);
  const int32_t sizes[] = {static_cast<int32_t>(count)};
  for (Tensor* list : {&args.first, &args.inverse, &args.counts}) {
    BERTH_RETURN_IF_ERROR(resize_out(context, *list, sizes));
    BERTH_RETURN_IF_ERROR(check_memory(context, *list));
  }
  const Places places = {args.first.data<int64_t>(), args.inverse.data<int64_t>(), args.counts.data<int64_t>()};
  int64_t groups = 0;
  BERTH_RETURN_IF_ERROR(dispatch_real(context, self.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    const Rows<T> rows = {self.data<T>(), count, self.size(1)};
    const auto before = [&](int64_t a, int64_t b) {
      const int order = rows.compare(a, b);
      return order != 0 ? order < 0 : a < b;
    };
    for (int64_t i = 0; i < count; ++i) places.first[i] = i;
    std::make_heap(places.first, places.first + count, before);
    std::sort_heap(places.first, places.first + count, before);
    groups = args.sorted ? number_by_elements(rows, places) : number_by_place(rows, places);
    T* to = args.rows.data<T>();
    for (int64_t group = 0; group < groups; ++group) {
      const T* row = rows.row(places.first[group]);
      for (int64_t i = 0; i < rows.width; ++i) to[group * rows.width + i] = row[i];
    }
    return Error::kOk;
  }));
  BERTH_RETURN_IF_ERROR(shrink(context, args.rows, groups));
  BERTH_RETURN_IF_ERROR(shrink(context, args.first, groups));
  return shrink(context, args.counts, groups);
}

}  // namespace berth::portable
