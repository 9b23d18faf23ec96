#include "kernels/portable/layout_sizes.h"

#include "kernels/portable/convert.h"

namespace berth::portable {
namespace {

// How far each dimension rolls.
Error read_shifts(KernelContext& context, const Tensor& self, const Integers& shifts, const Integers& dims,
                  int64_t* shift_of) {
  for (int d = 0; d < self.rank(); ++d) shift_of[d] = 0;
  if (dims.count != shifts.count) {
    return context.fail(Error::kInvalidArgument, "roll: shifts and dims differ in length");
  }
  for (int i = 0; i < dims.count; ++i) {
    int dim = 0;
    BERTH_RETURN_IF_ERROR(read_dim(context, dims[i], self, &dim));
    if (self.rank() == 0 || self.size(dim) == 0) continue;
    const int64_t size = self.size(dim);
    shift_of[dim] = ((shift_of[dim] + shifts[i] % size) % size + size) % size;
  }
  return Error::kOk;
}

Error check_parts(KernelContext& context, TensorList parts, const Tensor& out) {
  if (parts.empty()) return context.fail(Error::kInvalidArgument, "there are no tensors to put together");
  for (const EValue* part : parts.values()) {
    if (!part->is_tensor()) return context.fail(Error::kInvalidType, "an entry of the tensor list is not a tensor");
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
Error cat_sizes(KernelContext& context, TensorList parts, const Tensor& model, int dim, Sizes* sizes) {
  int64_t total = 0;
  for (const Tensor& part : parts) {
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

Error resize_with_memory(KernelContext& context, const Sizes& sizes, Tensor& out) {
  BERTH_RETURN_IF_ERROR(resize_out(context, out, sizes.span()));
  return check_memory(context, out);
}

}  // namespace

Error read_view(KernelContext& context, const Tensor& self, IntList list, Sizes* out) {
  Integers wanted;
  BERTH_RETURN_IF_ERROR(read_integers(context, list, &wanted));
  int inferred = -1;
  int64_t known = 1;
  for (int i = 0; i < wanted.count; ++i) {
    if (wanted[i] == -1 && inferred < 0) {
      inferred = i;
      if (push_size(out, 0)) continue;
    } else if (push_size(out, wanted[i]) && !__builtin_mul_overflow(known, wanted[i], &known)) {
      continue;
    }
    return context.fail(Error::kInvalidArgument, "view_copy: size has a dimension below -1, a second -1, or too many");
  }
  if (inferred >= 0) {
    if (known == 0 || self.numel() % known != 0 || self.numel() / known > INT32_MAX) {
      return context.fail(Error::kInvalidArgument,
                          "view_copy: no size for the dimension -1 gives the elements of self");
    }
    out->data[inferred] = static_cast<int32_t>(self.numel() / known);
    return Error::kOk;
  }
  if (known == self.numel()) return Error::kOk;
  return context.fail(Error::kInvalidArgument, "view_copy: size does not have as many elements as self");
}

Error read_squeeze(KernelContext& context, const Tensor& self, const Integers& dims, Sizes* out) {
  bool dropped[kMaxRank] = {};
  for (int i = 0; i < dims.count; ++i) {
    int dim = 0;
    BERTH_RETURN_IF_ERROR(read_dim(context, dims[i], self, &dim));
    if (dropped[dim]) return context.fail(Error::kInvalidArgument, "squeeze_copy: dim names a dimension twice");
    dropped[dim] = true;
  }
  for (int d = 0; d < self.rank(); ++d) {
    if (!dropped[d] || self.size(d) != 1) push_size(out, self.size(d));
  }
  return Error::kOk;
}

Error read_unsqueeze(KernelContext& context, const Tensor& self, int64_t dim, Sizes* out) {
  int position = 0;
  if (self.rank() == kMaxRank || !normalize_dim(dim, self.rank() + 1, &position)) {
    return context.fail(Error::kInvalidArgument, "unsqueeze_copy: dim is out of range, or self has 16 dimensions");
  }
  for (int d = 0; d <= self.rank(); ++d) {
    if (d == position) push_size(out, 1);
    if (d < self.rank()) push_size(out, self.size(d));
  }
  return Error::kOk;
}

Error read_repeat(KernelContext& context, const Tensor& self, IntList list, Integers* repeats, Sizes* out) {
  BERTH_RETURN_IF_ERROR(read_integers(context, list, repeats));
  const int added = repeats->count - self.rank();
  if (added < 0 || repeats->count > kMaxRank) {
    return context.fail(Error::kInvalidArgument, "repeat: repeats has fewer entries than self dimensions, or over 16");
  }
  for (int d = 0; d < repeats->count; ++d) {
    const int64_t own = d < added ? 1 : self.size(d - added);
    const int64_t times = (*repeats)[d];
    int64_t size = 0;
    if (times < 0 || __builtin_mul_overflow(own, times, &size) || !push_size(out, size)) {
      return context.fail(Error::kInvalidArgument, "repeat: an entry of repeats is negative or too large");
    }
  }
  return Error::kOk;
}

Error read_roll(KernelContext& context, const Tensor& self, IntList shifts, IntList dims, bool* as_one_row,
                int64_t* shift_of) {
  Integers by;
  Integers along;
  BERTH_RETURN_IF_ERROR(read_integers(context, shifts, &by));
  BERTH_RETURN_IF_ERROR(read_integers(context, dims, &along));
  *as_one_row = along.count == 0;
  if (!*as_one_row) return read_shifts(context, self, by, along, shift_of);
  if (by.count != 1) return context.fail(Error::kInvalidArgument, "roll: without dims there must be one shift");
  const int64_t count = self.numel();
  shift_of[0] = count == 0 ? 0 : (by[0] % count + count) % count;
  return Error::kOk;
}

Error read_glu(KernelContext& context, const Tensor& self, int64_t wanted_dim, int* dim, Sizes* out) {
  BERTH_RETURN_IF_ERROR(read_dim(context, wanted_dim, self, dim));
  if (self.rank() == 0 || self.size(*dim) % 2 != 0) {
    return context.fail(Error::kInvalidArgument, "glu: the dimension to halve must have an even size");
  }
  *out = sizes_of(self);
  out->data[*dim] /= 2;
  return Error::kOk;
}

Error prepare_cat(KernelContext& context, TensorList parts, int64_t wanted_dim, Tensor& out, int* dim) {
  BERTH_RETURN_IF_ERROR(check_parts(context, parts, out));
  const Tensor* model = &parts[0];
  for (size_t i = 1; i < parts.size() && is_legacy_empty(*model); ++i) model = &parts[i];
  if (model->rank() == 0) return context.fail(Error::kInvalidArgument, "cat: a tensor has rank 0");
  BERTH_RETURN_IF_ERROR(read_dim(context, wanted_dim, *model, dim));
  Sizes sizes;
  BERTH_RETURN_IF_ERROR(cat_sizes(context, parts, *model, *dim, &sizes));
  return resize_with_memory(context, sizes, out);
}

Error prepare_stack(KernelContext& context, TensorList parts, int64_t wanted_dim, Tensor& out, int* dim) {
  BERTH_RETURN_IF_ERROR(check_parts(context, parts, out));
  const Tensor& model = parts[0];
  if (model.rank() == kMaxRank || !normalize_dim(wanted_dim, model.rank() + 1, dim)) {
    return context.fail(Error::kInvalidArgument, "stack: dim is out of range, or the tensors have 16 dimensions");
  }
  for (const Tensor& part : parts) {
    if (!same_sizes(part, model)) {
      return context.fail(Error::kInvalidArgument, "stack: the tensors differ in their sizes");
    }
  }
  Sizes sizes;
  for (int d = 0; d <= model.rank(); ++d) {
    if (d == *dim && !push_size(&sizes, static_cast<int64_t>(parts.size()))) {
      return context.fail(Error::kInvalidArgument, "stack: more than 2^31 - 1 tensors");
    }
    if (d < model.rank()) push_size(&sizes, model.size(d));
  }
  return resize_with_memory(context, sizes, out);
}

}  // namespace berth::portable
