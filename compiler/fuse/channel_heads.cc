#include "compiler/fuse/channel_heads.h"

#include "compiler/fuse/moved.h"
#include "compiler/ir/same_product.h"

namespace berth::fuse {

using ir::Dim;
using ir::OpId;
using ir::ValueId;

std::optional<ChannelHeads> channel_heads(const Context& context, const Strided& from, bool turned) {
  if (from.sizes.size() != 4) return std::nullopt;
  ir::Symbols& symbols = context.symbols();
  const size_t token = turned ? 3 : 2, column = turned ? 2 : 3;
  const Dim batch = from.sizes[0], count = from.sizes[1], tokens = from.sizes[token], size = from.sizes[column];
  if (!count.is_constant() || !size.is_constant() || tokens == Dim(1) || from.strides[token] != Dim(1)) {
    return std::nullopt;
  }
  Dim elements = 1;
  for (const Dim of : context.type(from.base).shape) elements = symbols.mul(elements, of);
  // A distance in channels; -1 where it is not one of whole channels.
  const auto in_channels = [&](Dim distance) -> int64_t {
    const Dim channels = distance == Dim(0) ? distance : quotient(symbols, distance, tokens).value_or(Dim(-1));
    return channels.is_constant() ? channels.value : -1;
  };
  ChannelHeads heads;
  heads.base = from.base;
  heads.width = in_channels(quotient(symbols, elements, batch).value_or(Dim(0)));
  heads.first = in_channels(from.offset);
  heads.size = size.value;
  heads.stride = count == Dim(1) ? heads.size : in_channels(from.strides[1]);
  if (heads.first < 0 || heads.stride < heads.size) return std::nullopt;
  if (size != Dim(1) && from.strides[column] != tokens) return std::nullopt;
  if (batch != Dim(1) && !ir::same_product(symbols, {from.strides[0]}, {tokens, Dim(heads.width)})) return std::nullopt;
  if (heads.first + (count.value - 1) * heads.stride + heads.size > heads.width) return std::nullopt;
  return heads;
}

Expected<ValueId> rows_of_channels(Context& context, ir::Builder& build, const ChannelHeads& heads, Dim batch,
                                   Dim tokens, const std::string& source) {
  BERTH_ASSIGN_OR_RETURN(const ValueId channels,
                         with_shape(context, build, heads.base, {batch, Dim(heads.width), tokens}, source));
  return permuted_by(build, channels, {0, 2, 1}, source);
}

bool cuts_heads(const ChannelHeads& heads, int64_t count) {
  return heads.stride == heads.size || heads.width == count * heads.stride;
}

Expected<ValueId> heads_of_rows(Context& context, ir::Builder& build, const ChannelHeads& heads, int64_t count,
                                ValueId rows, const std::string& source) {
  const std::vector<Dim> shape = context.type(rows).shape;
  const auto columns = [&](ValueId value, int dim, int64_t width, int64_t size) -> Expected<ValueId> {
    if (size == width) return value;
    return build.one(OpId::slice_copy_Tensor_out, {value, Dim(dim), Dim(heads.first), Dim(heads.first + size), Dim(1)},
                     source);
  };
  if (heads.stride == heads.size) {
    BERTH_ASSIGN_OR_RETURN(const ValueId all, columns(rows, 2, heads.width, count * heads.size));
    return with_shape(context, build, all, {shape[0], shape[1], Dim(count), Dim(heads.size)}, source);
  }
  BERTH_ASSIGN_OR_RETURN(const ValueId parts,
                         with_shape(context, build, rows, {shape[0], shape[1], Dim(count), Dim(heads.stride)}, source));
  return columns(parts, 3, heads.stride, heads.size);
}

}  // namespace berth::fuse
