#include "compiler/fuse/image_places.h"

namespace berth::fuse {

using ir::Dim;

Strided whole_image(ir::Symbols& symbols, ir::ValueId image, const std::vector<Dim>& sizes) {
  Strided whole;
  whole.base = image;
  whole.sizes = sizes;
  whole.strides.assign(sizes.size(), 1);
  for (size_t d = sizes.size() - 1; d > 0; --d) whole.strides[d - 1] = symbols.mul(whole.strides[d], sizes[d]);
  return whole;
}

bool permute(const std::vector<int64_t>& order, Strided* moved) {
  if (order.size() != moved->sizes.size()) return false;
  const Strided from = *moved;
  for (size_t d = 0; d < order.size(); ++d) {
    moved->sizes[d] = from.sizes[order[d]];
    moved->strides[d] = from.strides[order[d]];
  }
  return true;
}

bool keeps_places(ir::Symbols& symbols, const std::vector<Dim>& sizes, const Strided& moved) {
  if (moved.sizes.size() != 4) return false;
  // Where the places are the same, all that is left are the channels.
  const Dim area = symbols.mul(sizes[2], sizes[3]);
  Strided places = moved;
  for (std::vector<Dim>* of : {&places.sizes, &places.strides}) of->erase(of->begin() + 1);
  if (!regroup(symbols, {sizes[0], area}, &places)) return false;
  const bool images = sizes[0] == Dim(1) || places.strides[0] == symbols.mul(sizes[1], area);
  return images && (area == Dim(1) || places.strides[1] == Dim(1));
}

}  // namespace berth::fuse
