#include "kernels/portable/copy_block.h"

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

// Tiles of whole cache lines on both sides: each line is read and written once while it is in the nearest cache, even
// where all rows fall into the same cache set.
template <typename Word>
void transpose(const CopyBlock& b, const char* from, char* to) {
  constexpr int64_t kBytes = sizeof(Word);
  constexpr int64_t kTile = kBytes >= 4 ? 16 : 64 / kBytes;
  constexpr int64_t kStep = kSquare<Word>;
  const int64_t square_rows = b.rows / kStep * kStep;
  const int64_t square_columns = b.columns / kStep * kStep;
  for (int64_t row = 0; row < square_rows; row += kTile) {
    const int64_t row_end = row + kTile < square_rows ? row + kTile : square_rows;
    for (int64_t column = 0; column < square_columns; column += kTile) {
      const int64_t column_end = column + kTile < square_columns ? column + kTile : square_columns;
      for (int64_t r = row; r < row_end; r += kStep) {
        for (int64_t c = column; c < column_end; c += kStep) {
          copy_square<Word>(from + r * kBytes + c * b.from_column, b.from_column, to + r * b.to_row + c * kBytes,
                            b.to_row);
        }
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
  const size_t row_bytes = static_cast<size_t>(block.columns * bytes);
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
