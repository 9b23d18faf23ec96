// Elements and slabs picked by indices, which only the device sees: one that is out of range is an error of the next
// call that waits for the stream.
#include <cstring>

#include "backends/vulkan/faults.h"
#include "backends/vulkan/kernels/kernels.h"
#include "backends/vulkan/kernels/places.h"
#include "backends/vulkan/kernels/typed.h"
#include "kernels/portable/index_arguments.h"
#include "kernels/portable/layout_sizes.h"

namespace berth::vulkan {
namespace {

// Along each dimension of the result: strides of the index and of what is picked from.
struct Picked {
  PickOp op;
  const Tensor& self;
  const Tensor& index;
  int dim;  // of self
  int64_t of_index[kMaxRank] = {};
  int64_t of_self[kMaxRank] = {};
  bool from_end = false;  // negative indices count from there
};

Error run(KernelContext& context, const Picked& picked, const Tensor& out) {
  if (out.numel() == 0) return Error::kOk;
  Launch ask = Launch::of_any_type(context, ShaderId::gather_words, ShaderId::gather);
  ask.writes(out).reads(picked.self).reads(picked.index).faults();
  const bool scalar = picked.self.rank() == 0;
  ask.number(scalar ? 1 : picked.self.size(picked.dim)).number(scalar ? 0 : picked.self.stride(picked.dim));
  ask.number(out.rank());
  for (int d = 0; d < out.rank(); ++d) ask.number(out.size(d));
  for (int d = 0; d < out.rank(); ++d) ask.number(out.stride(d));
  for (int d = 0; d < out.rank(); ++d) ask.number(picked.of_index[d]);
  for (int d = 0; d < out.rank(); ++d) ask.number(picked.of_self[d]);
  ask.number(picked.from_end ? 1 : 0).number(static_cast<int64_t>(picked.op));
  return ask.run(out.numel());
}

enum class Indices {
  kPlain,
  kKeepDim,  // a single one leaves the dimension where it is
  kFromEnd,  // negative ones count from there
};

// The dimension `dim` of `self` gives way to those of `index`.
Error pick_slabs(KernelContext& context, PickOp op, const Tensor& self, int dim, const Tensor& index, Indices indices,
                 Tensor& out) {
  BERTH_RETURN_IF_ERROR(portable::check_index(context, index));
  Picked picked = {op, self, index, dim};
  picked.from_end = indices == Indices::kFromEnd;
  portable::Sizes sizes;
  bool fits = true;
  const auto add = [&](int32_t size, int64_t of_index, int64_t of_self) {
    fits = fits && sizes.rank < kMaxRank;
    if (!fits) return;
    picked.of_index[sizes.rank] = of_index;
    picked.of_self[sizes.rank] = of_self;
    sizes.data[sizes.rank++] = size;
  };
  for (int d = 0; d < self.rank(); ++d) {
    if (d != dim) {
      add(self.sizes()[d], 0, self.stride(d));
      continue;
    }
    if (index.rank() == 0 && indices == Indices::kKeepDim) add(1, 0, 0);
    for (int i = 0; i < index.rank(); ++i) add(index.sizes()[i], index.stride(i), 0);
  }
  if (!fits) return context.fail(Error::kInvalidArgument, "the result has more than 16 dimensions");
  BERTH_RETURN_IF_ERROR(portable::prepare_out(context, self, out, sizes));
  if (self.numel() == 0 && out.numel() > 0) return portable::index_out_of_range(context);
  return run(context, picked, out);
}

}  // namespace

Error embedding_out(KernelContext& context, const arguments::embedding_out& args) {
  const Tensor& weight = args.weight;
  if (weight.rank() != 2) return context.fail(Error::kInvalidArgument, "embedding: weight must have two dimensions");
  return pick_slabs(context, PickOp::kEmbedding, weight, 0, args.indices, Indices::kPlain, args.out);
}

Error index_select_out(KernelContext& context, const arguments::index_select_out& args) {
  const Tensor& self = args.self;
  int dim = 0;
  BERTH_RETURN_IF_ERROR(portable::read_dim(context, args.dim, self, &dim));
  if (args.index.rank() > 1) {
    return context.fail(Error::kInvalidArgument, "index_select: index has more than one dimension");
  }
  if (self.rank() == 0) return context.fail(Error::kInvalidArgument, "index_select: self has rank 0");
  return pick_slabs(context, PickOp::kIndexSelect, self, dim, args.index, Indices::kKeepDim, args.out);
}

// By one tensor of indices, which is what embeddings of exported models are.
Error index_Tensor_out(KernelContext& context, const arguments::index_Tensor_out& args) {
  const Tensor* index = nullptr;
  int dim = 0, position = 0, count = 0;
  for (const Tensor* one : args.indices) {
    if (one != nullptr) {
      index = one;
      dim = position;
      ++count;
    }
    ++position;
  }
  if (count != 1 || position > args.self.rank()) {
    return context.fail(Error::kNotSupported, "vulkan devices take one tensor of indices");
  }
  return pick_slabs(context, PickOp::kIndex, args.self, dim, *index, Indices::kFromEnd, args.out);
}

Error gather_out(KernelContext& context, const arguments::gather_out& args) {
  const Tensor& self = args.self;
  const Tensor& index = args.index;
  int dim = 0;
  BERTH_RETURN_IF_ERROR(portable::prepare_gather(context, args, &dim));
  if (args.out.numel() == 0) return Error::kOk;
  if (self.numel() == 0) return portable::index_out_of_range(context);
  Picked picked = {PickOp::kGather, self, index, dim};
  for (int d = 0; d < args.out.rank(); ++d) {
    picked.of_index[d] = index.stride(d);
    picked.of_self[d] = d == dim ? 0 : self.stride(d);
  }
  return run(context, picked, args.out);
}

namespace {

enum class Scatter { kPut, kAdd };

// One of `src` and `value` is there.
template <typename Args>
Error scatter(KernelContext& context, const Args& args, PickOp op, Scatter kind, const Tensor* src,
              const EValue* value) {
  const Tensor& self = args.self;
  const Tensor& index = args.index;
  Tensor& out = args.out;
  int dim = 0;
  BERTH_RETURN_IF_ERROR(portable::check_scatter(context, self, args.dim, index, src, out, &dim));
  BERTH_RETURN_IF_ERROR(portable::prepare_out(context, self, out, portable::sizes_of(self)));
  portable::Element element;
  if (value != nullptr) BERTH_RETURN_IF_ERROR(portable::read_element(context, *value, out.dtype(), &element));
  BERTH_RETURN_IF_ERROR(copy_box(context, self.sizes(), self, 0, self.strides(), out, 0, out.strides()));
  if (index.numel() == 0) return Error::kOk;
  const auto stride = [dim](const Tensor* tensor) {
    return tensor == nullptr || tensor->rank() == 0 ? 0 : tensor->stride(dim);
  };
  PlacesOf<3> lines;  // of result, indices, source
  int64_t count = 1;
  for (int d = 0; d < index.rank(); ++d) {
    if (d == dim) continue;
    const int64_t strides[] = {out.stride(d), index.stride(d), src == nullptr ? 0 : src->stride(d)};
    lines.add(index.size(d), 3, strides);
    count *= index.size(d);
  }
  const int64_t length = index.rank() == 0 ? 1 : index.size(dim);
  Launch ask = Launch::of_any_type(context, ShaderId::scatter_words, ShaderId::scatter);
  ask.writes(out).reads(index).reads(src).faults();
  ask.number(kind == Scatter::kAdd ? 1 : 0).number(is_floating(out.dtype()) ? 1 : 0);
  ask.number(out.rank() == 0 ? 1 : out.size(dim)).number(length);
  ask.number(stride(&index)).number(stride(&out)).number(stride(src)).number(lines.rank);
  for (int d = 0; d < lines.rank; ++d) ask.number(lines.sizes[d]);
  for (const auto& strides : lines.strides) {
    for (int d = 0; d < lines.rank; ++d) ask.number(strides[d]);
  }
  uint32_t words[2];
  std::memcpy(words, element.bytes, sizeof words);
  ask.number(static_cast<int64_t>(op)).number(src != nullptr ? 1 : 0).word(words[0]).word(words[1]).rounds(length);
  return ask.run(count);
}

}  // namespace

Error scatter_src_out(KernelContext& context, const arguments::scatter_src_out& args) {
  return scatter(context, args, PickOp::kScatter, Scatter::kPut, &args.src, nullptr);
}
Error scatter_value_out(KernelContext& context, const arguments::scatter_value_out& args) {
  return scatter(context, args, PickOp::kScatter, Scatter::kPut, nullptr, &args.value);
}
Error scatter_add_out(KernelContext& context, const arguments::scatter_add_out& args) {
  return scatter(context, args, PickOp::kScatterAdd, Scatter::kAdd, &args.src, nullptr);
}

}  // namespace berth::vulkan
