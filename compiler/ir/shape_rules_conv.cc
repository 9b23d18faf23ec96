// Shape rules of convolution and pooling: windows that slide over the spatial dimensions.
#include "compiler/ir/shape_args.h"
#include "compiler/ir/shape_rules.h"

namespace berth::ir {
namespace {

struct Window {
  int64_t size = 1;
  int64_t stride = 1;
  int64_t padding = 0;
  int64_t dilation = 1;
  // What the window spans, its holes included. Sizes and dilations are below 2^31.
  int64_t span() const { return dilation * (size - 1) + 1; }
};

// How many windows fit over `input`. With `ceil`, a last window may overhang the end, but begins inside of the input or
// its left padding.
Expected<Dim> windows(const ShapeArgs& args, Dim input, const Window& w, bool ceil) {
  Symbols& symbols = args.symbols;
  const Dim room = symbols.add(input, Dim(2 * w.padding - w.span()));
  if (symbols.upper(room) < 0) {
    return args.fail("expected a window of at most " + std::to_string(symbols.upper(input) + 2 * w.padding) +
                     ", the padded input, found one that spans " + std::to_string(w.span()));
  }
  const Dim stride(w.stride);
  const Dim floor = symbols.add(symbols.floor_div(room, stride), Dim(1));
  if (!ceil) return floor;
  const Dim up = symbols.add(symbols.floor_div(symbols.add(room, Dim(w.stride - 1)), stride), Dim(1));
  const Dim begins_inside = symbols.add(symbols.floor_div(symbols.add(input, Dim(w.padding - 1)), stride), Dim(1));
  return symbols.min(up, begins_inside);
}

// Sizes after pooling the last two dimensions; the windows from arguments 1 to 3, dilation from `dilation` if that is
// an argument.
Expected<Shape> pooled(const ShapeArgs& args, int dilation_argument, size_t ceil_argument) {
  const TensorType& self = args.tensor(0);
  BERTH_TRY(args.expect_rank(self, 3, 4, "an input"));
  BERTH_ASSIGN_OR_RETURN(const std::vector<int64_t> size, args.integers(1, 2, 1));
  std::vector<int64_t> stride = size;
  if (!args.dims(2).empty()) {
    BERTH_ASSIGN_OR_RETURN(stride, args.integers(2, 2, 1));
  }
  BERTH_ASSIGN_OR_RETURN(const std::vector<int64_t> padding, args.integers(3, 2, 0));
  std::vector<int64_t> dilation(2, 1);
  if (dilation_argument >= 0) {
    BERTH_ASSIGN_OR_RETURN(dilation, args.integers(dilation_argument, 2, 1));
  }
  Shape shape = self.shape;
  for (size_t i = 0; i < 2; ++i) {
    const Window window{size[i], stride[i], padding[i], dilation[i]};
    if (window.padding > window.size / 2) {
      return args.fail("expected a padding of at most half the window of " + std::to_string(window.size) + ", found " +
                       std::to_string(window.padding));
    }
    Dim& one = shape[shape.size() - 2 + i];
    BERTH_ASSIGN_OR_RETURN(one, windows(args, one, window, args.truth(ceil_argument)));
  }
  return shape;
}

struct Convolution {
  std::vector<int64_t> stride, padding, dilation, output_padding;
  int64_t groups = 1;
  bool transposed = false;
};

Expected<Convolution> read_convolution(const ShapeArgs& args, size_t spatial) {
  Convolution c;
  BERTH_ASSIGN_OR_RETURN(c.stride, args.integers(3, spatial, 1));
  BERTH_ASSIGN_OR_RETURN(c.padding, args.integers(4, spatial, 0));
  BERTH_ASSIGN_OR_RETURN(c.dilation, args.integers(5, spatial, 1));
  c.transposed = args.truth(6);
  BERTH_ASSIGN_OR_RETURN(c.output_padding, args.integers(7, spatial, 0));
  BERTH_ASSIGN_OR_RETURN(c.groups, args.integer(8));
  if (c.groups < 1 || c.groups > kMaxSize) {
    return args.fail("expected 'groups' of at least 1, found " + std::to_string(c.groups));
  }
  return c;
}

// Channels of the result; checks those of the input against the weight's. Weights are [out, in / groups, …], transposed
// [in, out / groups, …].
Expected<Dim> output_channels(const ShapeArgs& args, const Convolution& c) {
  const Dim input = args.tensor(0).shape[1];
  const Shape& weight = args.tensor(1).shape;
  const Dim expected = c.transposed ? weight[0] : args.symbols.mul(weight[1], Dim(c.groups));
  if (!args.same_size(input, expected, "channels").ok()) {
    return args.fail("expected an input of " + args.text(expected) + " channels for a weight of " +
                     args.text(args.tensor(1)) + " in " + std::to_string(c.groups) + " groups, found " +
                     args.text(args.tensor(0)));
  }
  if (weight[0].is_constant() && weight[0].value % c.groups != 0) {
    return args.fail("expected " + std::to_string(c.groups) + " groups to divide the weight's size 0, found " +
                     args.text(args.tensor(1)));
  }
  return c.transposed ? args.symbols.mul(weight[1], Dim(c.groups)) : weight[0];
}

Expected<Dim> spread(const ShapeArgs& args, Dim input, const Window& w, int64_t output_padding) {
  if (output_padding >= w.stride && output_padding >= w.dilation) {
    return args.fail("expected 'output_padding' below the stride or the dilation, found " +
                     std::to_string(output_padding));
  }
  // All below 2^31, so the sum fits.
  const Dim steps = args.symbols.mul(args.symbols.add(input, Dim(-1)), Dim(w.stride));
  const Dim size = args.symbols.add(steps, Dim(w.span() - 2 * w.padding + output_padding));
  if (args.symbols.upper(size) < 1) {
    return args.fail("expected padding that leaves something of the result, found " + args.text(size) + " elements");
  }
  return size;
}

}  // namespace

Expected<Types> infer_convolution(const ShapeQuery& query) {
  const ShapeArgs args(query);
  const TensorType& input = args.tensor(0);
  const TensorType& weight = args.tensor(1);
  BERTH_TRY(args.expect_rank(input, 3, 5, "an input"));
  BERTH_TRY(args.expect_rank(weight, input.rank(), input.rank(), "a weight"));
  if (input.dtype != weight.dtype) {
    return args.fail(Error::kInvalidType,
                     "expected input and weight of one dtype, found " + args.text(input) + " and " + args.text(weight));
  }
  const size_t spatial = input.shape.size() - 2;
  BERTH_ASSIGN_OR_RETURN(const Convolution c, read_convolution(args, spatial));
  Shape shape = input.shape;
  BERTH_ASSIGN_OR_RETURN(shape[1], output_channels(args, c));
  if (const TensorType* bias = args.optional_tensor(2)) {
    BERTH_TRY(args.expect_rank(*bias, 1, 1, "a bias"));
    BERTH_TRY(args.same_size(bias->shape[0], shape[1], "sizes of bias and output channels"));
  }
  for (size_t i = 0; i < spatial; ++i) {
    const Dim size = weight.shape[2 + i];
    if (!size.is_constant() || size.value < 1) {
      return args.fail("expected a weight with a window of known sizes, found " + args.text(weight));
    }
    const Window window{size.value, c.stride[i], c.padding[i], c.dilation[i]};
    Dim& one = shape[2 + i];
    BERTH_ASSIGN_OR_RETURN(
        one, c.transposed ? spread(args, one, window, c.output_padding[i]) : windows(args, one, window, false));
  }
  return Types{args.elementwise(input.dtype, std::move(shape), {})};
}

Expected<Types> infer_avg_pool2d(const ShapeQuery& query) {
  const ShapeArgs args(query);
  if (!args.none(6) && args.dim(6) == Dim(0)) return args.fail("expected a divisor other than 0");
  BERTH_ASSIGN_OR_RETURN(Shape shape, pooled(args, -1, 4));
  return args.one(args.tensor(0).dtype, std::move(shape));
}

Expected<Types> infer_max_pool2d(const ShapeQuery& query) {
  const ShapeArgs args(query);
  BERTH_ASSIGN_OR_RETURN(const Shape shape, pooled(args, 4, 5));
  return Types{args.type(args.tensor(0).dtype, shape), args.type(DType::kI64, shape)};
}

Expected<Types> infer_adaptive_avg_pool2d(const ShapeQuery& query) {
  const ShapeArgs args(query);
  const TensorType& self = args.tensor(0);
  BERTH_TRY(args.expect_rank(self, 3, 4, "an input"));
  Shape shape = self.shape;
  if (args.dims(1).size() != 2) {
    return args.fail("expected 2 output sizes, found " + std::to_string(args.dims(1).size()));
  }
  for (size_t i = 0; i < 2; ++i) shape[shape.size() - 2 + i] = args.dims(1)[i];
  return args.one(self.dtype, std::move(shape));
}

}  // namespace berth::ir
