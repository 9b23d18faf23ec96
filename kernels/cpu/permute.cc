#include "kernels/cpu/permute.h"

#include <algorithm>

#include "kernels/cpu/interleave.h"
#include "kernels/portable/iterate.h"
#include "kernels/portable/layout_boxes.h"
#include "kernels/portable/portable.h"

namespace berth::cpu {
namespace {

constexpr int64_t kGrainElements = 1 << 15;
constexpr int64_t kLeastRun = 8;

// The elements of `out` as they lie, and where each comes from.
portable::Walk walk_of(const portable::SubBox& box, const Tensor& out) {
  portable::Walk walk(2);
  for (const uint8_t d : out.dim_order()) {
    const int64_t strides[] = {out.stride(d), box.strides[d]};
    walk.add(box.sizes.data[d], strides);
  }
  return walk;
}

// Pairs of rows: [2][n] of one side is [n][2] of the other.
struct Pairs {
  bool merge = false;
  int64_t n = 0;
  int64_t apart = 0;  // the two streams, in the source (merge) or in the output
};

bool find_pairs(const portable::Walk& walk, Pairs* pairs) {
  const int last = walk.rank - 1;
  if (last < 1) return false;
  const int64_t outer = walk.sizes[last - 1];
  const int64_t inner = walk.sizes[last];
  const int64_t* from = walk.strides[1];
  if (inner == 2 && from[last - 1] == 1 && outer >= kLeastRun) {
    *pairs = {true, outer, from[last]};
    return true;
  }
  if (outer == 2 && from[last] == 2 && from[last - 1] == 1 && inner >= kLeastRun) {
    *pairs = {false, inner, inner};
    return true;
  }
  return false;
}

portable::Walk without_last_two(const portable::Walk& walk) {
  portable::Walk rows(2);
  for (int d = 0; d < walk.rank - 2; ++d) {
    const int64_t strides[] = {walk.strides[0][d], walk.strides[1][d]};
    rows.add(walk.sizes[d], strides);
  }
  return rows;
}

// False when this is no merge of two streams; then nothing has happened.
bool run_pairs(KernelContext& context, const Tensor& self, const portable::SubBox& box, Tensor& out) {
  const portable::Walk walk = walk_of(box, out);
  Pairs pairs;
  if (!find_pairs(walk, &pairs)) return false;
  const float* from = self.data<float>() + box.offset;
  float* to = out.data<float>();
  const portable::Walk rows = without_last_two(walk);
  context.parallel_for(rows.count, std::max<int64_t>(1, kGrainElements / pairs.n), [&](int64_t begin, int64_t end) {
    portable::for_each_run(rows, begin, end, [&](const int64_t* at, int64_t n) {
      for (int64_t i = 0; i < n; ++i) {
        const float* x = from + at[1] + i * rows.step(1);
        float* y = to + at[0] + i * rows.step(0);
        if (pairs.merge) {
          interleave(x, x + pairs.apart, pairs.n, y);
        } else {
          deinterleave(x, pairs.n, y, y + pairs.apart);
        }
      }
    });
  });
  return true;
}

using ReadBox = Error (*)(KernelContext& context, Span<EValue* const> args, portable::SubBox* box);

Error run(KernelContext& context, Span<EValue* const> args, Tensor& out, ReadBox read) {
  const Tensor& self = args[0]->tensor();
  portable::SubBox box;
  BERTH_RETURN_IF_ERROR(read(context, args, &box));
  if (self.dtype() == DType::kF32) {
    BERTH_RETURN_IF_ERROR(portable::prepare_out(context, self, out, box.sizes));
    if (out.numel() == 0 || run_pairs(context, self, box, out)) return Error::kOk;
  }
  return portable::copy_from_box(context, self, box, out);
}

}  // namespace

Error permute_copy_out(KernelContext& context, Span<EValue* const> args) {
  return run(context, args, args[2]->tensor(), [](KernelContext& c, Span<EValue* const> a, portable::SubBox* box) {
    return portable::read_permute(c, a[0]->tensor(), *a[1], box);
  });
}

Error transpose_copy_out(KernelContext& context, Span<EValue* const> args) {
  return run(context, args, args[3]->tensor(), [](KernelContext& c, Span<EValue* const> a, portable::SubBox* box) {
    return portable::read_transpose(c, a[0]->tensor(), *a[1], *a[2], box);
  });
}

}  // namespace berth::cpu
