#include "kernels/cpu/quantized_winograd.h"

#include <algorithm>
#include <cstring>

#include "base/math.h"
#include "kernels/cpu/quantized_columns.h"

namespace berth::cpu {
namespace {

using portable::Convolution;

constexpr int64_t kTile = 2;  // pixels of the result, down and across
// Tiles that are done together: more read a turned weight for less, but what they see leaves the second-level cache.
constexpr int64_t kBlockTiles = 36;
static_assert(kBlockTiles % kWordHeight == 0);
constexpr int64_t kLeastChannels = 16, kLeastTiles = 8;
// Items of work for each thread, so that one that is late does not hold up the other.
constexpr int64_t kItemsPerThread = 3;
// A sum of four times so many products of bytes has 32 bits.
constexpr int64_t kMostChannels = 1024;
static_assert(kMostChannels * 4 * 9 * 255 * 128 < int64_t{1} << 31);

constexpr int64_t kRowNumbers = kWordQuads * kQuad;
constexpr int64_t kDepth = kWinogradQuads * kQuad;
// Rows of two positions lie in one that tiles read.
constexpr int64_t kPairs = kWinogradPositions / 2;
static_assert(2 * kWinogradQuads == kWordQuads);

int64_t tiles_of(const Convolution& c) {
  return c.batch * ceil_div(c.axis[1].out, kTile) * ceil_div(c.axis[2].out, kTile);
}

// Numbers of what a thread has in memory, one after another.
struct Places {
  int64_t seen, turned_step, turned, sums, pixels;

  Places(const QuantizedLayout& layout, int64_t block_tiles) {
    const int64_t columns = std::min(layout.panels(), kWordPanels) * kPanelColumns;
    seen = kPairs * block_tiles * kRowNumbers;
    // A line of the cache more: sixteen streams that are pages apart would share the places of eight lines.
    turned_step = std::min(layout.channels(), kDepth) * kPanelColumns + kQuadBytes / 2;
    turned = kWinogradPositions * turned_step;
    sums = kWinogradPositions * block_tiles * columns;
    pixels = kTile * kTile * block_tiles * columns;
  }
};

}  // namespace

bool QuantizedWinograd::fits(const QuantizedJob& job) {
  const QuantizedLayout& layout = *job.layout;
  if (job.convolution == nullptr || layout.depthwise || layout.padded_rows) return false;
  const Convolution& c = *job.convolution;
  const Convolution::Axis &depth = c.axis[0], &down = c.axis[1], &across = c.axis[2];
  if (depth.in != 1 || depth.out != 1 || depth.kernel != 1) return false;
  for (const Convolution::Axis* axis : {&down, &across}) {
    if (axis->kernel != 3 || axis->stride != 1 || axis->dilation != 1) return false;
  }
  const int64_t channels = layout.channels();
  if (channels % kQuad != 0 || channels < kLeastChannels || channels > kMostChannels) return false;
  if (job.input->stride(1) != 1) return false;
  // Tiles at an odd end are half empty.
  const int64_t pixels = c.batch * down.out * across.out, tiles = tiles_of(c);
  return tiles >= kLeastTiles && 8 * pixels >= 5 * kTile * kTile * tiles;
}

size_t QuantizedWinograd::thread_bytes(const QuantizedJob& job) {
  const Places places(*job.layout, std::min(kBlockTiles, align_up(tiles_of(*job.convolution), kWordHeight)));
  return (places.seen + places.turned) * sizeof(int16_t) + (places.sums + places.pixels) * sizeof(int32_t) + kDepth;
}

QuantizedWinograd::QuantizedWinograd(const QuantizedJob& job, const QuantizedFinish& finish)
    : job_(job),
      layout_(*job.layout),
      convolution_(*job.convolution),
      words_(*job.functions->words),
      turns_(*words_.winograd),
      finish_(finish),
      places_(job),
      down_(ceil_div(convolution_.axis[1].out, kTile)),
      across_(ceil_div(convolution_.axis[2].out, kTile)),
      tiles_(tiles_of(convolution_)),
      panels_(layout_.panels()) {
  block_tiles_ = align_up(ceil_div(tiles_, ceil_div(tiles_, kBlockTiles)), kWordHeight);
  blocks_ = ceil_div(tiles_, block_tiles_);
  cut(1);
}

void QuantizedWinograd::cut(int slots) {
  const int64_t wanted = slots == 1 ? 1 : ceil_div(kItemsPerThread * slots, layout_.groups * blocks_);
  const int64_t least = ceil_div(panels_, kWordPanels);
  block_panels_ = ceil_div(panels_, std::clamp(wanted, least, panels_));
  panel_blocks_ = ceil_div(panels_, block_panels_);
}

void QuantizedWinograd::run_item(int64_t item, uint8_t* memory) const {
  const Places numbers(layout_, block_tiles_);
  auto* const seen = reinterpret_cast<int16_t*>(memory);
  int16_t* const turned = seen + numbers.seen;
  auto* const sums = reinterpret_cast<int32_t*>(turned + numbers.turned);
  int32_t* const pixels = sums + numbers.sums;
  auto* const zeros = reinterpret_cast<uint8_t*>(pixels + numbers.pixels);
  std::memset(zeros, job_.product->input_zero[0], kDepth);

  const int64_t panel = item % panel_blocks_ * block_panels_;
  const int64_t panels = std::min(block_panels_, panels_ - panel);
  const int64_t group = item / panel_blocks_ % layout_.groups;
  const int64_t first = item / panel_blocks_ / layout_.groups * block_tiles_;
  const int64_t count = std::min(block_tiles_, tiles_ - first);
  const int64_t channels = layout_.channels(), sums_row = panels * kPanelColumns;
  const int64_t tap_bytes = channels / kQuad * kQuadBytes;
  const auto* const packed =
      reinterpret_cast<const int8_t*>(job_.packed) + (group * panels_ + panel) * layout_.panel_bytes();
  for (int64_t channel = 0; channel < channels; channel += kDepth) {
    const int64_t some = std::min(kDepth, channels - channel), quads = some / kQuad;
    see_tiles(first, count, group * channels + channel, some, zeros, seen);
    for (int64_t i = 0; i < panels; ++i) {
      turns_.turn_weight(packed + i * layout_.panel_bytes() + channel / kQuad * kQuadBytes, tap_bytes, quads,
                         numbers.turned_step, turned);
      for (int64_t position = 0; position < kWinogradPositions; ++position) {
        const int16_t* const rows = seen + position / 2 * (block_tiles_ * kRowNumbers) + position % 2 * kDepth;
        const int16_t* const weight = turned + position * numbers.turned_step;
        int32_t* const to = sums + position * (block_tiles_ * sums_row) + i * kPanelColumns;
        for (int64_t row = 0; row < count; row += kWordHeight) {
          words_.tile[std::min(kWordHeight, count - row)](rows + row * kRowNumbers, weight, quads, channel == 0,
                                                          to + row * sums_row, sums_row);
        }
      }
    }
  }
  finish_tiles(first, count, group, panel, panels, sums, pixels);
}

// What tiles see of some channels: [position / 2][tile][position % 2][channel].
void QuantizedWinograd::see_tiles(int64_t first, int64_t count, int64_t channel, int64_t channels, const uint8_t* zeros,
                                  int16_t* to) const {
  const Convolution::Axis &down = convolution_.axis[1], &across = convolution_.axis[2];
  const uint8_t* const input = convolution_.input->data<uint8_t>() + channel;
  for (int64_t tile = first; tile < first + count; ++tile, to += kRowNumbers) {
    const int64_t image = tile / (down_ * across_), place = tile % (down_ * across_);
    const int64_t y0 = place / across_ * kTile - down.padding, x0 = place % across_ * kTile - across.padding;
    const uint8_t* pixels[kWinogradPositions];
    for (int64_t i = 0; i < 4; ++i) {
      const int64_t y = y0 + i;
      const bool is_row = y >= 0 && y < down.in;
      const uint8_t* const row = input + image * convolution_.input->stride(0) + y * down.in_stride;
      for (int64_t j = 0; j < 4; ++j) {
        const int64_t x = x0 + j;
        pixels[4 * i + j] = is_row && x >= 0 && x < across.in ? row + x * across.in_stride : zeros;
      }
    }
    turns_.see_tile(pixels, channels, flip_of(*job_.product), block_tiles_ * kRowNumbers, to);
  }
}

// Tiles side by side are two lines of pixels.
void QuantizedWinograd::finish_tiles(int64_t first, int64_t count, int64_t group, int64_t panel, int64_t panels,
                                     const int32_t* sums, int32_t* pixels) const {
  const Convolution::Axis &down = convolution_.axis[1], &across = convolution_.axis[2];
  const int64_t sums_row = panels * kPanelColumns, line = kTile * block_tiles_ * sums_row;
  for (int64_t tile = first, some = 0; tile < first + count; tile += some, sums += some * sums_row) {
    const int64_t column = tile % across_;
    some = std::min(across_ - column, first + count - tile);
    for (int64_t i = 0; i < some; ++i) {
      turns_.end_tile(sums + i * sums_row, block_tiles_ * sums_row, sums_row, pixels + i * kTile * sums_row, line);
    }
    const int64_t image = tile / across_ / down_, y = tile / across_ % down_ * kTile, x = column * kTile;
    for (int64_t i = 0; i < std::min(kTile, down.out - y); ++i) {
      finish_line((image * down.out + y + i) * across.out + x, std::min(kTile * some, across.out - x), group, panel,
                  panels, pixels + i * line);
    }
  }
}

void QuantizedWinograd::finish_line(int64_t row, int64_t count, int64_t group, int64_t panel, int64_t panels,
                                    const int32_t* sums) const {
  QuantizedRows part;
  part.sums = sums;
  part.sums_row = panels * kPanelColumns;
  part.column = (group * panels_ + panel) * kPanelColumns;
  part.count = std::min(panels * kPanelColumns, layout_.columns - panel * kPanelColumns);
  const int64_t most = is_usual(finish_) ? count : kMaxTileHeight;
  for (int64_t done = 0; done < count; done += most) {
    part.sums = sums + done * part.sums_row;
    places_.finish(*job_.functions, finish_, &part, row + done, std::min(most, count - done),
                   group * layout_.columns + panel * kPanelColumns);
  }
}

}  // namespace berth::cpu
