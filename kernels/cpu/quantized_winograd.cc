#include "kernels/cpu/quantized_winograd.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "base/math.h"
#include "kernels/cpu/even_share.h"
#include "kernels/cpu/quantized_columns.h"
#include "kernels/portable/multiversion.h"

namespace berth::cpu {
namespace {

using portable::Convolution;

constexpr int64_t kTaps = 9;
// Items of work for each thread, so that one that is late does not hold up the other.
constexpr int64_t kLeastItemsPerThread = 2, kMostItemsPerThread = 6;
// With tiles of 2x2, a sum of four times so many products of bytes has 32 bits.
constexpr int64_t kMostChannels = 1024;
static_assert(kMostChannels * 4 * kTaps * 255 * 128 < int64_t{1} << 31);
// Sum of a column's weights of one sign, so that times the largest input it has 26 bits.
constexpr int32_t kMostOfOneSign = ((1 << 25) - 1) / 255;
static_assert(kMostChannels * kTaps * 128 <= INT32_MAX);

constexpr int64_t kRowNumbers = kWordQuads * kQuad;
constexpr int64_t kMostTurned = kRowNumbers;  // channels, of any matrices

// Numbers of what a thread has in memory, one after another.
struct Places {
  int64_t seen, turned_step, turned, sums, pixels;

  Places(const QuantizedLayout& layout, const QuantizedWinogradWords& matrices, int64_t block) {
    const int64_t columns = std::min(layout.panels(), kWordPanels) * kPanelColumns;
    seen = matrices.positions() * block * matrices.channels;
    // A line of the cache more: streams that are pages apart would share the places of eight lines.
    turned_step = std::min(layout.channels(), matrices.channels) * kPanelColumns + kQuadBytes / 2;
    turned = matrices.positions() * turned_step;
    sums = matrices.positions() * block * columns;
    pixels = matrices.tile * matrices.tile * block * columns;
  }
  int64_t bytes() const {
    return (seen + turned) * static_cast<int64_t>(sizeof(int16_t)) +
           (sums + pixels) * static_cast<int64_t>(sizeof(int32_t)) + kMostTurned;
  }
};

// In products of a channel: turning a weight takes as long as those of two tiles.
int64_t cost(const WinogradTiles& tiles, const QuantizedWinogradWords& matrices) {
  return matrices.positions() * (tiles.all + 2 * tiles.blocks);
}

// Whether these tiles can be used, and take less time than windows, whatever the weights are.
bool fits(const QuantizedJob& job, const QuantizedWinogradFunctions& functions,
          const QuantizedWinogradWords* matrices) {
  const QuantizedLayout& layout = *job.layout;
  if (matrices == nullptr || job.convolution == nullptr || layout.depthwise || layout.padded_rows) return false;
  const Convolution& c = *job.convolution;
  const Convolution::Axis &depth = c.axis[0], &down = c.axis[1], &across = c.axis[2];
  if (depth.in != 1 || depth.out != 1 || depth.kernel != 1) return false;
  for (const Convolution::Axis* axis : {&down, &across}) {
    if (axis->kernel != 3 || axis->stride != 1 || axis->dilation != 1) return false;
  }
  const int64_t channels = layout.channels();
  if (channels % kQuad != 0 || channels < functions.least_channels || channels > kMostChannels) return false;
  if (job.input->stride(1) != 1) return false;
  // A weight is turned for few pixels, and tiles at the ends are half empty.
  const WinogradTiles tiles(c, *matrices);
  return matrices->tile * matrices->tile * tiles.all >= 32 &&
         10 * cost(tiles, *matrices) <= functions.most_tenths * c.batch * down.out * across.out;
}

BERTH_MULTIVERSION bool panel_has_26_bits(const int8_t* packed, int64_t quads) {
  constexpr int64_t kAtOnce = 128;  // numbers of 16 bits hold the sums of so many quads
  static_assert(kAtOnce * 128 <= INT16_MAX);
  int32_t sizes[kQuadBytes] = {}, totals[kQuadBytes] = {};
  for (int64_t done = 0; done < quads; done += kAtOnce) {
    int16_t some_sizes[kQuadBytes] = {}, some_totals[kQuadBytes] = {};
    for (int64_t quad = std::min(kAtOnce, quads - done); quad > 0; --quad, packed += kQuadBytes) {
      for (int64_t i = 0; i < kQuadBytes; ++i) {
        const int16_t weight = packed[i];
        some_totals[i] = static_cast<int16_t>(some_totals[i] + weight);
        some_sizes[i] = static_cast<int16_t>(some_sizes[i] + (weight < 0 ? -weight : weight));
      }
    }
    for (int64_t i = 0; i < kQuadBytes; ++i) {
      sizes[i] += some_sizes[i];
      totals[i] += some_totals[i];
    }
  }
  for (int64_t i = 0; i < kQuadBytes; i += kQuad) {
    int32_t size = 0, total = 0;
    for (int64_t k = i; k < i + kQuad; ++k) {
      size += sizes[k];
      total += totals[k];
    }
    if (size + std::abs(total) > 2 * kMostOfOneSign) return false;
  }
  return true;
}

}  // namespace

const QuantizedWinogradWords* QuantizedWinograd::choose(const QuantizedJob& job) {
  const QuantizedWinogradFunctions* const functions = job.functions->winograd;
  if (functions == nullptr) return nullptr;
  const QuantizedWinogradWords* best = nullptr;
  int64_t best_cost = 0;
  for (const QuantizedWinogradWords* matrices : functions->sizes) {
    if (!fits(job, *functions, matrices) || (matrices->divides_all && !job.few_bits)) continue;
    const int64_t own = cost(WinogradTiles(*job.convolution, *matrices), *matrices);
    if (best != nullptr && own >= best_cost) continue;
    best = matrices;
    best_cost = own;
  }
  return best;
}

size_t QuantizedWinograd::thread_bytes(const QuantizedJob& job) {
  int64_t bytes = 0;
  const QuantizedWinogradFunctions* const functions = quantized_functions().winograd;
  if (functions == nullptr) return 0;
  for (const QuantizedWinogradWords* matrices : functions->sizes) {
    if (!fits(job, *functions, matrices)) continue;
    const int64_t most = std::min(matrices->block, WinogradTiles(*job.convolution, *matrices).all);
    bytes = std::max(bytes, Places(*job.layout, *matrices, most).bytes());
  }
  return static_cast<size_t>(bytes);
}

bool sums_have_26_bits(const QuantizedLayout& layout, const uint8_t* packed) {
  if (layout.depthwise || layout.channels() > kMostChannels || layout.taps != kTaps) return false;
  const int64_t panels = layout.groups * layout.panels();
  for (int64_t panel = 0; panel < panels; ++panel, packed += layout.panel_bytes()) {
    if (!panel_has_26_bits(reinterpret_cast<const int8_t*>(packed), layout.quads())) return false;
  }
  return true;
}

WinogradTiles::WinogradTiles(const Convolution& c, const QuantizedWinogradWords& matrices)
    : down(ceil_div(c.axis[1].out, matrices.tile)),
      across(ceil_div(c.axis[2].out, matrices.tile)),
      all(c.batch * down * across),
      block(ceil_div(all, ceil_div(all, matrices.block))),
      blocks(ceil_div(all, block)) {}

QuantizedWinograd::QuantizedWinograd(const QuantizedJob& job, const QuantizedFinish& finish,
                                     const QuantizedWinogradWords& matrices)
    : job_(job),
      layout_(*job.layout),
      convolution_(*job.convolution),
      words_(*job.functions->winograd->tiles),
      matrices_(matrices),
      finish_(finish),
      places_(job),
      tiles_(convolution_, matrices),
      panels_(layout_.panels()) {
  cut(1);
}

void QuantizedWinograd::cut(int slots) {
  const int64_t others = layout_.groups * tiles_.blocks, least = ceil_div(panels_, kWordPanels);
  const int64_t wanted = slots == 1 ? 1 : ceil_div(kLeastItemsPerThread * slots, others);
  // What tiles see is turned for each item.
  const int64_t most = slots == 1 ? 1 : ceil_div(kMostItemsPerThread * slots, others);
  block_panels_ = parts_of_item(panels_, others, slots, std::max(wanted, least), std::max(most, least));
  panel_blocks_ = ceil_div(panels_, block_panels_);
}

void QuantizedWinograd::run_item(int64_t item, uint8_t* memory) const {
  const Places numbers(layout_, matrices_, tiles_.block);
  auto* const seen = reinterpret_cast<int16_t*>(memory);
  int16_t* const turned = seen + numbers.seen;
  auto* const sums = reinterpret_cast<int32_t*>(turned + numbers.turned);
  int32_t* const pixels = sums + numbers.sums;
  auto* const zeros = reinterpret_cast<uint8_t*>(pixels + numbers.pixels);
  std::memset(zeros, job_.product->input_zero[0], kMostTurned);

  const int64_t panel = item % panel_blocks_ * block_panels_;
  const int64_t panels = std::min(block_panels_, panels_ - panel);
  const int64_t group = item / panel_blocks_ % layout_.groups;
  const int64_t first = item / panel_blocks_ / layout_.groups * tiles_.block;
  const int64_t count = std::min(tiles_.block, tiles_.all - first);
  const int64_t channels = layout_.channels(), sums_row = panels * kPanelColumns;
  const int64_t tap_bytes = channels / kQuad * kQuadBytes;
  const auto* const packed =
      reinterpret_cast<const int8_t*>(job_.packed) + (group * panels_ + panel) * layout_.panel_bytes();
  const int64_t most = matrices_.channels, per_row = kRowNumbers / most;
  for (int64_t channel = 0; channel < channels; channel += most) {
    const int64_t some = std::min(most, channels - channel), quads = some / kQuad;
    see_tiles(first, count, group * channels + channel, some, zeros, seen);
    for (int64_t i = 0; i < panels; ++i) {
      matrices_.turn_weight(packed + i * layout_.panel_bytes() + channel / kQuad * kQuadBytes, tap_bytes, quads,
                            numbers.turned_step, turned);
      for (int64_t position = 0; position < matrices_.positions(); ++position) {
        const int16_t* rows = seen + position / per_row * (tiles_.block * kRowNumbers) + position % per_row * most;
        int32_t* to = sums + position * (tiles_.block * sums_row) + i * kPanelColumns;
        const int64_t parts = ceil_div(count, words_.height);
        for (int64_t part = 0, done = 0; part < parts; ++part) {
          const int64_t height = (part + 1) * count / parts - done;
          words_.tile[height](rows + done * kRowNumbers, turned + position * numbers.turned_step, quads, channel == 0,
                              to + done * sums_row, sums_row);
          done += height;
        }
      }
    }
  }
  finish_tiles(first, count, group, panel, panels, sums, pixels);
}

// What tiles see of some channels, as the matrices leave it.
void QuantizedWinograd::see_tiles(int64_t first, int64_t count, int64_t channel, int64_t channels, const uint8_t* zeros,
                                  int16_t* to) const {
  const Convolution::Axis &down = convolution_.axis[1], &across = convolution_.axis[2];
  const uint8_t* const input = convolution_.input->data<uint8_t>() + channel;
  const int64_t side = matrices_.side();
  for (int64_t tile = first; tile < first + count; ++tile, to += kRowNumbers) {
    const int64_t image = tile / (tiles_.down * tiles_.across), place = tile % (tiles_.down * tiles_.across);
    const int64_t y0 = place / tiles_.across * matrices_.tile - down.padding;
    const int64_t x0 = place % tiles_.across * matrices_.tile - across.padding;
    const uint8_t* pixels[kMostWinogradSide * kMostWinogradSide];
    for (int64_t i = 0; i < side; ++i) {
      const int64_t y = y0 + i;
      const bool is_row = y >= 0 && y < down.in;
      const uint8_t* const row = input + image * convolution_.input->stride(0) + y * down.in_stride;
      for (int64_t j = 0; j < side; ++j) {
        const int64_t x = x0 + j;
        pixels[side * i + j] = is_row && x >= 0 && x < across.in ? row + x * across.in_stride : zeros;
      }
    }
    matrices_.see_tile(pixels, channels, flip_of(*job_.product), tiles_.block * kRowNumbers, to);
  }
}

// Tiles side by side are some lines of pixels.
void QuantizedWinograd::finish_tiles(int64_t first, int64_t count, int64_t group, int64_t panel, int64_t panels,
                                     const int32_t* sums, int32_t* pixels) const {
  const Convolution::Axis &down = convolution_.axis[1], &across = convolution_.axis[2];
  const int64_t side = matrices_.tile, sums_row = panels * kPanelColumns, line = side * tiles_.block * sums_row;
  for (int64_t tile = first, some = 0; tile < first + count; tile += some, sums += some * sums_row) {
    const int64_t column = tile % tiles_.across;
    some = std::min(tiles_.across - column, first + count - tile);
    for (int64_t i = 0; i < some; ++i) {
      matrices_.end_tile(sums + i * sums_row, tiles_.block * sums_row, sums_row, pixels + i * side * sums_row, line);
    }
    const int64_t image = tile / tiles_.across / tiles_.down, y = tile / tiles_.across % tiles_.down * side,
                  x = column * side;
    for (int64_t i = 0; i < std::min(side, down.out - y); ++i) {
      finish_line((image * down.out + y + i) * across.out + x, std::min(side * some, across.out - x), group, panel,
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
