#include "kernels/cpu/element_bytes.h"

#include <type_traits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/element_bytes.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace berth::cpu {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using Floats = hn::ScalableTag<float>;
using Words = hn::RebindToSigned<Floats>;
using Vector = hn::Vec<Floats>;
constexpr int64_t kLanes = HWY_LANES(float);

template <typename T>
HWY_INLINE Vector load_numbers(const T* in) {
  if constexpr (sizeof(T) == 4) return hn::ConvertTo(Floats(), hn::LoadU(Words(), in));
  if constexpr (sizeof(T) == 1) {
    return hn::ConvertTo(Floats(), hn::PromoteTo(Words(), hn::LoadU(hn::Rebind<T, Floats>(), in)));
  }
}

template <typename T>
void dequantise(const T* in, int64_t n, const Dequantising& by, float* out) {
  const Floats d;
  const Vector zero = hn::Set(d, by.zero);
  const Vector scale = hn::Set(d, by.scale);
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    hn::StoreU(hn::Mul(hn::Sub(load_numbers(in + i), zero), scale), d, out + i);
  }
  for (; i < n; ++i) out[i] = (static_cast<float>(in[i]) - by.zero) * by.scale;
}

// Limits are whole numbers, so that it is the same to hold a number within them before it is rounded; and sums with the
// zero point are exact, so that it may be added to integers. NaN has no place between limits.
struct Store {
  explicit Store(const Quantising& by)
      : factor(by.factor),
        low(by.low - by.zero),
        high(by.high - by.zero),
        nan(by.nan - by.zero),
        zero(static_cast<int32_t>(by.zero)) {}

  float factor, low, high, nan;
  int32_t zero;
};

template <bool kDivides>
HWY_INLINE hn::Vec<Words> whole_numbers(Vector x, const Store& by) {
  const Floats d;
  const Vector scaled = kDivides ? hn::Div(x, hn::Set(d, by.factor)) : hn::Mul(x, hn::Set(d, by.factor));
  const Vector held = hn::Min(hn::Max(scaled, hn::Set(d, by.low)), hn::Set(d, by.high));
  const Vector number = hn::IfThenElse(hn::IsNaN(scaled), hn::Set(d, by.nan), held);
  // Without a check for numbers that are too large, where Highway has one.
#if HWY_TARGET == HWY_AVX3
  const hn::Vec<Words> rounded{_mm512_cvtps_epi32(number.raw)};
#elif HWY_TARGET == HWY_AVX2
  const hn::Vec<Words> rounded{_mm256_cvtps_epi32(number.raw)};
#else
  const hn::Vec<Words> rounded = hn::NearestInt(number);
#endif
  return hn::Add(rounded, hn::Set(Words(), by.zero));
}

// Whole registers of the numbers that `load(i)` gives, and how many elements that are. Four registers become one of
// bytes where that is cheaper than one by one.
template <bool kDivides, typename T, typename Load>
HWY_INLINE int64_t quantise_registers(const Load& load, int64_t n, const Store& by, T* out) {
  int64_t i = 0;
#if HWY_TARGET == HWY_AVX3
  const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
  for (; i + 64 <= n; i += 64) {
    const auto part = [&](int k) HWY_ATTR { return whole_numbers<kDivides>(load(i + 16 * k), by).raw; };
    const __m512i low = _mm512_packs_epi32(part(0), part(1));
    const __m512i high = _mm512_packs_epi32(part(2), part(3));
    const __m512i bytes = std::is_signed_v<T> ? _mm512_packs_epi16(low, high) : _mm512_packus_epi16(low, high);
    _mm512_storeu_si512(out + i, _mm512_permutexvar_epi32(order, bytes));
  }
#elif HWY_TARGET == HWY_AVX2
  const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
  for (; i + 32 <= n; i += 32) {
    const auto part = [&](int k) HWY_ATTR { return whole_numbers<kDivides>(load(i + 8 * k), by).raw; };
    const __m256i low = _mm256_packs_epi32(part(0), part(1));
    const __m256i high = _mm256_packs_epi32(part(2), part(3));
    const __m256i bytes = std::is_signed_v<T> ? _mm256_packs_epi16(low, high) : _mm256_packus_epi16(low, high);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + i), _mm256_permutevar8x32_epi32(bytes, order));
  }
#endif
  const hn::Rebind<T, Floats> d;
  for (; i + kLanes <= n; i += kLanes) {
    hn::StoreU(hn::DemoteTo(d, whole_numbers<kDivides>(load(i), by)), d, out + i);
  }
  return i;
}

template <typename T, bool kDivides>
void quantise(const float* in, int64_t n, const Store& by, T* out) {
  const auto at = [](const float* from) {
    return [from](int64_t i) HWY_ATTR { return hn::LoadU(Floats(), from + i); };
  };
  const int64_t done = quantise_registers<kDivides>(at(in), n, by, out);
  if (done == n) return;
  float rest[kLanes] = {};
  T bytes[kLanes];
  for (int64_t k = done; k < n; ++k) rest[k - done] = in[k];
  quantise_registers<kDivides>(at(rest), kLanes, by, bytes);
  for (int64_t k = done; k < n; ++k) out[k] = bytes[k - done];
}

template <typename T>
void quantise_to(const float* in, int64_t n, const Quantising& by, T* out) {
  return by.divides ? quantise<T, true>(in, n, Store(by), out) : quantise<T, false>(in, n, Store(by), out);
}

template <bool kDivides>
void round(const float* in, int64_t n, const Store& by, float* out) {
  const Floats d;
  const auto rounded = [&](const float* from)
                           HWY_ATTR { return hn::ConvertTo(d, whole_numbers<kDivides>(hn::LoadU(d, from), by)); };
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) hn::StoreU(rounded(in + i), d, out + i);
  if (i == n) return;
  float rest[kLanes] = {};
  for (int64_t k = i; k < n; ++k) rest[k - i] = in[k];
  hn::StoreU(rounded(rest), d, rest);
  for (int64_t k = i; k < n; ++k) out[k] = rest[k - i];
}

// Signed bytes are moved by 128, and their zero point with them.
struct Term {
  explicit Term(const ByteTerm& term)
      : flip(term.is_signed ? 0x80 : 0), zero(term.by.zero + (term.is_signed ? 128.0f : 0.0f)), scale(term.by.scale) {}

  HWY_INLINE Vector load(const uint8_t* in) const {
    const hn::Rebind<uint8_t, Floats> d;
    const auto bytes = hn::Xor(hn::LoadU(d, in), hn::Set(d, flip));
    const Vector number = hn::ConvertTo(Floats(), hn::PromoteTo(Words(), bytes));
    return hn::Mul(hn::Sub(number, hn::Set(Floats(), zero)), hn::Set(Floats(), scale));
  }

  uint8_t flip;
  float zero, scale;
};

template <typename T, bool kDivides>
void add_terms(const ByteTerm& a, const ByteTerm& b, int64_t n, const Store& by, T* out) {
  const Term first(a), second(b);
  const auto sum = [&](const uint8_t* x, const uint8_t* y) {
    return [&first, &second, x, y](int64_t i) HWY_ATTR { return hn::Add(first.load(x + i), second.load(y + i)); };
  };
  const int64_t done = quantise_registers<kDivides>(sum(a.data, b.data), n, by, out);
  if (done == n) return;
  uint8_t x[kLanes] = {}, y[kLanes] = {};
  T bytes[kLanes];
  for (int64_t k = done; k < n; ++k) {
    x[k - done] = a.data[k];
    y[k - done] = b.data[k];
  }
  quantise_registers<kDivides>(sum(x, y), kLanes, by, bytes);
  for (int64_t k = done; k < n; ++k) out[k] = bytes[k - done];
}

template <typename T>
void add_to(const ByteTerm& a, const ByteTerm& b, int64_t n, const Quantising& by, T* out) {
  return by.divides ? add_terms<T, true>(a, b, n, Store(by), out) : add_terms<T, false>(a, b, n, Store(by), out);
}

#if HWY_TARGET == HWY_AVX3
// The upper bit of a byte says which half of the table it reads; a permutation ignores it.
__attribute__((target("avx512vbmi"))) void permute_bytes(const uint8_t* table, const uint8_t* in, int64_t n,
                                                         uint8_t* out) {
  const __m512i part0 = _mm512_load_si512(table);
  const __m512i part1 = _mm512_load_si512(table + 64);
  const __m512i part2 = _mm512_load_si512(table + 128);
  const __m512i part3 = _mm512_load_si512(table + 192);
  for (int64_t i = 0; i < n; i += 64) {
    const __mmask64 here = n - i < 64 ? (__mmask64{1} << (n - i)) - 1 : ~__mmask64{0};
    const __m512i at = _mm512_maskz_loadu_epi8(here, in + i);
    const __m512i low = _mm512_permutex2var_epi8(part0, at, part1);
    const __m512i high = _mm512_permutex2var_epi8(part2, at, part3);
    _mm512_mask_storeu_epi8(out + i, here, _mm512_mask_blend_epi8(_mm512_movepi8_mask(at), low, high));
  }
}

// Each of a number's four bytes has a table of its own. 64 bytes are brought into the order in which interleaving
// leaves the numbers in theirs.
__attribute__((target("avx512vbmi"))) int64_t permute_numbers(const NumberTable& table, const uint8_t* in, int64_t n,
                                                              float* out) {
  __m512i part[4][4];
#pragma GCC unroll 4
  for (int plane = 0; plane < 4; ++plane) {
#pragma GCC unroll 4
    for (int k = 0; k < 4; ++k) part[plane][k] = _mm512_load_si512(table.plane[plane] + 64 * k);
  }
  const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
  int64_t i = 0;
  for (; i + 64 <= n; i += 64) {
    const __m512i at = _mm512_permutexvar_epi32(order, _mm512_loadu_si512(in + i));
    const __mmask64 upper = _mm512_movepi8_mask(at);
    __m512i byte[4];
#pragma GCC unroll 4
    for (int plane = 0; plane < 4; ++plane) {
      const __m512i low = _mm512_permutex2var_epi8(part[plane][0], at, part[plane][1]);
      const __m512i high = _mm512_permutex2var_epi8(part[plane][2], at, part[plane][3]);
      byte[plane] = _mm512_mask_blend_epi8(upper, low, high);
    }
    const __m512i low01 = _mm512_unpacklo_epi8(byte[0], byte[1]), low23 = _mm512_unpacklo_epi8(byte[2], byte[3]);
    const __m512i high01 = _mm512_unpackhi_epi8(byte[0], byte[1]), high23 = _mm512_unpackhi_epi8(byte[2], byte[3]);
    _mm512_storeu_si512(out + i, _mm512_unpacklo_epi16(low01, low23));
    _mm512_storeu_si512(out + i + 16, _mm512_unpackhi_epi16(low01, low23));
    _mm512_storeu_si512(out + i + 32, _mm512_unpacklo_epi16(high01, high23));
    _mm512_storeu_si512(out + i + 48, _mm512_unpackhi_epi16(high01, high23));
  }
  return i;
}

bool permutes() {
  static const bool has = __builtin_cpu_supports("avx512vbmi") != 0;
  return has;
}
#elif HWY_TARGET == HWY_AVX2
// A shuffle looks a byte up in sixteen others by its lower bits, and gives 0 where its upper bit is set, which it is
// once too much was taken from it. So it stops at the part of the table that it belongs to, if each part holds how it
// differs from the one before: what is added without carry up to there is that part's byte. Returns how many were done.
int64_t shuffle_bytes(const uint8_t* table, const uint8_t* in, int64_t n, uint8_t* out) {
  constexpr int kParts = 8;  // of each half
  __m256i lower[kParts], upper[kParts];
  const auto part = [table](int k) HWY_ATTR {
    return _mm256_broadcastsi128_si256(_mm_load_si128(reinterpret_cast<const __m128i*>(table) + k));
  };
  for (int k = 0; k < kParts; ++k) {
    lower[k] = k == 0 ? part(0) : _mm256_xor_si256(part(k), part(k - 1));
    upper[k] = k == 0 ? part(kParts) : _mm256_xor_si256(part(kParts + k), part(kParts + k - 1));
  }
  const __m256i half = _mm256_set1_epi8(-128), sixteen = _mm256_set1_epi8(16);
  int64_t i = 0;
  for (; i + 32 <= n; i += 32) {
    __m256i a = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(in + i)), b = _mm256_xor_si256(a, half);
    __m256i low = _mm256_setzero_si256(), high = low;
#pragma GCC unroll 8
    for (int k = 0; k < kParts; ++k) {
      low = _mm256_xor_si256(low, _mm256_shuffle_epi8(lower[k], a));
      high = _mm256_xor_si256(high, _mm256_shuffle_epi8(upper[k], b));
      a = _mm256_subs_epi8(a, sixteen);
      b = _mm256_subs_epi8(b, sixteen);
    }
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + i), _mm256_xor_si256(low, high));
  }
  return i;
}
#endif

}  // namespace

void dequantise_run(DType from, const void* in, int64_t n, const Dequantising& by, float* out) {
  if (from == DType::kU8) return dequantise(static_cast<const uint8_t*>(in), n, by, out);
  if (from == DType::kI8) return dequantise(static_cast<const int8_t*>(in), n, by, out);
  dequantise(static_cast<const int32_t*>(in), n, by, out);
}

void quantise_run(const float* in, int64_t n, const Quantising& by, DType to, void* out) {
  if (to == DType::kU8) return quantise_to(in, n, by, static_cast<uint8_t*>(out));
  quantise_to(in, n, by, static_cast<int8_t*>(out));
}

void round_run(const float* in, int64_t n, const Quantising& by, float* out) {
  return by.divides ? round<true>(in, n, Store(by), out) : round<false>(in, n, Store(by), out);
}

void add_run(const ByteTerm& a, const ByteTerm& b, int64_t n, const Quantising& by, DType to, void* out) {
  if (to == DType::kU8) return add_to(a, b, n, by, static_cast<uint8_t*>(out));
  add_to(a, b, n, by, static_cast<int8_t*>(out));
}

void look_up_run(const ByteTable& table, const uint8_t* in, int64_t n, uint8_t* out) {
#if HWY_TARGET == HWY_AVX3
  if (permutes()) return permute_bytes(table.byte, in, n, out);
#endif
  int64_t i = 0;
#if HWY_TARGET == HWY_AVX2
  i = shuffle_bytes(table.byte, in, n, out);
#endif
  for (; i < n; ++i) out[i] = table.byte[in[i]];
}

void look_up_number_run(const NumberTable& table, const uint8_t* in, int64_t n, float* out) {
  int64_t i = 0;
#if HWY_TARGET == HWY_AVX3
  if (permutes()) i = permute_numbers(table, in, n, out);
#endif
  for (; i < n; ++i) out[i] = table.number[in[i]];
}

}  // namespace HWY_NAMESPACE
}  // namespace berth::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace berth::cpu {

HWY_EXPORT(dequantise_run);
HWY_EXPORT(quantise_run);
HWY_EXPORT(round_run);
HWY_EXPORT(add_run);
HWY_EXPORT(look_up_run);
HWY_EXPORT(look_up_number_run);

void dequantise_elements(DType from, const void* in, int64_t n, const Dequantising& by, float* out) {
  HWY_DYNAMIC_DISPATCH(dequantise_run)(from, in, n, by, out);
}

void quantise_elements(const float* in, int64_t n, const Quantising& by, DType to, void* out) {
  HWY_DYNAMIC_DISPATCH(quantise_run)(in, n, by, to, out);
}

void round_elements(const float* in, int64_t n, const Quantising& by, float* out) {
  HWY_DYNAMIC_DISPATCH(round_run)(in, n, by, out);
}

void add_bytes(const ByteTerm& a, const ByteTerm& b, int64_t n, const Quantising& by, DType to, void* out) {
  HWY_DYNAMIC_DISPATCH(add_run)(a, b, n, by, to, out);
}

void look_up_bytes(const ByteTable& table, const uint8_t* in, int64_t n, uint8_t* out) {
  HWY_DYNAMIC_DISPATCH(look_up_run)(table, in, n, out);
}

void look_up_numbers(const NumberTable& table, const uint8_t* in, int64_t n, float* out) {
  HWY_DYNAMIC_DISPATCH(look_up_number_run)(table, in, n, out);
}

}  // namespace berth::cpu
#endif
