#include "compiler/memory/packing/search_items.h"

#include <algorithm>
#include <numeric>
#include <tuple>

namespace berth::packing {
namespace {

void find_twins(std::vector<Item>* items) {
  std::vector<int32_t> order(items->size());
  std::iota(order.begin(), order.end(), 0);
  const auto key = [&](int32_t id) {
    const Item& item = (*items)[id];
    return std::tie(item.lower, item.upper, item.size, item.alignment);
  };
  std::stable_sort(order.begin(), order.end(), [&](int32_t a, int32_t b) { return key(a) < key(b); });
  for (size_t k = 1; k < order.size(); ++k) {
    if (key(order[k - 1]) == key(order[k])) (*items)[order[k]].twin = order[k - 1];
  }
}

}  // namespace

bool make_items(const Layout& layout, size_t most, Items* out) {
  if (layout.bodies.size() > most || layout.any_fixed() || !layout.rectangular()) return false;
  for (const Body& body : layout.bodies) {
    if (body.lowest > 0) return false;
  }
  make_rectangles(layout, out);
  return true;
}

void make_rectangles(const Layout& layout, Items* out) {
  int64_t unit = 0;
  bool aligned = false;
  for (size_t b = 0; b < layout.bodies.size(); ++b) {
    unit = std::gcd(unit, layout.pieces[b].size);
    aligned |= layout.bodies[b].alignment > 1;
  }
  if (aligned) {
    for (const Body& body : layout.bodies) unit = std::gcd(unit, body.alignment);
  }
  out->unit = std::max<int64_t>(unit, 1);
  out->sections = layout.sections;
  out->items.clear();
  for (size_t b = 0; b < layout.bodies.size(); ++b) {
    const Piece& piece = layout.pieces[b];
    Item item;
    item.lower = piece.lower;
    item.upper = piece.upper;
    item.size = piece.size / out->unit;
    item.alignment = std::max<int64_t>(layout.bodies[b].alignment / out->unit, 1);
    item.steps = piece.steps;
    out->items.push_back(item);
  }
  find_twins(&out->items);
}

}  // namespace berth::packing
