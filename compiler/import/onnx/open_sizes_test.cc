// Operators whose sizes are computed from sizes that are open: imported once for a range, they give at each size what
// the model imported for that size alone gives.
#include "compiler/import/onnx/run_testing.h"

namespace berth::onnx {
namespace {

constexpr int kLeast = 2, kMost = 9;

ImportOptions shaped(const std::string& shape) {
  ImportOptions options;
  options.input_shapes = {{"x", shape}};
  return options;
}

// `model` takes x, [1, 2, h, w].
void expect_right_at_every_size(const TestModel& model, float tolerance = 1e-6f) {
  const std::string range = std::to_string(kLeast) + ".." + std::to_string(kMost);
  const auto open = model.import(shaped("1x2x" + range + "x" + range));
  ASSERT_TRUE(open.ok()) << open.error().text();
  for (int h = kLeast; h <= kMost; ++h) {
    for (int w = kLeast; w <= kMost; ++w) {
      SCOPED_TRACE(std::to_string(h) + "x" + std::to_string(w));
      const auto alone = model.import(shaped("1x2x" + std::to_string(h) + "x" + std::to_string(w)));
      ASSERT_TRUE(alone.ok()) << alone.error().text();
      Floats x(2 * h * w);
      for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i * 37 % 101) - 50;
      const std::vector<eval::Item> inputs = {floats({1, 2, h, w}, x)};
      const auto wanted = eval::evaluate(*alone, alone->methods[0], inputs);
      const auto found = eval::evaluate(*open, open->methods[0], inputs);
      ASSERT_TRUE(wanted.ok() && found.ok()) << (found.ok() ? wanted : found).error().text();
      ASSERT_EQ(std::get<eval::Array>((*found)[0]).sizes, std::get<eval::Array>((*wanted)[0]).sizes);
      expect_near(numbers<float>(*found), numbers<float>(*wanted), tolerance);
    }
  }
}

// "h" and "w", [1] each, of the input.
void add_sizes(TestModel& m) {
  m.symbolic_input("x", {"1", "2", "height", "width"});
  m.ints("two", {2});
  m.ints("three", {3});
  m.ints("four", {4});
  m.node("Shape", {"x"}, {"shape"});
  m.node("Slice", {"shape", "two", "three"}, {"h"});
  m.node("Slice", {"shape", "three", "four"}, {"w"});
}

// To 3 * h / 2 and 2 * w + 1.
TestModel resized(const std::string& mode, const std::string& coordinates) {
  TestModel m(18);
  add_sizes(m);
  m.ints("one", {1});
  m.node("Mul", {"h", "three"}, {"h3"});
  m.node("Div", {"h3", "two"}, {"tall"});
  m.node("Mul", {"w", "two"}, {"w2"});
  m.node("Add", {"w2", "one"}, {"wide"});
  m.ints("front", {1, 2});
  m.node("Concat", {"front", "tall", "wide"}, {"sizes"}).set("axis", 0);
  m.node("Resize", {"x", "", "", "sizes"}, {"y"})
      .set("mode", mode.c_str())
      .set("coordinate_transformation_mode", coordinates.c_str())
      .set("nearest_mode", "floor");
  m.output("y");
  return m;
}

TEST(OpenSizes, PicturesGrowToSizesThatAreComputed) {
  expect_right_at_every_size(resized("nearest", "asymmetric"));
  expect_right_at_every_size(resized("linear", "half_pixel"), 1e-4f);
  expect_right_at_every_size(resized("linear", "pytorch_half_pixel"), 1e-4f);
  expect_right_at_every_size(resized("linear", "align_corners"), 1e-4f);
}

TEST(OpenSizes, PicturesGrowAndShrinkByScales) {
  for (const auto& [high, wide] : {std::pair<float, float>{2, 3},
                                   {1.5f, 0.5f},
                                   {0.75f, 1},
                                   {1.25f, 2.5f},
                                   {3.5f, 1.75f},
                                   {2.25f, 2},
                                   {1.3f, 0.7f}}) {
    for (const char* mode : {"nearest", "linear"}) {
      SCOPED_TRACE(mode + (" " + std::to_string(high)) + " " + std::to_string(wide));
      TestModel m(18);
      m.symbolic_input("x", {"1", "2", "height", "width"});
      m.floats("scales", {4}, {1, 1, high, wide});
      m.node("Resize", {"x", "", "scales"}, {"y"})
          .set("mode", mode)
          .set("coordinate_transformation_mode", mode[0] == 'n' ? "asymmetric" : "half_pixel")
          .set("nearest_mode", "floor");
      m.output("y");
      expect_right_at_every_size(m, 1e-4f);
    }
  }
}

// Down to 3 * h / 2 and up to 7, one axis after the other, where no operator for pictures does it.
TEST(OpenSizes, EveryWayToResizeHoldsAtEverySize) {
  for (const char* mode : {"nearest", "linear", "cubic"}) {
    for (const char* coordinates : {"half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners",
                                    "asymmetric", "tf_half_pixel_for_nn"}) {
      for (const char* nearest : {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"}) {
        if (nearest[0] != 'f' && mode[0] != 'n') continue;
        SCOPED_TRACE(std::string(mode) + " " + coordinates + " " + nearest);
        TestModel m(18);
        add_sizes(m);
        m.ints("seven", {7});
        m.ints("axes_front", {1, 2});
        m.node("Mul", {"h", "three"}, {"h3"});
        m.node("Div", {"h3", "two"}, {"tall"});
        m.node("Concat", {"axes_front", "tall", "seven"}, {"sizes"}).set("axis", 0);
        m.node("Resize", {"x", "", "", "sizes"}, {"y"})
            .set("mode", mode)
            .set("coordinate_transformation_mode", coordinates)
            .set("nearest_mode", nearest)
            .set("exclude_outside", mode[0] == 'c' ? 1 : 0);
        m.output("y");
        expect_right_at_every_size(m, 2e-4f);
      }
    }
  }
}

TEST(OpenSizes, ResizingWithAntialiasingIsRefusedByName) {
  TestModel m(18);
  m.symbolic_input("x", {"1", "2", "height", "width"});
  m.floats("scales", {4}, {1, 1, 0.5f, 0.5f});
  m.node("Resize", {"x", "", "scales"}, {"y"}).set("mode", "cubic").set("antialias", 1);
  m.output("y");
  const auto smooth = m.import(shaped("1x2x2..9x2..9"));
  ASSERT_FALSE(smooth.ok());
  EXPECT_NE(smooth.error().message.find("antialiasing"), std::string::npos) << smooth.error().text();
}

// By 3 above, more than there is, and at the right up to a multiple of 4.
TEST(OpenSizes, EndsRepeatAtEverySize) {
  for (const char* mode : {"reflect", "edge", "wrap"}) {
    SCOPED_TRACE(mode);
    TestModel m(19);
    add_sizes(m);
    m.ints("before", {0, 0, 3, 0, 0, 0, -1});
    m.node("Neg", {"w"}, {"fewer"});
    m.node("Mod", {"fewer", "four"}, {"right"});
    m.node("Concat", {"before", "right"}, {"pads"}).set("axis", 0);
    m.node("Pad", {"x", "pads"}, {"y"}).set("mode", mode);
    m.output("y");
    expect_right_at_every_size(m);
  }
}

TEST(OpenSizes, WindowsAreCountedAndAveragedAtEverySize) {
  struct Pool {
    const char* type;
    std::vector<int64_t> pads;
    std::vector<int64_t> dilations;
    int ceil, include;
  };
  const std::vector<Pool> pools = {
      {"AveragePool", {0, 0, 1, 1}, {1, 1}, 0, 0}, {"AveragePool", {0, 0, 1, 1}, {1, 1}, 1, 0},
      {"AveragePool", {0, 1, 1, 0}, {1, 1}, 1, 1}, {"AveragePool", {2, 2, 2, 2}, {2, 2}, 0, 0},
      {"LpPool", {1, 1, 1, 1}, {1, 1}, 1, -1},     {"MaxPool", {1, 0, 0, 1}, {1, 1}, 1, -1},
  };
  for (const Pool& pool : pools) {
    SCOPED_TRACE(pool.type + std::to_string(&pool - pools.data()));
    TestModel m(22);
    m.symbolic_input("x", {"1", "2", "height", "width"});
    TestNode node = m.node(pool.type, {"x"}, {"y"});
    node.set("kernel_shape", std::vector<int64_t>{3, 3}).set("strides", std::vector<int64_t>{2, 2});
    node.set("pads", pool.pads).set("dilations", pool.dilations).set("ceil_mode", pool.ceil);
    if (pool.include >= 0) node.set("count_include_pad", pool.include);
    m.output("y");
    expect_right_at_every_size(m, 1e-4f);
  }
}

TEST(OpenSizes, PlacesOfTheLargestAreCountedInTheWholeTensor) {
  TestModel m(18);
  m.symbolic_input("x", {"1", "2", "height", "width"});
  m.node("MaxPool", {"x"}, {"largest", "places"}).set("kernel_shape", std::vector<int64_t>{2, 2});
  m.node("Cast", {"places"}, {"y"}).set("to", static_cast<int64_t>(ElementType::kFloat));
  m.output("y");
  expect_right_at_every_size(m);
}

// The mask of a model with past keys: the diagonal begins behind them.
TEST(OpenSizes, TrianglesBeginAtADiagonalThatSizesSay) {
  for (const int64_t upper : {0, 1}) {
    TestModel m(18);
    add_sizes(m);
    m.node("Sub", {"w", "h"}, {"k"});
    m.node("Trilu", {"x", "k"}, {"y"}).set("upper", upper);
    m.output("y");
    expect_right_at_every_size(m);
  }
}

// As Keras pads what its transposed convolutions give.
TEST(OpenSizes, TransposedConvolutionsKeepTheirMultiple) {
  for (const char* pad : {"SAME_UPPER", "SAME_LOWER"}) {
    TestModel m(11);
    m.symbolic_input("x", {"1", "2", "height", "width"});
    m.floats("w", {2, 1, 3, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 9, 8, 7, 6, 5, 4, 3, 2, 1});
    m.node("ConvTranspose", {"x", "w"}, {"y"}).set("strides", std::vector<int64_t>{2, 2}).set("auto_pad", pad);
    m.output("y");
    expect_right_at_every_size(m, 1e-3f);
  }
}

TEST(OpenSizes, PicturesAreFilledUpToMultiples) {
  TestModel m(18);
  add_sizes(m);
  m.ints("block", {4});
  m.ints("none", {0, 0, 0, 0, 0, 0});
  m.node("Neg", {"h"}, {"less"});
  m.node("Mod", {"less", "block"}, {"below"});
  m.node("Neg", {"w"}, {"fewer"});
  m.node("Mod", {"fewer", "block"}, {"right"});
  m.node("Concat", {"none", "below", "right"}, {"pads"}).set("axis", 0);
  m.node("Pad", {"x", "pads"}, {"y"});
  m.output("y");
  expect_right_at_every_size(m);
}

// A U-Net's way up: what was halved and doubled again lacks a line where the size was odd.
TEST(OpenSizes, WhatRoundingTookIsFilledAgain) {
  TestModel m(18);
  add_sizes(m);
  m.ints("none", {0, 0, 0, 0});
  m.floats("scales", {4}, {1, 1, 2, 2});
  m.node("MaxPool", {"x"}, {"half"})
      .set("kernel_shape", std::vector<int64_t>{2, 2})
      .set("strides", std::vector<int64_t>{2, 2});
  m.node("Resize", {"half", "", "scales"}, {"twice"})
      .set("mode", "nearest")
      .set("coordinate_transformation_mode", "asymmetric")
      .set("nearest_mode", "floor");
  m.node("Shape", {"twice"}, {"shape2"});
  m.node("Sub", {"shape", "shape2"}, {"lacks"});
  m.node("Div", {"lacks", "two"}, {"before"});
  m.node("Sub", {"lacks", "before"}, {"behind"});
  m.node("Concat", {"before", "behind"}, {"pads"}).set("axis", 0);
  m.node("Pad", {"twice", "pads"}, {"filled"});
  m.node("Concat", {"x", "filled"}, {"y"}).set("axis", 1);
  m.output("y");
  expect_right_at_every_size(m);
}

TEST(OpenSizes, OpenSizesAreSplit) {
  TestModel m(18);
  add_sizes(m);
  m.node("Split", {"x"}, {"a", "b"}).set("axis", 3).set("num_outputs", 2);
  m.node("Div", {"h", "two"}, {"less"});
  m.node("Sub", {"h", "less"}, {"more"});
  m.node("Concat", {"more", "less"}, {"parts"}).set("axis", 0);
  m.node("Split", {"a", "parts"}, {"c", "d"}).set("axis", 2);
  m.node("Concat", {"d", "c"}, {"y"}).set("axis", 2);
  m.output("y");
  expect_right_at_every_size(m);
}

// Coordinates of pixels, as detectors make them.
TEST(OpenSizes, RangesOfRealsCountSizes) {
  TestModel m(18);
  add_sizes(m);
  m.tensor("zero", {}, ElementType::kFloat).add_float_data(0);
  m.tensor("step", {}, ElementType::kFloat).add_float_data(2);
  m.ints("all", {0});
  m.node("Squeeze", {"w", "all"}, {"width"});
  m.node("Cast", {"width"}, {"real"}).set("to", static_cast<int64_t>(ElementType::kFloat));
  m.node("Range", {"zero", "real", "step"}, {"y"});
  m.output("y");
  expect_right_at_every_size(m);
}

// Halved by a convolution with padding, by pooling, and doubled twice.
TestModel up_and_down() {
  TestModel m(18);
  m.symbolic_input("x", {"1", "2", "height", "width"});
  m.floats("w", {2, 2, 3, 3}, Floats(36, 0.1F));
  m.floats("scales", {4}, {1, 1, 2, 2});
  m.node("Conv", {"x", "w"}, {"half"}).set("strides", Ints{2, 2}).set("pads", Ints{1, 1, 1, 1});
  m.node("MaxPool", {"half"}, {"quarter"}).set("kernel_shape", Ints{2, 2}).set("strides", Ints{2, 2});
  m.node("Resize", {"quarter", "", "scales"}, {"up"}).set("mode", "nearest");
  m.node("Resize", {"up", "", "scales"}, {"top"}).set("mode", "nearest");
  m.node("Concat", {"top", "x"}, {"y"}).set("axis", 1);
  m.output("top");
  m.output("y");
  return m;
}

TEST(OpenSizes, WhatGoesDownAndUpInWholeStepsIsOfTheSizeThatItWas) {
  const TestModel m = up_and_down();
  ImportOptions options;
  options.where = {"height=1..64", "width=1..64", "height%4==0", "width%4==0"};
  const auto module = m.import(options);
  ASSERT_TRUE(module.ok()) << module.error().text();
  const ir::Method& method = module->methods[0];
  const auto shape = [&](size_t k) { return method.tensor(std::get<ir::ValueId>(method.body.outputs[k])).shape; };
  EXPECT_EQ(shape(0), method.tensor(method.body.inputs[0]).shape);
  EXPECT_EQ(shape(1)[2], method.tensor(method.body.inputs[0]).shape[2]);
  // Without it nothing says so.
  options.where = {"height=1..64", "width=1..64"};
  const auto any = m.import(options);
  if (!any.ok()) return;
  EXPECT_NE(any->methods[0].tensor(std::get<ir::ValueId>(any->methods[0].body.outputs[0])).shape,
            any->methods[0].tensor(any->methods[0].body.inputs[0]).shape);
}

}  // namespace
}  // namespace berth::onnx
