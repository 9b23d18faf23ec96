// Chains of element-wise operators. The fears: a loop that is too long, time that grows faster than the chain, a
// quantised tensor that is widened in memory or rounded in another way.
#include "compiler/fuse/fuse_elementwise.h"

#include <pthread.h>

#include "compiler/fuse/fuse_testing.h"

namespace berth::fuse {
namespace {

TEST(FuseElementwise, ChainsAreOneLoopUnlessTheyAreTooLong) {
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

TEST(FuseElementwise, RareFunctionsAreStepsToo) {
  for (const auto& [name, op] : std::vector<std::pair<std::string, std::string>>{
           {"sin", "28"}, {"cos", "29"}, {"log1p", "36"}, {"expm1", "37"}, {"floor", "38"}}) {
    const Fused one = fused(filled(R"(
      method forward(%x: f32[4,6]) {
        %a: f32[4,6] = aten::abs(%x)
        %b: f32[4,6] = aten::$name(%a)
        %c: f32[4,6] = aten::add.Tensor(%b, %x, 1)
        return %c
      })",
                                   {{"name", name}}));
    EXPECT_EQ(one.operators(), "berth::elementwise") << one.text;
    EXPECT_NE(one.text.find("[8, 0, 0, 0, " + op + ", 1, 0, 0, 0, 2, 0, 0]"), std::string::npos) << one.text;
  }
}

// A size that only a run knows, as where a sum is divided by how many there were, has no place among a chain's
// numbers. The fear: it is taken for 0.
TEST(FuseElementwise, SizesAreNotNumbersOfAChain) {
  for (const std::string step : {"add.Scalar(%a, n, 1)", "sub.Scalar(%a, n, 1)", "mul.Scalar(%a, n)",
                                 "div.Scalar(%a, n)", "rsub.Scalar(%a, n, 1)"}) {
    const Fused one = fused_at_every_size({{"n", 1, 5}}, R"(
      method forward(%x: f32[n,4]) {
        %a: f32[n,4] = aten::tanh(%x)
        %b: f32[n,4] = aten::)" + step + R"(
        %c: f32[n,4] = aten::sigmoid(%b)
        return %c
      }
    )");
    EXPECT_EQ(one.operators(), "aten::tanh aten::" + step.substr(0, step.find('(')) + " aten::sigmoid");
  }
}

// Models that are f16 or bf16 themselves. The fears: a result that is rounded on the way, a cast between a chain and a
// product, a chain that reads another type than its operators.
TEST(FuseElementwise, ChainsOf16BitsAreRoundedOnce) {
  for (const std::string type : {"bf16", "f16"}) {
    const Fused one = fuse_module(passes::parsed(filled(R"(
      method forward(%x: $t[4,6], %g: $t[6]) {
        %a: $t[4,6] = aten::mul.Tensor(%x, %g)
        %b: $t[4,6] = aten::sigmoid(%a)
        %c: $t[4,6] = aten::add.Tensor(%b, %x, 1)
        return %c
      })",
                                                        {{"t", type}})),
                                  7, 2e-2);
    EXPECT_EQ(one.operators(), "berth::elementwise") << one.text;
    // mul, sigmoid, add, to 16 bits.
    const std::string last = type == "f16" ? "34" : "35";
    EXPECT_NE(one.text.find("[2, 0, 1, 0, 16, 2, 0, 0, 0, 3, 0, 0, " + last + ", 4, 0, 0]"), std::string::npos)
        << one.text;
  }
}

TEST(FuseElementwise, ASingleOperatorOf16BitsIsAChain) {
  const std::string text = R"(
    method forward(%x: $t[4,6]) {
      %a: $t[4,6] = aten::tanh(%x)
      return %a
    })";
  EXPECT_EQ(fuse_module(passes::parsed(filled(text, {{"t", "f16"}})), 7, 2e-3).operators(), "berth::elementwise");
  EXPECT_EQ(fuse_module(passes::parsed(filled(text, {{"t", "f32"}})), 7, 2e-3).operators(), "aten::tanh");
  EXPECT_EQ(fuse_module(passes::parsed(filled(text, {{"t", "f64"}})), 7, 2e-3).operators(), "aten::tanh");
}

TEST(FuseElementwise, CastsToProductsAndFromThemAreStepsOfChains) {
  const Fused one = fuse_module(passes::parsed(R"(
    const @w: f16[2,2] = dense<[1.0, 2.0, 3.0, 4.0]>
    method forward(%x: f16[4,2]) {
      %w: f16[2,2] = const @w
      %a: f16[4,2] = aten::mm(%x, %w)
      %t: f16[4,2] = aten::tanh(%a)
      %s: f16[4,2] = aten::mul.Scalar(%t, 0.5)
      %y: f16[4,2] = aten::mm(%s, %w)
      return %y
    })"),
                                7, 1e-2);
  EXPECT_EQ(one.operators(),
            "dim_order_ops::_to_dim_order_copy berth::linear berth::elementwise berth::linear "
            "dim_order_ops::_to_dim_order_copy")
      << one.text;
}

// What two read has its type in memory, and is rounded to it.
TEST(FuseElementwise, AResultOf16BitsThatTwoReadStays) {
  const Fused one = fuse_module(passes::parsed(R"(
    method forward(%x: f16[4,2]) {
      %t: f16[4,2] = aten::tanh(%x)
      %s: f16[4,2] = aten::neg(%t)
      return %s, %t
    })"),
                                7, 1e-2);
  EXPECT_EQ(one.operators(), "berth::elementwise berth::elementwise") << one.text;
}

TEST(FuseElementwise, TypesMayMeetInAChain) {
  const Fused one = fuse_module(passes::parsed(R"(
    method forward(%x: f16[4,2], %y: f32[4,2], %z: bf16[4,2]) {
      %w: f32[4,2] = dim_order_ops::_to_dim_order_copy(%x, false, none, f32)
      %s: f32[4,2] = aten::mul.Tensor(%w, %y)
      %n: bf16[4,2] = dim_order_ops::_to_dim_order_copy(%s, false, none, bf16)
      %m: bf16[4,2] = aten::sub.Tensor(%n, %z, 1)
      return %m
    })"),
                                7, 5e-2);
  EXPECT_EQ(one.operators(), "berth::elementwise") << one.text;
}

void fuse_on_a_small_stack(ir::Module& module) {
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
}

// A step looks no further back than one loop is long: where each read all that is before it, a chain of 40 000 took
// 24 s, and a stack as deep as the chain, which is what shows here.
TEST(FuseElementwise, ChainsOfAnyLengthTakeLinearTime) {
  constexpr int kSteps = 64'000;
  std::string text = "method forward(%v0: f32[4]) {\n";
  for (int i = 0; i < kSteps; ++i) {
    text += "%v" + std::to_string(i + 1) + ": f32[4] = aten::tanh(%v" + std::to_string(i) + ")\n";
  }
  ir::Module module = passes::parsed(text + "return %v" + std::to_string(kSteps) + "\n}\n");
  fuse_on_a_small_stack(module);
  int loops = 0;
  ir::for_each_graph(module.methods[0], module.methods[0].body, [&](const ir::Graph& graph) {
    for (const ir::NodeId id : graph.nodes) loops += module.methods[0].node(id).is(ir::OpId::fused_elementwise_out);
  });
  EXPECT_EQ(loops, kSteps / 32);
}

// What two read is looked into for bytes that were made numbers, and no further: where that went on to what it is made
// of, sixty such sums took years.
TEST(FuseElementwise, SumsOfWhatTwoReadTakeLinearTime) {
  constexpr int kSums = 4000;
  std::string text = "method forward(%v0: f32[4], %v1: f32[4]) {\n";
  for (int i = 2; i < kSums + 2; ++i) {
    const std::string at = std::to_string(i), one = std::to_string(i - 1), two = std::to_string(i - 2);
    text += "%s" + at + ": f32[4] = aten::add.Tensor(%v" + one + ", %v" + two + ", 1)\n";
    text += "%v" + at + ": f32[4] = aten::sigmoid(%s" + at + ")\n";
  }
  ir::Module module = passes::parsed(text + "return %v" + std::to_string(kSums + 1) + "\n}\n");
  delegate_all(module);
  ASSERT_TRUE(passes::run(fuse_passes(cpu_targets()), module, passes::Options()).ok());
  int loops = 0;
  ir::for_each_graph(module.methods[0], module.methods[0].body, [&](const ir::Graph& graph) {
    for (const ir::NodeId id : graph.nodes) loops += module.methods[0].node(id).is(ir::OpId::fused_elementwise_out);
  });
  // The last but one has one reader alone.
  EXPECT_EQ(loops, kSums - 1);
}

// One step each, which the next reads and the caller too.
TEST(FuseElementwise, SumsWithBytesThatAreResultsTooAreNotReadToTheFirst) {
  constexpr int kSums = 4000;
  std::string text = "method forward(%v0: f32[4], %b: u8[4]) {\n";
  std::string results;
  for (int i = 1; i <= kSums; ++i) {
    const std::string at = std::to_string(i), before = std::to_string(i - 1);
    text += "%c" + at + ": f32[4] = dim_order_ops::_to_dim_order_copy(%b, false, none, f32)\n";
    text += "%v" + at + ": f32[4] = aten::add.Tensor(%v" + before + ", %c" + at + ", 1)\n";
    results += (i == 1 ? "%v" : ", %v") + at;
  }
  ir::Module module = passes::parsed(text + "return " + results + "\n}\n");
  fuse_on_a_small_stack(module);
}

// %to: bytes of %from, scale 0.25 and zero point 7.
std::string quantised(const std::string& from, const std::string& to, const std::string& type = "[2,8,5]") {
  return filled(R"(
    %$to.1: f32$type = aten::div.Scalar(%$from, 0.25)
    %$to.2: f32$type = aten::round(%$to.1)
    %$to.3: f32$type = aten::add.Scalar(%$to.2, 7.0, 1)
    %$to.4: f32$type = aten::clamp(%$to.3, 0.0, 255.0)
    %$to: u8$type = dim_order_ops::_to_dim_order_copy(%$to.4, false, none, u8)
)",
                {{"from", from}, {"to", to}, {"type", type}});
}

// %to: what the bytes %from stand for, scale 0.125 and zero point 100.
std::string dequantised(const std::string& from, const std::string& to, const std::string& type = "[2,8,5]") {
  return filled(R"(
    %$to.1: f32$type = dim_order_ops::_to_dim_order_copy(%$from, false, none, f32)
    %$to.2: f32$type = aten::sub.Scalar(%$to.1, 100.0, 1)
    %$to: f32$type = aten::mul.Scalar(%$to.2, 0.125)
)",
                {{"from", from}, {"to", to}, {"type", type}});
}

std::string method(const std::string& signature, const std::string& body) {
  return "method forward(" + signature + ") {\n" + body + "\n}\n";
}

TEST(FuseElementwise, BytesToBytesAreOneLoop) {
  const Fused one = fused(method("%q: u8[2,8,5], %p: i8[2,8,5]", dequantised("q", "x") + dequantised("p", "y") +
                                                                     "%s: f32[2,8,5] = aten::add.Tensor(%x, %y, 1)\n"
                                                                     "%r: f32[2,8,5] = aten::relu(%s)\n" +
                                                                     quantised("r", "out") + "\nreturn %out"));
  EXPECT_EQ(one.operators(), "berth::elementwise") << one.text;
  EXPECT_EQ(occurrences(one.text, ": f32"), 0u) << one.text;
}

// What a convolution would read as numbers, and a sum takes as bytes.
TEST(FuseElementwise, EveryReaderOfNumbersReadsTheBytes) {
  const Fused two = fused(method("%q: u8[2,8,5]", dequantised("q", "x") +
                                                      "%a: f32[2,8,5] = aten::tanh(%x)\n"
                                                      "%b: f32[2,8,5] = aten::mul.Tensor(%x, %x)\n" +
                                                      quantised("a", "c") + quantised("b", "d") + "\nreturn %c, %d"));
  EXPECT_EQ(two.operators(), "berth::elementwise berth::elementwise") << two.text;
  EXPECT_EQ(occurrences(two.text, ": f32"), 0u) << two.text;
}

// The chain before the bytes runs once, though each reader of the bytes could take it along.
TEST(FuseElementwise, BytesThatSeveralReadAreMadeOnce) {
  std::string body = "%t: f32[2,8,5] = aten::tanh(%x)" + quantised("t", "q") + dequantised("q", "y");
  for (const char* name : {"a", "b", "c"}) {
    body += filled(R"(
      %$n: f32[2,8,5] = aten::mul.Tensor(%y, %y)
      %$n.e: f32[2,8,5] = aten::exp(%$n))",
                   {{"n", name}});
  }
  const Fused four = fused(method("%x: f32[2,8,5]", body + "\nreturn %a.e, %b.e, %c.e"));
  EXPECT_EQ(occurrences(four.text, "berth::elementwise([%x"), 1u) << four.text;
  EXPECT_EQ(occurrences(four.text, "u8[2,8,5] = berth::elementwise"), 1u) << four.text;
}

TEST(FuseElementwise, ActivationsBetweenBytesAreInTheLoop) {
  for (const char* activation :
       {R"(%r: f32[2,8,5] = aten::gelu(%x, "none"))", R"(%r: f32[2,8,5] = aten::gelu(%x, "tanh"))",
        "%r: f32[2,8,5] = aten::leaky_relu(%x, 0.25)", "%r: f32[2,8,5] = aten::elu(%x, 0.5, 1, 1)"}) {
    const Fused one =
        fused(method("%q: u8[2,8,5]", dequantised("q", "x") + activation + quantised("r", "out") + "\nreturn %out"));
    EXPECT_EQ(one.operators(), "berth::elementwise") << one.text;
  }
  const Fused scaled =
      fused(method("%q: u8[2,8,5]", dequantised("q", "x") + "%r: f32[2,8,5] = aten::elu(%x, 0.5, 2, 1)" +
                                        quantised("r", "out") + "\nreturn %out"));
  EXPECT_EQ(occurrences(scaled.text, "aten::elu"), 1u) << scaled.text;
}

TEST(FuseElementwise, OperatorsOfQuantisationAreLoopsToo) {
  const Fused one = fused(method("%q: i8[2,8,5]", R"(
    %x: f32[2,8,5] = quantized_decomposed::dequantize_per_tensor(%q, 0.1, -3, -128, 127, i8, none)
    %y: f32[2,8,5] = aten::sigmoid(%x)
    %r: i8[2,8,5] = quantized_decomposed::quantize_per_tensor(%y, 0.00390625, -128, -128, 127, i8)
    return %r)"));
  EXPECT_EQ(one.operators(), "berth::elementwise") << one.text;
}

// Their last bits are others: in f64, of a larger range, of another size.
TEST(FuseElementwise, LeavesCastsThatAreMoreThanASubstitute) {
  for (const char* body : {R"(
         %a: f64[4] = dim_order_ops::_to_dim_order_copy(%x, false, none, f64)
         %b: f64[4] = aten::mul.Tensor(%a, %a)
         return %b)",
                           R"(
         %a: i32[4] = dim_order_ops::_to_dim_order_copy(%x, false, none, i32)
         %b: f32[4] = dim_order_ops::_to_dim_order_copy(%a, false, none, f32)
         return %b)"}) {
    const Fused kept = fused(method("%x: f32[4]", body));
    EXPECT_EQ(kept.operators().find("berth::"), std::string::npos) << kept.text;
  }
}

}  // namespace
}  // namespace berth::fuse
