// Planes of digits with AMX. Registers 0 to 5 have sums of two tiles of columns, 6 a digit of the rows, 7 the columns.
#include <algorithm>
#include <utility>

#include "base/math.h"
#include "kernels/cpu/narrow_digit_sums_x86.h"
#include "kernels/cpu/narrow_linear_planes_run.h"
#include "kernels/cpu/narrow_numbers_x86.h"
#include "kernels/cpu/x86_intrinsics.h"

#ifdef __x86_64__

namespace berth::cpu {
namespace {

constexpr int kDigits = NarrowDigits::kDigits;
constexpr int64_t kLanes = 16;
constexpr int64_t kRegister = 1024;  // bytes
constexpr int64_t kSums = 256;       // of a register
constexpr int64_t kAhead = 4096;     // bytes of the weight that are asked for before they are read
constexpr int kRowsAt = 6, kColumnsAt = 7;

// What LDTILECFG reads: all registers are whole.
struct alignas(64) Configuration {
  uint8_t palette = 1;
  uint8_t start_row = 0;
  uint8_t reserved[14] = {};
  uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};
static_assert(sizeof(Configuration) == 64);

// By their names: the intrinsics take constants alone.
template <int kTo>
inline void load_register(const void* from, int64_t row_bytes) {
  asm volatile("tileloadd (%0,%1,1), %%tmm%c2" : : "r"(from), "r"(row_bytes), "n"(kTo) : "memory");
}
template <int kFrom>
inline void store_register(int32_t* to) {
  asm volatile("tilestored %%tmm%c2, (%0,%1,1)" : : "r"(to), "r"(kLanes * sizeof(int32_t)), "n"(kFrom) : "memory");
}
template <int kWhich>
inline void clear_register() {
  asm volatile("tilezero %%tmm%c0" : : "n"(kWhich));
}
// Bytes with signs times bytes without.
template <int kSumsAt>
inline void add_products() {
  asm volatile("tdpbsud %%tmm%c2, %%tmm%c1, %%tmm%c0" : : "n"(kSumsAt), "n"(kRowsAt), "n"(kColumnsAt));
}

// f(0), f(1), … as constants.
template <int... kIndex, typename F>
inline void unrolled(std::integer_sequence<int, kIndex...>, F&& f) {
  (f(std::integral_constant<int, kIndex>()), ...);
}
template <int kCount, typename F>
inline void for_each_constant(F&& f) {
  unrolled(std::make_integer_sequence<int, kCount>(), f);
}

// Sixteen rows times kTiles tiles of columns: sums of digit d and tile c at sums + (c * digits + d) * kSums.
template <int kUsed, int kTiles>
void multiply(const PlaneTurn& turn, const PlaneRows& rows, int64_t tile, int32_t* sums) {
  for_each_constant<kTiles * kUsed>([](auto i) { clear_register<i()>(); });
  const int64_t tiles = turn.width / kLanes;
  const int8_t* a = rows.planes + (kDigits - kUsed) * rows.plane_bytes;
  const uint8_t* b = turn.weight + tile * kRegister;
  for (int64_t k = 0; k < turn.registers; ++k, a += kPlaneDepth, b += tiles * kRegister) {
    for_each_constant<kTiles>([&](auto c) {
      load_register<kColumnsAt>(b + c() * kRegister, kPlaneDepth);
      for_each_constant<kUsed>([&](auto d) {
        load_register<kRowsAt>(a + d() * rows.plane_bytes, rows.row_bytes);
        add_products<c() * kUsed + d()>();
      });
    });
  }
  for_each_constant<kTiles * kUsed>([&](auto i) { store_register<i()>(sums + i() * kSums); });
}

// Adds what the sums of `count` rows stand for to their sixteen columns from `column` on.
template <int kUsed, bool kZeros>
BERTH_VNNI void add_tile(const PlaneTurn& turn, const PlaneRows& rows, int64_t column, int64_t count,
                         const int32_t* sums, float* out) {
  constexpr int kFirst = kDigits - kUsed;
  const __m512 scale = scales_of_16(turn.numbers, column);
  const __m512 zeros = kZeros ? zeros_of_16(turn.numbers, column) : _mm512_setzero_ps();
  for (int64_t i = 0; i < count; ++i) {
    const NarrowDigits::Chunk& chunk = rows.chunk[i * rows.row_chunks];
    __m512i digit[kDigits];
    BERTH_UNROLL
    for (int d = kFirst; d < kDigits; ++d) {
      const __m512i sum = _mm512_loadu_si512(sums + (d - kFirst) * kSums + i * kLanes);
      digit[d] = _mm512_add_epi32(sum, _mm512_set1_epi32(chunk.start[d]));
    }
    const __m512 all = value_of_digits<kFirst, kZeros>(digit, chunk, zeros);
    float* to = out + i * kNarrowPanel + column;
    _mm512_storeu_ps(to, _mm512_fmadd_ps(all, scale, _mm512_loadu_ps(to)));
  }
}

template <int kUsed, bool kZeros>
void add_rows(const PlaneTurn& turn, PlaneRows rows, int64_t count, float* out) {
  const Configuration configuration;
  asm volatile("ldtilecfg %0" : : "m"(configuration));
  alignas(64) int32_t sums[2 * kUsed * kSums];
  const int64_t tiles = turn.width / kLanes;
  for (int64_t first = 0; first < count; first += kPlaneRows) {
    const int64_t taken = std::min(count - first, kPlaneRows);
    for (int64_t tile = 0; tile < tiles; tile += 2) {
      const bool both = tile + 1 < tiles;
      both ? multiply<kUsed, 2>(turn, rows, tile, sums) : multiply<kUsed, 1>(turn, rows, tile, sums);
      add_tile<kUsed, kZeros>(turn, rows, tile * kLanes, taken, sums, out);
      if (both) add_tile<kUsed, kZeros>(turn, rows, (tile + 1) * kLanes, taken, sums + kUsed * kSums, out);
    }
    rows.planes += kPlaneRows * rows.row_bytes;
    rows.chunk += kPlaneRows * rows.row_chunks;
    out += kPlaneRows * kNarrowPanel;
  }
  asm volatile("tilerelease");
}

template <int kUsed>
void add(const PlaneTurn& turn, PlaneRows rows, int64_t count, float* out) {
  turn.numbers.has_zeros() ? add_rows<kUsed, true>(turn, rows, count, out)
                           : add_rows<kUsed, false>(turn, rows, count, out);
}

BERTH_VNNI void split(const float* x, int64_t n, float steps, int shift, int8_t* to, int64_t plane_bytes,
                      int32_t* sums) {
  const __m512i planes = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
  DigitSplitter splitter(steps, shift);
  for (int64_t k = 0; k < align_up(n, kPlaneDepth); k += kLanes) {
    const __m512i apart = _mm512_permutexvar_epi32(planes, splitter.split(x + k, std::max<int64_t>(n - k, 0)));
    _mm_store_si128(reinterpret_cast<__m128i*>(to + k), _mm512_castsi512_si128(apart));
    _mm_store_si128(reinterpret_cast<__m128i*>(to + plane_bytes + k), _mm512_extracti32x4_epi32(apart, 1));
    _mm_store_si128(reinterpret_cast<__m128i*>(to + 2 * plane_bytes + k), _mm512_extracti32x4_epi32(apart, 2));
  }
  splitter.sums(sums);
}

// Four rows of the weight are a line of a register: a line of bytes as it is, or half of a line of two numbers a byte.
template <int64_t kBits>
BERTH_VNNI void widen(const uint8_t* weight, int64_t width, int64_t rows, uint8_t* to) {
  const __m512i low = _mm512_set1_epi8(15);
  const int64_t tiles = width / kLanes;
  const int64_t lines = ceil_div<int64_t>(rows, 4), all = align_up<int64_t>(rows, kPlaneDepth) / 4;
  for (int64_t line = 0; line < all; ++line) {
    const uint8_t* from = weight + (kBits == 8 ? line : line / 2) * width * 4;
    uint8_t* line_to = to + line / kLanes * tiles * kRegister + line % kLanes * 64;
    for (int64_t tile = 0; tile < tiles; ++tile) {
      __m512i numbers = _mm512_setzero_si512();
      if (line < lines) {
        _mm_prefetch(reinterpret_cast<const char*>(from + tile * 64) + kAhead, _MM_HINT_T0);
        numbers = _mm512_loadu_si512(from + tile * 64);
        if constexpr (kBits == 4) {
          numbers = _mm512_and_si512(line % 2 == 0 ? numbers : _mm512_srli_epi16(numbers, 4), low);
        }
      }
      _mm512_store_si512(line_to + tile * kRegister, numbers);
    }
  }
  // The instructions that read it are ones that the compiler knows nothing of.
  asm volatile("" : : : "memory");
}

}  // namespace

PlaneFunctions amx_plane_functions(int64_t bits, int64_t digits) {
  return {split, bits == 8 ? widen<8> : widen<4>, digits == 2 ? add<2> : add<3>};
}

}  // namespace berth::cpu

#endif
