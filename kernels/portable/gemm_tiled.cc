// Products of f32, by blocks and tiles.
#include <algorithm>

#include "base/math.h"
#include "kernels/portable/gemm_plan.h"
#include "kernels/portable/gemm_slots.h"

namespace berth::portable {
namespace {

// Rows [first, first + count) cut into panels of about the same height.
struct RowPanels {
  int64_t first, count, panels, base, extra;

  RowPanels(int64_t first_row, int64_t row_count, int64_t max_rows)
      : first(first_row), count(row_count), panels(ceil_div(row_count, max_rows)) {
    base = count / panels;
    extra = count % panels;
  }
  int height(int64_t panel) const { return static_cast<int>(base + (panel < extra ? 1 : 0)); }
};

// The work of one thread.
class Worker {
 public:
  Worker(const Plan& plan, float* scratch)
      : plan_(plan), p_(plan.p), tiles_(*plan.tiles), a_pack_(scratch), b_pack_(scratch + plan.a_floats) {}

  void run(int64_t item) {
    const int64_t column_part = item % plan_.column_parts;
    item /= plan_.column_parts;
    const int64_t row_part = item % plan_.row_parts;
    item /= plan_.row_parts;
    const int64_t i0 = item / p_.batch[1].count;
    const int64_t i1 = item % p_.batch[1].count;
    const float* a = static_cast<const float*>(p_.a) + i0 * p_.batch[0].a + i1 * p_.batch[1].a;
    b_ = static_cast<const float*>(p_.b) + i0 * p_.batch[0].b + i1 * p_.batch[1].b;
    c_ = static_cast<float*>(p_.c) + i0 * p_.batch[0].c + i1 * p_.batch[1].c;
    start_ = static_cast<const float*>(p_.start);
    if (start_ != nullptr) start_ += i0 * p_.batch[0].start + i1 * p_.batch[1].start;
    if (a != a_ || row_part != row_part_) resident_depth_ = 0;
    a_ = a;
    row_part_ = row_part;
    first_row_ = p_.rows * row_part / plan_.row_parts;
    end_row_ = p_.rows * (row_part + 1) / plan_.row_parts;
    first_column_ = column_part * plan_.column_block;
    end_column_ = std::min(first_column_ + plan_.column_block, p_.columns());
    const int64_t depth = p_.depth();
    k0_ = 0;
    do {
      depth_ = std::min(plan_.depth_block, depth - k0_);
      run_depth_block();
      k0_ += plan_.depth_block;
    } while (k0_ < depth);
  }

 private:
  // The width of the panel that starts where `left` columns are left.
  int panel_width(int64_t left) const {
    const int v = tiles_.vector;
    if (plan_.direct && left >= 4 * v && end_row_ - first_row_ <= tiles_.max_rows_wide) return 4 * v;
    return left > v ? 2 * v : v;
  }

  void run_depth_block() {
    if (!plan_.direct) {
      float* out = b_pack_;
      for (int64_t column = first_column_; column < end_column_;) {
        const int width = panel_width(end_column_ - column);
        pack_panel(column, width, out);
        column += width;
        out += width * depth_;
      }
    }
    for (int64_t row = first_row_; row < end_row_; row += plan_.row_block) {
      run_row_block(RowPanels(row, std::min(plan_.row_block, end_row_ - row), tiles_.max_rows));
    }
  }

  void pack_panel(int64_t column, int width, float* out) {
    const int valid = static_cast<int>(std::min<int64_t>(width, end_column_ - column));
    tiles_.pack_columns(p_, b_, column, valid, width, k0_, depth_, out);
  }

  const float* packed_rows(const RowPanels& rows) {
    float* block = plan_.resident ? a_pack_ + rows.count * k0_ : a_pack_;
    if (plan_.resident && k0_ < resident_depth_) return block;
    float* out = block;
    int64_t row = rows.first;
    for (int64_t i = 0; i < rows.panels; ++i) {
      tiles_.pack_rows(p_, a_, row, rows.height(i), k0_, depth_, out);
      row += rows.height(i);
      out += rows.height(i) * depth_;
    }
    resident_depth_ = k0_ + depth_;
    return block;
  }

  void run_row_block(const RowPanels& rows) {
    const float* a = packed_rows(rows);
    const float* packed = b_pack_;
    for (int64_t column = first_column_; column < end_column_;) {
      const int64_t left = end_column_ - column;
      const int width = panel_width(left);
      if (!plan_.direct) {
        run_panel(rows, a, packed, width, column, static_cast<int>(std::min<int64_t>(width, left)), width);
        packed += width * depth_;
      } else if (left >= width) {
        run_panel(rows, a, b_ + k0_ * p_.channel_b + column, p_.channel_b, column, width, width);
      } else {
        pack_panel(column, width, b_pack_);
        run_panel(rows, a, b_pack_, width, column, static_cast<int>(left), width);
      }
      column += width;
    }
  }

  // All rows of the block against one panel of columns.
  void run_panel(const RowPanels& rows, const float* a, const float* b, int64_t b_step, int64_t column, int valid,
                 int width) {
    const int vectors = width / tiles_.vector;
    const auto& functions = vectors == 1 ? tiles_.one : vectors == 2 ? tiles_.two : tiles_.four;
    Tile tile;
    tile.depth = depth_;
    tile.b = b;
    tile.b_step = b_step;
    const bool staged = !plan_.contiguous || valid < width || (k0_ == 0 && start_ != nullptr && p_.start_column > 1);
    int64_t offsets[kMaxTileColumns];
    if (staged) find_offsets(column, valid, offsets);
    int64_t row = rows.first;
    for (int64_t i = 0; i < rows.panels; ++i) {
      const int height = rows.height(i);
      tile.a = a;
      if (staged) {
        run_staged(tile, functions[height], row, height, column, valid, width, offsets);
      } else {
        run_in_place(tile, functions[height], row, column);
      }
      a += height * depth_;
      row += height;
    }
  }

  void run_in_place(Tile& tile, TileFunction function, int64_t row, int64_t column) {
    tile.c = c_ + row * p_.row_c + column;
    tile.c_row = p_.row_c;
    if (k0_ > 0) {
      continue_from(tile, tile.c, p_.row_c);
    } else if (start_ != nullptr) {
      tile.start = start_ + row * p_.start_row + column * p_.start_column;
      tile.start_row = p_.start_row;
      tile.start_column = p_.start_column;
      tile.start_scale = static_cast<float>(p_.start_scale.real);
    }
    function(tile);
  }

  // Through a tile on the stack, for columns that do not lie side by side or do not fill the tile.
  void run_staged(Tile& tile, TileFunction function, int64_t row, int height, int64_t column, int valid, int width,
                  const int64_t* offsets) {
    alignas(64) float stage[kMaxTileRows * kMaxTileColumns];
    float* c = c_ + row * p_.row_c;
    tile.c = stage;
    tile.c_row = width;
    if (k0_ > 0) {
      for (int i = 0; i < height; ++i) {
        for (int j = 0; j < valid; ++j) stage[i * width + j] = c[i * p_.row_c + offsets[j]];
        std::fill(stage + i * width + valid, stage + (i + 1) * width, 0.0f);
      }
      continue_from(tile, stage, width);
    } else if (start_ != nullptr) {
      const float* start = start_ + row * p_.start_row + column * p_.start_column;
      const float scale = static_cast<float>(p_.start_scale.real);
      for (int i = 0; i < height; ++i) {
        for (int j = 0; j < valid; ++j) {
          stage[i * width + j] = scale * start[i * p_.start_row + j * p_.start_column];
        }
        std::fill(stage + i * width + valid, stage + (i + 1) * width, 0.0f);
      }
      continue_from(tile, stage, width);
    }
    function(tile);
    for (int i = 0; i < height; ++i) {
      for (int j = 0; j < valid; ++j) c[i * p_.row_c + offsets[j]] = stage[i * width + j];
    }
  }

  static void continue_from(Tile& tile, const float* c, int64_t c_row) {
    tile.start = c;
    tile.start_row = c_row;
    tile.start_column = 1;
    tile.start_scale = 1;
  }

  void find_offsets(int64_t column, int valid, int64_t* offsets) const {
    int64_t x = column % p_.axis[2].count;
    int64_t y = column / p_.axis[2].count % p_.axis[1].count;
    int64_t z = column / p_.axis[2].count / p_.axis[1].count;
    for (int j = 0; j < valid; ++j) {
      offsets[j] = z * p_.axis[0].c + y * p_.axis[1].c + x * p_.axis[2].c;
      if (++x == p_.axis[2].count) {
        x = 0;
        if (++y == p_.axis[1].count) {
          y = 0;
          ++z;
        }
      }
    }
  }

  const Plan& plan_;
  const Product& p_;
  const TileSet& tiles_;
  float* a_pack_;
  float* b_pack_;
  // The item at hand.
  const float* a_ = nullptr;
  const float* b_ = nullptr;
  float* c_ = nullptr;
  const float* start_ = nullptr;
  int64_t row_part_ = -1;
  int64_t first_row_ = 0, end_row_ = 0, first_column_ = 0, end_column_ = 0;
  int64_t k0_ = 0, depth_ = 0;
  int64_t resident_depth_ = 0;  // depths of this A that are packed
};

}  // namespace

namespace internal {

size_t tiled_scratch_bytes(const Product& product, int threads, const TileSet& tiles) {
  size_t most = 0;
  for (int t = 1; t <= std::clamp(threads, 1, kMaxSlots); ++t) {
    most = std::max(most, make_plan(product, t, tiles).floats());
  }
  return most * sizeof(float);
}

void run_tiled_product(KernelContext& context, const Product& product, const TileSet& tiles, void* scratch) {
  const Plan plan = make_plan(product, context.threads(), tiles);
  float* floats = static_cast<float*>(scratch);
  for_each_item(
      context, plan.slots, plan.items, [&](Worker& worker, int64_t item) { worker.run(item); },
      [&](int64_t slot) { return Worker(plan, floats + slot * (plan.a_floats + plan.b_floats)); });
}

}  // namespace internal

}  // namespace berth::portable
