#include "kernels/portable/convert.h"

#include <cstring>
#include <limits>
#include <type_traits>

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
  convert_run(static_cast<const From*>(source), static_cast<To*>(target), n);
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

}  // namespace

DType compute_dtype(DType dtype) {
  if (dtype == DType::kF64) return DType::kF64;
  return is_floating(dtype) ? DType::kF32 : DType::kI64;
}

void convert_elements(DType from, const void* source, DType to, void* target, int64_t n) {
  if (n <= 0) return;
  if (from == to) {
    std::memmove(target, source, n * element_size(from));
    return;
  }
  if (const ConvertRun run = direct_run(from, to)) return run(source, target, n);
  const DType middle = compute_dtype(from);
  constexpr int64_t kChunk = 256;
  alignas(8) unsigned char buffer[kChunk * 8];
  for (int64_t done = 0; done < n; done += kChunk) {
    const int64_t count = n - done < kChunk ? n - done : kChunk;
    direct_run(from, middle)(static_cast<const char*>(source) + done * element_size(from), buffer, count);
    direct_run(middle, to)(buffer, static_cast<char*>(target) + done * element_size(to), count);
  }
}

}  // namespace berth::portable
