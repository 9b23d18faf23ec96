// Loops over the steps of an LSTM. The fears: a loop that does something else besides, states that are swapped, rows
// that are read from the other end.
#include "compiler/fuse/fuse_lstm_loops.h"

#include "base/text_testing.h"
#include "compiler/fuse/fuse_testing.h"

namespace berth::fuse {
namespace {

// Gates in the order i, o, f, g, as ONNX has them. The body gives `$gives`.
constexpr const char* kLstmLoop = R"(
  %g: f32[$rows,8] = aten::addmm(%b, %x, %u, 1, 1)
  %v: f32[s,$batch,8] = aten::view_copy(%g, [s, $batch, 8])
  $before
  %hn: f32[$batch,2], %cn: f32[$batch,2], %all: f32[s,$batch,2] = berth::scan(s, [%h, %c], [$scanned]) {
    (%h0: f32[$batch,2], %c0: f32[$batch,2], %r: f32[$batch,8])
    %a: f32[$batch,8] = aten::addmm(%r, %h0, %w, 1, 1)
    %p: f32[$batch,6], %q: f32[$batch,2] = aten::split_with_sizes_copy(%a, [6, 2], 1)
    %z: f32[$batch,6] = aten::sigmoid(%p)
    %i: f32[$batch,2], %o: f32[$batch,2], %f: f32[$batch,2] = aten::split_with_sizes_copy(%z, [2, 2, 2], 1)
    %t: f32[$batch,2] = aten::tanh(%q)
    %m: f32[$batch,2] = aten::mul.Tensor(%i, %t)
    %k: f32[$batch,2] = aten::mul.Tensor(%f, %c0)
    %c1: f32[$batch,2] = aten::add.Tensor(%k, %m, 1)
    %y: f32[$batch,2] = aten::tanh(%c1)
    %h1: f32[$batch,2] = aten::mul.Tensor(%o, %y)
    yield $gives
  }
  $behind
)";

struct LstmLoop {
  int batch = 1;
  bool reverse = false;
  const char* gives = "%h1, %c1, %h1";
  int least = 1;
};

struct FusedLstmLoop {
  std::string text;
  std::vector<std::string> why;
};

// Fuses the loop alone, and expects its outputs to stay at every number of steps.
FusedLstmLoop fused_lstm_loop(const LstmLoop& loop) {
  const std::string batch = std::to_string(loop.batch);
  const std::string rows = loop.batch == 1 ? "s" : "(s * " + batch + ")";
  const std::string turned = "%v2: f32[s," + batch + ",8] = aten::flip(%v, [0])";
  const std::string back = "%back: f32[s," + batch + ",2] = aten::flip(%all, [0])\n";
  const std::string body = filled(kLstmLoop, {{"rows", rows},
                                              {"batch", batch},
                                              {"before", loop.reverse ? turned : ""},
                                              {"scanned", loop.reverse ? "%v2" : "%v"},
                                              {"gives", loop.gives},
                                              {"behind", (loop.reverse ? back : std::string()) + "return %hn, %cn, " +
                                                             (loop.reverse ? "%back" : "%all")}});
  const std::string signature = "%x: f32[" + rows + ",3], %h: f32[" + batch + ",2], %c: f32[" + batch + ",2]";
  const std::string text = "symbol s in [" + std::to_string(loop.least) + ", 7]\n" +
                           with_constants({{"b", {8}}, {"u", {3, 8}}, {"w", {2, 8}}}, signature, body);
  const ir::Module before = passes::parsed(text);
  ir::Module module = passes::parsed(text);
  FusedLstmLoop result;
  passes::Options options;
  options.why = {"fusion"};
  options.why_lines = &result.why;
  const auto all = [](const ir::Method&, const ir::Node&) { return true; };
  const auto changed = fuse_lstm_loops(module, all, options);
  EXPECT_TRUE(changed.ok()) << changed.error().text();
  const Status sound = ir::verify(module);
  EXPECT_TRUE(sound.ok()) << sound.error().text();
  result.text = ir::print(module);
  for (int steps = loop.least; steps <= 7 && changed.ok(); ++steps) {
    const auto inputs = passes::random_inputs(before, before.methods[0], 3, {{"s", steps}});
    const auto expected = eval::evaluate(before, before.methods[0], inputs);
    const auto found = eval::evaluate(module, module.methods[0], inputs);
    EXPECT_TRUE(expected.ok() && found.ok()) << result.text;
    if (!expected.ok() || !found.ok()) break;
    for (size_t i = 0; i < expected->size(); ++i) passes::expect_close((*expected)[i], (*found)[i], 1e-5);
  }
  return result;
}

bool has(const FusedLstmLoop& result, const std::string& what) { return result.text.find(what) != std::string::npos; }

TEST(FuseLstmLoops, AnyNumberOfStepsIsOneOperator) {
  const FusedLstmLoop one = fused_lstm_loop({});
  EXPECT_TRUE(has(one, "berth::lstm(") && !has(one, "berth::scan")) << one.text;
  EXPECT_NE(one.why.back().find("fused into berth::lstm"), std::string::npos);
}

TEST(FuseLstmLoops, BackwardsTheRowsAreReadFromTheOtherEnd) {
  const FusedLstmLoop back = fused_lstm_loop({1, true});
  EXPECT_TRUE(has(back, "true) ") || has(back, ", true)")) << back.text;
  EXPECT_FALSE(has(back, "berth::scan")) << back.text;
}

TEST(FuseLstmLoops, LoopsThatGiveOtherThingsStay) {
  EXPECT_TRUE(has(fused_lstm_loop({1, false, "%h1, %c1, %c1"}), "berth::scan")) << "the cells of all steps are given";
  EXPECT_TRUE(has(fused_lstm_loop({1, false, "%c1, %h1, %h1"}), "berth::scan")) << "the states change their places";
  EXPECT_TRUE(has(fused_lstm_loop({1, false, "%h1, %c0, %h1"}), "berth::scan")) << "the cell stays as it was";
  EXPECT_TRUE(has(fused_lstm_loop({1, false, "%h1, %c1, %h1", 0}), "berth::scan")) << "there may be no step";
}

}  // namespace
}  // namespace berth::fuse
