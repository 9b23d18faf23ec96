// Elements picked and placed by tensors of indices; and arange. An index out of range is a fault (queue.h), and its
// element 0, or left as it is where it would be written.
#include <type_traits>

#include "backends/cuda/kernels/copy.h"
#include "backends/cuda/kernels/kernels.h"
#include "backends/cuda/kernels/launch.h"
#include "backends/cuda/kernels/place.h"
#include "base/result.h"
#include "kernels/portable/convert.h"
#include "kernels/portable/create_range.h"
#include "kernels/portable/create_scalar.h"
#include "kernels/portable/dispatch.h"
#include "kernels/portable/index_arguments.h"

namespace berth::cuda {
namespace {

using portable::check_index;
using portable::prepare_out;
using portable::push_size;
using portable::read_dim;
using portable::Sizes;
using portable::sizes_of;
using portable::Walk;

BERTH_HD inline int64_t read_index(const void* indices, bool wide, int64_t at) {
  return wide ? static_cast<const int64_t*>(indices)[at] : static_cast<const int32_t*>(indices)[at];
}

bool is_wide(const Tensor& index) { return index.dtype() == DType::kI64; }

// --- gather, index_select, embedding: along one dimension of self, the index says where.

struct PickBody {
  const void* self;
  const void* indices;
  void* out;
  uint32_t* fault;
  int bytes;
  bool wide;
  int64_t size;      // of the dimension
  int64_t stride;    // of self in it
  Places<3> places;  // out, self (which does not move along the dimension), index

  BERTH_HD void operator()(int64_t i) const {
    int64_t at[3];
    places.at(i, at);
    const int64_t pick = read_index(indices, wide, at[2]);
    if (pick < 0 || pick >= size) {
      raise(fault, kIndexOutOfRange);
      return zero_element(out, at[0], bytes);
    }
    move_element(self, at[1] + pick * stride, out, at[0], bytes);
  }
};

Error pick(KernelContext& context, const Tensor& self, int dim, const Tensor& index, const Walk& walk, Tensor& out) {
  const bool scalar = self.rank() == 0;
  const PickBody body{self.raw(),
                      index.raw(),
                      out.raw(),
                      queue_of(context).fault,
                      static_cast<int>(element_size(self.dtype())),
                      is_wide(index),
                      scalar ? 1 : self.size(dim),
                      scalar ? 0 : self.stride(dim),
                      Places<3>(walk)};
  return for_each(context, out.numel(), body);
}

// The dimension `dim` of `self` gives way to those of `index`.
Error pick_slabs(KernelContext& context, const Tensor& self, int dim, const Tensor& index, bool keep_dim, Tensor& out) {
  BERTH_RETURN_IF_ERROR(check_index(context, index));
  // Of each dimension of the result: its size, and the strides of self and of index in it.
  Sizes sizes;
  int64_t strides[kMaxRank][2];
  bool fits = true;
  const auto add = [&](int64_t size, int64_t self_stride, int64_t index_stride) {
    if (sizes.rank < kMaxRank) {
      strides[sizes.rank][0] = self_stride;
      strides[sizes.rank][1] = index_stride;
    }
    fits = fits && push_size(&sizes, size);
  };
  for (int d = 0; d < self.rank(); ++d) {
    if (d != dim) add(self.size(d), self.stride(d), 0);
    for (int i = 0; d == dim && i < index.rank(); ++i) add(index.size(i), 0, index.stride(i));
    if (d == dim && keep_dim) add(1, 0, 0);
  }
  if (!fits) return context.fail(Error::kInvalidArgument, "the result has more than 16 dimensions");
  BERTH_RETURN_IF_ERROR(prepare_out(context, self, out, sizes));
  Walk walk(3);
  for (const uint8_t d : out.dim_order()) {
    const int64_t all[] = {out.stride(d), strides[d][0], strides[d][1]};
    walk.add(out.size(d), all);
  }
  return pick(context, self, dim, index, walk, out);
}

// --- scatter: elements of one place come from one line along the dimension alone, so that a thread for each line keeps
// the order in which they are written. Of a single value no order shows: a thread for each index.

enum class Scatter : uint8_t { kSource, kValue, kAdd };

struct Value {
  uint64_t parts[2] = {0, 0};
};

struct ScatterBody {
  const void* src;
  const void* indices;
  void* out;
  uint32_t* fault;
  Scatter kind;
  DType dtype;
  int bytes;
  bool wide;
  int64_t length;  // of a line of the index
  int64_t parts;   // of a line, a thread each: 1, or one an index
  int64_t index_stride;
  int64_t src_stride;
  int64_t size;  // of out along the dimension
  int64_t out_stride;
  Value value;
  Places<3> lines;  // out, index, src

  template <typename T>
  BERTH_HD void add(int64_t to, int64_t from) const {
    if constexpr (std::is_same_v<T, int64_t>) {
      const auto sum =
          static_cast<uint64_t>(load<T>(out, dtype, to)) + static_cast<uint64_t>(load<T>(src, dtype, from));
      store(out, dtype, to, static_cast<T>(sum));
    } else {
      store(out, dtype, to, load<T>(out, dtype, to) + load<T>(src, dtype, from));
    }
  }

  BERTH_HD void put(int64_t to, int64_t from) const {
    if (kind == Scatter::kSource) return move_element(src, from, out, to, bytes);
    if (kind == Scatter::kValue) return move_element(value.parts, 0, out, to, bytes);
    if (dtype == DType::kF64) return add<double>(to, from);
    if (is_real_floating()) return add<float>(to, from);
    add<int64_t>(to, from);
  }
  BERTH_HD bool is_real_floating() const {
    return dtype == DType::kF32 || dtype == DType::kF16 || dtype == DType::kBF16;
  }

  BERTH_HD void operator()(int64_t i) const {
    int64_t at[3];
    const Division by_part = divide(i, parts);
    lines.at(by_part.quotient, at);
    const int64_t first = by_part.rest;
    const int64_t end = parts == 1 ? length : first + 1;
    for (int64_t k = first; k < end; ++k) {
      const int64_t pick = read_index(indices, wide, at[1] + k * index_stride);
      if (pick < 0 || pick >= size) {
        raise(fault, kIndexOutOfRange);
      } else {
        put(at[0] + pick * out_stride, at[2] + k * src_stride);
      }
    }
  }
};

template <typename Args>
Error run_scatter(KernelContext& context, const Args& args, Scatter kind, const Tensor* src, Value value) {
  const Tensor& self = args.self;
  const Tensor& index = args.index;
  Tensor& out = args.out;
  int dim = 0;
  BERTH_RETURN_IF_ERROR(portable::check_scatter(context, self, args.dim, index, src, out, &dim));
  if (kind == Scatter::kAdd && !portable::is_real(out.dtype())) return portable::unsupported_dtype(context);
  BERTH_RETURN_IF_ERROR(prepare_out(context, self, out, sizes_of(self)));
  BERTH_RETURN_IF_ERROR(copy_tensor(context, self, out));
  if (index.numel() == 0) return Error::kOk;
  ScatterBody body{};
  body.src = src == nullptr ? nullptr : src->raw();
  body.indices = index.raw();
  body.out = out.raw();
  body.fault = queue_of(context).fault;
  body.kind = kind;
  body.dtype = out.dtype();
  body.bytes = static_cast<int>(element_size(out.dtype()));
  body.wide = is_wide(index);
  body.value = value;
  const bool scalar = self.rank() == 0;
  body.length = scalar ? 1 : index.size(dim);
  body.index_stride = scalar ? 0 : index.stride(dim);
  body.src_stride = scalar || src == nullptr ? 0 : src->stride(dim);
  body.size = scalar ? 1 : out.size(dim);
  body.out_stride = scalar ? 0 : out.stride(dim);
  Walk lines(3);
  for (int d = 0; d < index.rank(); ++d) {
    if (d == dim) continue;
    const int64_t strides[] = {out.stride(d), index.stride(d), src == nullptr ? 0 : src->stride(d)};
    lines.add(index.size(d), strides);
  }
  body.lines = Places<3>(lines);
  body.parts = kind == Scatter::kValue ? body.length : 1;
  return for_each(context, lines.count * body.parts, body);
}

// --- self[indices] with tensors of integers.

struct IndexBody {
  static constexpr int kMost = 6;
  struct Index {
    const void* base;
    bool wide;
    int64_t size;    // of the dimension of self
    int64_t stride;  // of self in it
  };

  const void* self;
  void* out;
  uint32_t* fault;
  int bytes;
  int count;
  Index indices[kMost];
  Places<kMost + 2> places;  // out, self's other dimensions, each index

  BERTH_HD void operator()(int64_t i) const {
    int64_t at[kMost + 2];
    places.at(i, at);
    int64_t source = at[1];
    for (int k = 0; k < count; ++k) {
      int64_t pick = read_index(indices[k].base, indices[k].wide, at[k + 2]);
      if (pick < -indices[k].size || pick >= indices[k].size) {
        raise(fault, kIndexOutOfRange);
        return zero_element(out, at[0], bytes);
      }
      if (pick < 0) pick += indices[k].size;
      source += pick * indices[k].stride;
    }
    move_element(self, source, out, at[0], bytes);
  }
};

// A list of index tensors, and where the dimensions that they make stand in the result.
struct IndexList {
  const Tensor* tensor[kMaxRank];  // of each dimension of self; null where it is not indexed
  int count = 0;
  Sizes shape;    // what they broadcast to
  int front = 0;  // where that stands in the result
};

Error read_list(KernelContext& context, const Tensor& self, OptionalTensorList list, IndexList* out) {
  if (list.size() > static_cast<size_t>(self.rank())) {
    return context.fail(Error::kInvalidArgument, "index: more index tensors than dimensions");
  }
  int last = -1;
  bool together = true;
  for (int d = 0; d < self.rank(); ++d) {
    const size_t at = d;
    out->tensor[d] = at < list.size() ? list[at] : nullptr;
    if (out->tensor[d] == nullptr) continue;
    if (out->tensor[d]->dtype() == DType::kBool || out->tensor[d]->dtype() == DType::kU8) {
      return context.fail(Error::kNotSupported, "index: a mask's number of places is not known on the host");
    }
    BERTH_RETURN_IF_ERROR(check_index(context, *out->tensor[d]));
    if (!portable::broadcast_sizes(out->tensor[d]->sizes(), &out->shape)) {
      return context.fail(Error::kInvalidArgument, "the index tensors do not broadcast to one another");
    }
    if (out->count == 0) out->front = d;
    together = together && (last < 0 || last == d - 1);
    last = d;
    ++out->count;
  }
  if (out->count > IndexBody::kMost) {
    return context.fail(Error::kInvalidArgument, "index: more than 6 index tensors on this device");
  }
  if (!together) out->front = 0;
  return Error::kOk;
}

// The stride of `tensor` in dimension `dim` of a shape of `rank` dimensions that it broadcasts to.
int64_t stretched_stride(const Tensor& tensor, int rank, int dim) {
  const int own = dim - (rank - tensor.rank());
  return own < 0 || tensor.size(own) == 1 ? 0 : tensor.stride(own);
}

// --- arange.

struct RangeBody {
  void* out;
  DType dtype;
  portable::Range range;

  BERTH_HD void operator()(int64_t i) const {
    if (range.whole) {
      const uint64_t x =
          static_cast<uint64_t>(range.whole_start) + static_cast<uint64_t>(range.whole_step) * static_cast<uint64_t>(i);
      return store(out, dtype, i, static_cast<int64_t>(x));
    }
    store(out, dtype, i, range.real_start + range.real_step * static_cast<double>(i));
  }
};

Error range(KernelContext& context, const EValue& start, const EValue& end, const EValue& step, Tensor& out) {
  portable::Range range;
  BERTH_RETURN_IF_ERROR(portable::prepare_range(context, start, end, step, out, &range));
  return for_each(context, out.numel(), RangeBody{out.raw(), out.dtype(), range});
}

}  // namespace

Error gather_out(KernelContext& context, const arguments::gather_out& args) {
  const Tensor& self = args.self;
  const Tensor& index = args.index;
  Tensor& out = args.out;
  int dim = 0;
  BERTH_RETURN_IF_ERROR(portable::prepare_gather(context, args, &dim));
  // An index without elements may have more dimensions than self.
  if (out.numel() == 0) return Error::kOk;
  Walk walk(3);
  for (const uint8_t d : out.dim_order()) {
    const int64_t strides[] = {out.stride(d), d == dim ? 0 : self.stride(d), index.stride(d)};
    walk.add(index.size(d), strides);
  }
  return pick(context, self, dim, index, walk, out);
}

Error index_select_out(KernelContext& context, const arguments::index_select_out& args) {
  const Tensor& self = args.self;
  const Tensor& index = args.index;
  int dim = 0;
  BERTH_RETURN_IF_ERROR(read_dim(context, args.dim, self, &dim));
  if (index.rank() > 1) return context.fail(Error::kInvalidArgument, "index_select: index has more than one dimension");
  if (self.rank() == 0) return context.fail(Error::kInvalidArgument, "index_select: self has rank 0");
  // A single index picks one slab, and its dimension stays.
  return pick_slabs(context, self, dim, index, index.rank() == 0, args.out);
}

Error embedding_out(KernelContext& context, const arguments::embedding_out& args) {
  const Tensor& weight = args.weight;
  if (weight.rank() != 2) return context.fail(Error::kInvalidArgument, "embedding: weight must have two dimensions");
  return pick_slabs(context, weight, 0, args.indices, false, args.out);
}

Error scatter_src_out(KernelContext& context, const arguments::scatter_src_out& args) {
  return run_scatter(context, args, Scatter::kSource, &args.src, Value());
}
Error scatter_add_out(KernelContext& context, const arguments::scatter_add_out& args) {
  return run_scatter(context, args, Scatter::kAdd, &args.src, Value());
}
Error scatter_value_out(KernelContext& context, const arguments::scatter_value_out& args) {
  portable::Element element;
  BERTH_RETURN_IF_ERROR(portable::read_element(context, args.value, args.out.dtype(), &element));
  Value value;
  __builtin_memcpy(value.parts, element.bytes, sizeof value.parts);
  return run_scatter(context, args, Scatter::kValue, nullptr, value);
}

// Masks, whose number of places the host cannot know, are not taken.
Error index_Tensor_out(KernelContext& context, const arguments::index_Tensor_out& args) {
  const Tensor& self = args.self;
  Tensor& out = args.out;
  IndexList list;
  BERTH_RETURN_IF_ERROR(read_list(context, self, args.indices, &list));
  IndexBody body{};
  Sizes sizes;
  int64_t strides[kMaxRank][IndexBody::kMost + 1] = {};  // of self and of each index, a dimension of the result
  bool fits = true;
  const auto add_shape = [&] {
    for (int i = 0; i < list.shape.rank; ++i) {
      int k = 0;
      for (int d = 0; d < self.rank() && sizes.rank < kMaxRank; ++d) {
        if (list.tensor[d] == nullptr) continue;
        strides[sizes.rank][1 + k++] = stretched_stride(*list.tensor[d], list.shape.rank, i);
      }
      fits = fits && push_size(&sizes, list.shape.data[i]);
    }
  };
  bool placed = false;
  for (int d = 0; d < self.rank(); ++d) {
    if (!placed && d == list.front) add_shape(), placed = true;
    if (list.tensor[d] != nullptr) {
      body.indices[body.count++] = {list.tensor[d]->raw(), is_wide(*list.tensor[d]), self.size(d), self.stride(d)};
      continue;
    }
    if (sizes.rank < kMaxRank) strides[sizes.rank][0] = self.stride(d);
    fits = fits && push_size(&sizes, self.size(d));
  }
  if (!fits) return context.fail(Error::kInvalidArgument, "the result has more than 16 dimensions");
  BERTH_RETURN_IF_ERROR(prepare_out(context, self, out, sizes));
  body.self = self.raw();
  body.out = out.raw();
  body.fault = queue_of(context).fault;
  body.bytes = static_cast<int>(element_size(self.dtype()));
  // A walk has four operands at most: the dimensions of the result as they are.
  body.places.rank = out.rank() == 0 ? 1 : out.rank();
  for (int i = 0; i < out.rank(); ++i) {
    const int d = out.dim_order()[i];
    body.places.sizes[i] = out.size(d);
    body.places.strides[0][i] = out.stride(d);
    for (int k = 0; k <= IndexBody::kMost; ++k) body.places.strides[1 + k][i] = strides[d][k];
  }
  return for_each(context, out.numel(), body);
}

Error arange_out(KernelContext& context, const arguments::arange_out& args) {
  return range(context, EValue(int64_t{0}), args.end, EValue(int64_t{1}), args.out);
}
Error arange_start_out(KernelContext& context, const arguments::arange_start_out& args) {
  return range(context, args.start, args.end, args.step, args.out);
}

}  // namespace berth::cuda
