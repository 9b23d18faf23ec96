// non_max_suppression: of boxes that overlap, those with the best scores. boxes [images, boxes, 4], scores [images,
// classes, boxes]; a result is [image, class, box], the best of each class first, of equal scores the first box.
//
// A box is two opposite corners, y before x, or with `centred` its centre and its size, x before y. Two boxes overlap
// too much where their intersection is more than `overlap` times their union. A box is left out unless its score is
// above `score`.
#include <algorithm>

#include "base/math.h"
#include "kernels/portable/layout_arguments.h"
#include "kernels/portable/portable.h"
#include "kernels/portable/temp_bytes.h"

namespace berth::portable {
namespace {

struct Box {
  float top, left, bottom, right;
  float area() const { return (bottom - top) * (right - left); }
};

struct Search {
  const float* boxes;   // of one image
  const float* scores;  // of one class
  int64_t count;
  int64_t most;
  float overlap;
  bool centred;
  int32_t* order;  // room for `count` boxes

  Box box(int64_t i) const {
    const float* b = boxes + i * 4;
    if (centred) return {b[1] - b[3] / 2, b[0] - b[2] / 2, b[1] + b[3] / 2, b[0] + b[2] / 2};
    return {std::min(b[0], b[2]), std::min(b[1], b[3]), std::max(b[0], b[2]), std::max(b[1], b[3])};
  }

  bool overlaps(const Box& a, const Box& b) const {
    const float width = std::min(a.right, b.right) - std::max(a.left, b.left);
    const float height = std::min(a.bottom, b.bottom) - std::max(a.top, b.top);
    if (!(width > 0) || !(height > 0)) return false;
    const float area_a = a.area();
    const float area_b = b.area();
    const float both = width * height;
    if (!(area_a > 0) || !(area_b > 0)) return false;
    return both / (area_a + area_b - both) > overlap;
  }

  /// Puts what is chosen in front in `order`, and returns how many there are.
  int64_t choose(const std::optional<double>& least) const {
    int64_t candidates = 0;
    for (int64_t i = 0; i < count; ++i) {
      const bool counts = least.has_value() ? scores[i] > static_cast<float>(*least) : scores[i] == scores[i];
      if (counts) order[candidates++] = static_cast<int32_t>(i);
    }
    std::sort(order, order + candidates,
              [&](int32_t a, int32_t b) { return scores[a] != scores[b] ? scores[a] > scores[b] : a < b; });
    int64_t chosen = 0;
    for (int64_t i = 0; i < candidates && chosen < most; ++i) {
      const Box next = box(order[i]);
      bool apart = true;
      for (int64_t k = 0; k < chosen && apart; ++k) apart = !overlaps(box(order[k]), next);
      if (apart) order[chosen++] = order[i];
    }
    return chosen;
  }
};

Error check_arguments(KernelContext& context, const arguments::non_max_suppression_out& args) {
  const Tensor& boxes = args.boxes;
  const Tensor& scores = args.scores;
  if (boxes.rank() != 3 || scores.rank() != 3 || boxes.size(2) != 4 || boxes.size(0) != scores.size(0) ||
      boxes.size(1) != scores.size(2)) {
    return context.fail(Error::kInvalidArgument,
                        "non_max_suppression takes boxes [images, boxes, 4] and scores [images, classes, boxes]");
  }
  if (boxes.dtype() != DType::kF32 || scores.dtype() != DType::kF32 || args.out.dtype() != DType::kI64) {
    return context.fail(Error::kInvalidArgument, "non_max_suppression takes boxes and scores of f32, and gives i64");
  }
  if (!boxes.is_contiguous() || !scores.is_contiguous() || !args.out.is_contiguous()) {
    return context.fail(Error::kInvalidArgument, "non_max_suppression takes and gives tensors in row-major order");
  }
  BERTH_RETURN_IF_ERROR(check_memory(context, boxes, scores));
  return args.most < 0 ? context.fail(Error::kInvalidArgument, "non_max_suppression: 'most' is negative") : Error::kOk;
}

}  // namespace

size_t non_max_suppression_temp_bytes(const arguments::non_max_suppression_out& args, int) {
  const size_t boxes = args.scores.rank() == 3 ? args.scores.size(2) : 0;
  return align_up<size_t>(boxes * sizeof(int32_t), 64) + 64;
}

Error non_max_suppression_out(KernelContext& context, const arguments::non_max_suppression_out& args) {
  BERTH_RETURN_IF_ERROR(check_arguments(context, args));
  Tensor& out = args.out;
  const int64_t images = args.scores.size(0);
  const int64_t classes = args.scores.size(1);
  const int64_t count = args.scores.size(2);
  const int64_t most = std::min(args.most, count);
  if (images * classes > INT32_MAX || (most > 0 && images * classes > INT32_MAX / most)) {
    return context.fail(Error::kInvalidArgument, "non_max_suppression: more than 2^31 boxes");
  }
  const int32_t largest[] = {static_cast<int32_t>(images * classes * most), 3};
  BERTH_RETURN_IF_ERROR(resize_out(context, out, largest));
  BERTH_RETURN_IF_ERROR(check_memory(context, out));
  auto* order = static_cast<int32_t*>(context.allocate_temp(count * sizeof(int32_t)));
  if (order == nullptr) return Error::kMemoryAllocationFailed;
  int64_t* to = out.data<int64_t>();
  int64_t rows = 0;
  for (int64_t row = 0; row < images * classes && most > 0; ++row) {
    const int64_t image = row / classes;
    const Search search = {args.boxes.data<float>() + image * count * 4,
                           args.scores.data<float>() + row * count,
                           count,
                           most,
                           static_cast<float>(args.overlap),
                           args.centred,
                           order};
    const int64_t chosen = search.choose(args.score);
    for (int64_t i = 0; i < chosen; ++i, ++rows) {
      to[rows * 3] = image;
      to[rows * 3 + 1] = row % classes;
      to[rows * 3 + 2] = order[i];
    }
  }
  const int32_t sizes[] = {static_cast<int32_t>(rows), 3};
  return resize_out(context, out, sizes);
}

}  // namespace berth::portable
