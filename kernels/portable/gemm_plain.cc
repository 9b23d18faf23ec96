// Products of the other dtypes: f16 and bf16 in f32, f64 in f64, integers in 64 bits that wrap. One item is a block of
// rows by columns whose sums stay in scratch memory while blocks of A and B are loaded and converted.
#include <algorithm>
#include <type_traits>

#include "base/math.h"
#include "kernels/portable/dispatch.h"
#include "kernels/portable/gemm.h"
#include "kernels/portable/gemm_slots.h"
#include "kernels/portable/gemm_walk.h"
#include "kernels/portable/multiversion.h"

namespace berth::portable::internal {
namespace {

constexpr int64_t kRows = 32;
constexpr int kColumns = 64;
constexpr int64_t kDepth = 64;
constexpr double kSerialWork = 1 << 16;
constexpr int64_t kSlotElements = kRows * kColumns + kRows * kDepth + kDepth * kColumns;
constexpr size_t kSlotBytes = static_cast<size_t>(kSlotElements) * 8;

// What elements of type T are added in.
template <typename T>
using SumOf =
    std::conditional_t<std::is_same_v<T, double>, double, std::conditional_t<std::is_integral_v<T>, uint64_t, float>>;

int64_t count_items(const Product& p) {
  return p.batches() * ceil_div(p.rows, kRows) * ceil_div<int64_t>(p.columns(), kColumns);
}

int count_slots(const Product& p, int threads) {
  const double work = static_cast<double>(p.batches()) * static_cast<double>(p.rows) *
                      static_cast<double>(p.columns()) * static_cast<double>(p.depth());
  return slots_for(threads, count_items(p), work, kSerialWork);
}

// sum[i, j] += a[i, k] * b[k, j], in the order of k. Four products at a time for each time that a sum is read and
// written.
template <typename S>
BERTH_INLINE void add_products_of(const S* a, const S* b, int64_t rows, int64_t depth, S* sum) {
  for (int64_t i = 0; i < rows; ++i) {
    S* out = sum + i * kColumns;
    const S* x = a + i * kDepth;
    int64_t k = 0;
    for (; k + 4 <= depth; k += 4) {
      const S x0 = x[k], x1 = x[k + 1], x2 = x[k + 2], x3 = x[k + 3];
      const S* row = b + k * kColumns;
      BERTH_SIMD
      for (int j = 0; j < kColumns; ++j) {
        S added = out[j] + x0 * row[j];
        added += x1 * row[kColumns + j];
        added += x2 * row[2 * kColumns + j];
        out[j] = added + x3 * row[3 * kColumns + j];
      }
    }
    for (; k < depth; ++k) {
      const S* row = b + k * kColumns;
      BERTH_SIMD
      for (int j = 0; j < kColumns; ++j) out[j] += x[k] * row[j];
    }
  }
}

BERTH_MULTIVERSION void add_products(const double* a, const double* b, int64_t rows, int64_t depth, double* sum) {
  add_products_of(a, b, rows, depth, sum);
}
BERTH_MULTIVERSION void add_products(const float* a, const float* b, int64_t rows, int64_t depth, float* sum) {
  add_products_of(a, b, rows, depth, sum);
}
void add_products(const uint64_t* a, const uint64_t* b, int64_t rows, int64_t depth, uint64_t* sum) {
  add_products_of(a, b, rows, depth, sum);
}

template <typename T>
class PlainWorker {
 public:
  using S = SumOf<T>;

  PlainWorker(const Product& p, uint8_t* scratch)
      : p_(p),
        sum_(reinterpret_cast<S*>(scratch)),
        a_block_(sum_ + kRows * kColumns),
        b_block_(a_block_ + kRows * kDepth) {}

  void run(int64_t item) {
    const int64_t column_parts = ceil_div<int64_t>(p_.columns(), kColumns);
    const int64_t row_parts = ceil_div(p_.rows, kRows);
    first_column_ = item % column_parts * kColumns;
    item /= column_parts;
    first_row_ = item % row_parts * kRows;
    item /= row_parts;
    const int64_t i0 = item / p_.batch[1].count;
    const int64_t i1 = item % p_.batch[1].count;
    rows_ = std::min(kRows, p_.rows - first_row_);
    columns_ = static_cast<int>(std::min<int64_t>(kColumns, p_.columns() - first_column_));
    runs_count_ = find_runs(p_, first_column_, columns_, runs_);
    const T* a = static_cast<const T*>(p_.a) + i0 * p_.batch[0].a + i1 * p_.batch[1].a;
    const T* b = static_cast<const T*>(p_.b) + i0 * p_.batch[0].b + i1 * p_.batch[1].b;
    begin_sums(i0 * p_.batch[0].start + i1 * p_.batch[1].start);
    for (int64_t k0 = 0; k0 < p_.depth(); k0 += kDepth) {
      const int64_t depth = std::min(kDepth, p_.depth() - k0);
      load(a, b, k0, depth);
      add_products(a_block_, b_block_, rows_, depth, sum_);
    }
    store(static_cast<T*>(p_.c) + i0 * p_.batch[0].c + i1 * p_.batch[1].c);
  }

 private:
  static S factor(const Product::Factor& f) {
    if constexpr (std::is_integral_v<T>) {
      return static_cast<S>(f.whole);
    } else {
      return static_cast<S>(f.real);
    }
  }

  static S widen(T x) {
    const auto promoted = +x;  // through int, for a char is a number here
    return static_cast<S>(promoted);
  }

  void begin_sums(int64_t batch_offset) {
    std::fill(sum_, sum_ + kRows * kColumns, S{});
    if (p_.start == nullptr) return;
    const T* start = static_cast<const T*>(p_.start) + batch_offset + first_row_ * p_.start_row;
    for (int64_t i = 0; i < rows_; ++i) {
      for (int j = 0; j < columns_; ++j) {
        const T x = start[i * p_.start_row + (first_column_ + j) * p_.start_column];
        sum_[i * kColumns + j] = factor(p_.start_scale) * widen(x);
      }
    }
  }

  void load(const T* a, const T* b, int64_t k0, int64_t depth) {
    DepthCursor cursor(p_, k0);
    for (int64_t k = 0; k < depth; ++k, cursor.next(p_)) {
      const T* column = a + cursor.a_offset(p_) + first_row_ * p_.row_a;
      for (int64_t i = 0; i < rows_; ++i) {
        a_block_[i * kDepth + k] = factor(p_.a_scale) * widen(column[i * p_.row_a]);
      }
      S* row = b_block_ + k * kColumns;
      std::fill(row, row + kColumns, S{});
      for (int r = 0; r < runs_count_; ++r) {
        const VisibleRun seen = find_visible(p_, runs_[r], cursor.tap);
        if (seen.low == seen.high) continue;
        const T* from = b + cursor.channel * p_.channel_b + seen.b;
        const int64_t stride = p_.axis[2].step * p_.axis[2].b;
        S* to = row + runs_[r].first + seen.low;
        for (int64_t j = 0; j < seen.high - seen.low; ++j) to[j] = widen(from[j * stride]);
      }
    }
  }

  void store(T* c) const {
    for (int r = 0; r < runs_count_; ++r) {
      const Run& run = runs_[r];
      const int64_t offset =
          run.position[0] * p_.axis[0].c + run.position[1] * p_.axis[1].c + run.position[2] * p_.axis[2].c;
      for (int64_t i = 0; i < rows_; ++i) {
        T* to = c + (first_row_ + i) * p_.row_c + offset;
        const S* from = sum_ + i * kColumns + run.first;
        for (int j = 0; j < run.length; ++j) to[j * p_.axis[2].c] = static_cast<T>(from[j]);
      }
    }
  }

  const Product& p_;
  S* sum_;
  S* a_block_;
  S* b_block_;
  Run runs_[kColumns];
  int runs_count_ = 0;
  int64_t first_row_ = 0, rows_ = 0, first_column_ = 0;
  int columns_ = 0;
};

}  // namespace

size_t plain_scratch_bytes(const Product& product, int threads) { return count_slots(product, threads) * kSlotBytes; }

void run_plain_product(KernelContext& context, const Product& product, void* scratch) {
  const int64_t items = count_items(product);
  const int slots = count_slots(product, context.threads());
  const auto run_all = [&](auto tag) {
    using Worker = PlainWorker<typename decltype(tag)::type>;
    for_each_item(
        context, slots, items, [](Worker& worker, int64_t item) { worker.run(item); },
        [&](int64_t slot) { return Worker(product, static_cast<uint8_t*>(scratch) + slot * kSlotBytes); });
    return Error::kOk;
  };
  if (is_floating(product.dtype)) {
    dispatch_floating(context, product.dtype, run_all);
  } else {
    dispatch_integer(context, product.dtype, run_all);
  }
}

}  // namespace berth::portable::internal
