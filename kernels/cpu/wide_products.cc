#include "kernels/cpu/wide_products.h"

#include <algorithm>
#include <cmath>

#include "base/math.h"
#include "kernels/cpu/widen.h"
#include "kernels/portable/gemm_slots.h"
#include "kernels/portable/matmul_arguments.h"
#include "kernels/portable/portable.h"
#include "kernels/portable/temp_bytes.h"

namespace berth::cpu {
namespace {

using portable::Product;

// Floats of an item: what stays in a core's own cache. Of one that has several products: a quarter of that.
constexpr int64_t kItemFloats = 1 << 16;
constexpr int64_t kFewFloats = kItemFloats / 4;
// Rows and columns of an item are multiples of it, and no fewer, where there are so many.
constexpr int64_t kBlock = 64;
// Fewer multiplications are done before another thread has woken.
constexpr double kSerialWork = 1 << 17;

// Some matrices in memory, in elements: `by_rows` where the elements of a row are neighbours, else those of a column
// are.
struct Matrices {
  int64_t count = 1, rows = 1, columns = 1;
  int64_t apart = 0, stride = 1;  // from one to the next, and from a row or column to the next
  bool by_rows = true;

  int64_t lines() const { return by_rows ? rows : columns; }
  int64_t length() const { return by_rows ? columns : rows; }
  int64_t numel() const { return count * rows * columns; }
  int64_t at(int64_t matrix, int64_t row, int64_t column) const {
    return matrix * apart + (by_rows ? row * stride + column : column * stride + row);
  }
  int64_t row_stride() const { return by_rows ? stride : 1; }
  int64_t column_stride() const { return by_rows ? 1 : stride; }

  /// So many of so many rows and columns, as they lie among these.
  Matrices part(int64_t some, int64_t some_rows, int64_t some_columns) const {
    return {some, some_rows, some_columns, apart, stride, by_rows};
  }
  /// The same numbers with nothing between them.
  Matrices dense() const { return {count, rows, columns, rows * columns, length(), by_rows}; }

  /// f(from, to, n) for runs of n neighbours: the elements behind `from` here are those behind `to` in dense().
  template <typename F>
  void for_each_run(F&& f) const {
    const bool whole = stride == length();
    if (whole && (count == 1 || apart == lines() * length())) return f(int64_t{0}, int64_t{0}, numel());
    const int64_t runs = whole ? 1 : lines(), n = whole ? lines() * length() : length();
    for (int64_t m = 0; m < count; ++m) {
      for (int64_t i = 0; i < runs; ++i) f(m * apart + i * stride, (m * runs + i) * n, n);
    }
  }
};

// Of [count, rows, columns], or without the first. False where neither rows nor columns have neighbours.
bool matrices_of(const Tensor& tensor, Matrices* m) {
  const int row = tensor.rank() - 2, column = tensor.rank() - 1;
  *m = {row == 1 ? tensor.size(0) : 1, tensor.size(row), tensor.size(column), row == 1 ? tensor.stride(0) : 0, 1, true};
  m->by_rows = tensor.stride(column) == 1 || m->columns == 1;
  m->stride = m->by_rows ? tensor.stride(row) : tensor.stride(column);
  return m->by_rows || tensor.stride(row) == 1 || m->rows == 1;
}

// The work, and how it is cut.
struct Products {
  DType type = DType::kF16;
  Matrices a, b, c;
  int64_t count = 1, rows = 1, columns = 1;  // of an item, at most

  int64_t depth() const { return a.columns; }
  int64_t row_parts() const { return ceil_div(c.rows, rows); }
  int64_t column_parts() const { return ceil_div(c.columns, columns); }
  int64_t items() const { return ceil_div(c.count, count) * row_parts() * column_parts(); }
  int slots(int threads) const {
    return portable::slots_for(threads, items(), static_cast<double>(c.numel()) * static_cast<double>(depth()),
                               kSerialWork);
  }

  /// A product of dense f32, of an item of these sizes.
  Product product(const Matrices& a_part, const float* x, const Matrices& b_part, const float* y,
                  const Matrices& c_part, float* z) const {
    Product p = portable::matrix_product(c_part.rows, c_part.columns, depth(), x, a_part.row_stride(),
                                         a_part.column_stride(), y, b_part.row_stride(), b_part.column_stride(), z,
                                         c_part.row_stride(), c_part.column_stride());
    p.batch[0] = {c_part.count, a_part.apart, b_part.apart, c_part.apart, 0};
    return p;
  }

  int64_t a_floats() const { return align_up<int64_t>(count * rows * depth(), 16); }
  int64_t b_floats() const { return align_up<int64_t>(count * depth() * columns, 16); }
  int64_t c_floats() const { return align_up<int64_t>(count * rows * columns, 16); }
  size_t scratch_bytes() const;
  size_t slot_bytes() const {
    return static_cast<size_t>(a_floats() + b_floats() + c_floats()) * sizeof(float) + scratch_bytes();
  }
};

// The last items are smaller and may need more.
size_t Products::scratch_bytes() const {
  size_t most = 0;
  for (const int64_t some : {count, c.count % count}) {
    for (const int64_t m : {rows, c.rows % rows}) {
      for (const int64_t n : {columns, c.columns % columns}) {
        if (some * m * n == 0) continue;
        const Product p = product(a.part(some, m, depth()).dense(), nullptr, b.part(some, depth(), n).dense(), nullptr,
                                  c.part(some, m, n).dense(), nullptr);
        most = std::max(most, portable::product_scratch_bytes(p, 1));
      }
    }
  }
  return align_up<size_t>(most, 64);
}

int64_t whole_blocks(int64_t size, int64_t most) { return std::min(most, std::max(kBlock, size / kBlock * kBlock)); }

void cut(Products* p) {
  const int64_t m = p->c.rows, n = p->c.columns, k = p->depth();
  const int64_t floats = m * k + k * n + m * n;
  p->rows = m;
  p->columns = n;
  p->count = std::clamp<int64_t>(kFewFloats / floats, 1, p->c.count);
  if (floats <= kItemFloats) return;
  // A square block, but for a side that is shorter.
  const auto depth = static_cast<double>(k);
  const auto side = static_cast<int64_t>(std::sqrt(depth * depth + static_cast<double>(kItemFloats)) - depth);
  if (n > side) p->columns = whole_blocks(m > side ? side : (kItemFloats - m * k) / (m + k), n);
  if (m > side) p->rows = whole_blocks(n > side ? side : (kItemFloats - n * k) / (n + k), m);
}

// False for what is not ours.
bool read(const Tensor& self, const Tensor& mat2, const Tensor& out, int rank, Products* p) {
  if (!has_16_bits(out.dtype()) || self.dtype() != out.dtype() || mat2.dtype() != out.dtype()) return false;
  if (self.rank() != rank || mat2.rank() != rank || out.rank() != rank) return false;
  if (self.numel() == 0 || mat2.numel() == 0 || out.numel() == 0) return false;
  if (!matrices_of(self, &p->a) || !matrices_of(mat2, &p->b) || !matrices_of(out, &p->c)) return false;
  p->type = out.dtype();
  cut(p);
  return true;
}

// One thread's memory, and what it holds.
class Worker {
 public:
  Worker(const Products& p, const Tensor& self, const Tensor& mat2, Tensor& out, uint8_t* memory)
      : p_(p),
        self_(static_cast<const uint16_t*>(self.raw())),
        mat2_(static_cast<const uint16_t*>(mat2.raw())),
        out_(static_cast<uint16_t*>(out.raw())),
        a_(reinterpret_cast<float*>(memory)),
        b_(a_ + p.a_floats()),
        c_(b_ + p.b_floats()),
        scratch_(c_ + p.c_floats()) {}

  // Items that read the same columns follow one another.
  void run(int64_t item) {
    const int64_t first_row = item % p_.row_parts() * p_.rows;
    const int64_t rest = item / p_.row_parts();
    const int64_t first_column = rest % p_.column_parts() * p_.columns;
    const int64_t first = rest / p_.column_parts() * p_.count;
    const int64_t count = std::min(p_.count, p_.c.count - first);
    const int64_t rows = std::min(p_.rows, p_.c.rows - first_row);
    const int64_t columns = std::min(p_.columns, p_.c.columns - first_column);
    const Matrices a = p_.a.part(count, rows, p_.depth());
    const Matrices b = p_.b.part(count, p_.depth(), columns);
    const Matrices c = p_.c.part(count, rows, columns);
    widen_all(a, self_ + p_.a.at(first, first_row, 0), a_);
    if (rest != held_) widen_all(b, mat2_ + p_.b.at(first, 0, first_column), b_);
    held_ = rest;
    KernelContext alone({}, nullptr);
    portable::run_product(alone, p_.product(a.dense(), a_, b.dense(), b_, c.dense(), c_), scratch_);
    uint16_t* const to = out_ + p_.c.at(first, first_row, first_column);
    c.for_each_run([&](int64_t at, int64_t from, int64_t n) { narrow(p_.type, c_ + from, to + at, n); });
  }

 private:
  void widen_all(const Matrices& m, const uint16_t* from, float* to) const {
    m.for_each_run([&](int64_t at, int64_t dense, int64_t n) { widen(p_.type, from + at, to + dense, n); });
  }

  const Products& p_;
  const uint16_t* self_;
  const uint16_t* mat2_;
  uint16_t* out_;
  float* a_;
  float* b_;
  float* c_;
  float* scratch_;
  int64_t held_ = -1;
};

template <typename Args>
Error run(KernelContext& context, const Args& args, int rank, Error (*portable_kernel)(KernelContext&, const Args&)) {
  if (!has_16_bits(args.out.dtype())) return portable_kernel(context, args);
  BERTH_RETURN_IF_ERROR(portable::prepare_product(context, args.self, args.mat2, args.out, rank));
  Products p;
  if (!read(args.self, args.mat2, args.out, rank, &p)) return portable_kernel(context, args);
  const int slots = p.slots(context.threads());
  const size_t bytes = p.slot_bytes();
  auto* const memory = static_cast<uint8_t*>(context.allocate_temp(slots * bytes));
  if (memory == nullptr) return Error::kMemoryAllocationFailed;
  portable::for_each_item(
      context, slots, p.items(), [](Worker& worker, int64_t item) { worker.run(item); },
      [&](int64_t slot) { return Worker(p, args.self, args.mat2, args.out, memory + slot * bytes); });
  return Error::kOk;
}

bool is_static(const Tensor& tensor) { return tensor.dynamism() == ShapeDynamism::kStatic; }

// Of a slot of any size up to these: a whole item, or the least rows and columns of a deep product.
size_t most_slot_bytes(const Products& p) {
  const int64_t floats = std::max(kItemFloats, 2 * kBlock * p.depth() + kBlock * kBlock) + 3 * 16;
  return static_cast<size_t>(floats) * sizeof(float) + align_up<size_t>(portable::max_product_scratch_bytes(1), 64);
}

template <typename Args>
size_t temp_bytes(const Args& args, int rank, int threads, size_t (*portable_bytes)(const Args&, int)) {
  Products p;
  if (!read(args.self, args.mat2, args.out, rank, &p)) return portable_bytes(args, threads);
  const bool fixed = is_static(args.self) && is_static(args.mat2) && is_static(args.out);
  const size_t own = fixed ? p.slots(threads) * p.slot_bytes()
                           : static_cast<size_t>(std::clamp(threads, 1, portable::kMaxSlots)) * most_slot_bytes(p);
  return own + portable::kTempPadding;
}

}  // namespace

Error bmm_out(KernelContext& context, const arguments::bmm_out& args) {
  return run(context, args, 3, portable::bmm_out);
}

size_t bmm_temp_bytes(const arguments::bmm_out& args, int threads) {
  return temp_bytes(args, 3, threads, portable::bmm_temp_bytes);
}

Error mm_out(KernelContext& context, const arguments::mm_out& args) { return run(context, args, 2, portable::mm_out); }

size_t mm_temp_bytes(const arguments::mm_out& args, int threads) {
  return temp_bytes(args, 2, threads, portable::mm_temp_bytes);
}

}  // namespace berth::cpu
