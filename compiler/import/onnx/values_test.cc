// What imported operators compute, where ATen's are bent to ONNX's meaning. The figures are worked out by hand or stand
// in ONNX's own pages; the evaluator runs the IR through the portable kernels.
#include <cmath>

#include "compiler/import/onnx/run_testing.h"

namespace berth::onnx {
namespace {

TEST(OnnxValues, SlicesRunBackwardsAndAreClamped) {
  const auto slice = [](int64_t start, int64_t end, int64_t step) {
    return one("Slice", {6}, {0, 1, 2, 3, 4, 5}, [&](TestModel& m, const std::string& t) {
      m.ints("s", {start});
      m.ints("e", {end});
      m.ints("a", {-1});
      m.ints("t", {step});
      m.node(t, {"x", "s", "e", "a", "t"}, {"y"});
    });
  };
  EXPECT_EQ(slice(-1, INT64_MIN, -2), (Floats{5, 3, 1}));
  EXPECT_EQ(slice(4, 0, -1), (Floats{4, 3, 2, 1}));
  EXPECT_EQ(slice(100, -100, -3), (Floats{5, 2}));
  EXPECT_EQ(slice(1, INT64_MAX, 2), (Floats{1, 3, 5}));
  EXPECT_EQ(slice(-100, 2, 1), (Floats{0, 1}));
  EXPECT_EQ(slice(4, 2, 1), Floats{});
}

// As an EmbeddingBag's loop picks the words of each bag.
TEST(OnnxValues, BoundsOfASliceMayBeData) {
  const auto slice = [](int64_t start, int64_t end) {
    TestModel m;
    m.input("x", {2, 5});
    m.input("s", {1}, ElementType::kInt64);
    m.input("e", {1}, ElementType::kInt64);
    m.ints("a", {-1});
    m.node("Slice", {"x", "s", "e", "a"}, {"y"});
    m.output("y");
    const auto bound = [](int64_t at) { return array<int64_t>(DType::kI64, {1}, {at}); };
    return numbers<float>(run(m, {floats({2, 5}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9}), bound(start), bound(end)}));
  };
  EXPECT_EQ(slice(1, 3), (Floats{1, 2, 6, 7}));
  EXPECT_EQ(slice(-2, INT64_MAX), (Floats{3, 4, 8, 9}));
  EXPECT_EQ(slice(INT64_MIN, -4), (Floats{0, 5}));
  EXPECT_EQ(slice(3, 3), Floats{});
  EXPECT_EQ(slice(4, 2), Floats{});
}

// As those of the words and of the weights of an EmbeddingBag. The fear: each has a size of its own, and their product
// is refused; or other bounds are taken for the same.
TEST(OnnxValues, SlicesBetweenTheSameBoundsOfDataAreOfOneSize) {
  const auto product = [](const char* end) {
    TestModel m;
    m.input("x", {5});
    m.input("w", {5});
    for (const char* bound : {"s", "e", "f"}) m.input(bound, {1}, ElementType::kInt64);
    m.node("Slice", {"x", "s", "e"}, {"a"});
    m.node("Slice", {"w", "s", end}, {"b"});
    m.node("Mul", {"a", "b"}, {"y"});
    m.output("y");
    return m;
  };
  const auto bound = [](int64_t at) { return array<int64_t>(DType::kI64, {1}, {at}); };
  const eval::Item x = floats({5}, {1, 2, 3, 4, 5});
  EXPECT_EQ(numbers<float>(run(product("e"), {x, x, bound(1), bound(-1), bound(3)})), (Floats{4, 9, 16}));
  EXPECT_FALSE(product("f").import().ok());
}

// Two bounds without axes are of two axes. The fear: they are taken for one of the first.
TEST(OnnxValues, SeveralBoundsOfDataAreRefused) {
  TestModel m;
  m.input("x", {2, 5});
  m.input("s", {2}, ElementType::kInt64);
  m.input("e", {2}, ElementType::kInt64);
  m.node("Slice", {"x", "s", "e"}, {"y"});
  m.output("y");
  const auto module = m.import();
  ASSERT_FALSE(module.ok());
  EXPECT_EQ(module.error().code, Error::kNotSupported) << module.error().message;
}

// What PyTorch's exporters write for torchvision's nms. The fear: the largest number is taken for one of more than 64
// bits.
TEST(OnnxValues, AllBoxesMayBeAskedForByTheLargestNumber) {
  TestModel m;
  m.input("b", {1, 2, 4});
  m.input("s", {1, 1, 2});
  m.ints("most", {INT64_MAX});
  m.node("NonMaxSuppression", {"b", "s", "most"}, {"y"});
  m.output("y");
  const auto y = run(m, {floats({1, 2, 4}, {0, 0, 1, 1, 5, 5, 6, 6}), floats({1, 1, 2}, {0.25, 0.5})});
  EXPECT_EQ(numbers<int64_t>(y), (Ints{0, 0, 1, 0, 0, 0}));
}

TEST(OnnxValues, GathersCountNegativeIndicesFromTheEnd) {
  TestModel m;
  m.input("x", {3, 2});
  m.input("i", {2, 2}, ElementType::kInt64);
  m.node("Gather", {"x", "i"}, {"y"}).set("axis", 0);
  m.output("y");
  const auto y = run(m, {floats({3, 2}, {0, 1, 2, 3, 4, 5}), array<int64_t>(DType::kI64, {2, 2}, {-1, 0, 1, -3})});
  EXPECT_EQ(numbers<float>(y), (Floats{4, 5, 0, 1, 2, 3, 0, 1}));
}

TEST(OnnxValues, PadsFollowTheirMode) {
  const auto pad = [](const char* mode, const Ints& pads) {
    return one(
        "Pad", {4}, {1, 2, 3, 4},
        [&](TestModel& m, const std::string& t) {
          m.ints("p", pads);
          m.node(t, {"x", "p"}, {"y"}).set("mode", mode);
        },
        19);
  };
  EXPECT_EQ(pad("constant", {1, 2}), (Floats{0, 1, 2, 3, 4, 0, 0}));
  EXPECT_EQ(pad("constant", {-1, 1}), (Floats{2, 3, 4, 0}));
  EXPECT_EQ(pad("reflect", {2, 3}), (Floats{3, 2, 1, 2, 3, 4, 3, 2, 1}));
  EXPECT_EQ(pad("edge", {2, -1}), (Floats{1, 1, 1, 2, 3}));
  EXPECT_EQ(pad("wrap", {1, 2}), (Floats{4, 1, 2, 3, 4, 1, 2}));
}

TEST(OnnxValues, IntegersDivideTowardsZeroAndModHasTheDivisorsSign) {
  for (const char* type : {"Div", "Mod"}) {
    TestModel m;
    m.input("a", {4}, ElementType::kInt32);
    m.input("b", {4}, ElementType::kInt32);
    m.node(type, {"a", "b"}, {"y"});
    m.output("y");
    const auto y =
        run(m, {array<int32_t>(DType::kI32, {4}, {7, -7, 7, -7}), array<int32_t>(DType::kI32, {4}, {2, 2, -2, -2})});
    EXPECT_EQ(numbers<int32_t>(y),
              type[0] == 'D' ? (std::vector<int32_t>{3, -3, -3, 3}) : (std::vector<int32_t>{1, 1, -1, -1}));
  }
}

TEST(OnnxValues, LargeNumbersDoNotOverflowInBetween) {
  expect_near(one("Softplus", {3}, {1000, -1000, 0}), {1000, 0, std::log(2.0f)});
  expect_near(one("ReduceLogSumExp", {2}, {1000, 1000}), {1000 + std::log(2.0f)}, 1e-3f);
  expect_near(one("ReduceLogSumExp", {2}, {-HUGE_VALF, 0}), {0});
}

// Six times 30000 is above f16's largest number.
TEST(OnnxValues, HardSwishOfALargeHalfIsItself) {
  const Floats y = one("HardSwish", {3}, {30000, 65504, -4}, [](TestModel& m, const std::string& t) {
    m.node("Cast", {"x"}, {"half"}).set("to", 10);
    m.node(t, {"half"}, {"swished"});
    m.node("Cast", {"swished"}, {"y"}).set("to", 1);
  });
  expect_near(y, {30000, 65504, 0}, 32);
}

TEST(OnnxValues, ExtremesOfNothingAndOfEquals) {
  const Floats nothing = one("ReduceMax", {2, 0}, {}, [](TestModel& m, const std::string& t) {
    m.node(t, {"x"}, {"y"}).set("axes", Ints{1}).set("keepdims", 0);
  });
  EXPECT_EQ(nothing, (Floats{-HUGE_VALF, -HUGE_VALF}));

  TestModel m;
  m.input("x", {4});
  m.node("ArgMax", {"x"}, {"first"});
  m.node("ArgMax", {"x"}, {"last"}).set("select_last_index", 1);
  m.node("Hardmax", {"x"}, {"hard"});
  for (const char* name : {"first", "last", "hard"}) m.output(name);
  const auto outputs = run(m, {floats({4}, {1, 3, 3, 0})});
  EXPECT_EQ(numbers<int64_t>(outputs, 0), Ints{1});
  EXPECT_EQ(numbers<int64_t>(outputs, 1), Ints{2});
  EXPECT_EQ(numbers<float>(outputs, 2), (Floats{0, 1, 0, 0}));
}

TEST(OnnxValues, QuantizationRoundsHalfToEvenAndSaturates) {
  TestModel m(13);
  m.input("x", {6});
  m.floats("scale", {}, {2});
  proto::Tensor& zero = m.tensor("zero", {}, ElementType::kUint8);
  zero.add_int32_data(128);
  m.node("QuantizeLinear", {"x", "scale", "zero"}, {"q"});
  m.node("DequantizeLinear", {"q", "scale", "zero"}, {"y"});
  m.output("q");
  m.output("y");
  const auto outputs = run(m, {floats({6}, {1, 3, 5, -1, 1000, -1000})});
  EXPECT_EQ(numbers<uint8_t>(outputs, 0), (std::vector<uint8_t>{128, 130, 130, 128, 255, 0}));
  EXPECT_EQ(numbers<float>(outputs, 1), (Floats{0, 4, 4, 0, 254, -256}));
}

TEST(OnnxValues, QuantizationScalesFollowTheirAxis) {
  TestModel axis(13);
  axis.input("x", {2, 2}, ElementType::kInt8);
  axis.floats("scale", {2}, {1, 10});
  axis.node("DequantizeLinear", {"x", "scale"}, {"y"}).set("axis", 0);
  axis.output("y");
  const eval::Item x = array<int8_t>(DType::kI8, {2, 2}, {1, 2, 3, 4});
  EXPECT_EQ(numbers<float>(run(axis, {x})), (Floats{1, 2, 30, 40}));

  TestModel blocks(21);
  blocks.input("x", {3, 1}, ElementType::kInt8);
  blocks.floats("scale", {2, 1}, {1, 10});
  blocks.node("DequantizeLinear", {"x", "scale"}, {"y"}).set("axis", 0).set("block_size", 2);
  blocks.output("y");
  EXPECT_EQ(numbers<float>(run(blocks, {array<int8_t>(DType::kI8, {3, 1}, {1, 2, 3})})), (Floats{1, 2, 30}));
}

TEST(OnnxValues, LayerNormScalesMayBroadcast) {
  TestModel m;
  m.input("x", {2, 2});
  m.floats("scale", {1}, {3});
  m.floats("bias", {1}, {1});
  m.node("LayerNormalization", {"x", "scale", "bias"}, {"y"}).set("epsilon", 0.0f);
  m.output("y");
  expect_near(numbers<float>(run(m, {floats({2, 2}, {1, 3, 10, 30})})), {-2, 4, -2, 4}, 1e-5f);
}

TEST(OnnxValues, StatisticsOfALayerNormAreFloat32) {
  for (const ElementType type : {ElementType::kFloat, ElementType::kFloat16, ElementType::kDouble}) {
    SCOPED_TRACE(static_cast<int>(type));
    TestModel m;
    m.input("in", {2, 2});
    m.node("Cast", {"in"}, {"x"}).set("to", static_cast<int64_t>(type));
    m.node("Cast", {"ones"}, {"scale"}).set("to", static_cast<int64_t>(type));
    m.floats("ones", {2}, {1, 1});
    m.node("LayerNormalization", {"x", "scale"}, {"y", "mean", "inverse"}).set("epsilon", 0.0f);
    m.output("mean");
    m.output("inverse");
    const auto outputs = run(m, {floats({2, 2}, {1, 2050, 10, 30})});
    EXPECT_EQ(numbers<float>(outputs, 0), (Floats{1025.5f, 20}));  // 1025.5 would be 1026 in float16
    expect_near(numbers<float>(outputs, 1), {1 / 1024.5f, .1f});
  }
}

// ONNX Runtime and onnx.reference give 0 too.
TEST(OnnxValues, WhatIsTooSmallToHaveANormIsNormalisedToZero) {
  const auto row = [](int p) {
    return [p](TestModel& n, const std::string& t) { n.node(t, {"x"}, {"y"}).set("p", p); };
  };
  EXPECT_EQ(one("LpNormalization", {2, 2}, {3, -4, 1.5e-23f, -1.5e-23f}, row(2)), (Floats{.6f, -.8f, 0, 0}));
  EXPECT_EQ(one("LpNormalization", {2, 2}, {3, -1, 0, -0.0f}, row(1)), (Floats{.75f, -.25f, 0, 0}));
}

// As ONNX Runtime has it: what negative padding takes away is not there to be repeated.
TEST(OnnxValues, PaddingRepeatsWhatNegativePaddingLeaves) {
  const auto padded = [](const char* mode, int64_t begin, int64_t end) {
    return one(
        "Pad", {5}, {0, 1, 2, 3, 4},
        [&](TestModel& n, const std::string& t) {
          n.ints("pads", {begin, end});
          n.node(t, {"x", "pads"}, {"y"}).set("mode", mode);
        },
        19);
  };
  EXPECT_EQ(padded("wrap", 2, -2), (Floats{1, 2, 0, 1, 2}));
  EXPECT_EQ(padded("wrap", -4, 2), (Floats{4, 4, 4}));
  EXPECT_EQ(padded("wrap", 1, 2), (Floats{4, 0, 1, 2, 3, 4, 0, 1}));
  EXPECT_EQ(padded("reflect", -3, 1), (Floats{3, 4, 3}));
  EXPECT_EQ(padded("edge", 2, -4), (Floats{0, 0, 0}));
  EXPECT_EQ(padded("wrap", -2, -1), (Floats{2, 3}));
  EXPECT_EQ(padded("edge", -2, -3), Floats{});
}

TEST(OnnxValues, IsInfDistinguishesSigns) {
  for (int positive : {0, 1}) {
    for (int negative : {0, 1}) {
      TestModel m(20);
      m.input("x", {4});
      m.node("IsInf", {"x"}, {"y"}).set("detect_positive", positive).set("detect_negative", negative);
      m.output("y");
      const auto y = run(m, {floats({4}, {HUGE_VALF, -HUGE_VALF, 1, std::nanf("")})});
      EXPECT_EQ(numbers<uint8_t>(y),
                (std::vector<uint8_t>{static_cast<uint8_t>(positive), static_cast<uint8_t>(negative), 0, 0}));
    }
  }
}

TEST(OnnxValues, ShrinkOfNanIsZero) {
  const Floats y = one("Shrink", {4}, {NAN, INFINITY, -2, 0.25f},
                       [](TestModel& m, const std::string& t) { m.node(t, {"x"}, {"y"}).set("bias", 0.5f); });
  EXPECT_EQ(y, (Floats{0, INFINITY, -1.5f, 0}));
}

// The update gate is 1: the state stays, however large the candidate is.
TEST(OnnxValues, GruKeepsItsStateBesideALargeCandidate) {
  const Floats y = one("GRU", {1, 1, 1}, {1e9f}, [](TestModel& m, const std::string& t) {
    m.floats("w", {1, 3, 1}, Floats(3, 1));
    m.floats("r", {1, 3, 1}, Floats(3, 1));
    m.floats("h", {1, 1, 1}, {0.04f});
    m.node(t, {"x", "w", "r", "", "", "h"}, {"y"})
        .set("hidden_size", 1)
        .set("activations", std::vector<std::string>{"Tanh", "Relu"});
  });
  expect_near(y, {0.04f});
}

TEST(OnnxValues, LstmClippingBoundsThePeepholesToo) {
  const Floats y = one("LSTM", {1, 1, 1}, {1}, [](TestModel& m, const std::string& t) {
    m.floats("w", {1, 4, 1}, Floats(4, 1));
    m.floats("r", {1, 4, 1}, Floats(4, 1));
    m.floats("c", {1, 1, 1}, {1});
    m.floats("p", {1, 3}, Floats(3, 1));
    m.node(t, {"x", "w", "r", "", "", "", "c", "p"}, {"y"}).set("hidden_size", 1).set("clip", 0.25f);
  });
  // i, o and f are sigmoid(0.25), the candidate tanh(0.25), and the cell before is 1.
  const float gate = 1 / (1 + std::exp(-0.25f));
  expect_near(y, {gate * std::tanh(gate + gate * std::tanh(0.25f))});
}

TEST(OnnxValues, AbsOfAnUnsignedNumberIsItself) {
  TestModel m(13);
  m.tensor("c", {2}, ElementType::kUint8).set_raw_data("\x01\xfe");
  m.tensor("d", {2}, ElementType::kInt8).set_raw_data("\x01\xfe");
  m.node("Abs", {"c"}, {"y"});
  m.node("Abs", {"d"}, {"z"});
  m.output("y");
  m.output("z");
  const auto outputs = run(m, {});
  EXPECT_EQ(numbers<uint8_t>(outputs, 0), (std::vector<uint8_t>{1, 254}));
  EXPECT_EQ(numbers<int8_t>(outputs, 1), (std::vector<int8_t>{1, 2}));
}

// ONNX's attributes are floats of 32 bits, and so are their defaults.
TEST(OnnxValues, DefaultsAreTheSameAsWhenTheyAreWritten) {
  for (const bool written : {false, true}) {
    TestModel m;
    m.input("x", {1}, ElementType::kDouble);
    TestNode node = m.node("LeakyRelu", {"x"}, {"y"});
    if (written) node.set("alpha", 0.01f);
    m.output("y");
    EXPECT_EQ(numbers<double>(run(m, {array<double>(DType::kF64, {1}, {-1})})),
              std::vector<double>{-static_cast<double>(0.01f)});
  }
}

TEST(OnnxValues, BiasesJoinTheirProduct) {
  TestModel m;
  m.input("x", {1, 2, 2});
  m.floats("w", {2, 2}, {1, 2, 3, 4});
  m.floats("b", {2}, {10, 20});
  m.node("MatMul", {"x", "w"}, {"xw"});
  m.node("Add", {"xw", "b"}, {"y"});
  m.output("y");
  EXPECT_EQ(numbers<float>(run(m, {floats({1, 2, 2}, {1, 0, 0, 1})})), (Floats{11, 22, 13, 24}));
}

TEST(OnnxValues, SymbolsRunWithEachSize) {
  TestModel m(13);
  m.symbolic_input("x", {"n", "2"});
  m.node("Shape", {"x"}, {"shape"});
  m.ints("first", {0});
  m.node("Gather", {"shape", "first"}, {"n"});
  m.ints("one", {1});
  m.node("Concat", {"n", "one", "one"}, {"target"}).set("axis", 0);
  m.floats("value", {1, 1, 1}, {7});
  m.node("Expand", {"value", "target"}, {"y"});
  m.output("y");
  m.output("shape");
  ImportOptions options;
  options.input_shapes = {{"x", "1..4x2"}};
  auto module = m.import(options);
  ASSERT_TRUE(module.ok()) << module.error().text();
  for (int32_t n : {1, 3, 4}) {
    auto outputs = eval::evaluate(*module, module->methods[0], {floats({n, 2}, Floats(static_cast<size_t>(n) * 2, 0))});
    ASSERT_TRUE(outputs.ok()) << outputs.error().text();
    EXPECT_EQ(numbers<float>(*outputs), Floats(n, 7));
    EXPECT_EQ(numbers<int64_t>(*outputs, 1), (Ints{n, 2}));
  }
}

TEST(OnnxValues, ExclusiveCumSumKeepsAnAxisWithoutElements) {
  TestModel m;
  m.input("x", {2, 0});
  m.scalar("axis", 1);
  m.node("CumSum", {"x", "axis"}, {"y"}).set("exclusive", 1);
  m.output("y");
  EXPECT_CONTAINS(body(m), "%y: f32[2,0] = ");
  const Floats y = one("CumSum", {3}, {1, 2, 3}, [](TestModel& n, const std::string& t) {
    n.scalar("axis", 0);
    n.node(t, {"x", "axis"}, {"y"}).set("exclusive", 1);
  });
  EXPECT_EQ(y, (Floats{0, 1, 3}));
}

TEST(OnnxValues, SignOfNanIsNan) {
  const Floats y = one("Sign", {4}, {NAN, -2, 0, 3});
  EXPECT_TRUE(std::isnan(y.at(0)));
  EXPECT_EQ(Floats(y.begin() + 1, y.end()), (Floats{-1, 0, 1}));
}

TEST(OnnxValues, ThresholdedReluOfNanIsZero) {
  const Floats y = one("ThresholdedRelu", {4}, {NAN, 0.5f, 0.75f, INFINITY},
                       [](TestModel& m, const std::string& t) { m.node(t, {"x"}, {"y"}).set("alpha", 0.5f); });
  EXPECT_EQ(y, (Floats{0, 0, 0.75f, INFINITY}));
}

TEST(OnnxValues, LstmWithoutStepsReturnsItsInitialState) {
  TestModel m;
  m.input("x", {0, 2, 3});
  m.floats("w", {1, 16, 3}, Floats(48, 0.5f));
  m.floats("r", {1, 16, 4}, Floats(64, 0.5f));
  m.input("h", {1, 2, 4});
  m.node("LSTM", {"x", "w", "r", "", "", "h"}, {"y", "last"}).set("hidden_size", 4);
  m.output("y");
  m.output("last");
  const auto outputs = run(m, {floats({0, 2, 3}, {}), floats({1, 2, 4}, {1, 2, 3, 4, 5, 6, 7, 8})});
  EXPECT_EQ(numbers<float>(outputs, 0), Floats());
  EXPECT_EQ(numbers<float>(outputs, 1), (Floats{1, 2, 3, 4, 5, 6, 7, 8}));
}

// Where the size is 1 at run time the dimension would go, and all behind it have another rank.
TEST(OnnxValues, SqueezeWithoutAxesRefusesASizeThatMayBeOne) {
  TestModel m;
  m.symbolic_input("x", {"N", "1", "3"});
  m.node("Squeeze", {"x"}, {"y"});
  m.output("y");
  const auto with = [](const char* shape) {
    ImportOptions options;
    options.input_shapes = {{"x", shape}};
    return options;
  };
  EXPECT_CONTAINS(failure(m, with("1..8x1x3")), "dimension 0 of");
  EXPECT_CONTAINS(body(m, with("2..8x1x3")), "f32[N,3]");
}

// Each output has its own name, whichever values they share.
TEST(OnnxValues, OutputsKeepTheirNamesWhenTheyAreInputsOrOneValue) {
  TestModel m;
  m.input("x", {2});
  m.node("Identity", {"x"}, {"same"});
  m.node("Relu", {"x"}, {"a"});
  m.node("Identity", {"a"}, {"b"});
  for (const char* name : {"same", "a", "b"}) m.output(name);
  const auto module = m.import();
  ASSERT_TRUE(module.ok()) << module.error().text();
  EXPECT_EQ(module->methods[0].output_names, (std::vector<std::string>{"same", "a", "b"}));
}

// What BatchNorm2d(track_running_stats=False) is exported to.
TEST(OnnxValues, BatchNormInTrainingUsesTheBatchAndUpdatesTheRunningStatistics) {
  TestModel m;
  m.input("x", {2, 1, 2});
  m.floats("scale", {1}, {2});
  m.floats("bias", {1}, {1});
  m.floats("mean", {1}, {10});
  m.floats("var", {1}, {20});
  m.node("BatchNormalization", {"x", "scale", "bias", "mean", "var"}, {"y", "new_mean", "new_var"})
      .set("training_mode", 1)
      .set("epsilon", 0.0f)
      .set("momentum", 0.5f);
  for (const char* name : {"y", "new_mean", "new_var"}) m.output(name);
  const auto outputs = run(m, {floats({2, 1, 2}, {0, 4, 0, 4})});
  EXPECT_EQ(numbers<float>(outputs, 0), (Floats{-1, 3, -1, 3}));
  EXPECT_EQ(numbers<float>(outputs, 1), (Floats{6}));
  EXPECT_EQ(numbers<float>(outputs, 2), (Floats{12}));
}

TEST(OnnxValues, PReluOfZeroIsZeroWhateverTheSlope) {
  const Floats y = one("PRelu", {3}, {0, -1, 2}, [](TestModel& m, const std::string& t) {
    m.floats("slope", {3}, {-INFINITY, 0.5f, INFINITY});
    m.node(t, {"x", "slope"}, {"y"});
  });
  EXPECT_EQ(y, (Floats{0, -0.5f, 2}));
}

}  // namespace
}  // namespace berth::onnx
