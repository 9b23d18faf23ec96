#include "kernels/cpu/quantized_panels.h"

#include <algorithm>
#include <cstring>

#include "base/math.h"
#include "kernels/cpu/quantized_image.h"
#include "kernels/cpu/quantized_matrix_rows.h"

namespace berth::cpu {
namespace {

// Tiles whose sums are finished together, where that is done in registers.
constexpr int64_t kStrips = 4;
// Columns whose weights are turned for a call, and what these may take.
constexpr int64_t kMostFewColumns = 8;
constexpr int64_t kMostFewBytes = 16 * 1024;
// Weights of more bytes are not in a second-level cache when they are read again. Of those that are, as the 64 KiB that
// each step of an LSTM reads, instructions that fetch them take 8 % of the time.
constexpr int64_t kMostNearBytes = 256 * 1024;
// Fewer rows than this do not pay for widening a panel.
constexpr int64_t kLeastWordRows = 12;

// Quads [begin, begin + count) of what rows [first, first + height) see, counted over all their runs, widened.
void widen_rows(const QuantizedWords& words, const QuantizedLinesOfRows& rows, int64_t first, int64_t height,
                int64_t begin, int64_t count, uint32_t flip, int16_t* to) {
  const uint8_t* runs[QuantizedImage::kMostRuns];
  QuantizedPart part;
  part.a = runs + begin / rows.quads;
  part.run_quads = rows.quads;
  part.first = begin % rows.quads;
  part.quads = count;
  part.a_step = rows.step;
  part.flip = flip;
  for (const int64_t last = first + height; first < last; first += part.rows) {
    const int64_t line = first / rows.count, pixel = first % rows.count;
    part.rows = std::min(last - first, rows.count - pixel);
    rows.point(line, pixel, runs);
    words.widen_rows(part, to);
    to += part.rows * kWordQuads * kQuad;
  }
}

}  // namespace

QuantizedPanels::QuantizedPanels(const QuantizedJob& job, const QuantizedFinish& finish)
    : job_(job),
      layout_(*job.layout),
      functions_(*job.functions),
      finish_(finish),
      places_(job),
      panels_(job.layout->panels()),
      panel_bytes_(job.layout->panel_bytes()),
      usual_(is_usual(finish)) {}

void QuantizedPanels::run(MatrixRegisters* registers, const QuantizedLinesOfRows& rows, int64_t group, int64_t begin,
                          int64_t end) const {
  if (job_.matrix != nullptr) return run_blocks(registers, rows, group, begin, end);
  if (are_few(rows)) return run_few(rows, group);
  if (functions_.words != nullptr && rows.lines * rows.count >= kLeastWordRows) {
    return run_words(rows, group, begin, end);
  }
  for (int64_t panel = begin; panel < end;) {
    const int64_t taken = panels_at_once(end - panel, rows.count);
    for (int64_t line = 0; line < rows.lines; ++line) run_tiles(rows, line, group, panel, taken);
    panel += taken;
  }
}

void QuantizedPanels::run_blocks(MatrixRegisters* registers, const QuantizedLinesOfRows& rows, int64_t group,
                                 int64_t begin, int64_t end) const {
  const MatrixRows cut(rows.lines, rows.count);
  registers->set_up(cut.height(), rows.quads);
  const uint8_t* a[kMatrixTiles * QuantizedImage::kMostRuns];
  alignas(64) int32_t sums[kMatrixTiles * kMatrixRows * kMaxTilePanels * kPanelColumns];
  QuantizedBlock block;
  block.a = a;
  block.runs = rows.all_runs();
  block.quads = rows.quads;
  block.a_step = rows.step;
  block.signed_input = job_.product->signed_input;
  block.panel_step = panel_bytes_;
  // Columns of as many panels as are finished together.
  for (int64_t panels = 0; begin < end; begin += panels) {
    panels = std::min<int64_t>(kMaxTilePanels, end - begin);
    block.sums_row = panels * kPanelColumns;
    const int64_t most_tiles = kMatrixTiles / cut.panels_at_once(panels);
    int64_t done = 0;
    for (int64_t tile = 0; tile < cut.count(); tile += block.tiles) {
      block.tiles = std::min(most_tiles, cut.count() - tile);
      const int64_t first = cut.row_of(tile), last = cut.row_of(tile + block.tiles - 1) + cut.height();
      for (int64_t i = 0; i < block.tiles; ++i) {
        rows.point(cut.line_of(tile + i), cut.pixel_of(tile + i), a + i * block.runs);
      }
      for (int64_t panel = 0; panel < panels; panel += block.panels) {
        block.panels = cut.panels_at_once(panels - panel);
        block.b = reinterpret_cast<const int8_t*>(job_.packed) + (group * panels_ + begin + panel) * panel_bytes_;
        for (int64_t i = 0; i < block.tiles; ++i) {
          block.sums[i] = sums + (cut.row_of(tile + i) - first) * block.sums_row + panel * kPanelColumns;
        }
        job_.matrix->multiply(block);
      }
      // Rows of two tiles are finished once: a residual may lie where the result goes.
      while (done < last) {
        const int64_t count = usual_ ? last - done : std::min<int64_t>(last - done, kMaxTileHeight);
        finish(rows, done, count, group, begin, panels, sums + (done - first) * block.sums_row);
        done += count;
      }
    }
  }
}

void QuantizedPanels::run_words(const QuantizedLinesOfRows& rows, int64_t group, int64_t begin, int64_t end) const {
  const QuantizedWords& words = *functions_.words;
  const int64_t most_height = words.tiles->height;
  alignas(64) int16_t widened[kWordRows * kWordQuads * kQuad];
  alignas(64) int16_t weight[kWordQuads * kQuadBytes];
  alignas(64) int32_t sums[kWordRows * kWordPanels * kPanelColumns];
  const uint32_t flip = flip_of(*job_.product);
  const int64_t count = rows.lines * rows.count, quads = rows.all_runs() * rows.quads;
  const int64_t blocks = ceil_div(count, usual_ ? kWordRows : kMaxTileHeight / most_height * most_height);
  const int64_t block_rows = align_up(ceil_div(count, blocks), most_height);
  for (int64_t panels = 0; begin < end; begin += panels) {
    panels = std::min(kWordPanels, end - begin);
    const int64_t sums_row = panels * kPanelColumns;
    const uint8_t* const packed = job_.packed + (group * panels_ + begin) * panel_bytes_;
    for (int64_t first = 0; first < count; first += block_rows) {
      const int64_t height = std::min(block_rows, count - first);
      for (int64_t quad = 0; quad < quads; quad += kWordQuads) {
        const int64_t depth = std::min(kWordQuads, quads - quad);
        widen_rows(words, rows, first, height, quad, depth, flip, widened);
        for (int64_t panel = 0; panel < panels; ++panel) {
          words.widen_panel(reinterpret_cast<const int8_t*>(packed) + panel * panel_bytes_ + quad * kQuadBytes, depth,
                            weight);
          for (int64_t row = 0; row < height; row += most_height) {
            words.tiles->tile[std::min(most_height, height - row)](
                widened + row * kWordQuads * kQuad, weight, depth, quad == 0,
                sums + row * sums_row + panel * kPanelColumns, sums_row);
          }
        }
      }
      finish(rows, first, height, group, begin, panels, sums);
    }
  }
}

// Whether registers of the depth take fewer instructions than those of columns.
bool QuantizedPanels::are_few(const QuantizedLinesOfRows& rows) const {
  if (functions_.few_columns == nullptr || layout_.columns > kMostFewColumns) return false;
  QuantizedFew few;
  few.quads = rows.quads;
  const int64_t runs = rows.all_runs(), bytes = layout_.columns * runs * few.run_bytes();
  // A register of the depth is loaded, moved and multiplied, and its sums are added up; a quad is moved and multiplied.
  const int64_t depth = layout_.columns * (3 * runs * few.run_bytes() / 64 + 8);
  return bytes <= kMostFewBytes && depth < 2 * runs * rows.quads;
}

void QuantizedPanels::run_few(const QuantizedLinesOfRows& rows, int64_t group) const {
  alignas(64) uint8_t weight[kMostFewBytes];
  alignas(64) int32_t sums[kMaxTileHeight * kPanelColumns] = {};
  const uint8_t* a[QuantizedImage::kMostRuns];
  QuantizedFew few;
  few.a = a;
  few.runs = rows.all_runs();
  few.quads = rows.quads;
  few.a_step = rows.step;
  few.flip = flip_of(*job_.product);
  few.weight = weight;
  few.columns = layout_.columns;
  few.sums = sums;
  const uint8_t* const panel = job_.packed + group * panels_ * panel_bytes_;
  std::memset(weight, 0, few.columns * few.runs * few.run_bytes());
  for (int64_t run = 0; run < few.columns * few.runs; ++run) {
    const uint8_t* from = panel + run % few.runs * few.quads * kQuadBytes + run / few.runs * kQuad;
    for (int64_t quad = 0; quad < few.quads; ++quad) {
      std::memcpy(weight + run * few.run_bytes() + quad * kQuad, from + quad * kQuadBytes, kQuad);
    }
  }
  for (int64_t line = 0; line < rows.lines; ++line) {
    for (int64_t row = 0; row < rows.count; row += few.rows) {
      few.rows = std::min<int64_t>(kMaxTileHeight, rows.count - row);
      rows.point(line, row, a);
      functions_.few_columns(few);
      finish(rows, line * rows.count + row, few.rows, group, 0, 1, sums);
    }
  }
}

// How many of `left` panels a tile takes. Wide ones read each row of the input once for more columns, and are for few
// rows.
int64_t QuantizedPanels::panels_at_once(int64_t left, int64_t rows) const {
  if (left >= 4 && rows <= functions_.max_rows[4]) return 4;
  return left >= 2 && functions_.max_rows[2] > 0 ? 2 : 1;
}

void QuantizedPanels::run_tiles(const QuantizedLinesOfRows& rows, int64_t line, int64_t group, int64_t panel,
                                int64_t panels) const {
  const int64_t strips = ceil_div<int64_t>(rows.count, functions_.max_rows[panels]);
  alignas(64) int32_t sums[kStrips * kMaxTileHeight * kMaxTilePanels * kPanelColumns];
  const uint8_t* a[QuantizedImage::kMostRuns];
  QuantizedTile tile;
  tile.a = a;
  tile.runs = rows.all_runs();
  tile.quads = rows.quads;
  tile.a_step = rows.step;
  tile.flip = flip_of(*job_.product);
  tile.b = reinterpret_cast<const int8_t*>(job_.packed) + (group * panels_ + panel) * panel_bytes_;
  tile.panel_step = panel_bytes_;
  tile.ahead = layout_.weight_bytes() > kMostNearBytes ? panels * panel_bytes_ : 0;
  const int64_t least = rows.count / strips, longer = rows.count % strips, at_once = usual_ ? kStrips : 1;
  for (int64_t strip = 0, begin = 0, end = 0; strip < strips; begin = end) {
    // What all rows of a call have in common takes as long as some of them.
    for (int64_t last = std::min(strips, strip + at_once); strip < last; ++strip) {
      rows.point(line, end, a);
      tile.sums = sums + (end - begin) * panels * kPanelColumns;
      const int64_t height = least + (strip < longer ? 1 : 0);
      functions_.tile[panels][height](tile);
      end += height;
    }
    finish(rows, line * rows.count + begin, end - begin, group, panel, panels, sums);
  }
}

// Rows from `begin` of these on.
void QuantizedPanels::finish(const QuantizedLinesOfRows& rows, int64_t begin, int64_t count, int64_t group,
                             int64_t panel, int64_t panels, const int32_t* sums) const {
  QuantizedRows part;
  part.sums = sums;
  part.sums_row = panels * kPanelColumns;
  part.column = (group * panels_ + panel) * kPanelColumns;
  part.count = std::min(panels * kPanelColumns, layout_.columns - panel * kPanelColumns);
  part.totals = rows.totals == nullptr ? nullptr : rows.totals + begin;
  places_.finish(functions_, finish_, &part, rows.first + begin, count,
                 group * layout_.columns + panel * kPanelColumns);
}

}  // namespace berth::cpu
