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
  ir::Dim offset = 0;
  std::vector<ir::Dim> sizes;
  std::vector<ir::Dim> strides;  // of the base's elements in row-major order
  double scale = 1;              // what the elements are multiplied by
};

/// `value` as a strided view of the earliest value that it is one of: of itself when there is no other. Multiplications
/// by numbers are followed when `scaled`. Sizes may be symbols: what is said holds whatever they become.
/// REQUIRES: is_row_major().
Strided strided(const Context& context, ir::ValueId value, bool scaled);

/// Gives `*from` other sizes: the same elements in the same order. False, with `*from` as it was, when their distances
/// are not regular then or these are not as many, and of an empty tensor, whose sizes do not divide each other.
bool regroup(ir::Symbols& symbols, const std::vector<ir::Dim>& sizes, Strided* from);

/// Whether it is a tensor in row-major order.
bool is_row_major(const Context& context, ir::ValueId value);
/// Whether it is of f32 too; false where `value` is invalid.
bool is_row_major_f32(const Context& context, ir::ValueId value);
/// Whether it has known sizes too.
bool is_plain(const Context& context, ir::ValueId value);

/// `a` / `b` where that has no remainder whatever their symbols become, as far as their text shows it.
std::optional<ir::Dim> quotient(ir::Symbols& symbols, ir::Dim a, ir::Dim b);

/// The dimensions of `from` but those of one element.
struct Axis {
  ir::Dim size, stride;
};
std::vector<Axis> axes_of(const Strided& from);

}  // namespace berth::fuse
