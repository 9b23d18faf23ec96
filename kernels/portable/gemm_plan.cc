#include "kernels/portable/gemm_plan.h"

#include <algorithm>

#include "base/math.h"
#include "kernels/portable/gemm_slots.h"

namespace berth::portable {
namespace {

// Short for the sake of exactness: a block is summed by itself and added to the rest, so that the error of a sum grows
// with this and not with the depth. Against double precision, the largest error of resnet50 (outputs up to 2.04) is
// 3.0e-5 with 128, 2.4e-5 with 64 and 1.8e-5 with 32, at 31, 34 and 39 ms.
constexpr int64_t kDepthBlock = 64;
constexpr int64_t kDirectDepthBlock = 32;
constexpr int64_t kColumnBlock = 256;
constexpr int64_t kRowBlock = 112;
constexpr int64_t kResidentFloats = 64 * 1024;
constexpr int64_t kColumnGrain = 32;
constexpr int64_t kMaxTapsAligned = 64;
// Below this many multiplications waking another thread costs more than it saves.
constexpr double kSerialWork = 1 << 19;

// An axis without taps that is read from end to end can be one with the next.
bool is_whole(const Product::Axis& axis) {
  return axis.taps == 1 && axis.origin == 0 && axis.step == 1 && axis.size == axis.count;
}

Product merge_axes(Product p) {
  for (Product::Axis& axis : p.axis) {
    if (axis.count == 1 && axis.taps == 1 && axis.origin == 0) axis.size = axis.step = 1;
  }
  Product::Axis& inner = p.axis[2];
  for (int i = 1; i >= 0; --i) {
    Product::Axis& outer = p.axis[i];
    if (outer.count == 1 && is_whole(outer)) continue;
    if (!is_whole(outer) || !is_whole(inner)) break;
    if (outer.b != inner.b * inner.count || outer.c != inner.c * inner.count) break;
    inner.count *= outer.count;
    inner.size = inner.count;
    outer = Product::Axis();
  }
  return p;
}

bool columns_are_contiguous_in_c(const Product& p) {
  int64_t expected = 1;
  for (int i = 2; i >= 0; --i) {
    if (p.axis[i].count > 1 && p.axis[i].c != expected) return false;
    expected *= p.axis[i].count;
  }
  return true;
}

void cut_columns(Plan& plan, int64_t batches) {
  const int64_t columns = plan.p.columns();
  const int64_t wanted = plan.slots > 1 ? 2 * plan.slots : 1;
  int64_t parts = plan.direct ? 1 : ceil_div(columns, kColumnBlock);
  if (plan.slots > 1 && parts > 1) parts = align_up<int64_t>(parts, plan.slots);
  if (!plan.direct && batches * parts < wanted) {
    plan.row_parts =
        std::clamp<int64_t>(plan.p.rows / (2 * kMaxTileRows), 1, ceil_div<int64_t>(wanted, batches * parts));
  }
  if (batches * parts * plan.row_parts < plan.slots) parts = ceil_div<int64_t>(wanted, batches * plan.row_parts);
  plan.column_block = align_up<int64_t>(ceil_div(columns, parts), plan.direct ? kMaxTileColumns : kColumnGrain);
  plan.column_parts = ceil_div(columns, plan.column_block);
}

}  // namespace

Plan make_plan(const Product& product, int threads, const TileSet& tiles) {
  Plan plan;
  plan.p = merge_axes(product);
  plan.tiles = &tiles;
  const Product& p = plan.p;
  const int64_t batches = p.batches();
  const int64_t depth = p.depth();
  const double work = static_cast<double>(batches) * static_cast<double>(p.rows) * static_cast<double>(p.columns()) *
                      static_cast<double>(depth);
  plan.slots = slots_for(threads, kMaxSlots, work, kSerialWork);
  plan.contiguous = columns_are_contiguous_in_c(p);
  plan.direct = p.rows <= kMaxTileRows && is_matrix(p) && p.axis[2].b == 1 && plan.contiguous;
  cut_columns(plan, batches);

  const int64_t wanted_block = plan.direct ? kDirectDepthBlock : kDepthBlock;
  plan.depth_block = ceil_div(depth, std::max<int64_t>(1, ceil_div(depth, wanted_block)));
  if (p.taps() > 1 && p.taps() <= kMaxTapsAligned) plan.depth_block = align_up(plan.depth_block, p.taps());
  const int64_t item_rows = ceil_div(p.rows, plan.row_parts);
  plan.resident = item_rows <= kResidentFloats && depth <= kResidentFloats && item_rows * depth <= kResidentFloats;
  plan.row_block = plan.resident ? item_rows : std::min(item_rows, kRowBlock);
  plan.a_floats = align_up<int64_t>(plan.resident ? item_rows * depth : plan.row_block * plan.depth_block, 16);
  plan.b_floats = (plan.direct ? kMaxTileColumns : plan.column_block) * plan.depth_block;
  plan.b_floats = align_up<int64_t>(plan.b_floats, 16);
  plan.items = batches * plan.row_parts * plan.column_parts;
  plan.slots = static_cast<int>(std::min<int64_t>(plan.slots, plan.items));
  return plan;
}

int64_t max_slot_floats() {
  constexpr int64_t kMostDepth = kDepthBlock + kMaxTapsAligned;
  return std::max(kResidentFloats, kRowBlock * kMostDepth) + kColumnBlock * kMostDepth + 32;
}

}  // namespace berth::portable
