#include "kernels/portable/copy_block.h"

#include <algorithm>
#include <cstring>

#include "kernels/portable/element_word.h"

#if defined(__has_builtin)
#if __has_builtin(__builtin_shufflevector) && !defined(BERTH_PLAIN)
#define BERTH_SHUFFLES 1
#endif
#endif

namespace berth::portable {
namespace {

template <typename Word>
void elements(const CopyBlock& b, const char* from, char* to) {
  for (int64_t r = 0; r < b.rows; ++r) {
    const char* source = from + r * b.from_row;
    char* target = to + r * b.to_row;
    for (int64_t c = 0; c < b.columns; ++c) {
      store_word(target + c * b.to_column, load_word<Word>(source + c * b.from_column));
    }
  }
}

// The same with dense rows on the writing side, which lets the stores be vectorised.
template <typename Word>
void elements_to_rows(const CopyBlock& b, const char* from, char* to) {
  constexpr int64_t kBytes = sizeof(Word);
  for (int64_t r = 0; r < b.rows; ++r) {
    const char* source = from + r * b.from_row;
    char* target = to + r * b.to_row;
    for (int64_t c = 0; c < b.columns; ++c)
      store_word(target + c * kBytes, load_word<Word>(source + c * b.from_column));
  }
}

template <typename Word, int kColumns>
void interleave(const CopyBlock& b, const char* from, char* to) {
  constexpr int64_t kBytes = sizeof(Word);
  for (int64_t r = 0; r < b.rows; ++r) {
    Word words[kColumns];
    for (int c = 0; c < kColumns; ++c) words[c] = load_word<Word>(from + c * b.from_column + r * kBytes);
    for (int c = 0; c < kColumns; ++c) store_word(to + (r * kColumns + c) * kBytes, words[c]);
  }
}

#ifdef BERTH_SHUFFLES

constexpr int kVectorBytes = 16;
template <typename Word>
struct VectorOf {
  typedef Word type __attribute__((vector_size(kVectorBytes)));
};

// The lower halves of `a` and `b` interleaved, and the upper halves.
template <typename V>
void zip(V a, V b, V* low, V* high) {
  constexpr size_t kLanes = kVectorBytes / sizeof(a[0]);
  if constexpr (kLanes == 2) {
    *low = __builtin_shufflevector(a, b, 0, 2);
    *high = __builtin_shufflevector(a, b, 1, 3);
  } else if constexpr (kLanes == 4) {
    *low = __builtin_shufflevector(a, b, 0, 4, 1, 5);
    *high = __builtin_shufflevector(a, b, 2, 6, 3, 7);
  } else if constexpr (kLanes == 8) {
    *low = __builtin_shufflevector(a, b, 0, 8, 1, 9, 2, 10, 3, 11);
    *high = __builtin_shufflevector(a, b, 4, 12, 5, 13, 6, 14, 7, 15);
  } else {
    *low = __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
    *high = __builtin_shufflevector(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
  }
}

// A square of as many words as fit in a vector. Zipping row i with row i + n/2, log2(n) times, is the transpose: each
// time the bits of (row, lane), read as one number, rotate by one place.
template <typename Word>
void transpose_square(const char* from, int64_t from_column, char* to, int64_t to_row) {
  using V = typename VectorOf<Word>::type;
  constexpr int kLanes = kVectorBytes / sizeof(Word);
  V v[kLanes];
  for (int c = 0; c < kLanes; ++c) std::memcpy(&v[c], from + c * from_column, kVectorBytes);
  for (int distance = 1; distance < kLanes; distance *= 2) {
    V w[kLanes];
    for (int i = 0; i < kLanes / 2; ++i) zip(v[i], v[i + kLanes / 2], &w[2 * i], &w[2 * i + 1]);
    for (int i = 0; i < kLanes; ++i) v[i] = w[i];
  }
  for (int r = 0; r < kLanes; ++r) std::memcpy(to + r * to_row, &v[r], kVectorBytes);
}

template <typename Word>
constexpr int kSquare = sizeof(Word) <= 8 ? static_cast<int>(kVectorBytes / sizeof(Word)) : 1;

#else

template <typename Word>
constexpr int kSquare = 1;

#endif

template <typename Word>
void copy_square(const char* from, int64_t from_column, char* to, int64_t to_row) {
#ifdef BERTH_SHUFFLES
  if constexpr (kSquare < Word >> 1) return transpose_square<Word>(from, from_column, to, to_row);
#endif
  (void)from_column;
  (void)to_row;
  store_word(to, load_word<Word>(from));
}

// The tile's columns side by side: on their way from a source whose rows lie a power of two apart, they would push one
// another out of the few places that the nearest cache has for them.
template <typename Word, int64_t kRows>
const char* gather_columns(const char* from, int64_t from_column, int64_t rows, int64_t columns, Word (*tile)[kRows]) {
  const size_t bytes = rows * sizeof(Word);
  for (int64_t c = 0; c < columns; ++c) std::memcpy(tile[c], from + c * from_column, bytes);
  return reinterpret_cast<const char*>(tile);
}

// REQUIRES: rows and columns are multiples of kSquare<Word>.
template <typename Word>
void transpose_tile(int64_t rows, int64_t columns, const char* from, int64_t from_column, char* to, int64_t to_row) {
  constexpr int64_t kBytes = sizeof(Word);
  for (int64_t r = 0; r < rows; r += kSquare<Word>) {
    for (int64_t c = 0; c < columns; c += kSquare<Word>) {
      copy_square<Word>(from + r * kBytes + c * from_column, from_column, to + r * to_row + c * kBytes, to_row);
    }
  }
}

// Tiles of whole cache lines on both sides, so that each line is read and written once. They go down a band of columns
// before the next: then the pages that are read stay at hand.
template <typename Word>
void transpose(const CopyBlock& b, const char* from, char* to) {
  constexpr int64_t kBytes = sizeof(Word);
  constexpr int64_t kRows = 256 / kBytes;
  constexpr int64_t kColumns = kBytes <= 4 ? 64 : 256 / kBytes;
  constexpr int64_t kBand = 4 * kColumns;
  constexpr int64_t kStep = kSquare<Word>;
  const int64_t square_rows = b.rows / kStep * kStep;
  const int64_t square_columns = b.columns / kStep * kStep;
  const bool crowded = b.from_column % 2048 == 0;
  Word tile[kColumns][kRows];
  for (int64_t band = 0; band < square_columns; band += kBand) {
    const int64_t band_end = std::min(band + kBand, square_columns);
    for (int64_t row = 0; row < square_rows; row += kRows) {
      const int64_t row_end = std::min(row + kRows, square_rows);
      for (int64_t column = band; column < band_end; column += kColumns) {
        const int64_t columns = std::min(kColumns, band_end - column);
        const char* source = from + row * kBytes + column * b.from_column;
        int64_t source_column = b.from_column;
        if (crowded) {
          source = gather_columns<Word, kRows>(source, source_column, row_end - row, columns, tile);
          source_column = kRows * kBytes;
        }
        transpose_tile<Word>(row_end - row, columns, source, source_column, to + row * b.to_row + column * kBytes,
                             b.to_row);
      }
    }
  }
  CopyBlock right = b;
  right.rows = square_rows;
  right.columns = b.columns - square_columns;
  elements<Word>(right, from + square_columns * b.from_column, to + square_columns * kBytes);
  CopyBlock below = b;
  below.rows = b.rows - square_rows;
  elements_to_rows<Word>(below, from + square_rows * kBytes, to + square_rows * b.to_row);
}

}  // namespace

void copy_rows(const CopyBlock& block, int64_t bytes, const char* from, char* to) {
  const size_t row_bytes = block.columns * bytes;
  for (int64_t r = 0; r < block.rows; ++r) std::memcpy(to + r * block.to_row, from + r * block.from_row, row_bytes);
}

void copy_fill(const CopyBlock& block, int64_t bytes, const char* from, char* to) {
  for (int64_t r = 0; r < block.rows; ++r) {
    fill_elements(block.columns, bytes, from + r * block.from_row, to + r * block.to_row);
  }
}

void copy_transpose(const CopyBlock& block, int64_t bytes, const char* from, char* to) {
  dispatch_word(bytes, [&](auto tag) { transpose<typename decltype(tag)::type>(block, from, to); });
}

void copy_interleave(const CopyBlock& block, int64_t bytes, const char* from, char* to) {
  dispatch_word(bytes, [&](auto tag) {
    using Word = typename decltype(tag)::type;
    switch (block.columns) {
      case 2: interleave<Word, 2>(block, from, to); break;
      case 3: interleave<Word, 3>(block, from, to); break;
      default: interleave<Word, 4>(block, from, to); break;
    }
  });
}

void copy_elements(const CopyBlock& block, int64_t bytes, const char* from, char* to) {
  dispatch_word(bytes, [&](auto tag) {
    using Word = typename decltype(tag)::type;
    if (block.to_column == bytes) {
      elements_to_rows<Word>(block, from, to);
    } else {
      elements<Word>(block, from, to);
    }
  });
}

void fill_elements(int64_t count, int64_t bytes, const void* value, char* to) {
  dispatch_word(bytes, [&](auto tag) {
    using Word = typename decltype(tag)::type;
    constexpr int64_t kBytes = sizeof(Word);
    const Word word = load_word<Word>(static_cast<const char*>(value));
    for (int64_t i = 0; i < count; ++i) store_word(to + i * kBytes, word);
  });
}

}  // namespace berth::portable
