// Elements as words: kernels that only move them are compiled once a size, not once a dtype.
#pragma once

#include <cstdint>
#include <cstring>

namespace berth::portable {

/// Stands for elements of 16 bytes, which have no integer of their own.
struct Word16 {
  uint64_t low;
  uint64_t high;
};

/// Words at any address: tensors are aligned to their elements only, and a word may stand for several elements.
template <typename Word>
inline Word load_word(const char* p) {
  Word word;
  std::memcpy(&word, p, sizeof word);
  return word;
}

template <typename Word>
inline void store_word(char* p, Word word) {
  std::memcpy(p, &word, sizeof word);
}

template <typename Word>
struct WordTag {
  using type = Word;
};

/// `f(WordTag<Word>)` for the unsigned word of `bytes` bytes. REQUIRES: bytes is 1, 2, 4, 8 or 16.
template <typename F>
inline auto dispatch_word(int64_t bytes, F&& f) {
  switch (bytes) {
    case 1: return f(WordTag<uint8_t>());
    case 2: return f(WordTag<uint16_t>());
    case 4: return f(WordTag<uint32_t>());
    case 8: return f(WordTag<uint64_t>());
    default: return f(WordTag<Word16>());
  }
}

}  // namespace berth::portable
