// Sampling, cropping and folding images.
#include <algorithm>

#include "compiler/import/onnx/operators.h"

namespace berth::onnx {
namespace {

/// `x` with `before` and `after` zeros around dimension `axis`.
ValueId padded(NodeContext& n, ValueId x, int axis, int64_t before, int64_t after) {
  if (!n.ok() || (before == 0 && after == 0)) return x;
  DimList pad(2 * (n.rank(x) - axis), Dim(0));
  pad[pad.size() - 2] = Dim(before);
  pad[pad.size() - 1] = Dim(after);
  const Argument zero = is_floating(n.dtype(x)) ? Argument(0.0) : Argument(Dim(0));
  return n.op(OpId::constant_pad_nd_out, {x, pad, zero});
}

/// The place of `name`'s text in `names`; a failure when it is none of them.
int64_t choice(NodeContext& n, const char* name, const std::string& found, std::initializer_list<const char*> names) {
  int64_t place = 0;
  for (const char* one : names) {
    if (found == one) return place;
    ++place;
  }
  n.invalid("attribute '" + std::string(name) + "' is \"" + found + "\"");
  return 0;
}

// Opset 16 wrote bilinear and bicubic for linear and cubic.
void import_grid_sample(NodeContext& n) {
  const ValueId x = n.input(0);
  const ValueId grid = n.input(1);
  const bool volumes = n.rank(x) == 5;
  if (n.ok() && (n.rank(x) != n.rank(grid) || (n.rank(x) != 4 && !volumes))) {
    return n.unsupported("only images of two or three dimensions, found " + n.type_text(x));
  }
  std::string mode = n.text("mode", n.opset() < 20 ? "bilinear" : "linear");
  if (mode == "bilinear") mode = "linear";
  if (mode == "bicubic") mode = "cubic";
  const int64_t interpolation = choice(n, "mode", mode, {"linear", "nearest", "cubic"});
  const int64_t padding = choice(n, "padding_mode", n.text("padding_mode", "zeros"), {"zeros", "border", "reflection"});
  if (volumes && interpolation == 2) return n.unsupported("cubic sampling of three dimensions");
  const OpId id = volumes ? OpId::grid_sampler_3d_out : OpId::grid_sampler_2d_out;
  n.output(
      0, n.op(id, {x, n.cast(grid, n.dtype(x)), Dim(interpolation), Dim(padding), n.integer("align_corners", 0) != 0}));
}

// Each dimension cut or filled up at both ends alike; an odd element more goes to the end.
void import_center_crop_pad(NodeContext& n) {
  ValueId x = n.input(0);
  std::vector<int64_t> all;
  for (int i = 0; i < n.rank(x); ++i) all.push_back(i);
  const std::vector<int> axes = n.axes(n.integers("axes", all), n.rank(x));
  const std::vector<int64_t> sizes = n.known_integers(1, "the shape");
  if (n.ok() && sizes.size() != axes.size()) return n.invalid("the shape needs a number for each axis");
  for (size_t i = 0; n.ok() && i < axes.size(); ++i) {
    const int64_t size = n.fixed(n.dim(x, axes[i]), "the input's size");
    if (sizes[i] < 0 || sizes[i] > INT32_MAX) return n.invalid("a size must be from 0 to 2^31 - 1");
    if (size > sizes[i]) {
      const int64_t begin = (size - sizes[i]) / 2;
      x = n.slice(x, axes[i], Dim(begin), Dim(begin + sizes[i]));
    } else {
      const int64_t missing = sizes[i] - size;
      x = padded(n, x, axes[i], missing / 2, missing - missing / 2);
    }
  }
  if (n.ok() && x == n.input(0)) return n.forward(0, 0);
  n.output(0, x);
}

struct Fold {
  std::vector<int64_t> image, block, strides, dilations, pads, steps;
};

bool read_numbers(NodeContext& n, const char* what, const std::vector<int64_t>& numbers, size_t count, int64_t least) {
  if (numbers.size() != count) {
    n.invalid(std::string(what) + ": expected " + std::to_string(count) + " numbers, found " +
              std::to_string(numbers.size()));
  }
  for (int64_t number : numbers) {
    if (number < least || number > (1 << 20)) {
      n.invalid(std::string(what) + " holds " + std::to_string(number) + "; " + std::to_string(least) +
                " to 2^20 is allowed");
    }
  }
  return n.ok();
}

Fold read_fold(NodeContext& n) {
  Fold f;
  f.image = n.known_integers(1, "the image's shape");
  f.block = n.known_integers(2, "the block's shape");
  const size_t rank = f.image.size();
  if (n.ok() && (rank < 1 || rank > 4)) n.unsupported("only images of one to four dimensions");
  f.strides = n.integers("strides", std::vector<int64_t>(rank, 1));
  f.dilations = n.integers("dilations", std::vector<int64_t>(rank, 1));
  f.pads = n.integers("pads", std::vector<int64_t>(2 * rank, 0));
  if (!n.ok()) return f;
  if (!read_numbers(n, "the image's shape", f.image, rank, 1) ||
      !read_numbers(n, "the block's shape", f.block, rank, 1) ||
      !read_numbers(n, "attribute 'strides'", f.strides, rank, 1) ||
      !read_numbers(n, "attribute 'dilations'", f.dilations, rank, 1) ||
      !read_numbers(n, "attribute 'pads'", f.pads, 2 * rank, 0)) {
    return f;
  }
  for (size_t i = 0; i < rank; ++i) {
    const int64_t room = f.image[i] + f.pads[i] + f.pads[rank + i] - f.dilations[i] * (f.block[i] - 1) - 1;
    if (room < 0) n.invalid("a block is larger than the image");
    f.steps.push_back(room / f.strides[i] + 1);
  }
  return f;
}

// How far the image reaches with its padding and with every block, in dimension i.
int64_t reach(const Fold& f, size_t i) {
  const int64_t blocks = (f.steps[i] - 1) * f.strides[i] + f.dilations[i] * (f.block[i] - 1) + 1;
  return std::max(f.pads[i] + f.image[i], blocks);
}

// Where each element of each block lies in the padded image, counted row by row: block element first, then block.
std::vector<int64_t> places(const Fold& f) {
  std::vector<int64_t> all = {0};
  const size_t rank = f.image.size();
  const auto spread = [&](size_t i, int64_t count, int64_t step) {
    std::vector<int64_t> next;
    next.reserve(all.size() * count);
    int64_t row = 1;
    for (size_t inner = i + 1; inner < rank; ++inner) row *= reach(f, inner);
    for (int64_t place : all) {
      for (int64_t k = 0; k < count; ++k) next.push_back(place + k * step * row);
    }
    all = std::move(next);
  };
  for (size_t i = 0; i < rank; ++i) spread(i, f.block[i], f.dilations[i]);
  for (size_t i = 0; i < rank; ++i) spread(i, f.steps[i], f.strides[i]);
  return all;
}

// Blocks added up where they lie, by their indices in the padded image, which is then cut out.
void import_col2im(NodeContext& n) {
  const ValueId x = n.input(0);
  const Fold f = read_fold(n);
  if (n.ok() && n.rank(x) != 3) return n.invalid("expected [N, C · block, blocks], found " + n.type_text(x));
  const int64_t rows = n.fixed(n.dim(x, 1), "the number of channels");
  if (!n.ok()) return;
  int64_t block = 1;
  int64_t steps = 1;
  Dim area = Dim(1);
  std::vector<Dim> shape = {n.dim(x, 0), Dim(0)};
  for (size_t i = 0; i < f.image.size(); ++i) {
    block *= f.block[i];
    steps *= f.steps[i];
    shape.emplace_back(reach(f, i));
    area = Dim(area.value * reach(f, i));
  }
  if (rows < 1 || rows % block != 0) return n.invalid("the block's size does not divide the input's channels");
  if (n.dim(x, 2) != Dim(steps)) {
    return n.invalid("the image has " + std::to_string(steps) + " blocks, the input " + n.type_text(x));
  }
  if (block > (int64_t{1} << 24) / steps || !n.state().literals.reserve(block * steps * 8)) {
    return n.fail(Error::kOutOfResources, "too many places to fold into");
  }
  const Dim channels(rows / block);
  shape[1] = channels;
  const ValueId columns = n.view(x, {n.dim(x, 0), channels, Dim(block * steps)});
  const ValueId nothing =
      n.op(OpId::full_out, {DimList{n.dim(x, 0), channels, area}, 0.0, lowering::number_of(n.dtype(x))});
  const ValueList where = {ValueId(), ValueId(), n.ints(places(f))};
  ValueId y = n.view(n.op(OpId::index_put_out, {nothing, where, columns, true}), shape);
  for (size_t i = 0; i < f.image.size() && n.ok(); ++i) {
    y = n.slice(y, static_cast<int>(i) + 2, Dim(f.pads[i]), Dim(f.pads[i] + f.image[i]));
  }
  n.output(0, y);
}

constexpr OperatorRow kVisionRows[] = {
    {"CenterCropPad", 2, 2, import_center_crop_pad},
    {"Col2Im", 3, 3, import_col2im},
    {"GridSample", 2, 2, import_grid_sample},
};

}  // namespace

OperatorTable vision_operators() { return kVisionRows; }

}  // namespace berth::onnx
