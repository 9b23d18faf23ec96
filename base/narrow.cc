#include "base/narrow.h"

#include "base/check.h"
#include "base/half.h"

namespace berth {
namespace {

using internal::bits_of;
using internal::float_of;

constexpr uint32_t kInfinity = 0x7f800000;
constexpr uint32_t kNan = 0x7fc00000;

// What the codes above the largest finite number are, and what a number becomes that is larger.
enum class Above {
  kInfinity,  // infinity, then NaNs
  kNan,       // one NaN
  kNanAtMinusZero,
  kNothing,
};

// Sign, exponent, mantissa. `Largest` is the code of the largest finite number.
template <int Mantissa, int Bias, uint8_t Sign, uint8_t Largest, Above above>
struct Format {
  static constexpr int kShift = 23 - Mantissa;  // between places in f32 and here

  static float decode(uint8_t code) {
    if (above == Above::kNanAtMinusZero && code == Sign) return float_of(kNan);
    const uint32_t sign = (code & Sign) != 0 ? 0x80000000u : 0;
    const uint32_t magnitude = code & (Sign - 1u);
    if (magnitude > Largest) {
      return float_of(sign | (above == Above::kInfinity && magnitude == Largest + 1u ? kInfinity : kNan));
    }
    if (magnitude >> Mantissa == 0) {
      constexpr uint32_t kSmallest = static_cast<uint32_t>(128 - Bias - Mantissa) << 23;
      return float_of(sign | bits_of(static_cast<float>(magnitude) * float_of(kSmallest)));
    }
    return float_of(sign | ((magnitude << kShift) + (static_cast<uint32_t>(127 - Bias) << 23)));
  }

  static uint8_t encode(float x) {
    const uint32_t magnitude = bits_of(x) & 0x7fffffffu;
    const uint8_t sign = (bits_of(x) & 0x80000000u) != 0 ? Sign : 0;
    if (magnitude > kInfinity) return above == Above::kNanAtMinusZero ? Sign : static_cast<uint8_t>(sign | kNanCode);
    const uint32_t code = rounded(magnitude);
    if (code > Largest) return above == Above::kNanAtMinusZero ? Sign : static_cast<uint8_t>(sign | kBeyond);
    if (above == Above::kNanAtMinusZero && code == 0) return 0;
    return static_cast<uint8_t>(sign | code);
  }

 private:
  static constexpr uint8_t kNanCode = above == Above::kNothing ? Sign : Sign - 1;
  static constexpr uint8_t kBeyond = above == Above::kNothing ? Largest : Largest + 1;

  // Too large a number gives some code above Largest.
  static uint32_t rounded(uint32_t magnitude) {
    constexpr uint32_t kSmallestNormal = static_cast<uint32_t>(128 - Bias) << 23;
    if (magnitude <
        kSmallestNormal) {  // let the FPU round by adding a number whose last place is the smallest element's
      constexpr uint32_t kLast = static_cast<uint32_t>(127 + 24 - Bias - Mantissa) << 23;
      return bits_of(float_of(magnitude) + float_of(kLast)) - kLast;
    }
    const uint32_t odd = (magnitude >> kShift) & 1u;
    return (magnitude - (static_cast<uint32_t>(127 - Bias) << 23) + (1u << (kShift - 1)) - 1 + odd) >> kShift;
  }
};

using E4M3 = Format<3, 7, 0x80, 0x7e, Above::kNan>;
using E5M2 = Format<2, 15, 0x80, 0x7b, Above::kInfinity>;
using E4M3Fnuz = Format<3, 8, 0x80, 0x7f, Above::kNanAtMinusZero>;
using E5M2Fnuz = Format<2, 16, 0x80, 0x7f, Above::kNanAtMinusZero>;
using E2M1 = Format<1, 1, 0x08, 0x07, Above::kNothing>;

// An exponent as f32 has it, alone; 0 stands for 2^-127, which is subnormal in f32.
struct E8M0 {
  static float decode(uint8_t code) {
    if (code == 0xff) return float_of(kNan);
    return float_of(code == 0 ? 0x00400000u : static_cast<uint32_t>(code) << 23);
  }
  static uint8_t encode(float x) {
    const uint32_t magnitude = bits_of(x) & 0x7fffffffu;
    if (magnitude >= kInfinity) return 0xff;
    if (magnitude < 0x00800000u) return magnitude > 0x00400000u ? 1 : 0;
    return static_cast<uint8_t>((magnitude + 0x00400000u) >> 23);
  }
};

template <typename F>
void decode_all(const uint8_t* codes, float* numbers, int64_t n) {
  for (int64_t i = 0; i < n; ++i) numbers[i] = F::decode(codes[i]);
}
template <typename F>
void encode_all(const float* numbers, uint8_t* codes, int64_t n) {
  for (int64_t i = 0; i < n; ++i) codes[i] = F::encode(numbers[i]);
}

int bits_of_integer(DType dtype) { return dtype == DType::kU4 || dtype == DType::kI4 ? 4 : 2; }

}  // namespace

void decode_narrow(DType dtype, const uint8_t* codes, float* numbers, int64_t n) {
  switch (dtype) {
    case DType::kF8E4M3: return decode_all<E4M3>(codes, numbers, n);
    case DType::kF8E5M2: return decode_all<E5M2>(codes, numbers, n);
    case DType::kF8E4M3Fnuz: return decode_all<E4M3Fnuz>(codes, numbers, n);
    case DType::kF8E5M2Fnuz: return decode_all<E5M2Fnuz>(codes, numbers, n);
    case DType::kF8E8M0: return decode_all<E8M0>(codes, numbers, n);
    case DType::kF4E2M1: return decode_all<E2M1>(codes, numbers, n);
    default: BERTH_CHECK(false && "decode_narrow of a type that is not a narrow float");
  }
}

void encode_narrow(DType dtype, const float* numbers, uint8_t* codes, int64_t n) {
  switch (dtype) {
    case DType::kF8E4M3: return encode_all<E4M3>(numbers, codes, n);
    case DType::kF8E5M2: return encode_all<E5M2>(numbers, codes, n);
    case DType::kF8E4M3Fnuz: return encode_all<E4M3Fnuz>(numbers, codes, n);
    case DType::kF8E5M2Fnuz: return encode_all<E5M2Fnuz>(numbers, codes, n);
    case DType::kF8E8M0: return encode_all<E8M0>(numbers, codes, n);
    case DType::kF4E2M1: return encode_all<E2M1>(numbers, codes, n);
    default: BERTH_CHECK(false && "encode_narrow of a type that is not a narrow float");
  }
}

void decode_narrow(DType dtype, const uint8_t* codes, int64_t* numbers, int64_t n) {
  BERTH_CHECK(is_narrow_integer(dtype));
  const int limit = 1 << bits_of_integer(dtype);
  const int half = dtype == DType::kI4 || dtype == DType::kI2 ? limit / 2 : limit;
  for (int64_t i = 0; i < n; ++i) {
    const int low = codes[i] & (limit - 1);
    numbers[i] = low < half ? low : low - limit;
  }
}

void encode_narrow(DType dtype, const int64_t* numbers, uint8_t* codes, int64_t n) {
  BERTH_CHECK(is_narrow_integer(dtype));
  const int limit = 1 << bits_of_integer(dtype);
  const int half = dtype == DType::kI4 || dtype == DType::kI2 ? limit / 2 : limit;
  for (int64_t i = 0; i < n; ++i) {
    const int low = static_cast<int>(numbers[i] & (limit - 1));
    codes[i] = static_cast<uint8_t>(low < half ? low : low - limit);
  }
}

float largest_narrow(DType dtype) {
  switch (dtype) {
    case DType::kF8E4M3: return 448;
    case DType::kF8E4M3Fnuz: return 240;
    case DType::kF8E8M0: return 0x1p127f;
    case DType::kF4E2M1: return 6;
    default: return 57344;
  }
}

}  // namespace berth
