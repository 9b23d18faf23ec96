// How a product of f32 is cut up: into items, each computed by one thread from start to end, and items into blocks.
//
// A panel of B (depth block x a tile's columns) lives in the first-level cache while the panels of A pass it; a block
// of B (depth block x column block) and the packed A live in the second-level cache. Only the depth block changes a
// result, in its last bits, and it depends on nothing but the product.
#pragma once

#include "kernels/portable/gemm_tile.h"

namespace berth::portable {

struct Plan {
  Product p;  // with its axes merged where they are one
  const TileSet* tiles = nullptr;
  bool contiguous = false;  // consecutive columns are neighbours in C
  bool direct = false;      // B is read where it lies
  bool resident = false;    // all of an item's A is packed at once, and kept for the next item that wants it
  int64_t depth_block = 0, column_block = 0, row_block = 0;
  int64_t column_parts = 1, row_parts = 1;
  int64_t items = 0;
  int64_t a_floats = 0, b_floats = 0;  // scratch memory of a slot
  int slots = 1;                       // threads that have scratch memory

  size_t floats() const { return static_cast<size_t>(slots) * static_cast<size_t>(a_floats + b_floats); }
};

/// REQUIRES: no size of the product is 0 but the depth.
Plan make_plan(const Product& product, int threads, const TileSet& tiles);

/// The most scratch memory that a slot of any plan has, in floats.
int64_t max_slot_floats();

}  // namespace berth::portable
