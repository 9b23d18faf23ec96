#include "kernels/portable/convert.h"

#include <cstring>
#include <limits>
#include <type_traits>

#include "base/narrow.h"
#include "kernels/portable/convert_halves.h"
#include "kernels/portable/dispatch.h"
#include "kernels/portable/multiversion.h"

namespace berth::portable {
namespace {

// What does not fit becomes the smallest value: this is what the conversion instructions of x86 give, and there the
// comparison costs nothing.
template <typename Int, typename Real>
BERTH_INLINE Int truncate_to(Real x) {
  constexpr Real kLimit = static_cast<Real>(sizeof(Int) == 8 ? 9223372036854775808.0 : 2147483648.0);
  return x >= -kLimit && x < kLimit ? static_cast<Int>(x) : std::numeric_limits<Int>::min();
}

template <typename To, typename Real>
BERTH_INLINE To from_real(Real x) {
  if constexpr (std::is_same_v<To, Half> || std::is_same_v<To, BFloat16>) {
    return To(static_cast<float>(x));
  } else if constexpr (std::is_same_v<To, Bool>) {
    return Bool(x != 0);
  } else if constexpr (std::is_floating_point_v<To>) {
    return static_cast<To>(x);
  } else if constexpr (std::is_same_v<To, uint64_t>) {
    constexpr Real kHalf = static_cast<Real>(9223372036854775808.0);
    if (x < kHalf) return static_cast<uint64_t>(truncate_to<int64_t>(x));
    return static_cast<uint64_t>(truncate_to<int64_t>(x - kHalf)) ^ (uint64_t{1} << 63);
  } else if constexpr (sizeof(To) == 8 || std::is_same_v<To, uint32_t>) {
    return static_cast<To>(truncate_to<int64_t>(x));
  } else {
    return static_cast<To>(truncate_to<int32_t>(x));
  }
}

template <typename From, typename To>
BERTH_INLINE To convert_one(From x) {
  if constexpr (std::is_same_v<From, Half> || std::is_same_v<From, BFloat16>) {
    return from_real<To>(static_cast<float>(x));
  } else if constexpr (std::is_floating_point_v<From>) {
    return from_real<To>(x);
  } else if constexpr (std::is_same_v<From, Bool>) {
    return static_cast<To>(x.byte != 0);
  } else if constexpr (std::is_same_v<To, Half> || std::is_same_v<To, BFloat16>) {
    return To(static_cast<float>(x));
  } else if constexpr (std::is_same_v<To, Bool>) {
    return Bool(x != 0);
  } else {
    return static_cast<To>(x);
  }
}

template <typename From, typename To>
BERTH_MULTIVERSION void convert_run(const From* source, To* target, int64_t n) {
  BERTH_SIMD
  for (int64_t i = 0; i < n; ++i) target[i] = convert_one<From, To>(source[i]);
}

using ConvertRun = void (*)(const void* source, void* target, int64_t n);

template <typename From, typename To>
void convert_erased(const void* source, void* target, int64_t n) {
  const auto* from = static_cast<const From*>(source);
  auto* to = static_cast<To*>(target);
  int64_t done = 0;
  if constexpr (std::is_same_v<From, Half> && std::is_same_v<To, float>) done = widen_halves(from, to, n);
  if constexpr (std::is_same_v<From, float> && std::is_same_v<To, Half>) done = narrow_halves(from, to, n);
  convert_run(from + done, to + done, n - done);
}

template <typename From>
constexpr ConvertRun load_run(DType to) {
  if (to == DType::kF32) return convert_erased<From, float>;
  if (to == DType::kF64) return convert_erased<From, double>;
  return convert_erased<From, int64_t>;
}

template <typename To>
constexpr ConvertRun store_run(DType from) {
  if (from == DType::kF32) return convert_erased<float, To>;
  if (from == DType::kF64) return convert_erased<double, To>;
  return convert_erased<int64_t, To>;
}

bool is_compute_dtype(DType dtype) { return dtype == compute_dtype(dtype); }

// Null when neither side is a type to compute in.
ConvertRun direct_run(DType from, DType to) {
  const bool load = is_compute_dtype(to);
  if (!load && !is_compute_dtype(from)) return nullptr;
  switch (load ? from : to) {
#define BERTH_ROW(dtype, T) \
  case dtype: return load ? load_run<T>(to) : store_run<T>(from);
    BERTH_ROW(DType::kU8, uint8_t)
    BERTH_ROW(DType::kI8, int8_t)
    BERTH_ROW(DType::kI16, int16_t)
    BERTH_ROW(DType::kI32, int32_t)
    BERTH_ROW(DType::kI64, int64_t)
    BERTH_ROW(DType::kU16, uint16_t)
    BERTH_ROW(DType::kU32, uint32_t)
    BERTH_ROW(DType::kU64, uint64_t)
    BERTH_ROW(DType::kF16, Half)
    BERTH_ROW(DType::kBF16, BFloat16)
    BERTH_ROW(DType::kF32, float)
    BERTH_ROW(DType::kF64, double)
    BERTH_ROW(DType::kBool, Bool)
#undef BERTH_ROW
    default: return nullptr;
  }
}

constexpr int64_t kChunk = 256;

// A few elements of a type to compute in, or of any type.
struct Buffer {
  alignas(8) unsigned char bytes[kChunk * 8];
};

// At most kChunk elements between types one of which is narrow.
void convert_narrow(DType from, const void* source, DType to, void* target, int64_t n) {
  Buffer numbers;
  if (is_narrow(from)) {
    const auto* codes = static_cast<const uint8_t*>(source);
    if (is_narrow_float(from)) decode_narrow(from, codes, reinterpret_cast<float*>(numbers.bytes), n);
    if (is_narrow_integer(from)) decode_narrow(from, codes, reinterpret_cast<int64_t*>(numbers.bytes), n);
    from = compute_dtype(from);
    source = numbers.bytes;
  }
  if (!is_narrow(to)) return convert_elements(from, source, to, target, n);
  Buffer computed;
  const DType compute = compute_dtype(to);
  convert_elements(from, source, compute, computed.bytes, n);
  auto* codes = static_cast<uint8_t*>(target);
  if (is_narrow_float(to)) encode_narrow(to, reinterpret_cast<const float*>(computed.bytes), codes, n);
  if (is_narrow_integer(to)) encode_narrow(to, reinterpret_cast<const int64_t*>(computed.bytes), codes, n);
}

}  // namespace

DType compute_dtype(DType dtype) {
  if (dtype == DType::kF64) return DType::kF64;
  return is_floating(dtype) || is_narrow_float(dtype) ? DType::kF32 : DType::kI64;
}

void convert_elements(DType from, const void* source, DType to, void* target, int64_t n) {
  if (n <= 0) return;
  if (from == to) {
    std::memmove(target, source, n * element_size(from));
    return;
  }
  if (const ConvertRun run = direct_run(from, to)) return run(source, target, n);
  const bool narrow = is_narrow(from) || is_narrow(to);
  // Integers become floats of less than 32 bits through f32, as they would at once.
  const DType middle = compute_dtype(is_floating(to) ? to : from);
  Buffer buffer;
  for (int64_t done = 0; done < n; done += kChunk) {
    const int64_t count = n - done < kChunk ? n - done : kChunk;
    const char* piece = static_cast<const char*>(source) + done * element_size(from);
    char* place = static_cast<char*>(target) + done * element_size(to);
    if (narrow) {
      convert_narrow(from, piece, to, place, count);
    } else {
      direct_run(from, middle)(piece, buffer.bytes, count);
      direct_run(middle, to)(buffer.bytes, place, count);
    }
  }
}

}  // namespace berth::portable
