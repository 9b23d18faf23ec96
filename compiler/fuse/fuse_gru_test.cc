// Steps of a GRU, joined. The fears: gates in another order, a state's part that is not this layer's, rows that are
// read from the other end, a state that is stretched.
#include "compiler/fuse/fuse_gru.h"

#include "base/text_testing.h"
#include "compiler/fuse/fuse_testing.h"

namespace berth::fuse {
namespace {

// A step as PyTorch writes it: r, z, n, the reset gate behind the product.
constexpr const char* kTorchStep = R"(
  %s$t: f32[$batch,6] = aten::select_copy.int(%v, 0, $row)
  %p$t: f32[$batch,6] = aten::addmm(%c, %h$t, %w, 1, 1)
  %xr$t: f32[$batch,2], %xz$t: f32[$batch,2], %xn$t: f32[$batch,2] = aten::split_with_sizes_copy(%s$t, [2, 2, 2], 1)
  %hr$t: f32[$batch,2], %hz$t: f32[$batch,2], %hn$t: f32[$batch,2] = aten::split_with_sizes_copy(%p$t, [2, 2, 2], 1)
  %ar$t: f32[$batch,2] = aten::add.Tensor(%xr$t, %hr$t, 1)
  %r$t: f32[$batch,2] = aten::sigmoid(%ar$t)
  %az$t: f32[$batch,2] = aten::add.Tensor(%hz$t, %xz$t, 1)
  %z$t: f32[$batch,2] = aten::sigmoid(%az$t)
  %m$t: f32[$batch,2] = aten::mul.Tensor(%r$t, %hn$t)
  %an$t: f32[$batch,2] = aten::add.Tensor(%xn$t, %m$t, 1)
  %n$t: f32[$batch,2] = aten::tanh(%an$t)
  %d$t: f32[$batch,2] = aten::sub.Tensor(%h$t, %n$t, 1)
  %k$t: f32[$batch,2] = aten::mul.Tensor(%z$t, %d$t)
  %h$next: f32[$batch,2] = aten::add.Tensor(%n$t, %k$t, 1)
)";

// As ONNX has it: z, r, n in one sigmoid, (1 - z) * n + z * h, the reset gate before the product.
constexpr const char* kOnnxStep = R"(
  %s$t: f32[$batch,6] = aten::select_copy.int(%v, 0, $row)
  %xg$t: f32[$batch,4], %xn$t: f32[$batch,2] = aten::split_with_sizes_copy(%s$t, [4, 2], 1)
  %a$t: f32[$batch,4] = aten::addmm(%xg$t, %h$t, %wg, 1, 1)
  %g$t: f32[$batch,4] = aten::sigmoid(%a$t)
  %z$t: f32[$batch,2], %r$t: f32[$batch,2] = aten::split_with_sizes_copy(%g$t, [2, 2], 1)
  %m$t: f32[$batch,2] = aten::mul.Tensor(%r$t, %h$t)
  %an$t: f32[$batch,2] = aten::addmm(%xn$t, %m$t, %wn, 1, 1)
  %n$t: f32[$batch,2] = aten::tanh(%an$t)
  %k$t: f32[$batch,2] = aten::mul.Tensor(%z$t, %h$t)
  %o$t: f32[$batch,2] = aten::rsub.Scalar(%z$t, 1, 1)
  %l$t: f32[$batch,2] = aten::mul.Tensor(%o$t, %n$t)
  %h$next: f32[$batch,2] = aten::add.Tensor(%l$t, %k$t, 1)
)";

// As torch.export's decompositions have it: the state with a dimension of its own, (h - n) * z + n.
constexpr const char* kDecomposedStep = R"(
  %l$t: f32[1,$batch,6] = aten::slice_copy.Tensor(%v, 0, $row, $end, 1)
  %s$t: f32[$batch,6] = aten::view_copy(%l$t, [$batch, 6])
  %xr$t: f32[$batch,2], %xz$t: f32[$batch,2], %xn$t: f32[$batch,2] = aten::split_with_sizes_copy(%s$t, [2, 2, 2], 1)
  %e$t: f32[1,$batch,2] = aten::view_copy(%h$t, [1, $batch, 2])
  %q$t: f32[$batch,2] = aten::view_copy(%e$t, [$batch, 2])
  %p$t: f32[$batch,6] = aten::addmm(%c, %q$t, %w, 1, 1)
  %j$t: f32[1,$batch,6] = aten::view_copy(%p$t, [1, $batch, 6])
  %hr$t: f32[1,$batch,2], %hz$t: f32[1,$batch,2], %hn$t: f32[1,$batch,2] = aten::split_with_sizes_copy(%j$t, [2, 2, 2], 2)
  %ar$t: f32[1,$batch,2] = aten::add.Tensor(%hr$t, %xr$t, 1)
  %r$t: f32[1,$batch,2] = aten::sigmoid(%ar$t)
  %az$t: f32[1,$batch,2] = aten::add.Tensor(%hz$t, %xz$t, 1)
  %z$t: f32[1,$batch,2] = aten::sigmoid(%az$t)
  %m$t: f32[1,$batch,2] = aten::mul.Tensor(%hn$t, %r$t)
  %an$t: f32[1,$batch,2] = aten::add.Tensor(%xn$t, %m$t, 1)
  %n$t: f32[1,$batch,2] = aten::tanh(%an$t)
  %d$t: f32[1,$batch,2] = aten::sub.Tensor(%e$t, %n$t, 1)
  %k$t: f32[1,$batch,2] = aten::mul.Tensor(%d$t, %z$t)
  %h$next: f32[1,$batch,2] = aten::add.Tensor(%k$t, %n$t, 1)
)";

struct Steps {
  std::string step = kTorchStep;
  std::vector<std::string> rows = {"0", "1"};
  std::string end = "%all: f32[2,2] = aten::cat([%h1, %h2], 0)\n return %all";
  int batch = 1;
};

Fused fused_gru(const Steps& steps) {
  const std::string batch = std::to_string(steps.batch);
  const std::string rows = std::to_string(2 * steps.batch);
  std::string body = filled(R"(
    %g: f32[$rows,6] = aten::addmm(%b, %x, %u, 1, 1)
    %v: f32[2,$batch,6] = aten::view_copy(%g, [2, $batch, 6])
  )",
                            {{"rows", rows}, {"batch", batch}});
  for (size_t t = 0; t < steps.rows.size(); ++t) {
    body += filled(steps.step, {{"t", std::to_string(t)},
                                {"next", std::to_string(t + 1)},
                                {"row", steps.rows[t]},
                                {"end", std::to_string(std::stoi(steps.rows[t]) + 1)},
                                {"batch", batch}});
  }
  return fused(with_constants({{"b", {6}},
                               {"u", {3, 6}},
                               {"c", {6}},
                               {"w", {2, 6}},
                               {"w0", {2, 6}},
                               {"w1", {2, 6}},
                               {"wg", {2, 4}},
                               {"wn", {2, 2}}},
                              "%x: f32[" + rows + ",3], %h0: f32[" + batch + ",2]", body + steps.end));
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

TEST(FuseGru, StepsAreOneOperatorInEitherOrderAndForm) {
  for (const char* step : {kTorchStep, kOnnxStep}) {
    const Fused one = fused_gru({step});
    EXPECT_EQ(one.operators(), "berth::linear berth::gru") << one.text;
    const Fused batch = fused_gru({step, {"0", "1"}, "%all: f32[6,2] = aten::cat([%h1, %h2], 0)\n return %all", 3});
    EXPECT_EQ(batch.operators(), "berth::linear berth::gru") << batch.text;
    const Fused back = fused_gru({step, {"1", "0"}, "%all: f32[2,2] = aten::cat([%h2, %h1], 0)\n return %all, %h2"});
    EXPECT_EQ(back.operators(), "berth::linear berth::gru aten::select_copy.int") << back.text;
  }
}

TEST(FuseGru, DecomposedStepsAreOneOperatorEitherWay) {
  const Fused one =
      fused_gru({kDecomposedStep, {"0", "1"}, "%all: f32[2,3,2] = aten::cat([%h1, %h2], 0)\n return %all", 3});
  EXPECT_EQ(one.operators(), "berth::linear berth::gru") << one.text;
  const std::string turned =
      replaced(replaced(kDecomposedStep, "%l$t:", "%f$t: f32[2,$batch,6] = aten::flip(%v, [0])\n  %l$t:"),
               "slice_copy.Tensor(%v,", "slice_copy.Tensor(%f0,");
  const Fused back = fused_gru({turned, {"0", "1"}, "%all: f32[2,3,2] = aten::cat([%h2, %h1], 0)\n return %all", 3});
  EXPECT_EQ(back.operators(), "berth::linear berth::gru") << back.text;
}

TEST(FuseGru, StepsWhoseRowsDoNotFollowEachOtherStayApart) {
  const Fused twice = fused_gru({kTorchStep, {"0", "0"}, "return %h1, %h2"});
  EXPECT_EQ(twice.operators(),
            "berth::linear aten::slice_copy.Tensor berth::gru aten::select_copy.int aten::slice_copy.Tensor berth::gru "
            "aten::select_copy.int")
      << twice.text;
}

TEST(FuseGru, StepsThatTurnBackStayApart) {
  const Fused back = fused_gru({kTorchStep, {"0", "1", "0"}, "return %h3"});
  EXPECT_EQ(back.count("berth::gru"), 2u) << back.text;
}

TEST(FuseGru, StepsOfOtherInputsStayApart) {
  const std::string own =
      replaced(replaced(kTorchStep, "%s$t", "%v$t: f32[2,$batch,6] = aten::add.Scalar(%v, $t, 1)\n %s$t"),
               "select_copy.int(%v,", "select_copy.int(%v$t,");
  const Fused fused = fused_gru({own});
  EXPECT_EQ(fused.count("berth::gru"), 2u) << fused.text;
}

TEST(FuseGru, StepsOfOtherWeightsStayApart) {
  const Fused fused = fused_gru({replaced(kTorchStep, "%w, 1, 1)", "%w$t, 1, 1)")});
  EXPECT_EQ(fused.count("berth::gru"), 2u) << fused.text;
}

TEST(FuseGru, ARowThatIsTheSameForAllOfABatchIsStretchedNowhere) {
  const std::string select = "%s$t: f32[$batch,6] = aten::select_copy.int(%v, 0, $row)";
  std::string step = replaced(kTorchStep, select,
                              "%q$t: f32[$batch,6] = aten::select_copy.int(%v, 0, $row)\n"
                              "%s$t: f32[1,6] = aten::slice_copy.Tensor(%q$t, 0, 0, 1, 1)");
  for (const char* gate : {"%xr$t", "%xz$t", "%xn$t"}) {
    step = replaced(step, std::string(gate) + ": f32[$batch,2]", std::string(gate) + ": f32[1,2]");
  }
  const Fused fused = fused_gru({step, {"0", "1"}, "return %h2", 3});
  EXPECT_EQ(fused.count("berth::gru"), 0u) << fused.text;
}

TEST(FuseGru, AStepThatIsNearlyOneIsNone) {
  const auto stays = [](const std::string& step, const std::string& from, const std::string& to,
                        const std::string& also = "", const std::string& with = "") {
    const Fused fused = fused_gru({replaced(replaced(step, from, to), also, with), {"0", "1"}, "return %h2"});
    EXPECT_EQ(fused.operators().find("berth::gru"), std::string::npos) << to << "\n" << fused.text;
  };
  // Update and reset gate are of the same columns.
  stays(kTorchStep, "aten::add.Tensor(%hz$t, %xz$t, 1)", "aten::add.Tensor(%hr$t, %xr$t, 1)");
  // The state's part of another gate.
  stays(kTorchStep, "aten::mul.Tensor(%r$t, %hn$t)", "aten::mul.Tensor(%r$t, %hz$t)");
  stays(kTorchStep, "aten::add.Tensor(%hz$t, %xz$t, 1)", "aten::add.Tensor(%hz$t, %xr$t, 1)");
  // Another blend, and another function.
  stays(kTorchStep, "aten::sub.Tensor(%h$t, %n$t, 1)", "aten::sub.Tensor(%n$t, %h$t, 1)");
  stays(kTorchStep, "aten::sub.Tensor(%h$t, %n$t, 1)", "aten::sub.Tensor(%h$t, %n$t, 2)");
  stays(kTorchStep, "%n$t: f32[$batch,2] = aten::tanh", "%n$t: f32[$batch,2] = aten::sigmoid");
  stays(kTorchStep, "%z$t: f32[$batch,2] = aten::sigmoid", "%z$t: f32[$batch,2] = aten::tanh");
  stays(kTorchStep, "%r$t: f32[$batch,2] = aten::sigmoid", "%r$t: f32[$batch,2] = aten::tanh");
  stays(kOnnxStep, "aten::sigmoid", "aten::tanh");
  // The input's part of another gate.
  stays(kTorchStep, "aten::add.Tensor(%xn$t, %m$t, 1)", "aten::add.Tensor(%xz$t, %m$t, 1)");
  stays(kOnnxStep, "%a$t:", "%y$t: f32[$batch,2] = aten::slice_copy.Tensor(%s$t, 1, 2, 4, 1)\n %a$t:", "addmm(%xn$t",
        "addmm(%y$t");
  stays(kOnnxStep, "aten::rsub.Scalar(%z$t, 1, 1)", "aten::rsub.Scalar(%r$t, 1, 1)");
  stays(kOnnxStep, "aten::rsub.Scalar(%z$t, 1, 1)", "aten::rsub.Scalar(%z$t, 2, 1)");
  stays(kOnnxStep, "aten::mul.Tensor(%r$t, %h$t)", "aten::mul.Tensor(%r$t, %z$t)");
}

// The first state is a constant, so that what it adds to the gates is one, too: %part, of which all rows are alike.
Fused from_constant(const std::string& state, const std::string& part, const std::string& bias) {
  std::string body = R"(
    %h0: f32[1,2] = const @h0
    %c: f32[6] = const @c
    %p0: f32[1,6] = const @p0
    %b: f32[6] = const @b
    %u: f32[3,6] = const @u
    %w: f32[2,6] = const @w
    %g: f32[2,6] = aten::addmm(%b, %x, %u, 1, 1)
    %v: f32[2,1,6] = aten::view_copy(%g, [2, 1, 6])
  )";
  for (int t = 0; t < 2; ++t) {
    std::string step =
        filled(kTorchStep,
               {{"t", std::to_string(t)}, {"next", std::to_string(t + 1)}, {"row", std::to_string(t)}, {"batch", "1"}});
    if (t == 0) step = replaced(step, "%p0: f32[1,6] = aten::addmm(%c, %h0, %w, 1, 1)\n", "\n");
    body += step;
  }
  const std::string constants = "const @h0: f32[1,2] = dense<[" + state + "]>\nconst @c: f32[6] = dense<[" + bias +
                                "]>\nconst @p0: f32[1,6] = dense<[" + part +
                                "]>\nconst @b: f32[6] = dense<[0.5, 1, -1, 0.25, 2, 0]>\n"
                                "const @u: f32[3,6] = splat<0.5>\nconst @w: f32[2,6] = splat<0.25>\n";
  return fused(constants + "method forward(%x: f32[2,3]) {" + body +
               "%all: f32[2,2] = aten::cat([%h1, %h2], 0)\n return %all\n}\n");
}

TEST(FuseGru, AFirstStateThatIsConstantIsTheLayersOrNot) {
  const char* bias = "1, 2, 3, 4, 5, 6";
  EXPECT_EQ(from_constant("0, 0", bias, bias).operators(), "berth::linear berth::gru");
  // (2 + 4) * 0.25 more.
  EXPECT_EQ(from_constant("2, 4", "2.5, 3.5, 4.5, 5.5, 6.5, 7.5", bias).operators(), "berth::linear berth::gru");
  const Fused other = from_constant("2, 4", bias, bias);
  EXPECT_NE(other.operators().find("aten::cat"), std::string::npos) << other.text;
  EXPECT_NE(from_constant("0, 0", "1, 2, 3, 4, 5, 6.5", bias).operators().find("aten::cat"), std::string::npos);
  EXPECT_NE(from_constant("0, 0", "1, 2, 3, 4, 5, nan", bias).operators().find("aten::cat"), std::string::npos);
}

// As decompositions have the first state: zeros for the product, and zeros of another shape for the sum.
TEST(FuseGru, AFirstStateMayBeZerosOfTwoShapes) {
  const auto with_states = [](const std::string& of_sum, const std::string& of_product) {
    std::string body;
    for (const std::string t : {"0", "1"}) {
      const std::string next = t == "0" ? "1" : "2";
      body += filled(kDecomposedStep, {{"t", t}, {"next", next}, {"row", t}, {"end", next}, {"batch", "1"}});
    }
    body = replaced(body, "%e0: f32[1,1,2] = aten::view_copy(%h0, [1, 1, 2])", "%e0: f32[1,1,2] = const @e");
    body = replaced(body, "%q0: f32[1,2] = aten::view_copy(%e0, [1, 2])", "%q0: f32[1,2] = const @q");
    return fused("const @e: f32[1,1,2] = dense<[" + of_sum + "]>\nconst @q: f32[1,2] = dense<[" + of_product + "]>\n" +
                 with_constants({{"b", {6}}, {"u", {3, 6}}, {"c", {6}}, {"w", {2, 6}}}, "%x: f32[2,3]",
                                "%g: f32[2,6] = aten::addmm(%b, %x, %u, 1, 1)\n"
                                "%v: f32[2,1,6] = aten::view_copy(%g, [2, 1, 6])\n" +
                                    body + "%all: f32[2,1,2] = aten::cat([%h1, %h2], 0)\n return %all"));
  };
  const Fused zeros = with_states("0, 0", "0, 0");
  EXPECT_EQ(zeros.operators(), "berth::linear berth::gru") << zeros.text;
  const Fused other = with_states("0, 0", "1, 1");
  EXPECT_NE(other.operators().find("aten::cat"), std::string::npos) << "not the same state:\n" << other.text;
}

TEST(FuseGru, StatesWithoutUnitsAreLeftAlone) {
  const Fused one = fused(R"(
    const @c: f32[0] = splat<0.0>
    const @w: f32[0,0] = splat<0.0>
    method forward(%s: f32[3,0], %h: f32[3,0]) {
      %c: f32[0] = const @c
      %w: f32[0,0] = const @w
      %p: f32[3,0] = aten::addmm(%c, %h, %w, 1, 1)
      %xr: f32[3,0], %xz: f32[3,0], %xn: f32[3,0] = aten::split_with_sizes_copy(%s, [0, 0, 0], 1)
      %hr: f32[3,0], %hz: f32[3,0], %hn: f32[3,0] = aten::split_with_sizes_copy(%p, [0, 0, 0], 1)
      %ar: f32[3,0] = aten::add.Tensor(%xr, %hr, 1)
      %r: f32[3,0] = aten::sigmoid(%ar)
      %az: f32[3,0] = aten::add.Tensor(%hz, %xz, 1)
      %z: f32[3,0] = aten::sigmoid(%az)
      %m: f32[3,0] = aten::mul.Tensor(%r, %hn)
      %an: f32[3,0] = aten::add.Tensor(%xn, %m, 1)
      %n: f32[3,0] = aten::tanh(%an)
      %d: f32[3,0] = aten::sub.Tensor(%h, %n, 1)
      %k: f32[3,0] = aten::mul.Tensor(%z, %d)
      %y: f32[3,0] = aten::add.Tensor(%n, %k, 1)
      return %y
    })");
  EXPECT_EQ(one.count("berth::gru"), 0U) << one.text;
}

}  // namespace
}  // namespace berth::fuse
