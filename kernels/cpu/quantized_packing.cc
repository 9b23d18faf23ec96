#include "kernels/cpu/quantized_packing.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "base/math.h"
#include "kernels/cpu/packing.h"
#include "kernels/portable/multiversion.h"

namespace berth::cpu {
namespace {

// No weight has more elements, and no product of two such sizes overflows.
constexpr int64_t kMostElements = int64_t{1} << 40;

int8_t signed_number(uint8_t byte, bool is_signed) { return static_cast<int8_t>(is_signed ? byte : byte ^ 0x80); }

// The first list in brackets.
bool read_sizes(const std::string& text, DenseSizes* dense) {
  const size_t open = text.find('[');
  if (open == std::string::npos) return false;
  const char* at = text.c_str() + open + 1;
  int64_t elements = 1;
  while (true) {
    char* end = nullptr;
    const long long size = std::strtoll(at, &end, 10);
    if (end == at || size < 1 || size > INT32_MAX || dense->rank == DenseSizes::kMaxRank) return false;
    elements *= size;
    if (elements > kMostElements) return false;
    dense->size[dense->rank++] = static_cast<int32_t>(size);
    if (*end == ']') return true;
    if (*end != ',') return false;
    at = end + 1;
  }
}

int64_t product_of_sizes(const DenseSizes& dense, int first) {
  int64_t product = 1;
  for (int d = first; d < dense.rank; ++d) product *= dense.size[d];
  return product;
}

// A quad of a panel from its four rows, and what they add to the sums of its columns. `flip` makes bytes signed.
BERTH_MULTIVERSION void pack_quad(const uint8_t* const (&row)[kQuad], uint32_t flip, uint32_t* quad, int32_t* sums) {
  for (int64_t c = 0; c < kPanelColumns; ++c) {
    const uint32_t a = row[0][c], b = row[1][c], e = row[2][c], f = row[3][c];
    const uint32_t four = (a | b << 8 | e << 16 | f << 24) ^ flip;
    quad[c] = four;
    sums[c] += static_cast<int8_t>(four) + static_cast<int8_t>(four >> 8) + static_cast<int8_t>(four >> 16) +
               static_cast<int8_t>(four >> 24);
  }
}

}  // namespace

int64_t QuantizedLayout::row_taps() const {
  const int64_t row = dense.size[dense.rank - 1];
  return row % kQuad == kQuad - 1 ? row + 1 : row;
}

int64_t QuantizedLayout::window_row() const {
  const int64_t bytes = dense.size[dense.rank - 1] * channels();
  return padded_rows ? align_up(bytes, kQuad) : bytes;
}

int64_t QuantizedLayout::quads() const { return ceil_div(depth, kQuad); }
int64_t QuantizedLayout::panels() const { return ceil_div(columns, panel_columns()); }

std::string QuantizedLayout::text() const {
  std::string text = "berth int8 [";
  for (int d = 0; d < dense.rank; ++d) text += (d == 0 ? "" : ",") + std::to_string(dense.size[d]);
  if (depthwise) return text + "] depthwise " + std::to_string(kDepthwiseChannels);
  return text + "] groups " + std::to_string(groups) + " panels " + std::to_string(kPanelColumns) +
         (padded_rows ? " rows" : "");
}

QuantizedLayout linear_layout(const DenseSizes& dense) {
  QuantizedLayout layout;
  layout.dense = dense;
  layout.depth = dense.size[0];
  layout.columns = dense.size[1];
  return layout;
}

QuantizedLayout conv_layout(const DenseSizes& dense, int64_t groups, bool may_merge, bool may_pad) {
  QuantizedLayout layout;
  layout.dense = dense;
  layout.taps = product_of_sizes(dense, 2);
  const int64_t columns = dense.size[0] / groups;
  const int64_t rows = layout.taps / dense.size[dense.rank - 1];
  if (may_merge && groups > 1 && columns == 1 && dense.size[1] == 1 && rows * layout.row_taps() <= kMaxDepthwiseTaps) {
    layout.depthwise = true;
    layout.depth = rows * layout.row_taps();
    layout.columns = groups;
    return layout;
  }
  while (may_merge && groups % (layout.merged * 2) == 0 && columns * layout.merged * 2 <= kPanelColumns) {
    layout.merged *= 2;
  }
  layout.groups = groups / layout.merged;
  layout.depth = layout.taps * dense.size[1] * layout.merged;
  layout.columns = columns * layout.merged;
  if (may_merge && may_pad && groups == 1 && layout.window_row() % kQuad != 0) {
    layout.padded_rows = true;
    layout.depth = rows * layout.window_row();
  }
  return layout;
}

bool read_quantized_packing(StringRef text, int64_t bytes, bool conv, int64_t groups, bool may_merge,
                            QuantizedLayout* layout) {
  const std::string copy(text.data, text.size);
  DenseSizes dense;
  if (!read_sizes(copy, &dense)) return false;
  if (conv ? dense.rank < 3 || groups < 1 || dense.size[0] % groups != 0 : dense.rank != 2) return false;
  for (const bool merge : {true, false}) {
    for (const bool pad : {true, false}) {
      if (merge && !may_merge) continue;
      *layout = conv ? conv_layout(dense, groups, merge, pad) : linear_layout(dense);
      if (layout->text() == copy && layout->bytes() == bytes) return true;
    }
  }
  return false;
}

int64_t QuantizedLayout::column_place(int64_t c) const {
  if (!depthwise) return c * kQuad;
  return c / 4 % 4 * kDepthwiseChannels + c / 16 * 16 + c % 4 * kQuad;
}

void pack_into(const QuantizedLayout& layout, const uint8_t* dense, bool is_signed, const int64_t* strides,
               uint8_t* packed) {
  std::memset(packed, 0, layout.bytes());
  const bool conv = layout.dense.rank > 2;
  const int64_t in = conv ? layout.dense.size[1] : layout.depth;  // numbers that a column sees of a tap
  const int64_t row = layout.dense.size[layout.dense.rank - 1];   // of a window
  const int64_t wide = layout.panel_columns();
  const int64_t columns = layout.columns / layout.merged;
  const int64_t column_stride = strides[conv ? 0 : 1];
  const int64_t depth_stride = strides[conv ? 1 : 0];
  for (int64_t group = 0; group < layout.groups; ++group) {
    for (int64_t c = 0; c < layout.columns; ++c) {
      const uint8_t* from = dense + (group * layout.columns + c) * column_stride;
      const int64_t panel = group * layout.panels() + c / wide;
      uint8_t* to = packed + panel * layout.panel_bytes() + layout.column_place(c % wide);
      const int64_t first = c / columns * in;
      uint32_t sum = 0;
      int64_t at[DenseSizes::kMaxRank] = {};  // the tap, in the dense weight
      int64_t tap_offset = 0;
      for (int64_t tap = 0; tap < layout.taps; ++tap) {
        for (int64_t i = 0; i < in; ++i) {
          const int8_t w = signed_number(from[tap_offset + i * depth_stride], is_signed);
          int64_t k = tap * in * layout.merged + first + i;
          if (layout.depthwise) k = tap / row * layout.row_taps() + tap % row;
          if (layout.padded_rows) k = tap / row * layout.window_row() + tap % row * in + i;
          to[k / kQuad * wide * kQuad + k % kQuad] = static_cast<uint8_t>(w);
          sum += static_cast<uint32_t>(int32_t{w});
        }
        for (int d = layout.dense.rank - 1; d >= 2; --d) {
          tap_offset += strides[d];
          if (++at[d] < layout.dense.size[d]) break;
          tap_offset -= at[d] * strides[d];
          at[d] = 0;
        }
      }
      std::memcpy(packed + layout.weight_bytes() + (panel * wide + c % wide) * static_cast<int64_t>(sizeof(sum)), &sum,
                  sizeof(sum));
    }
  }
}

void pack_matrix(const QuantizedLayout& layout, const uint8_t* dense, bool is_signed, const int64_t* strides,
                 uint8_t* packed) {
  static_assert(kQuad == 4);
  if (strides[1] != 1) return pack_into(layout, dense, is_signed, strides, packed);
  const uint32_t flip = is_signed ? 0 : 0x80808080u;
  const uint8_t zero = is_signed ? 0 : 0x80;
  uint8_t edge[kQuad][kPanelColumns];
  uint8_t* quad = packed;
  for (int64_t panel = 0; panel < layout.panels(); ++panel) {
    const int64_t first = panel * kPanelColumns;
    const int64_t columns = std::min(kPanelColumns, layout.columns - first);
    int32_t sums[kPanelColumns] = {};
    for (int64_t k = 0; k < layout.quads() * kQuad; k += kQuad, quad += kQuadBytes) {
      const uint8_t* row[kQuad];
      for (int64_t i = 0; i < kQuad; ++i) {
        row[i] = dense + (k + i) * strides[0] + first;
        if (columns == kPanelColumns && k + i < layout.depth) continue;
        std::memset(edge[i], zero, kPanelColumns);
        if (k + i < layout.depth) std::memcpy(edge[i], row[i], columns);
        row[i] = edge[i];
      }
      uint32_t numbers[kPanelColumns];
      pack_quad(row, flip, numbers, sums);
      std::memcpy(quad, numbers, kQuadBytes);
    }
    std::memcpy(packed + layout.weight_bytes() + panel * static_cast<int64_t>(sizeof(sums)), sums, sizeof(sums));
  }
}

DenseSizes dense_sizes_of(const Tensor& tensor) {
  DenseSizes dense;
  dense.rank = tensor.rank();
  for (int d = 0; d < tensor.rank(); ++d) dense.size[d] = tensor.sizes()[d];
  return dense;
}

bool pack_quantized(const QuantizedToPack& weight, const uint8_t* dense, const std::string& isa, PackedWeight* packed) {
  const auto rank = static_cast<int>(weight.sizes.size());
  if (isa == "generic" || rank > DenseSizes::kMaxRank || (weight.conv ? rank < 3 : rank != 2)) return false;
  DenseSizes sizes;
  int64_t elements = 1;
  for (const int32_t size : weight.sizes) {
    if (size < 1) return false;
    elements *= size;
    if (elements > kMostElements) return false;
    sizes.size[sizes.rank++] = size;
  }
  if (weight.conv && (weight.groups < 1 || sizes.size[0] % weight.groups != 0)) return false;
  int64_t strides[DenseSizes::kMaxRank];
  int64_t stride = 1;
  for (int d = rank - 1; d >= 0; --d) {
    strides[d] = stride;
    stride *= sizes.size[d];
  }
  const bool may_merge = weight.is_signed && !weight.zero_point;
  const QuantizedLayout layout = weight.conv ? conv_layout(sizes, weight.groups, may_merge) : linear_layout(sizes);
  packed->no_memory = !packed->allocate(layout.bytes());
  if (packed->no_memory) return false;
  pack_into(layout, dense, weight.is_signed, strides, packed->bytes.data());
  packed->text = layout.text();
  return true;
}

}  // namespace berth::cpu
