// Loops over the steps of a GRU. The fears: a loop that does something else besides, a state that stays, rows
// that are read from the other end.
#include "compiler/fuse/fuse_gru_loops.h"

#include "base/text_testing.h"
#include "compiler/fuse/fuse_testing.h"

namespace berth::fuse {
namespace {

// Gates in the order z, r, n, as ONNX has them. The body gives `$gives`.
constexpr const char* kGruLoop = R"(
  %x: f32[$rows,3] = aten::view_copy(%x0, [$rows, 3])
  %g: f32[$rows,6] = aten::addmm(%b, %x, %u, 1, 1)
  %v: f32[s,$batch,6] = aten::view_copy(%g, [s, $batch, 6])
  $before
  %hl: f32[$batch,2], %all: f32[s,$batch,2] = berth::scan(s, [%h], [$scanned]) {
    (%h0: f32[$batch,2], %r: f32[$batch,6])
    %p: f32[$batch,6] = aten::addmm(%c, $state, %w, 1, 1)
    %xg: f32[$batch,4], %xn: f32[$batch,2] = aten::split_with_sizes_copy(%r, [4, 2], 1)
    %hg: f32[$batch,4], %hn: f32[$batch,2] = aten::split_with_sizes_copy(%p, [4, 2], 1)
    %a: f32[$batch,4] = aten::add.Tensor(%xg, %hg, 1)
    %s: f32[$batch,4] = aten::sigmoid(%a)
    %z: f32[$batch,2], %q: f32[$batch,2] = aten::split_with_sizes_copy(%s, [2, 2], 1)
    %m: f32[$batch,2] = aten::mul.Tensor(%q, %hn)
    %an: f32[$batch,2] = aten::add.Tensor(%xn, %m, 1)
    %n: f32[$batch,2] = aten::tanh(%an)
    %k: f32[$batch,2] = aten::mul.Tensor(%z, $state)
    %o: f32[$batch,2] = aten::rsub.Scalar(%z, 1, 1)
    %l: f32[$batch,2] = aten::mul.Tensor(%o, %n)
    %h1: f32[$batch,2] = aten::add.Tensor(%l, %k, 1)
    yield $gives
  }
  $behind
)";

struct GruLoop {
  int batch = 1;
  bool reverse = false;
  const char* gives = "%h1, %h1";
  int least = 1;
  const char* state = "%h0";
};

struct FusedGruLoop {
  std::string text;
  std::vector<std::string> why;
};

// Fuses the loop alone, and expects its outputs to stay at every number of steps.
FusedGruLoop fused_gru_loop(const GruLoop& loop) {
  const std::string batch = std::to_string(loop.batch);
  const std::string rows = loop.batch == 1 ? "s" : "(s * " + batch + ")";
  const std::string turned = "%v2: f32[s," + batch + ",6] = aten::flip(%v, [0])";
  const std::string back = "%back: f32[s," + batch + ",2] = aten::flip(%all, [0])\n";
  const std::string body =
      filled(kGruLoop,
             {{"rows", rows},
              {"batch", batch},
              {"before", loop.reverse ? turned : ""},
              {"scanned", loop.reverse ? "%v2" : "%v"},
              {"gives", loop.gives},
              {"state", loop.state},
              {"behind", (loop.reverse ? back : std::string()) + "return %hl, " + (loop.reverse ? "%back" : "%all")}});
  const std::string signature = "%x0: f32[s," + batch + ",3], %h: f32[" + batch + ",2]";
  const std::string text = "symbol s in [" + std::to_string(loop.least) + ", 7]\n" +
                           with_constants({{"b", {6}}, {"u", {3, 6}}, {"c", {6}}, {"w", {2, 6}}}, signature, body);
  const ir::Module before = passes::parsed(text);
  ir::Module module = passes::parsed(text);
  FusedGruLoop result;
  passes::Options options;
  options.why = {"fusion"};
  options.why_lines = &result.why;
  const auto all = [](const ir::Method&, const ir::Node&) { return true; };
  const auto changed = fuse_gru_loops(module, all, options);
  EXPECT_TRUE(changed.ok()) << changed.error().text();
  const Status sound = ir::verify(module);
  EXPECT_TRUE(sound.ok()) << sound.error().text();
  result.text = ir::print(module);
  for (int steps = loop.least; steps <= 7 && changed.ok(); ++steps) {
    const auto inputs = passes::random_inputs(before, before.methods[0], 3, {{"s", steps}});
    const auto expected = eval::evaluate(before, before.methods[0], inputs);
    const auto found = eval::evaluate(module, module.methods[0], inputs);
    EXPECT_TRUE(expected.ok()) << expected.error().text();
    EXPECT_TRUE(found.ok()) << found.error().text();
    if (!expected.ok() || !found.ok()) break;
    for (size_t i = 0; i < expected->size(); ++i) passes::expect_close((*expected)[i], (*found)[i], 1e-5);
  }
  return result;
}

bool has(const FusedGruLoop& result, const std::string& what) { return result.text.find(what) != std::string::npos; }

TEST(FuseGruLoops, AnyNumberOfStepsIsOneOperator) {
  const FusedGruLoop one = fused_gru_loop({});
  EXPECT_TRUE(has(one, "berth::gru(") && !has(one, "berth::scan")) << one.text;
  EXPECT_NE(one.why.back().find("fused into berth::gru"), std::string::npos);
}

TEST(FuseGruLoops, BackwardsTheRowsAreReadFromTheOtherEnd) {
  const FusedGruLoop back = fused_gru_loop({1, true});
  EXPECT_TRUE(has(back, "true) ") || has(back, ", true)")) << back.text;
  EXPECT_FALSE(has(back, "berth::scan")) << back.text;
}

TEST(FuseGruLoops, ABatchKeepsItsRows) {
  const FusedGruLoop batch = fused_gru_loop({3, true});
  EXPECT_TRUE(has(batch, "berth::gru(") && !has(batch, "berth::scan")) << batch.text;
}

TEST(FuseGruLoops, LoopsThatGiveOtherThingsStay) {
  EXPECT_TRUE(has(fused_gru_loop({1, false, "%h1, %n"}), "berth::scan")) << "the candidates of all steps are given";
  EXPECT_TRUE(has(fused_gru_loop({1, false, "%h0, %h1"}), "berth::scan")) << "the state stays as it was";
  EXPECT_TRUE(has(fused_gru_loop({1, false, "%h1, %h1", 0}), "berth::scan")) << "there may be no step";
  EXPECT_TRUE(has(fused_gru_loop({1, false, "%h1, %h1", 1, "%h"}), "berth::scan"))
      << "each step begins with the first state";
}

}  // namespace
}  // namespace berth::fuse
