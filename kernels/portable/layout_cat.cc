// cat and stack: tensors side by side in one. Parts of other dtypes than the output's are converted.
#include "kernels/portable/convert.h"
#include "kernels/portable/iterate.h"
#include "kernels/portable/layout_slice.h"
#include "kernels/portable/portable.h"

namespace berth::portable {
namespace {

// What PyTorch passes over: the empty tensor of the days before tensors of other ranks could be empty.
bool is_legacy_empty(const Tensor& tensor) { return tensor.rank() == 1 && tensor.numel() == 0; }

Error check_parts(KernelContext& context, Span<EValue* const> parts, const Tensor& out) {
  if (parts.empty()) return context.fail(Error::kInvalidArgument, "there are no tensors to put together");
  for (const EValue* part : parts) {
    if (!part->is_tensor()) return context.fail(Error::kInvalidType, "an entry of the tensor list is no tensor");
    const DType dtype = part->tensor().dtype();
    const bool converts = is_real(dtype) && is_real(out.dtype()) && can_cast(dtype, out.dtype());
    if (dtype != out.dtype() && !converts) {
      return context.fail(Error::kInvalidArgument, "a tensor of the list cannot be converted to the dtype of out");
    }
    BERTH_RETURN_IF_ERROR(check_memory(context, part->tensor()));
  }
  return Error::kOk;
}

// The sizes of the concatenation along `dim`.
Error cat_sizes(KernelContext& context, Span<EValue* const> parts, const Tensor& model, int dim, Sizes* sizes) {
  int64_t total = 0;
  for (const EValue* item : parts) {
    const Tensor& part = item->tensor();
    if (is_legacy_empty(part)) continue;
    bool match = part.rank() == model.rank();
    for (int d = 0; match && d < part.rank(); ++d) match = d == dim || part.size(d) == model.size(d);
    if (!match) return context.fail(Error::kInvalidArgument, "cat: the tensors differ in a dimension other than dim");
    total += part.size(dim);  // below 2^31 each, and fewer than 2^32 of them
  }
  for (int d = 0; d < model.rank(); ++d) {
    if (!push_size(sizes, d == dim ? total : model.size(d))) {
      return context.fail(Error::kInvalidArgument, "cat: the concatenation is larger than 2^31 - 1 along dim");
    }
  }
  return Error::kOk;
}

// Copies `part` to the box of `out`, in the dtype of out.
void place(KernelContext& context, const Tensor& part, const SubBox& box, Tensor& out) {
  if (part.dtype() == out.dtype()) return copy_to_box(context, part, box, out);
  Walk walk(2);
  for (const uint8_t d : part.dim_order()) {
    const int64_t strides[] = {part.stride(d), box.strides[d]};
    walk.add(part.size(d), strides);
  }
  const size_t from_bytes = element_size(part.dtype());
  const size_t to_bytes = element_size(out.dtype());
  for_each_run(walk, 0, walk.count, [&](const int64_t* at, int64_t n) {
    const bool dense = walk.step(0) == 1 && walk.step(1) == 1;
    const int64_t run = dense ? n : 1;
    for (int64_t i = 0; i < n; i += run) {
      const auto from = static_cast<size_t>(at[0] + i * walk.step(0));
      const auto to = static_cast<size_t>(box.offset + at[1] + i * walk.step(1));
      convert_elements(part.dtype(), part.data<char>() + from * from_bytes, out.dtype(),
                       out.data<char>() + to * to_bytes, run);
    }
  });
}

}  // namespace

Error cat_out(KernelContext& context, Span<EValue* const> args) {
  const Span<EValue* const> parts = args[0]->items();
  Tensor& out = args[2]->tensor();
  BERTH_RETURN_IF_ERROR(check_parts(context, parts, out));
  const Tensor* model = &parts[0]->tensor();
  for (size_t i = 1; i < parts.size() && is_legacy_empty(*model); ++i) model = &parts[i]->tensor();
  if (model->rank() == 0) return context.fail(Error::kInvalidArgument, "cat: a tensor has rank 0");
  int dim = 0;
  BERTH_RETURN_IF_ERROR(read_dim(context, args[1]->integer(), *model, &dim));
  Sizes sizes;
  BERTH_RETURN_IF_ERROR(cat_sizes(context, parts, *model, dim, &sizes));
  BERTH_RETURN_IF_ERROR(resize_out(context, out, sizes.span()));
  BERTH_RETURN_IF_ERROR(check_memory(context, out));
  int64_t start = 0;
  for (const EValue* item : parts) {
    const Tensor& part = item->tensor();
    if (is_legacy_empty(part)) continue;
    place(context, part, slice_of(out, dim, start, part.size(dim), 1), out);
    start += part.size(dim);
  }
  return Error::kOk;
}

Error stack_out(KernelContext& context, Span<EValue* const> args) {
  const Span<EValue* const> parts = args[0]->items();
  Tensor& out = args[2]->tensor();
  BERTH_RETURN_IF_ERROR(check_parts(context, parts, out));
  const Tensor& model = parts[0]->tensor();
  int dim = 0;
  if (model.rank() == kMaxRank || !normalize_dim(args[1]->integer(), model.rank() + 1, &dim)) {
    return context.fail(Error::kInvalidArgument, "stack: dim is out of range, or the tensors have 16 dimensions");
  }
  for (const EValue* part : parts) {
    if (!same_sizes(part->tensor(), model)) {
      return context.fail(Error::kInvalidArgument, "stack: the tensors differ in their sizes");
    }
  }
  Sizes sizes;
  for (int d = 0; d <= model.rank(); ++d) {
    if (d == dim && !push_size(&sizes, static_cast<int64_t>(parts.size()))) {
      return context.fail(Error::kInvalidArgument, "stack: more than 2^31 - 1 tensors");
    }
    if (d < model.rank()) push_size(&sizes, model.size(d));
  }
  BERTH_RETURN_IF_ERROR(resize_out(context, out, sizes.span()));
  BERTH_RETURN_IF_ERROR(check_memory(context, out));
  for (size_t i = 0; i < parts.size(); ++i) {
    place(context, parts[i]->tensor(), select_of(out, dim, static_cast<int64_t>(i)), out);
  }
  return Error::kOk;
}

}  // namespace berth::portable
