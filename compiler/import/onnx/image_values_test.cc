// What imported operators on images compute: poolings, convolutions, resizes. As in values_test.cc.
#include <cmath>

#include "compiler/import/onnx/run_testing.h"

namespace berth::onnx {
namespace {

TEST(OnnxImageValues, AveragePoolCountsUnequalPaddingOnlyWhenRequested) {
  for (int include : {0, 1}) {
    const Floats y = one("AveragePool", {1, 1, 2, 2}, {1, 2, 3, 4}, [&](TestModel& m, const std::string& t) {
      m.node(t, {"x"}, {"y"})
          .set("kernel_shape", Ints{2, 2})
          .set("pads", Ints{0, 0, 1, 1})
          .set("count_include_pad", include);
    });
    EXPECT_EQ(y, include ? (Floats{2.5f, 1.5f, 1.75f, 1}) : (Floats{2.5f, 3, 3.5f, 4}));
  }
}

TEST(OnnxImageValues, AveragePoolCeilingWindowsStartWithinTheElements) {
  // Windows over [_ 1 2 3 4 5]: (_ 1), (2 3), (4 5); with an end pad of 1 the fourth would start in the padding.
  const Floats y = one("AveragePool", {1, 1, 5}, {1, 2, 3, 4, 5}, [](TestModel& m, const std::string& t) {
    m.node(t, {"x"}, {"y"})
        .set("kernel_shape", Ints{2})
        .set("strides", Ints{2})
        .set("pads", Ints{1, 2})
        .set("ceil_mode", 1);
  });
  EXPECT_EQ(y, (Floats{1, 2.5f, 4.5f}));
}

TEST(OnnxImageValues, AveragePoolDilationSkipsElements) {
  const Floats y = one(
      "AveragePool", {1, 1, 5}, {1, 2, 3, 4, 5},
      [](TestModel& m, const std::string& t) {
        m.node(t, {"x"}, {"y"}).set("kernel_shape", Ints{2}).set("dilations", Ints{3});
      },
      19);
  EXPECT_EQ(y, (Floats{2.5f, 3.5f}));
}

TEST(OnnxImageValues, PoolsOfThreeDimensionsAreTwoAndOne) {
  Floats x(27);
  for (size_t i = 0; i < 27; ++i) x[i] = static_cast<float>(i);
  const auto pool = [&](const char* type) {
    return one(type, {1, 1, 3, 3, 3}, x, [](TestModel& m, const std::string& t) {
      m.node(t, {"x"}, {"y"}).set("kernel_shape", Ints{2, 2, 2});
    });
  };
  EXPECT_EQ(pool("MaxPool"), (Floats{13, 14, 16, 17, 22, 23, 25, 26}));
  EXPECT_EQ(pool("AveragePool"), (Floats{6.5f, 7.5f, 9.5f, 10.5f, 15.5f, 16.5f, 18.5f, 19.5f}));
}

// Of ones, an average is how much of its window lies within: each axis is padded by the kernel, before it, or not.
TEST(OnnxImageValues, PoolsOfThreeDimensionsCountWhatIsPadded) {
  const Floats ones(8, 1);
  const auto pool = [&](const std::vector<int64_t>& kernel, const std::vector<int64_t>& pads, int include) {
    return one("AveragePool", {1, 1, 2, 2, 2}, ones, [&](TestModel& m, const std::string& t) {
      m.node(t, {"x"}, {"y"})
          .set("kernel_shape", Ints(kernel))
          .set("pads", Ints(pads))
          .set("count_include_pad", include);
    });
  };
  EXPECT_EQ(pool({3, 3, 3}, {1, 1, 1, 1, 1, 1}, 0), ones);
  EXPECT_EQ(pool({3, 3, 3}, {1, 1, 1, 1, 1, 1}, 1), Floats(8, 8.0F / 27));
  EXPECT_EQ(pool({3, 1, 1}, {1, 0, 0, 1, 0, 0}, 1), Floats(8, 2.0F / 3));
  EXPECT_EQ(pool({2, 1, 2}, {0, 0, 1, 1, 0, 0}, 1), (Floats{0.5F, 1, 0.5F, 1, 0.25F, 0.5F, 0.25F, 0.5F}));
}

TEST(OnnxImageValues, MaxPoolPaddingNeverWinsInThreeDimensions) {
  Floats x(8);
  for (size_t i = 0; i < 8; ++i) x[i] = -1 - static_cast<float>(i);
  const auto pool = [&](const std::vector<int64_t>& pads) {
    return one("MaxPool", {1, 1, 2, 2, 2}, x, [&](TestModel& m, const std::string& t) {
      m.node(t, {"x"}, {"y"}).set("kernel_shape", Ints{3, 3, 3}).set("strides", Ints{2, 2, 2}).set("pads", Ints(pads));
    });
  };
  EXPECT_EQ(pool({1, 1, 1, 1, 1, 1}), (Floats{-1}));
  EXPECT_EQ(pool({0, 1, 0, 1, 1, 1}), (Floats{-1}));
  EXPECT_EQ(pool({2, 2, 2, 1, 1, 1}), (Floats{-1, -1, -1, -1, -1, -1, -1, -1}));
}

TEST(OnnxImageValues, MaxPoolPaddingNeverWins) {
  const Floats y = one("MaxPool", {1, 1, 3}, {-1, -2, -3}, [](TestModel& m, const std::string& t) {
    m.node(t, {"x"}, {"y"}).set("kernel_shape", Ints{2}).set("pads", Ints{0, 1});
  });
  EXPECT_EQ(y, (Floats{-1, -2, -3}));
}

TEST(OnnxImageValues, MaxPoolIndicesCountInTheWholeTensor) {
  for (int down_columns : {0, 1}) {
    TestModel m;
    m.input("x", {1, 2, 2, 3});
    m.node("MaxPool", {"x"}, {"y", "i"}).set("kernel_shape", Ints{2, 3}).set("storage_order", down_columns);
    m.output("y");
    m.output("i");
    const auto outputs = run(m, {floats({1, 2, 2, 3}, {0, 0, 9, 0, 0, 0, 0, 0, 0, 8, 0, 0})});
    EXPECT_EQ(numbers<float>(outputs), (Floats{9, 8}));
    // Row 0, column 2 of the first plane; row 1, column 0 of the second.
    EXPECT_EQ(numbers<int64_t>(outputs, 1), down_columns ? (Ints{4, 7}) : (Ints{2, 9}));
  }
}

TEST(OnnxImageValues, ConvolutionsOfThreeDimensionsAreSumsOfTwo) {
  const Floats y = one("Conv", {1, 1, 2, 2, 2}, {0, 1, 2, 3, 4, 5, 6, 7}, [](TestModel& m, const std::string& t) {
    m.floats("w", {1, 1, 2, 2, 2}, {1, 1, 1, 1, 1, 1, 1, 1});
    m.floats("b", {1}, {100});
    m.node(t, {"x", "w", "b"}, {"y"}).set("pads", Ints{1, 0, 0, 0, 0, 0});
  });
  EXPECT_EQ(y, (Floats{106, 128}));
}

TEST(OnnxImageValues, TransposedConvolutionsCropEachEnd) {
  // Without padding [1 2 3] * [1 1] by steps of 2 is [1 1 2 2 3 3].
  const auto with = [](const char* attribute, const Ints& value, int64_t extra = 0) {
    return one("ConvTranspose", {1, 1, 3}, {1, 2, 3}, [&](TestModel& m, const std::string& t) {
      m.floats("w", {1, 1, 2}, {1, 1});
      m.node(t, {"x", "w"}, {"y"}).set("strides", Ints{2}).set(attribute, value).set("output_padding", Ints{extra});
    });
  };
  EXPECT_EQ(with("pads", {0, 0}), (Floats{1, 1, 2, 2, 3, 3}));
  EXPECT_EQ(with("pads", {1, 0}), (Floats{1, 2, 2, 3, 3}));
  EXPECT_EQ(with("pads", {0, 1}), (Floats{1, 1, 2, 2, 3}));
  EXPECT_EQ(with("pads", {0, 2}), (Floats{1, 1, 2, 2}));
  EXPECT_EQ(with("pads", {0, 0}, 1), (Floats{1, 1, 2, 2, 3, 3, 0}));
  EXPECT_EQ(with("output_shape", {7}), (Floats{1, 1, 2, 2, 3, 3, 0}));
  EXPECT_EQ(with("output_shape", {5}), (Floats{1, 2, 2, 3, 3}));  // the odd one goes at the beginning
}

TEST(OnnxImageValues, SpaceToDepthAndBackOrderTheirBlocks) {
  const Floats x{0, 1, 2, 3};
  const auto shuffle = [&](const char* mode) {
    return one("DepthToSpace", {1, 8, 1, 1}, {0, 1, 2, 3, 4, 5, 6, 7}, [&](TestModel& m, const std::string& t) {
      m.node(t, {"x"}, {"y"}).set("blocksize", 2).set("mode", mode);
    });
  };
  EXPECT_EQ(shuffle("DCR"), (Floats{0, 2, 4, 6, 1, 3, 5, 7}));
  EXPECT_EQ(shuffle("CRD"), (Floats{0, 1, 2, 3, 4, 5, 6, 7}));
  EXPECT_EQ(one("SpaceToDepth", {1, 1, 2, 2}, x,
                [](TestModel& m, const std::string& t) { m.node(t, {"x"}, {"y"}).set("blocksize", 2); }),
            x);
}

TEST(OnnxImageValues, ColumnsAddUpInPlace) {
  // Blocks of two, one apart, over three elements and one of padding at each end: [p 0 1 2 p].
  const Floats y = one(
      "Col2Im", {1, 2, 4}, {1, 2, 3, 4, 10, 20, 30, 40},
      [](TestModel& m, const std::string& t) {
        m.ints("image", {3});
        m.ints("block", {2});
        m.node(t, {"x", "image", "block"}, {"y"}).set("pads", Ints{1, 1});
      },
      18);
  EXPECT_EQ(y, (Floats{12, 23, 34}));
}

TEST(OnnxImageValues, ColumnsKeepInfinitiesInTheirPlaces) {
  const Floats y = one(
      "Col2Im", {1, 4, 1}, {INFINITY, 2, NAN, 4},
      [](TestModel& m, const std::string& t) {
        m.ints("image", {2, 3});
        m.ints("block", {2, 2});
        m.node(t, {"x", "image", "block"}, {"y"}).set("strides", Ints{1, 2});
      },
      18);
  ASSERT_EQ(y.size(), 6u);
  EXPECT_EQ(y[0], INFINITY);
  EXPECT_EQ((Floats{y[1], y[2]}), (Floats{2, 0}));
  EXPECT_TRUE(std::isnan(y[3]));
  EXPECT_EQ((Floats{y[4], y[5]}), (Floats{4, 0}));
}

// From 5 rows to 3, corner by corner, a blend takes rows 0, 2 and 4 as nearest does, and row 1 and 3 by 0.
TEST(OnnxImageValues, NearestResizeMultipliesNothing) {
  const Floats x = {1, INFINITY, 3, -INFINITY, 5};
  const Floats y = one("Resize", {1, 1, 5, 1}, x, [](TestModel& m, const std::string& t) {
    m.ints("sizes", {1, 1, 3, 1});
    m.node(t, {"x", "", "", "sizes"}, {"y"}).set("coordinate_transformation_mode", "align_corners");
  });
  EXPECT_EQ(y, (Floats{1, 3, 5}));
}

TEST(OnnxImageValues, ResizeRoundsSizesAsFloatsDo) {
  const Floats y = one("Resize", {1, 1, 5}, {0, 1, 2, 3, 4}, [](TestModel& m, const std::string& t) {
    m.floats("scales", {3}, {1, 1, 2.6f});
    m.node(t, {"x", "", "scales"}, {"y"}).set("coordinate_transformation_mode", "align_corners");
  });
  EXPECT_EQ(y, (Floats{0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4}));
}

// From 3 rows to 5.1, of which 5 are there: the last row is the last for PyTorch, and none for ONNX.
TEST(OnnxImageValues, CornersOfModelsByPytorchAreThoseOfTheSizeThatThereIs) {
  for (const bool pytorch : {true, false}) {
    const Floats y = one("Resize", {1, 1, 3, 1}, {0, 4, 8}, [&](TestModel& m, const std::string& t) {
      if (pytorch) m.model.set_producer_name("pytorch");
      m.floats("scales", {4}, {1, 1, 1.7f, 1});
      m.node(t, {"x", "", "scales"}, {"y"})
          .set("mode", "linear")
          .set("coordinate_transformation_mode", "align_corners");
    });
    ASSERT_EQ(y.size(), 5u);
    EXPECT_NEAR(y[4], pytorch ? 8 : 4 * 8 / 4.1, 1e-4);
    EXPECT_NEAR(y[1], pytorch ? 2 : 8 / 4.1, 1e-4);
  }
}

// 7 pixels become floor(3.5) = 3, whose places are 1, 3 and 5 to the last digit.
TEST(OnnxImageValues, ResizeHalfPixelSymmetricHitsWholePixelsExactly) {
  for (const char* nearest : {"ceil", "floor", "round_prefer_floor", "round_prefer_ceil"}) {
    const Floats y = one("Resize", {1, 1, 7}, {0, 1, 2, 3, 4, 5, 6}, [&](TestModel& m, const std::string& t) {
      m.floats("scales", {3}, {1, 1, 0.5f});
      m.node(t, {"x", "", "scales"}, {"y"})
          .set("mode", "nearest")
          .set("nearest_mode", nearest)
          .set("coordinate_transformation_mode", "half_pixel_symmetric");
    });
    EXPECT_EQ(y, (Floats{1, 3, 5})) << nearest;
  }
}

Floats nearest(int64_t size, float scale, const char* coordinates, const char* mode) {
  Floats x;
  for (int64_t i = 0; i < size; ++i) x.push_back(static_cast<float>(i));
  return one("Resize", {1, 1, size}, x, [&](TestModel& m, const std::string& t) {
    m.floats("scales", {3}, {1, 1, scale});
    m.node(t, {"x", "", "scales"}, {"y"})
        .set("mode", "nearest")
        .set("nearest_mode", mode)
        .set("coordinate_transformation_mode", coordinates);
  });
}

// What ONNX Runtime gives: places in floats, in which these lie a little beside the middle of two elements, or not.
TEST(OnnxImageValues, NearestElementsAtTiesAreThoseOfOnnxRuntime) {
  EXPECT_EQ(nearest(9, 0.6F, "tf_half_pixel_for_nn", "round_prefer_ceil"), (Floats{1, 3, 4, 6, 8}));
  EXPECT_EQ(nearest(9, 1.2F, "asymmetric", "round_prefer_ceil"), (Floats{0, 1, 2, 3, 3, 4, 5, 6, 7, 8}));
  EXPECT_EQ(nearest(17, 1.3F, "half_pixel", "round_prefer_floor"),
            (Floats{0, 1, 1, 2, 3, 4, 4, 5, 6, 7, 8, 8, 9, 10, 11, 11, 12, 13, 14, 14, 15, 16}));
  EXPECT_EQ(nearest(10, 0.6F, "half_pixel", "round_prefer_floor"), (Floats{0, 2, 4, 5, 7, 9}));
  EXPECT_EQ(nearest(10, 0.6F, "asymmetric", "floor"), (Floats{0, 1, 3, 5, 6, 8}));
}

// As ONNX Runtime: the places of the pool count through its image, 5 by 5, which is not a multiple of the stride.
TEST(OnnxImageValues, APooledImageOfAnOddSizeIsUnpooled) {
  Floats x(25);
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i * 7 % 25);
  TestModel m(18);
  m.input("x", {1, 1, 5, 5});
  m.ints("size", {1, 1, 5, 5});
  m.node("MaxPool", {"x"}, {"p", "i"}).set("kernel_shape", Ints{2, 2}).set("strides", Ints{2, 2});
  m.node("MaxUnpool", {"p", "i", "size"}, {"y"}).set("kernel_shape", Ints{2, 2}).set("strides", Ints{2, 2});
  m.output("y");
  Floats wanted(25);
  wanted[6] = 17;
  wanted[7] = 24;
  wanted[10] = 20;
  wanted[17] = 19;
  EXPECT_EQ(numbers<float>(run(m, {floats({1, 1, 5, 5}, x)})), wanted);
}

}  // namespace
}  // namespace berth::onnx
