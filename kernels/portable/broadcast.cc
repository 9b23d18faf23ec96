#include "kernels/portable/broadcast.h"

namespace berth::portable {

bool same_sizes(const Tensor& a, const Tensor& b) { return a.sizes() == b.sizes(); }

bool same_layout(const Tensor& a, const Tensor& b) {
  if (!same_sizes(a, b)) return false;
  return (a.is_contiguous() && b.is_contiguous()) || a.dim_order() == b.dim_order();
}

bool broadcast_sizes(Span<const int32_t> more, Sizes* sizes) {
  const int rank = static_cast<int>(more.size());
  if (rank > sizes->rank) {
    const int added = rank - sizes->rank;
    for (int i = sizes->rank - 1; i >= 0; --i) sizes->data[i + added] = sizes->data[i];
    for (int i = 0; i < added; ++i) sizes->data[i] = 1;
    sizes->rank = rank;
  }
  for (int i = 0; i < rank; ++i) {
    int32_t& mine = sizes->data[sizes->rank - 1 - i];
    const int32_t theirs = more[rank - 1 - i];
    if (mine == 1) {
      mine = theirs;
    } else if (theirs != 1 && theirs != mine) {
      return false;
    }
  }
  return true;
}

Error resize_out(KernelContext& context, Tensor& out, Span<const int32_t> sizes) {
  const Error error = out.resize(sizes);
  if (error == Error::kOk) return error;
  return context.fail(error, "the output tensor cannot take the sizes of the result");
}

Error resize_broadcast(KernelContext& context, Tensor& out, Span<const Tensor* const> inputs) {
  Sizes sizes;
  for (const Tensor* input : inputs) {
    if (input == nullptr) continue;
    if (!broadcast_sizes(input->sizes(), &sizes)) {
      return context.fail(Error::kInvalidArgument, "the sizes of the inputs do not broadcast to one another");
    }
  }
  return resize_out(context, out, sizes.span());
}

bool normalize_dim(int64_t dim, int rank, int* out) {
  const int64_t count = rank == 0 ? 1 : rank;
  if (dim < -count || dim >= count) return false;
  *out = static_cast<int>(dim < 0 ? dim + count : dim);
  return true;
}

}  // namespace berth::portable
