#include "kernels/cpu/packed_table.h"

#include <algorithm>
#include <cstring>

#include "base/half.h"
#include "kernels/cpu/packing_offset.h"

namespace berth::cpu {
namespace {

bool is(StringRef text, const char* word) {
  return text.size == std::strlen(word) && std::memcmp(text.data, word, text.size) == 0;
}

template <typename T>
void copy_places(const void* weight, int64_t first, const std::vector<int64_t>& places, void* to) {
  const T* const from = static_cast<const T*>(weight) + first;
  T* const row = static_cast<T*>(to);
  for (size_t k = 0; k < places.size(); ++k) row[k] = from[places[k]];
}

template <typename T, typename To = T>
void copy_steps(const void* weight, int64_t first, int64_t step, int64_t count, void* to) {
  const T* const from = static_cast<const T*>(weight) + first;
  To* const row = static_cast<To*>(to);
  for (int64_t k = 0; k < count; ++k) row[k] = from[k * step];
}

// The elements that `f` has a type for: of as many bytes.
template <typename F>
bool with_word(size_t bytes, F&& f) {
  switch (bytes) {
    case 1: f(uint8_t{}); return true;
    case 2: f(uint16_t{}); return true;
    case 4: f(uint32_t{}); return true;
    case 8: f(uint64_t{}); return true;
    default: return false;
  }
}

// Numbers of 8 bits, four in a word of 32 bits, `step` words apart.
void copy_bytes(const uint8_t* from, int64_t step, int64_t count, uint8_t less, uint8_t* to) {
  for (int64_t k = 0; k < count; ++k) to[k] = static_cast<uint8_t>(from[k / 4 * step + k % 4] - less);
}

// Of 4 bits: those of rows 0 to 3 of eight are the lower halves of four bytes, 4 to 7 the upper ones.
uint8_t nibble(const uint8_t* from, int64_t step, int64_t k) {
  const uint8_t byte = from[k / 8 * step + k % 4];
  return k % 8 < 4 ? byte & 15 : byte >> 4;
}

void copy_nibbles(const uint8_t* from, int64_t step, int64_t count, uint8_t less, uint8_t* to) {
  for (int64_t k = 0; k < count; ++k) to[k] = static_cast<uint8_t>(nibble(from, step, k) - less);
}

void copy_pairs(const uint8_t* from, int64_t step, int64_t count, uint8_t* to) {
  for (int64_t r = 0; r < count; ++r) {
    to[r] = static_cast<uint8_t>(nibble(from, step, 2 * r) | nibble(from, step, 2 * r + 1) << 4);
  }
}

}  // namespace

bool PackedTable::read(StringRef packing, int64_t bits, StringRef form, DType dtype, int64_t elements) {
  if (bits == 16) {
    dtype_ = DType::kF32;
    return is(form, "f32") && dtype == DType::kF16 && read_panels(packing, bits, elements);
  }
  const bool numbers = bits == 8 || bits == 4;
  pairs_ = bits == 4 && is(form, "pairs");
  if (numbers ? !pairs_ && !is(form, "i8") && !is(form, "u8") : bits != 0 || form.size != 0) return false;
  if (numbers && dtype != (bits == 8 ? DType::kI8 : DType::kU8)) return false;
  dtype_ = !numbers ? dtype : is(form, "i8") ? DType::kI8 : DType::kU8;
  less_ = static_cast<uint8_t>(dtype_ == DType::kI8 && numbers ? (bits == 8 ? 128 : 8) : 0);
  const bool has_word = with_word(element_size(dtype), [](auto) {});
  return has_word && (read_panels(packing, bits, elements) || (!numbers && read_layout(packing, elements)));
}

bool PackedTable::read_panels(StringRef packing, int64_t bits, int64_t elements) {
  // Scales and zero points have a place each, as numbers of 8 bits have a byte; only the sizes are asked for, whatever
  // the blocks of a product are.
  const bool places = bits == 0 || bits == 16;
  if (!read_narrow_packing(packing, places ? 8 : bits, INT32_MAX, &narrow_)) return false;
  kind_ = bits == 0 ? Kind::kPanels : bits == 16 ? Kind::kHalves : bits == 8 ? Kind::kBytes : Kind::kNibbles;
  rows_ = narrow_.columns;
  width_ = pairs_ ? narrow_.depth / 2 : narrow_.depth;
  if (pairs_ && narrow_.depth % 2 != 0) return false;
  return elements == (places ? narrow_.padded_columns() * narrow_.depth : narrow_.weight_bytes());
}

bool PackedTable::read_layout(StringRef packing, int64_t elements) {
  DenseSizes dense;
  if (!read_packing(packing, &dense, &layout_) || dense.rank != 2 || layout_.all_numel() != elements) return false;
  kind_ = Kind::kPlaces;
  rows_ = dense_columns_ = dense.size[1];
  width_ = dense.size[0];
  // Each dimension runs along rows of the dense weight or along its columns.
  int64_t along[WeightLayout::kMaxDims] = {};  // along columns: how many rows of the dense weight a position is; else 0
  for (int d = 0; d < layout_.dims; ++d) {
    if (layout_.size[d] == 1) continue;
    if (layout_.from[d] % dense_columns_ == 0) {
      along[d] = layout_.from[d] / dense_columns_;
    } else if (dense_columns_ % (layout_.from[d] * layout_.size[d]) != 0) {
      return false;
    }
  }
  places_.assign(width_, 0);
  for (int64_t k = 0; k < width_; ++k) {
    for (int d = 0; d < layout_.dims; ++d) {
      if (along[d] > 0) places_[k] += packing_offset(layout_, d, k / along[d] % layout_.size[d]);
    }
  }
  return true;
}

int64_t PackedTable::place_of_row(int64_t row) const {
  int64_t place = 0;
  for (int d = 0; d < layout_.dims; ++d) {
    const bool along_rows = layout_.size[d] > 1 && layout_.from[d] % dense_columns_ != 0;
    if (along_rows) place += packing_offset(layout_, d, row / layout_.from[d] % layout_.size[d]);
  }
  return place;
}

void PackedTable::copy_row(const void* weight, int64_t row, void* to) const {
  if (kind_ == Kind::kPlaces) {
    const int64_t first = place_of_row(row);
    with_word(element_size(dtype_), [&](auto word) { copy_places<decltype(word)>(weight, first, places_, to); });
    return;
  }
  const int64_t panel = row / kNarrowPanel;
  const int64_t column = row % kNarrowPanel;
  const int64_t step = narrow_.width(panel);
  if (kind_ == Kind::kPanels || kind_ == Kind::kHalves) {
    const int64_t first = panel * kNarrowPanel * narrow_.depth + column;
    if (kind_ == Kind::kHalves) return copy_steps<Half, float>(weight, first, step, width_, to);
    with_word(element_size(dtype_), [&](auto word) { copy_steps<decltype(word)>(weight, first, step, width_, to); });
    return;
  }
  constexpr int64_t kWord = 4;
  const uint8_t* const from =
      static_cast<const uint8_t*>(weight) + panel * kNarrowPanel * narrow_.column_bytes() + column * kWord;
  auto* const bytes = static_cast<uint8_t*>(to);
  if (kind_ == Kind::kBytes) {
    copy_bytes(from, step * kWord, width_, less_, bytes);
  } else if (pairs_) {
    copy_pairs(from, step * kWord, width_, bytes);
  } else {
    copy_nibbles(from, step * kWord, width_, less_, bytes);
  }
}

}  // namespace berth::cpu
