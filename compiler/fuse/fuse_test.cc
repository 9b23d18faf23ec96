// Fusion in delegates. The fears: other numbers than before, something fused that others read too, something left alone
// without a word.
#include "compiler/fuse/fuse.h"

#include <pthread.h>

#include "base/text_testing.h"
#include "compiler/fuse/fuse_testing.h"
#include "compiler/passes/fold_constants.h"

namespace berth::fuse {
namespace {

// Prefixes a method with constants of small numbers.
std::string with(const std::vector<std::pair<std::string, std::vector<int>>>& constants, const std::string& signature,
                 const std::string& body) {
  std::string head;
  std::string values;
  unsigned state = 1;
  for (const auto& [name, sizes] : constants) {
    std::string type = "f32[";
    int count = 1;
    for (size_t i = 0; i < sizes.size(); ++i) {
      type += (i == 0 ? "" : ",") + std::to_string(sizes[i]);
      count *= sizes[i];
    }
    type += "]";
    head += "const @" + name + ": " + type + " = dense<[";
    for (int i = 0; i < count; ++i) {
      state = state * 1103515245 + 12345;
      head += (i == 0 ? "" : ", ") + std::to_string(static_cast<double>(state >> 20 & 255) / 256 - 0.4);
    }
    head += "]>\n";
    values += "%" + name + ": " + type + " = const @" + name + "\n";
  }
  return head + "method forward(" + signature + ") {\n" + values + body + "}\n";
}

const std::vector<std::pair<std::string, std::vector<int>>> kConvWeights = {{"w", {4, 3, 3, 3}}, {"b", {4}}};
const std::string kConv =
    "%c: f32[1,4,6,6] = aten::convolution(%x, %w, %b, [1, 1], [1, 1], [1, 1], false, [0, 0], 1)\n";
const std::string kImages = "%x: f32[1,3,6,6], %r: f32[1,4,6,6]";

TEST(Fuse, AConvolutionTakesBiasResidualAndActivation) {
  const Fused one = fused(with(kConvWeights, kImages, kConv + R"(
    %s: f32[1,4,6,6] = aten::add.Tensor(%r, %c, 1)
    %y: f32[1,4,6,6] = aten::relu(%s)
    return %y
  )"));
  EXPECT_EQ(one.operators(),
            "dim_order_ops::_clone_dim_order dim_order_ops::_clone_dim_order berth::conv "
            "dim_order_ops::_clone_dim_order");
  EXPECT_NE(one.text.find("\"relu\""), std::string::npos) << one.text;
  EXPECT_TRUE(one.says("fused into berth::conv"));
}

TEST(Fuse, NothingFusesAfterAnActivation) {
  const Fused one = fused(with(kConvWeights, kImages, kConv + R"(
    %s: f32[1,4,6,6] = aten::relu(%c)
    %y: f32[1,4,6,6] = aten::add.Tensor(%s, %r, 1)
    return %y
  )"));
  EXPECT_NE(one.operators().find("aten::add.Tensor"), std::string::npos) << one.text;
  EXPECT_TRUE(one.says("activation-before"));
}

TEST(Fuse, ValuesWithOtherReadersAreNotFused) {
  const Fused one = fused(with(kConvWeights, kImages, kConv + R"(
    %y: f32[1,4,6,6] = aten::relu(%c)
    return %y, %c
  )"));
  EXPECT_NE(one.operators().find("aten::relu"), std::string::npos) << one.text;
  EXPECT_TRUE(one.says("result-read-elsewhere"));
}

TEST(Fuse, AComputedWeightIsNotConstant) {
  const Fused one = fused(R"(
    method forward(%x: f32[1,3,6,6], %w: f32[4,3,3,3]) {
      %c: f32[1,4,4,4] = aten::convolution(%x, %w, none, [1, 1], [0, 0], [1, 1], false, [0, 0], 1)
      return %c
    })");
  EXPECT_NE(one.operators().find("aten::convolution"), std::string::npos) << one.text;
  EXPECT_TRUE(one.says("not-constant"));
}

TEST(Fuse, OtherTypesThanF32StayUnfused) {
  const Fused one = fused(R"(
    const @w: f64[2,2] = dense<[1.0, 2.0, 3.0, 4.0]>
    method forward(%x: f64[3,2]) {
      %w: f64[2,2] = const @w
      %y: f64[3,2] = aten::mm(%x, %w)
      return %y
    })");
  EXPECT_EQ(one.operators(), "aten::mm");
  EXPECT_TRUE(one.says("dtype"));
}

TEST(Fuse, AResidualIsAsLargeAsTheResultOrStaysASum) {
  const Fused one = fused(with(kConvWeights, "%x: f32[1,3,6,6], %r: f32[1,4,1,6]", kConv + R"(
    %y: f32[1,4,6,6] = aten::add.Tensor(%c, %r, 1)
    return %y
  )"));
  EXPECT_NE(one.operators().find("aten::add.Tensor"), std::string::npos) << one.text;
  EXPECT_TRUE(one.says("shape-differs"));
}

TEST(Fuse, ASumWithAFactorIsNotAResidual) {
  const Fused one = fused(with(kConvWeights, kImages, kConv + R"(
    %y: f32[1,4,6,6] = aten::add.Tensor(%c, %r, 2)
    return %y
  )"));
  EXPECT_NE(one.operators().find("aten::add.Tensor"), std::string::npos) << one.text;
  EXPECT_TRUE(one.says("scaled"));
}

TEST(Fuse, ASecondResidualStaysASum) {
  const Fused one = fused(with(kConvWeights, kImages, kConv + R"(
    %s: f32[1,4,6,6] = aten::add.Tensor(%c, %r, 1)
    %t: f32[1,4,6,6] = aten::sigmoid(%r)
    %y: f32[1,4,6,6] = aten::add.Tensor(%s, %t, 1)
    return %y
  )"));
  EXPECT_TRUE(one.says("residual-already"));
}

TEST(Fuse, AConstantPerChannelIsABias) {
  const Fused one = fused(with({{"w", {4, 3, 1, 1}}, {"b", {1, 4, 1, 1}}}, "%x: f32[2,3,5,5]", R"(
    %c: f32[2,4,5,5] = aten::convolution(%x, %w, none, [1, 1], [0, 0], [1, 1], false, [0, 0], 1)
    %y: f32[2,4,5,5] = aten::add.Tensor(%c, %b, 1)
    return %y
  )"));
  EXPECT_EQ(one.operators().find("aten::add"), std::string::npos) << one.text;
}

TEST(Fuse, AProductTakesResidualAndActivationThroughViews) {
  const Fused one = fused(with({{"w", {3, 5}}, {"b", {5}}}, "%x: f32[2,2,3], %r: f32[2,2,5]", R"(
    %v: f32[4,3] = aten::view_copy(%x, [4, 3])
    %m: f32[4,5] = aten::addmm(%b, %v, %w, 1, 1)
    %u: f32[2,2,5] = aten::view_copy(%m, [2, 2, 5])
    %s: f32[2,2,5] = aten::add.Tensor(%u, %r, 1)
    %y: f32[2,2,5] = aten::gelu(%s, "tanh")
    return %y
  )"));
  EXPECT_EQ(one.operators(), "berth::linear") << one.text;
}

TEST(Fuse, ScaledProductsStayUnfused) {
  const Fused one = fused(with({{"w", {3, 5}}, {"b", {5}}}, "%x: f32[4,3]", R"(
    %m: f32[4,5] = aten::addmm(%b, %x, %w, 1, 0.5)
    return %m
  )"));
  EXPECT_EQ(one.operators(), "aten::addmm");
  EXPECT_TRUE(one.says("scaled"));
}

std::string formula(const std::string& nodes) {
  return fused("method forward(%x: f32[3,40]) {\n" + nodes + R"(
    return %y
    })")
      .text;
}

bool is_one_step(const std::string& text, int op) {
  return text.find("berth::elementwise([%x.in], [" + std::to_string(op) + ", 0, 0, 0], [])") != std::string::npos;
}

TEST(Fuse, FormulasOfActivationsAreRecognised) {
  const std::string limited = R"(
    %a: f32[3,40] = aten::add.Scalar(%x, 3, 1)
    %l: f32[3,40] = aten::clamp(%a, 0, none)
    %h: f32[3,40] = aten::clamp(%l, none, 6)
  )";
  EXPECT_TRUE(is_one_step(formula(limited + "%y: f32[3,40] = aten::div.Scalar(%h, 6)\n"), 23));
  EXPECT_TRUE(is_one_step(formula(limited + R"(
    %m: f32[3,40] = aten::mul.Tensor(%x, %h)
    %y: f32[3,40] = aten::mul.Scalar(%m, 0.16666666666666666)
  )"),
                          24));
  EXPECT_TRUE(is_one_step(formula(R"(
    %s: f32[3,40] = aten::sigmoid(%x)
    %y: f32[3,40] = aten::mul.Tensor(%s, %x)
  )"),
                          22));
  EXPECT_TRUE(is_one_step(formula(R"(
    %d: f32[3,40] = aten::div.Scalar(%x, 1.4142135381698608)
    %e: f32[3,40] = aten::erf(%d)
    %p: f32[3,40] = aten::add.Scalar(%e, 1.0, 1)
    %m: f32[3,40] = aten::mul.Tensor(%x, %p)
    %y: f32[3,40] = aten::mul.Scalar(%m, 0.5)
  )"),
                          25));
  EXPECT_TRUE(is_one_step(formula(R"(
    %q: f32[3,40] = aten::pow.Tensor_Scalar(%x, 3)
    %k: f32[3,40] = aten::mul.Scalar(%q, 0.044715)
    %a: f32[3,40] = aten::add.Tensor(%x, %k, 1)
    %i: f32[3,40] = aten::mul.Scalar(%a, 0.7978845608028654)
    %t: f32[3,40] = aten::tanh(%i)
    %p: f32[3,40] = aten::add.Scalar(%t, 1, 1)
    %h: f32[3,40] = aten::mul.Scalar(%x, 0.5)
    %y: f32[3,40] = aten::mul.Tensor(%h, %p)
  )"),
                          26));
}

TEST(Fuse, FormulasThatAreAlmostActivationsStay) {
  const std::string text = formula(R"(
    %a: f32[3,40] = aten::add.Scalar(%x, 3, 1)
    %h: f32[3,40] = aten::clamp(%a, 0, 5)
    %y: f32[3,40] = aten::div.Scalar(%h, 6)
  )");
  EXPECT_FALSE(is_one_step(text, 23)) << text;
}

// Three heads of four columns over five tokens, as exporters write it.
std::string attention(const std::string& mask_type, const std::string& mask, const std::string& sum, int batch) {
  return mask + filled(R"(
    method forward(%x: f32[$n,5,36]$mask_type) {
      $mask
      %v: f32[$n,5,3,3,4] = aten::view_copy(%x, [$n, 5, 3, 3, 4])
      %p: f32[3,$n,3,5,4] = aten::permute_copy(%v, [2, 0, 3, 1, 4])
      %q: f32[$n,3,5,4] = aten::select_copy.int(%p, 0, 0)
      %k: f32[$n,3,5,4] = aten::select_copy.int(%p, 0, 1)
      %w: f32[$n,3,5,4] = aten::select_copy.int(%p, 0, 2)
      %t: f32[$n,3,4,5] = aten::permute_copy(%k, [0, 1, 3, 2])
      %q3: f32[$heads,5,4] = aten::view_copy(%q, [$heads, 5, 4])
      %t3: f32[$heads,4,5] = aten::view_copy(%t, [$heads, 4, 5])
      %s: f32[$heads,5,5] = aten::bmm(%q3, %t3)
      %s4: f32[$n,3,5,5] = aten::view_copy(%s, [$n, 3, 5, 5])
      %d: f32[$n,3,5,5] = aten::mul.Scalar(%s4, 0.5)
      $sum
      %f: f32[$n,3,5,5] = aten::_softmax(%e, 3, false)
      %f3: f32[$heads,5,5] = aten::view_copy(%f, [$heads, 5, 5])
      %w3: f32[$heads,5,4] = aten::view_copy(%w, [$heads, 5, 4])
      %o: f32[$heads,5,4] = aten::bmm(%f3, %w3)
      %o4: f32[$n,3,5,4] = aten::view_copy(%o, [$n, 3, 5, 4])
      %r: f32[$n,5,3,4] = aten::permute_copy(%o4, [0, 2, 1, 3])
      %y: f32[$n,5,12] = aten::view_copy(%r, [$n, 5, 12])
      return %y
    })",
                       {{"mask_type", mask_type},
                        {"mask", mask.empty() ? "" : "%m: f32[5,5] = const @m"},
                        {"sum", sum},
                        {"n", std::to_string(batch)},
                        {"heads", std::to_string(3 * batch)}});
}

std::string plus_mask(int batch) {
  return "%e: f32[" + std::to_string(batch) + ",3,5,5] = aten::add.Tensor(%d, %m, 1)\n";
}

TEST(Fuse, AttentionWrittenOutIsOneOperatorOverTheRowsOfTokens) {
  const Fused plain = fused(attention("", "", "%e: f32[1,3,5,5] = aten::mul.Scalar(%d, 0.75)\n", 1));
  EXPECT_EQ(plain.operators(), "berth::attention") << plain.text;
  EXPECT_NE(plain.text.find("none, 3, 4, 0, 12, 24, 0.375, false)"), std::string::npos) << plain.text;
  EXPECT_EQ(fused(attention(", %m: f32[5,5]", "", plus_mask(2), 2)).operators(), "berth::attention");
}

TEST(Fuse, AMaskOfLaterTokensIsCausal) {
  std::string mask = "const @m: f32[5,5] = dense<[";
  for (int i = 0; i < 25; ++i) mask += std::string(i == 0 ? "" : ", ") + (i % 5 <= i / 5 ? "0.0" : "-inf");
  const Fused causal = fused(attention("", mask + "]>\n", plus_mask(1), 1));
  EXPECT_EQ(causal.operators(), "berth::attention") << causal.text;
  EXPECT_NE(causal.text.find("0.5, true)"), std::string::npos) << causal.text;
  std::string other = "const @m: f32[5,5] = dense<[";
  for (int i = 0; i < 25; ++i) other += std::string(i == 0 ? "" : ", ") + (i % 5 <= i / 5 + 1 ? "0.0" : "-inf");
  const Fused masked = fused(attention("", other + "]>\n", plus_mask(1), 1));
  EXPECT_NE(masked.text.find("0.5, false)"), std::string::npos) << masked.text;
}

TEST(Fuse, ScoresWithOtherReadersStayWrittenOut) {
  std::string text = attention("", "", "%e: f32[1,3,5,5] = aten::mul.Scalar(%d, 0.75)\n", 1);
  text.replace(text.find("return %y"), 9, "return %y, %f");
  const Fused one = fused(text);
  EXPECT_EQ(one.operators().find("berth::attention"), std::string::npos) << one.text;
  EXPECT_TRUE(one.says("result-read-elsewhere: berth::attention"));
}

// Two steps of an LSTM, gates in the order i, o, f, g; step t reads row `rows[t]` of the input's part.
std::string lstm_steps(const std::vector<std::string>& rows) {
  std::string body = R"(
    %g: f32[2,8] = aten::addmm(%b, %x, %u, 1, 1)
    %v: f32[2,1,8] = aten::view_copy(%g, [2, 1, 8])
  )";
  for (size_t step = 0; step < rows.size(); ++step) {
    body += filled(R"(
      %s$t: f32[1,8] = aten::select_copy.int(%v, 0, $row)
      %a$t: f32[1,8] = aten::addmm(%s$t, %h$t, %w, 1, 1)
      %p$t: f32[1,6], %q$t: f32[1,2] = aten::split_with_sizes_copy(%a$t, [6, 2], 1)
      %z$t: f32[1,6] = aten::sigmoid(%p$t)
      %i$t: f32[1,2], %o$t: f32[1,2], %f$t: f32[1,2] = aten::split_with_sizes_copy(%z$t, [2, 2, 2], 1)
      %t$t: f32[1,2] = aten::tanh(%q$t)
      %m$t: f32[1,2] = aten::mul.Tensor(%i$t, %t$t)
      %k$t: f32[1,2] = aten::mul.Tensor(%f$t, %c$t)
      %c$next: f32[1,2] = aten::add.Tensor(%k$t, %m$t, 1)
      %y$t: f32[1,2] = aten::tanh(%c$next)
      %h$next: f32[1,2] = aten::mul.Tensor(%o$t, %y$t)
    )",
                   {{"t", std::to_string(step)}, {"next", std::to_string(step + 1)}, {"row", rows[step]}});
  }
  return body;
}

Fused fused_lstm(const std::vector<std::string>& rows, const std::string& end) {
  return fused(with({{"b", {8}}, {"u", {3, 8}}, {"w", {2, 8}}}, "%x: f32[2,3], %h0: f32[1,2], %c0: f32[1,2]",
                    lstm_steps(rows) + end));
}

TEST(Fuse, LstmStepsAreOneOperatorInAnyOrderOfTheirGates) {
  const Fused one = fused_lstm({"0", "1"}, R"(
    %all: f32[2,2] = aten::cat([%h1, %h2], 0)
    return %all, %c2
  )");
  EXPECT_EQ(one.operators(), "berth::linear berth::lstm") << one.text;
  const Fused back = fused_lstm({"1", "0"}, R"(
    %all: f32[2,2] = aten::cat([%h2, %h1], 0)
    return %all, %h2, %c2
  )");
  EXPECT_EQ(back.operators(), "berth::linear berth::lstm aten::select_copy.int") << back.text;
  // Joined in another order than they were made.
  const Fused turned = fused_lstm({"0", "1"}, R"(
    %all: f32[2,2] = aten::cat([%h2, %h1], 0)
    return %all
  )");
  EXPECT_EQ(turned.operators(), "berth::linear berth::lstm aten::select_copy.int aten::select_copy.int aten::cat")
      << turned.text;
}

TEST(Fuse, LstmStepsStaySeparateWhereOthersReadTheCellOrTheGatesDiffer) {
  const Fused read = fused_lstm({"0", "1"}, "return %h2, %c1, %c2\n");
  EXPECT_EQ(read.operators(),
            "berth::linear aten::select_copy.int berth::lstm_cell aten::select_copy.int berth::lstm_cell")
      << read.text;
  const Fused twice = fused_lstm({"0", "0"}, "return %h1, %h2, %c2\n");
  EXPECT_EQ(twice.operators().find("berth::lstm "), std::string::npos) << twice.text;
  EXPECT_TRUE(twice.says("order: berth::lstm")) << twice.text;
  const Fused some = fused_lstm({"0", "1", "1"}, "return %h3, %h2, %c3\n");
  EXPECT_EQ(some.operators(), "berth::linear berth::lstm aten::select_copy.int aten::select_copy.int berth::lstm_cell")
      << some.text;
}

const std::string kShuffle = R"(
  %j: f32[1,4,2,3] = aten::cat([%a, %b], 1)
  %v: f32[1,2,2,2,3] = aten::view_copy(%j, [1, 2, 2, 2, 3])
  %p: f32[1,2,2,2,3] = aten::permute_copy(%v, [0, 2, 1, 3, 4])
  %s: f32[1,4,2,3] = aten::view_copy(%p, [1, 4, 2, 3])
)";
const std::string kHalves = "%a: f32[1,2,2,3], %b: f32[1,2,2,3]";

TEST(Fuse, ImagesThatAreJoinedAndShuffledAreMovedOnce) {
  EXPECT_EQ(fused(with({}, kHalves, kShuffle + "return %s\n")).operators(), "berth::shuffle");
  const std::string split = "%x: f32[1,1,2,3], %y: f32[1,3,2,3] = aten::split_with_sizes_copy(%s, [1, 3], 1)\n";
  EXPECT_EQ(fused(with({}, kHalves, kShuffle + split + "return %y, %x\n")).operators(), "berth::shuffle");
  // The whole is wanted too, so that its parts are cut out of it.
  EXPECT_EQ(fused(with({}, kHalves, kShuffle + split + "return %y, %s\n")).operators(),
            "berth::shuffle aten::split_with_sizes_copy");
}

TEST(Fuse, ShufflesStayWhereAStepIsReadElsewhereOrTurnsOtherDimensions) {
  EXPECT_EQ(fused(with({}, kHalves, kShuffle + "return %s, %j\n")).operators().find("berth::shuffle"),
            std::string::npos);
  std::string turned = kShuffle;
  turned.replace(turned.find("[0, 2, 1, 3, 4]"), 15, "[0, 2, 1, 4, 3]")
      .replace(turned.find("f32[1,2,2,2,3] = aten::perm"), 14, "f32[1,2,2,3,2]");
  EXPECT_EQ(fused(with({}, kHalves, turned + "return %s\n")).operators().find("berth::shuffle"), std::string::npos);
}

const std::string kNormed =
    "%y: f32[1,4,6,6], %m: f32[0], %r: f32[0] = "
    "aten::_native_batch_norm_legit_no_training(%x, %w, %b, %mean, %square, 0.1, 0.001)\n";

// As in networks whose convolutions come after norm and activation: it must not bring the image back to planes.
TEST(Fuse, ABatchNormBeforeAConvolutionStaysChannelsLast) {
  const std::vector<std::pair<std::string, std::vector<int>>> numbers = {
      {"w", {4}}, {"b", {4}}, {"mean", {4}}, {"v", {4}}, {"k", {4, 4, 3, 3}}};
  // A variance is not negative.
  const std::string square = "%square: f32[4] = aten::mul.Tensor(%v, %v)\n";
  std::string head = with(numbers, "%x: f32[1,4,6,6]", square + kNormed + R"(
    %z: f32[1,4,6,6] = aten::relu(%y)
    return %z
  )");
  // The square is not a constant yet, so that the norm stays.
  const Fused stays = fused(head);
  EXPECT_TRUE(stays.says("not-constant")) << stays.text;
  ir::Module module = passes::parsed(head);
  passes::Options options;
  ASSERT_TRUE(passes::fold_constants(module, options).ok());
  const Fused one = fuse_module(std::move(module));
  EXPECT_EQ(one.operators(), "berth::elementwise") << one.text;
}

// As where a norm or a product over the channels stands between convolutions.
TEST(Fuse, PermutationsBetweenPixelsAndPlanesAreViewsWhenChannelsLast) {
  const Fused one = fused(with(kConvWeights, "%x: f32[1,3,6,6]", kConv + R"(
    %p: f32[1,6,6,4] = aten::permute_copy(%c, [0, 2, 3, 1])
    %t: f32[1,6,6,4] = aten::tanh(%p)
    %q: f32[1,4,6,6] = aten::permute_copy(%t, [0, 3, 1, 2])
    %s: f32[1,4,6,6] = aten::mul.Tensor(%q, %c)
    return %s
  )"));
  EXPECT_EQ(one.operators(),
            "dim_order_ops::_clone_dim_order berth::conv aten::permute_copy aten::tanh aten::permute_copy "
            "aten::mul.Tensor dim_order_ops::_clone_dim_order")
      << one.text;
}

TEST(Fuse, ChainsAreOneLoopUnlessTheyAreTooLong) {
  std::string chain;
  std::string last = "%x";
  for (int i = 0; i < 40; ++i) {
    const std::string next = "%v" + std::to_string(i);
    chain += next + ": f32[4,6] = aten::" + (i % 2 == 0 ? "tanh(" + last + ")" : "mul.Tensor(" + last + ", %g)") + "\n";
    last = next;
    if (i == 2) {
      const Fused three = fused("method forward(%x: f32[4,6], %g: f32[6]) {\n" + chain + "return " + last + "\n}\n");
      EXPECT_EQ(three.operators(), "berth::elementwise") << three.text;
    }
  }
  const Fused all = fused("method forward(%x: f32[4,6], %g: f32[6]) {\n" + chain + "return " + last + "\n}\n");
  EXPECT_EQ(all.operators(), "berth::elementwise berth::elementwise") << all.text;
}

// A step looks no further back than one loop is long: where each read all that is before it, a chain of 40 000 took 24
// s, and a stack as deep as the chain, which is what shows here.
TEST(Fuse, ChainsOfAnyLengthTakeLinearTime) {
  constexpr int kSteps = 64'000;
  std::string text = "method forward(%v0: f32[4]) {\n";
  for (int i = 0; i < kSteps; ++i) {
    text += "%v" + std::to_string(i + 1) + ": f32[4] = aten::tanh(%v" + std::to_string(i) + ")\n";
  }
  ir::Module module = passes::parsed(text + "return %v" + std::to_string(kSteps) + "\n}\n");
  delegate_all(module);
  pthread_attr_t small;
  pthread_attr_init(&small);
  ASSERT_EQ(pthread_attr_setstacksize(&small, size_t{256} << 10), 0);
  const auto fuse = [](void* of) -> void* {
    EXPECT_TRUE(passes::run(fuse_passes(cpu_targets()), *static_cast<ir::Module*>(of), passes::Options()).ok());
    return nullptr;
  };
  pthread_t thread;
  ASSERT_EQ(pthread_create(&thread, &small, fuse, &module), 0);
  pthread_join(thread, nullptr);
  pthread_attr_destroy(&small);
  int loops = 0;
  ir::for_each_graph(module.methods[0], module.methods[0].body, [&](const ir::Graph& graph) {
    for (const ir::NodeId id : graph.nodes) loops += module.methods[0].node(id).is(ir::OpId::fused_elementwise_out);
  });
  EXPECT_EQ(loops, kSteps / 32);
}

TEST(Fuse, ImagesStayChannelsLastThroughLayoutAgnosticOperators) {
  const Fused one = fused(with({{"w", {4, 4, 1, 1}}}, "%x: f32[1,4,6,6]", R"(
    %c: f32[1,4,6,6] = aten::convolution(%x, %w, none, [1, 1], [0, 0], [1, 1], false, [0, 0], 1)
    %p: f32[1,4,3,3], %i: i64[1,4,3,3] = aten::max_pool2d_with_indices(%c, [2, 2], [2, 2], [0, 0], [1, 1], false)
    %m: f32[1,4,1,1] = aten::mean.dim(%p, [2, 3], true, none)
    %g: f32[1,4,3,3] = aten::mul.Tensor(%p, %m)
    %j: f32[1,8,3,3] = aten::cat([%g, %p], 1)
    %v: f32[1,2,4,3,3] = aten::view_copy(%j, [1, 2, 4, 3, 3])
    %t: f32[1,4,2,3,3] = aten::permute_copy(%v, [0, 2, 1, 3, 4])
    %u: f32[1,8,3,3] = aten::view_copy(%t, [1, 8, 3, 3])
    %a: f32[1,4,3,3], %b: f32[1,4,3,3] = aten::split_with_sizes_copy(%u, [4, 4], 1)
    %d: f32[1,4,3,3] = aten::convolution(%a, %w, none, [1, 1], [0, 0], [1, 1], false, [0, 0], 1)
    %e: f32[1,4,3,3] = aten::add.Tensor(%d, %b, 1)
    return %e
  )"));
  EXPECT_EQ(one.operators(),
            "dim_order_ops::_clone_dim_order berth::conv aten::max_pool2d_with_indices aten::mean.dim aten::mul.Tensor "
            "berth::shuffle berth::conv "
            "dim_order_ops::_clone_dim_order")
      << one.text;
}

TEST(Fuse, AShuffleOfOneImageIsAPermutationOfTheInnermost) {
  const Fused one = fused(with({{"w", {4, 4, 1, 1}}}, "%x: f32[1,4,6,6]", R"(
    %c: f32[1,4,6,6] = aten::convolution(%x, %w, none, [1, 1], [0, 0], [1, 1], false, [0, 0], 1)
    %v: f32[1,2,2,6,6] = aten::view_copy(%c, [1, 2, 2, 6, 6])
    %t: f32[1,2,2,6,6] = aten::permute_copy(%v, [0, 2, 1, 3, 4])
    %u: f32[1,4,6,6] = aten::view_copy(%t, [1, 4, 6, 6])
    return %u
  )"));
  EXPECT_EQ(one.operators(),
            "dim_order_ops::_clone_dim_order berth::conv aten::permute_copy aten::permute_copy aten::permute_copy "
            "dim_order_ops::_clone_dim_order")
      << one.text;
}

TEST(Fuse, AConvolutionOverJoinedChannelsIsASumOverTheParts) {
  const Fused one =
      fused(with({{"w", {4, 5, 3, 3}}, {"b", {4}}}, "%x: f32[1,2,6,6], %z: f32[1,3,6,6], %r: f32[1,4,6,6]", R"(
    %j: f32[1,5,6,6] = aten::cat([%x, %z], 1)
    %c: f32[1,4,6,6] = aten::convolution(%j, %w, %b, [1, 1], [1, 1], [1, 1], false, [0, 0], 1)
    %s: f32[1,4,6,6] = aten::add.Tensor(%c, %r, 1)
    %y: f32[1,4,6,6] = aten::relu(%s)
    return %y
  )"));
  EXPECT_EQ(one.operators().find("aten::cat"), std::string::npos) << one.text;
  EXPECT_TRUE(one.says("fused into a sum of convolutions"));
}

TEST(Fuse, TokensOfAnImageShareItsLayout) {
  const Fused one = fused(with({{"w", {4, 3, 2, 2}}}, "%x: f32[1,3,6,6]", R"(
    %c: f32[1,4,3,3] = aten::convolution(%x, %w, none, [2, 2], [0, 0], [1, 1], false, [0, 0], 1)
    %v: f32[1,4,9] = aten::view_copy(%c, [1, 4, 9])
    %t: f32[1,9,4] = aten::permute_copy(%v, [0, 2, 1])
    return %t
  )"));
  EXPECT_EQ(one.operators(), "dim_order_ops::_clone_dim_order berth::conv aten::permute_copy") << one.text;
}

TEST(Fuse, ConvolutionsOverOneAxisBecomeTwoDimensional) {
  const Fused one = fused(with(
      {{"w", {4, 3, 5}}, {"k", {4, 1, 3}}, {"t", {4, 2, 4}}, {"b", {4}}, {"g", {4}}, {"p", {4, 1}}, {"f", {2, 4, 3}}},
      "%x: f32[2,3,12]", R"(
    %c: f32[2,4,6] = aten::convolution(%x, %w, %b, [2], [2], [1], false, [0], 1)
    %r: f32[2,4,6] = aten::gelu(%c)
    %n: f32[2,4,6], %m: f32[2,2], %s: f32[2,2] = aten::native_group_norm(%r, %g, %b, 2, 4, 6, 2, 1e-05)
    %d: f32[2,4,6] = aten::convolution(%n, %k, none, [1], [2], [2], false, [0], 4)
    %a: f32[2,4,6] = aten::add.Tensor(%d, %r, 1)
    %q: f32[2,4,6] = aten::mul.Tensor(%a, %p)
    %j: f32[2,4,9] = aten::cat([%q, %f], 2)
    %e: f32[2,4,4] = aten::slice_copy.Tensor(%j, -1, 5, 9, 1)
    %y: f32[2,2,11] = aten::convolution(%e, %t, none, [3], [1], [1], true, [0], 1)
    return %y
  )"));
  EXPECT_EQ(
      one.operators(),
      "dim_order_ops::_clone_dim_order berth::conv aten::native_group_norm berth::conv aten::mul.Tensor aten::cat "
      "aten::slice_copy.Tensor berth::conv dim_order_ops::_clone_dim_order")
      << one.text;
}

TEST(Fuse, TokensAndChannelsOfARowAreTwoNamesOfTheSameBytes) {
  const Fused one = fused(with({{"w", {4, 3, 3}}, {"n", {2, 4, 1}}}, "%x: f32[1,9,3]", R"(
    %t: f32[1,3,9] = aten::permute_copy(%x, [0, 2, 1])
    %c: f32[1,4,9] = aten::convolution(%t, %w, none, [1], [1], [1], false, [0], 1)
    %r: f32[1,4,9] = aten::relu(%c)
    %u: f32[1,9,4] = aten::permute_copy(%r, [0, 2, 1])
    %k: f32[1,4,1] = aten::mean.dim(%r, [2], true, none)
    %o: f32[1,4] = aten::mean.dim(%r, [-1], false, none)
    %v: f32[1,2,9] = aten::convolution(%r, %n, none, [1], [0], [1], false, [0], 1)
    %z: f32[1,9,2] = aten::permute_copy(%v, [0, 2, 1])
    return %u, %k, %o, %z
  )"));
  EXPECT_EQ(one.operators(),
            "aten::permute_copy berth::conv aten::permute_copy aten::mean.dim dim_order_ops::_clone_dim_order "
            "aten::mean.dim berth::conv aten::permute_copy")
      << one.text;
}

const std::string kRowNorm = R"(
  %v: f32[2,2,36] = aten::view_copy(%x, [2, 2, 36])
  %n: f32[2,2,36], %m: f32[2,2], %s: f32[2,2] = aten::native_group_norm(%v, none, none, 2, 2, 36, 2, 1e-05)
  %u: f32[2,4,3,6] = aten::view_copy(%n, [2, 4, 3, 6])
)";

TEST(Fuse, ANormOfRowsThatAreGroupsIsAGroupNormOfTheImage) {
  const Fused one = fused(with({{"w", {4, 1, 1}}, {"b", {1, 4, 1, 1}}}, "%x: f32[2,4,3,6]", kRowNorm + R"(
    %p: f32[2,4,3,6] = aten::mul.Tensor(%w, %u)
    %y: f32[2,4,3,6] = aten::add.Tensor(%p, %b, 1)
    return %y
  )"));
  EXPECT_EQ(one.operators(), "aten::native_group_norm") << one.text;
  const Fused last = fused(with({{"b", {1, 4, 1, 1}}}, "%x: f32[2,4,3,6]", kRowNorm + R"(
    %y: f32[2,4,3,6] = aten::add.Tensor(%u, %b, 1)
    return %y
  )"));
  EXPECT_EQ(last.operators(), "aten::native_group_norm") << last.text;
}

TEST(Fuse, AScaleThatIsNotPerChannelStaysAfterTheNorm) {
  for (const std::vector<int>& sizes : {std::vector<int>{4, 1, 6}, {1, 3, 1}, {3, 6}, {2, 4, 1, 1}}) {
    const Fused one = fused(with({{"w", sizes}}, "%x: f32[2,4,3,6]", kRowNorm + R"(
      %y: f32[2,4,3,6] = aten::mul.Tensor(%u, %w)
      return %y
    )"));
    EXPECT_EQ(one.operators(), "aten::native_group_norm aten::mul.Tensor") << one.text;
  }
  const Fused sum = fused(with({{"w", {4, 1, 1}}, {"b", {4, 1, 1}}}, "%x: f32[2,4,3,6]", kRowNorm + R"(
    %a: f32[2,4,3,6] = aten::add.Tensor(%u, %b, 1)
    %y: f32[2,4,3,6] = aten::mul.Tensor(%a, %w)
    return %y
  )"));
  EXPECT_EQ(sum.operators(), "aten::native_group_norm aten::mul.Tensor") << sum.text;
  const Fused twice = fused(with({{"b", {4, 1, 1}}}, "%x: f32[2,4,3,6]", kRowNorm + R"(
    %a: f32[2,4,3,6] = aten::add.Tensor(%u, %b, 2)
    return %a
  )"));
  EXPECT_EQ(twice.operators(), "aten::native_group_norm aten::add.Tensor") << twice.text;
  const Fused read = fused(with({{"b", {4, 1, 1}}}, "%x: f32[2,4,3,6]", kRowNorm + R"(
    %a: f32[2,4,3,6] = aten::add.Tensor(%u, %b, 1)
    return %a, %u, %m
  )"));
  EXPECT_EQ(read.operators(), "aten::native_group_norm aten::add.Tensor") << read.text;
}

TEST(Fuse, AnImageOfTokensSharesTheirLayout) {
  const Fused one = fused(with({{"w", {4, 3, 2, 2}}}, "%x: f32[2,9,3]", R"(
    %t: f32[2,3,9] = aten::permute_copy(%x, [0, 2, 1])
    %v: f32[2,3,3,3] = aten::view_copy(%t, [2, 3, 3, 3])
    %c: f32[2,4,2,2] = aten::convolution(%v, %w, none, [1, 1], [0, 0], [1, 1], false, [0, 0], 1)
    %k: f32[2,4,4] = aten::view_copy(%c, [2, 4, 4])
    %y: f32[2,4,4] = aten::permute_copy(%k, [0, 2, 1])
    return %y
  )"));
  EXPECT_EQ(one.operators(), "aten::permute_copy berth::conv aten::permute_copy") << one.text;
}

TEST(Fuse, OperatorsOfOneOrderGetARowMajorCopy) {
  const Fused one = fused(with({{"w", {4, 3, 1, 1}}}, "%x: f32[1,3,4,4]", R"(
    %c: f32[1,4,4,4] = aten::convolution(%x, %w, none, [1, 1], [0, 0], [1, 1], false, [0, 0], 1)
    %y: f32[1,4,4,4] = aten::cumsum(%c, 3)
    return %y
  )"));
  EXPECT_TRUE(one.says("order: ")) << one.text;
}

TEST(Fuse, ResultsOfARegionKeepTheCallersOrder) {
  const Fused one = fused(with({{"w", {4, 3, 1, 1}}}, "%x: f32[1,3,4,4]", R"(
    %c: f32[1,4,4,4] = aten::convolution(%x, %w, none, [1, 1], [0, 0], [1, 1], false, [0, 0], 1)
    %y: f32[1,4,4,4]{0,2,3,1} = dim_order_ops::_clone_dim_order(%c, false, [0, 2, 3, 1])
    return %c, %y
  )"));
  const auto has = [&](const std::string& text) { return one.text.find(text) != std::string::npos; };
  EXPECT_TRUE(has(": f32[1,4,4,4]{0,2,3,1} = berth::delegate(")) << one.text;
  const size_t yield = one.text.find("yield %");
  ASSERT_NE(yield, std::string::npos);
  const size_t second = one.text.find('%', yield + 7) + 1;
  const std::string last = one.text.substr(second, one.text.find('\n', second) - second);
  EXPECT_TRUE(has("%" + last + ": f32[1,4,4,4]{0,2,3,1} = ")) << one.text;
}

TEST(Fuse, OtherBackendsDelegatesAreUntouched) {
  ir::Module module = passes::parsed(with({{"w", {3, 5}}}, "%x: f32[4,3]", R"(
    %m: f32[4,5] = aten::mm(%x, %w)
    %y: f32[4,5] = aten::relu(%m)
    return %y
  )"));
  const std::string plain = ir::print(module);
  const Targets targets = cpu_targets();
  ASSERT_TRUE(passes::run(fuse_passes(targets), module, {}).ok());
  EXPECT_EQ(ir::print(module), plain) << "outside of delegates";
  delegate_all(module);
  module.delegates[{0}].backend = "berth.cuda";
  const std::string foreign = ir::print(module);
  ASSERT_TRUE(passes::run(fuse_passes(targets), module, {}).ok());
  EXPECT_EQ(ir::print(module), foreign);
}

TEST(Fuse, FusedOperatorsOutsideDelegatesAreRefusedByName) {
  const ir::Module module = passes::parsed(R"(
    method forward(%x: f32[4]) {
      %y: f32[4] = berth::elementwise([%x], [18, 0, 0, 0], [])
      return %y
    })");
  const Status outside = check_outside(module);
  ASSERT_FALSE(outside.ok());
  EXPECT_EQ(outside.error().code, Error::kNotSupported);
  EXPECT_NE(outside.error().place.find("berth::elementwise (%y)"), std::string::npos);
}

// Sizes of 0 do not divide each other.
TEST(Fuse, StridedLeavesViewsOfEmptyTensors) {
  fused(R"(
    method forward(%x: f32[0,12]) {
      %v: f32[0,3,4] = aten::view_copy(%x, [0, 3, 4])
      %p: f32[0,4,3] = aten::permute_copy(%v, [0, 2, 1])
      %w: f32[0,12] = aten::view_copy(%p, [0, 12])
      %y: f32[0,12] = aten::relu(%w)
      return %y
    })");
}

// As many zeros as stand beside the edge would make NaN of it.
TEST(Fuse, FuseProductsLeavesTransposedConvolutionsWithInfiniteWeights) {
  const auto text = [](const char* last) {
    return std::string("const @w: f32[1,1,1,2] = dense<[1.0, ") + last + R"(]>
      method forward(%x: f32[1,1,1,3]) {
        %w: f32[1,1,1,2] = const @w
        %y: f32[1,1,1,5] = aten::convolution(%x, %w, none, [1, 1], [0, 0], [1, 2], true, [0, 0], 1)
        return %y
      })";
  };
  EXPECT_NE(fused(text("2.0")).operators().find("berth::conv"), std::string::npos);
  const Fused kept = fused(text("inf"));
  EXPECT_NE(kept.operators().find("aten::convolution"), std::string::npos);
  EXPECT_TRUE(kept.says("not-finite"));
}

}  // namespace
}  // namespace berth::fuse
