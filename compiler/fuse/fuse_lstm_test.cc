// Steps of an LSTM, alone and joined. The fears: gates in another order, a cell that others read, rows of something
// else than four gates.
#include "compiler/fuse/fuse_lstm.h"

#include "base/text_testing.h"
#include "compiler/fuse/fuse_testing.h"

namespace berth::fuse {
namespace {

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
  return fused(with_constants({{"b", {8}}, {"u", {3, 8}}, {"w", {2, 8}}}, "%x: f32[2,3], %h0: f32[1,2], %c0: f32[1,2]",
                              lstm_steps(rows) + end));
}

TEST(FuseLstm, LstmStepsAreOneOperatorInAnyOrderOfTheirGates) {
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

// As torch.export's decompositions have it: the state with a dimension of its own, the steps' rows sliced, those of a
// layer that goes backwards from sums that were turned round.
// The steps begin with row `first` of three.
Fused decomposed_lstm(const std::string& rows, const std::string& end, int first = 0) {
  std::string body = R"(
    %g: f32[6,8] = aten::addmm(%b, %x, %u, 1, 1)
    %v: f32[3,2,8] = aten::view_copy(%g, [3, 2, 8])
    %t: f32[3,2,8] = aten::flip(%v, [0])
  )";
  for (const std::string t : {"0", "1"}) {
    const std::string next = t == "0" ? "1" : "2";
    body += filled(R"(
      %l$t: f32[1,2,8] = aten::slice_copy.Tensor($rows, 0, $row, $end, 1)
      %s$t: f32[2,8] = aten::view_copy(%l$t, [2, 8])
      %d$t: f32[2,2] = aten::view_copy(%h$t, [2, 2])
      %e$t: f32[2,8] = aten::addmm(%b, %d$t, %w, 1, 1)
      %j$t: f32[1,2,8] = aten::view_copy(%e$t, [1, 2, 8])
      %a$t: f32[1,2,8] = aten::add.Tensor(%j$t, %s$t, 1)
      %i$t: f32[1,2,2], %f$t: f32[1,2,2], %p$t: f32[1,2,2], %o$t: f32[1,2,2] = aten::split_with_sizes_copy(%a$t, [2, 2, 2, 2], 2)
      %si$t: f32[1,2,2] = aten::sigmoid(%i$t)
      %sf$t: f32[1,2,2] = aten::sigmoid(%f$t)
      %tp$t: f32[1,2,2] = aten::tanh(%p$t)
      %so$t: f32[1,2,2] = aten::sigmoid(%o$t)
      %k$t: f32[1,2,2] = aten::mul.Tensor(%sf$t, %c$t)
      %m$t: f32[1,2,2] = aten::mul.Tensor(%si$t, %tp$t)
      %c$next: f32[1,2,2] = aten::add.Tensor(%k$t, %m$t, 1)
      %y$t: f32[1,2,2] = aten::tanh(%c$next)
      %h$next: f32[1,2,2] = aten::mul.Tensor(%so$t, %y$t)
    )",
                   {{"t", t},
                    {"next", next},
                    {"rows", rows},
                    {"row", std::to_string(first + std::stoi(t))},
                    {"end", std::to_string(first + std::stoi(t) + 1)}});
  }
  return fused(with_constants({{"b", {8}}, {"u", {3, 8}}, {"w", {2, 8}}},
                              "%x: f32[6,3], %h0: f32[1,2,2], %c0: f32[1,2,2]", body + end));
}

TEST(FuseLstm, DecomposedStepsAreOneOperatorEitherWay) {
  for (const int first : {0, 1}) {
    const Fused one = decomposed_lstm("%v", "%all: f32[2,2,2] = aten::cat([%h1, %h2], 0)\n return %all, %c2", first);
    EXPECT_EQ(one.operators(), "berth::linear aten::slice_copy.Tensor berth::lstm") << one.text;
    const Fused back = decomposed_lstm("%t", "%all: f32[2,2,2] = aten::cat([%h2, %h1], 0)\n return %all, %c2", first);
    EXPECT_EQ(back.operators(), "berth::linear aten::slice_copy.Tensor berth::lstm") << back.text;
    EXPECT_NE(back.text.find(", true)"), std::string::npos) << back.text;
  }
}

TEST(FuseLstm, StackedStatesAreTheLayersResult) {
  const Fused one = fused_lstm({"0", "1"}, R"(
    %all: f32[2,1,2] = aten::stack([%h1, %h2], 0)
    return %all, %c2
  )");
  EXPECT_EQ(one.operators(), "berth::linear berth::lstm") << one.text;
  // Of a batch of one the same elements, of units apart not.
  const Fused apart = fused_lstm({"0", "1"}, R"(
    %all: f32[1,2,2] = aten::stack([%h1, %h2], 2)
    return %all, %c2
  )");
  EXPECT_EQ(apart.count("aten::stack"), 1u) << apart.text;
}

TEST(FuseLstm, LstmStepsStaySeparateWhereOthersReadTheCellOrTheGatesDiffer) {
  const Fused read = fused_lstm({"0", "1"}, "return %h2, %c1, %c2");
  EXPECT_EQ(read.operators(),
            "berth::linear aten::select_copy.int berth::lstm_cell aten::select_copy.int berth::lstm_cell")
      << read.text;
  const Fused twice = fused_lstm({"0", "0"}, "return %h1, %h2, %c2");
  EXPECT_EQ(twice.operators().find("berth::lstm "), std::string::npos) << twice.text;
  EXPECT_TRUE(twice.says("order: berth::lstm")) << twice.text;
  const Fused some = fused_lstm({"0", "1", "1"}, "return %h3, %h2, %c3");
  EXPECT_EQ(some.operators(), "berth::linear berth::lstm aten::select_copy.int aten::select_copy.int berth::lstm_cell")
      << some.text;
}

// The sums of the gates by whatever operator, in any order, of rows that have a place more.
std::string steps_behind(const std::string& sums, const std::string& rest) {
  return "method forward(%x: f32[3,8], %c0: f32[3,2]) {\n" + sums + R"(
      %p: f32[3,6], %q: f32[3,2] = aten::split_with_sizes_copy(%a, [6, 2], 1)
      %z: f32[3,6] = aten::sigmoid(%p)
      %i: f32[3,2], %o: f32[3,2], %f: f32[3,2] = aten::split_with_sizes_copy(%z, [2, 2, 2], 1)
      %t: f32[3,2] = aten::tanh(%q)
      %m: f32[3,2] = aten::mul.Tensor(%i, %t)
      %k: f32[3,2] = aten::mul.Tensor(%f, %c0)
      %c1: f32[3,2] = aten::add.Tensor(%k, %m, 1)
      %y: f32[3,2] = aten::tanh(%c1)
      %h1: f32[3,2] = aten::mul.Tensor(%o, %y)
)" + rest +
         "}";
}

TEST(FuseLstm, GatesOfAnyProductAreOneOperator) {
  const Fused one = fused(steps_behind("%a: f32[3,8] = aten::cumsum(%x, 1)", "return %h1, %c1\n"));
  EXPECT_EQ(one.operators(), "aten::cumsum berth::lstm_gates") << one.text;
  EXPECT_NE(one.text.find("[0, 2, 3, 1])"), std::string::npos) << one.text;
  // The cell is read before the hidden state is made, and the sums are an output too.
  const Fused read = fused(steps_behind("%a: f32[3,8] = aten::cumsum(%x, 1)", "return %h1, %c1, %a, %y\n"));
  EXPECT_EQ(read.count("berth::lstm_gates"), 1U) << read.text;
}

TEST(FuseLstm, RowsWithMoreThanFourGatesAreNotAStep) {
  const std::string wide = R"(
      %b: f32[3,10] = aten::constant_pad_nd(%x, [0, 2], 0)
      %a: f32[3,10] = aten::cumsum(%b, 1)
  )";
  std::string text = steps_behind(wide, "return %h1, %c1\n");
  const std::string split = "%q: f32[3,2] = aten::split_with_sizes_copy(%a, [6, 2], 1)";
  text.replace(text.find(split), split.size(),
               "%q: f32[3,2], %e: f32[3,2] = aten::split_with_sizes_copy(%a, [6, 2, 2], 1)");
  const Fused one = fused(text);
  EXPECT_EQ(one.count("berth::lstm_gates"), 0U) << one.text;
}

TEST(FuseLstm, CellsWithoutUnitsAreLeftAlone) {
  const Fused one = fused(R"(
    method forward(%a: f32[3,0], %c0: f32[3,0]) {
      %i: f32[3,0], %o: f32[3,0], %f: f32[3,0], %q: f32[3,0] = aten::split_with_sizes_copy(%a, [0, 0, 0, 0], 1)
      %si: f32[3,0] = aten::sigmoid(%i)
      %so: f32[3,0] = aten::sigmoid(%o)
      %sf: f32[3,0] = aten::sigmoid(%f)
      %t: f32[3,0] = aten::tanh(%q)
      %m: f32[3,0] = aten::mul.Tensor(%si, %t)
      %k: f32[3,0] = aten::mul.Tensor(%sf, %c0)
      %c1: f32[3,0] = aten::add.Tensor(%k, %m, 1)
      %y: f32[3,0] = aten::tanh(%c1)
      %h1: f32[3,0] = aten::mul.Tensor(%so, %y)
      return %h1, %c1
    })");
  EXPECT_EQ(one.count("berth::lstm_gates"), 0U) << one.text;
}

}  // namespace
}  // namespace berth::fuse
