// Strided: describes a value as a strided view of another value, through operators that only move elements.
//
//     %v = aten::view_copy(%x: f32[64,864], [1, 64, 3, 6, 48])
//     %p = aten::permute_copy(%v, [2, 0, 3, 1, 4])
//     %k = aten::slice_copy(%p, 0, 1, 2)           →   %k is %x from element 288 on, strides [288, 0, 48, 864, 1]
#pragma once

#include "compiler/fuse/context.h"

namespace berth::fuse {

struct Strided {
  ir::ValueId base;
  int64_t offset = 0;
  std::vector<int64_t> sizes;
  std::vector<int64_t> strides;  // of the base's elements in row-major order
  double scale = 1;              // what the elements are multiplied by
};

/// `value` as a strided view of the earliest value that it is one of: of itself when there is no other. Multiplications
/// by numbers are followed when `scaled`. REQUIRES: its sizes are known and it is row-major.
Strided strided(const Context& context, ir::ValueId value, bool scaled);

/// Whether it has known sizes and row-major order.
bool is_plain(const Context& context, ir::ValueId value);

/// The dimensions of `from` that have more than one element.
struct Axis {
  int64_t size, stride;
};
std::vector<Axis> axes_of(const Strided& from);

}  // namespace berth::fuse
