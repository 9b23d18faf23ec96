// What a tile does seldom: a long sum, a residual, a panel that does not fill its registers, an activation that is more
// than two bounds. It is done on sums in memory, by one function for tiles of all sizes. Included once for each
// instruction set.
//
// Include guard: Highway's, one a target.
#if defined(BERTH_CPU_TILES_END_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef BERTH_CPU_TILES_END_INL_H_
#undef BERTH_CPU_TILES_END_INL_H_
#else
#define BERTH_CPU_TILES_END_INL_H_
#endif

#include <algorithm>

#include "kernels/cpu/tiles.h"
#include "kernels/cpu/tiles_finish-inl.h"

HWY_BEFORE_NAMESPACE();
namespace berth::cpu {
namespace HWY_NAMESPACE {
namespace {

// As long as a sum may be that is made in registers alone: a long one is put away so seldom that it costs nothing.
constexpr int64_t kShortDepth = 512;

// Rows of half a register or less share one.
template <typename F>
HWY_INLINE void change_narrow_rows(const TileJob& job, int64_t count, float* out, int64_t rows, F f) {
  const FloatTag d;
  const int64_t most = kLanes / count;
  HWY_ALIGN float shared[kLanes] = {};
  // A call of memcpy takes longer than the one number that there often is.
  const auto copy = [count](const float* from, float* to) {
    to[0] = from[0];
    if (count > 1) std::copy_n(from + 1, count - 1, to + 1);
  };
  while (rows > 0) {
    const int64_t taken = std::min(rows, most);
    for (int64_t i = 0; i < taken; ++i) copy(out + i * job.out_pixel, shared + i * count);
    hn::Store(f(hn::Load(d, shared)), d, shared);
    for (int64_t i = 0; i < taken; ++i) copy(shared + i * count, out + i * job.out_pixel);
    out += taken * job.out_pixel;
    rows -= taken;
  }
}

template <typename F>
HWY_INLINE void change_rows(const TileJob& job, int64_t count, float* out, int64_t rows, F f) {
  if (2 * count <= kLanes) return change_narrow_rows(job, count, out, rows, f);
  for (int64_t i = 0; i < rows; ++i, out += job.out_pixel) change_run(out, count, f);
}

// What is not done with two bounds is done in memory, on what was stored: kind by kind, so that the numbers that a kind
// needs stay in registers.
HWY_MAYBE_UNUSED HWY_NOINLINE void activate_rows(const TileJob& job, int64_t count, float* out, int64_t rows) {
  using Kind = portable::ActivationKind;
  switch (job.activation.kind) {
    case Kind::kGelu: return change_rows(job, count, out, rows, [](FloatVector x) { return gelu(x); });
    case Kind::kSilu: return change_rows(job, count, out, rows, [](FloatVector x) { return hn::Mul(x, sigmoid(x)); });
    case Kind::kTanh:
    case Kind::kElu: {
      for (int64_t i = 0; i < rows; ++i, out += job.out_pixel) {
        portable::activate(job.activation, out, count);
      }
      return;
    }
    default: change_rows(job, count, out, rows, [&](FloatVector x) { return activate_simply(job.activation, x); });
  }
}

// Sums in memory are registers, one behind the other.
template <int kRows, int kVectors>
HWY_INLINE void store_sums(const FloatVector (&sum)[kRows][kVectors], float* to) {
  BERTH_UNROLL_FULL
  for (int i = 0; i < kRows; ++i) {
    BERTH_UNROLL_FULL
    for (int v = 0; v < kVectors; ++v) hn::Store(sum[i][v], FloatTag(), to + (i * kVectors + v) * kLanes);
  }
}

template <int kRows, int kVectors>
HWY_INLINE void load_sums(const float* from, FloatVector (&sum)[kRows][kVectors]) {
  BERTH_UNROLL_FULL
  for (int i = 0; i < kRows; ++i) {
    BERTH_UNROLL_FULL
    for (int v = 0; v < kVectors; ++v) sum[i][v] = hn::Load(FloatTag(), from + (i * kVectors + v) * kLanes);
  }
}

template <int kRows, int kVectors>
HWY_INLINE void clear_sums(FloatVector (&sum)[kRows][kVectors]) {
  BERTH_UNROLL_FULL
  for (int i = 0; i < kRows; ++i) {
    BERTH_UNROLL_FULL
    for (int v = 0; v < kVectors; ++v) sum[i][v] = hn::Zero(FloatTag());
  }
}

// So many registers of sums added to those that were put away before, or put away as the first.
HWY_MAYBE_UNUSED HWY_NOINLINE void put_away(const float* sums, int64_t registers, bool first, float* kept) {
  const FloatTag d;
  for (int64_t i = 0; i < registers * kLanes; i += kLanes) {
    const FloatVector sum = hn::Load(d, sums + i);
    hn::Store(first ? sum : hn::Add(sum, hn::Load(d, kept + i)), d, kept + i);
  }
}

// Long sums are made of short ones: the rounding of each grows with its own length alone (Higham, "The Accuracy of
// Floating Point Summation", SIAM J. Sci. Comput. 14(4), 1993). What was summed so far waits in memory.
template <int kRows, int kVectors>
class LongSum {
 public:
  using Sums = FloatVector[kRows][kVectors];

  // To be asked before `depth` more are added.
  HWY_INLINE void before(int64_t depth, Sums& sum) {
    if (added_ != 0 && added_ + depth > kShortDepth) put_sums_away(sum);
    added_ += depth;
  }
  HWY_INLINE void put_sums_away(Sums& sum) {
    HWY_ALIGN float now[kRows * kVectors * kLanes];
    store_sums(sum, now);
    clear_sums(sum);
    put_away(now, kRows * kVectors, !begun_, kept_);
    begun_ = true;
    added_ = 0;
  }
  // What was put away, if anything was.
  HWY_INLINE const float* kept() const { return begun_ ? kept_ : nullptr; }

 private:
  HWY_ALIGN float kept_[kRows * kVectors * kLanes];
  int64_t added_ = 0;
  bool begun_ = false;
};

// Ends a tile whose sums are in memory.
HWY_MAYBE_UNUSED HWY_NOINLINE void end_stored(const TileJob& job, const Columns& columns, const float* sums,
                                              const float* kept, int64_t rows, int64_t vectors, float* out) {
  const FloatTag d;
  const FloatVector low = hn::Set(d, job.low), high = hn::Set(d, job.high);
  for (int64_t v = 0; v < vectors; ++v) {
    const int64_t left = columns.count - v * kLanes;
    for (int64_t i = 0; i < rows && left > 0; ++i) {
      const int64_t from = (i * vectors + v) * kLanes;
      float* to = out + i * job.out_pixel + v * kLanes;
      FloatVector y = hn::Load(d, sums + from);
      if (kept != nullptr) y = hn::Add(y, hn::Load(d, kept + from));
      if (left >= kLanes) {
        if (job.residual) y = hn::Add(y, hn::LoadU(d, to));
        hn::StoreU(within(low, high, y), d, to);
      } else {
        if (job.residual) y = hn::Add(y, load_part(to, left));
        store_part(within(low, high, y), to, left);
      }
    }
  }
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace berth::cpu
HWY_AFTER_NAMESPACE();

#endif
