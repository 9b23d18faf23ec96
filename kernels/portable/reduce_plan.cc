#include "kernels/portable/reduce_plan.h"

#include "kernels/portable/broadcast.h"

namespace berth::portable {
namespace {

// Fewer outputs side by side than this are not worth a block of columns.
constexpr int64_t kFewColumns = 4;
// Rows of no more elements take longer to begin than to read; this is for pairs such as real and imaginary parts.
constexpr int64_t kShortRow = 8;

bool goes_by_columns(const Walk& outer, const Walk& inner) {
  if (inner.count <= 1 || outer.inner() < kFewColumns) return false;
  return outer.step(1) == 1 ? inner.step(0) != 1 : inner.count <= kShortRow;
}

}  // namespace

Walk outer_walk(const Tensor& self, const Tensor& out, const ReducedDims& dims) {
  int kept[kMaxRank];
  int count = 0;
  for (int d = 0; d < self.rank(); ++d) {
    if (dims.keepdim || (dims.mask >> d & 1u) == 0) kept[count++] = d;
  }
  Walk walk(2);
  for (const uint8_t out_dim : out.dim_order()) {
    const int dim = kept[out_dim];
    if ((dims.mask >> dim & 1u) != 0) continue;
    const int64_t strides[] = {out.stride(out_dim), self.stride(dim)};
    walk.add(self.size(dim), strides);
  }
  return walk;
}

Walk inner_walk(const Tensor& self, uint32_t mask, bool logical_order) {
  Walk walk(1);
  for (int i = 0; i < self.rank(); ++i) {
    const int dim = logical_order ? i : self.dim_order()[i];
    const int64_t stride = self.stride(dim);
    if ((mask >> dim & 1u) != 0) walk.add(self.size(dim), &stride);
  }
  return walk;
}

Error read_reduced_dim(KernelContext& context, int64_t dim, const Tensor& self, uint32_t* mask) {
  int normal = 0;
  if (!normalize_dim(dim, self.rank(), &normal)) {
    return context.fail(Error::kInvalidArgument, "the dimension to reduce is out of range");
  }
  if ((*mask >> normal & 1u) != 0) {
    return context.fail(Error::kInvalidArgument, "a dimension is named twice in the list of those to reduce");
  }
  // The one dimension that a tensor of rank 0 is said to have is not a bit of a mask.
  if (self.rank() != 0) *mask |= uint32_t{1} << normal;
  return Error::kOk;
}

Error read_reduced_dims(KernelContext& context, const std::optional<IntList>& dims, const Tensor& self,
                        uint32_t* mask) {
  *mask = 0;
  if (!dims.has_value() || dims->empty()) {
    *mask = all_dims(self);
    return Error::kOk;
  }
  for (const int64_t dim : *dims) {
    if (const Error error = read_reduced_dim(context, dim, self, mask); error != Error::kOk) return error;
  }
  return Error::kOk;
}

Error resize_reduced(KernelContext& context, const Tensor& self, const ReducedDims& dims, Tensor& out) {
  Sizes sizes;
  for (int d = 0; d < self.rank(); ++d) {
    const bool reduced = (dims.mask >> d & 1u) != 0;
    if (!reduced) sizes.data[sizes.rank++] = static_cast<int32_t>(self.size(d));
    if (reduced && dims.keepdim) sizes.data[sizes.rank++] = 1;
  }
  return resize_out(context, out, sizes.span());
}

ReducePlan::ReducePlan(const Tensor& self, const Tensor& out, const ReducedDims& dims, DType common, bool logical_order)
    : self_(self),
      outer_(outer_walk(self, out, dims)),
      inner_(inner_walk(self, dims.mask, logical_order)),
      common_(common),
      compute_(compute_dtype(common)),
      bytes_(static_cast<int64_t>(element_size(self.dtype()))),
      columns_(goes_by_columns(outer_, inner_)),
      direct_(self.dtype() == compute_ && (common == compute_ || common == self.dtype())) {}

void ReducePlan::load(const void* source, void* target, int64_t n) const {
  if (common_ == compute_ || common_ == self_.dtype()) {
    return convert_elements(self_.dtype(), source, compute_, target, n);
  }
  alignas(64) unsigned char middle[kChunk * 8];
  convert_elements(self_.dtype(), source, common_, middle, n);
  convert_elements(common_, middle, compute_, target, n);
}

}  // namespace berth::portable
