// cat and stack: tensors side by side in one.
#include "kernels/portable/copy_strided.h"
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
    BERTH_RETURN_IF_ERROR(check_same_dtype(context, part->tensor(), out));
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
    copy_to_box(context, part, slice_of(out, dim, start, part.size(dim), 1), out);
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
    copy_to_box(context, parts[i]->tensor(), select_of(out, dim, static_cast<int64_t>(i)), out);
  }
  return Error::kOk;
}

}  // namespace berth::portable
