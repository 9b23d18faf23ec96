// Weights in the order of the kernels. The fears: a packed weight that is read as dense, or another's; scales and zero
// points that stay where they were; one weight packed twice; what cannot be packed that is lost.
#include "compiler/fuse/pack_weights.h"

#include "base/half.h"
#include "compiler/fuse/fuse_testing.h"
#include "kernels/cpu/quantized_packing.h"

#ifdef BERTH_HIGHWAY

namespace berth::fuse {
namespace {

// After pack_weights alone, for this instruction set or the machine's own.
ir::Module packed(const std::string& text, const std::string& isa = "", DType weights = DType::kF32,
                  bool byte_activations = false) {
  ir::Module module = passes::parsed(text);
  delegate_all(module);
  Targets targets = *targets::parse_targets("cpu");
  if (!isa.empty()) targets[0].isa = isa;
  targets[0].weights = weights;
  targets[0].byte_activations = byte_activations;
  const auto changed = pack_weights(module, targets, {});
  EXPECT_TRUE(changed.ok());
  return module;
}

std::vector<const ir::Node*> nodes_of(const ir::Module& module, ir::OpId op) {
  std::vector<const ir::Node*> found;
  const ir::Method& method = module.methods[0];
  ir::for_each_graph(method, method.body, [&](const ir::Graph& graph) {
    for (ir::NodeId id : graph.nodes) {
      if (method.node(id).is(op)) found.push_back(&method.node(id));
    }
  });
  return found;
}

const ir::Constant& constant_at(const ir::Module& module, const ir::Node& node, size_t k) {
  return *ir::constant_of(module, module.methods[0], node.args[k]);
}

std::string numbers(int count, int low, int high) {
  std::string text;
  for (int i = 0; i < count; ++i) text += (i == 0 ? "" : ", ") + std::to_string(low + i * 37 % (high - low + 1));
  return text;
}

std::string reals(int count) {
  std::string text;
  for (int i = 0; i < count; ++i) text += (i == 0 ? "" : ", ") + std::to_string(i * 5 % 17 * 0.25 - 1);
  return text;
}

// A product with a weight of 8 bits of 16 rows, in blocks of 8, and 80 columns, 16 of them in a second panel. More that
// fills up would make it 21 twentieths as large, and it would stay dense.
std::string narrow_text(const std::string& zeros_type, const std::string& zeros, const std::string& scales = reals(160),
                        int block = 8) {
  return filled(R"(
    const @w: i8[16,80] = dense<[$w]>
    const @s: f32[2,80] = dense<[$s]>
    const @z: $type[2,80] = dense<[$z]>
    method forward(%x: f32[3,16]) {
      %w: i8[16,80] = const @w
      %s: f32[2,80] = const @s
      %z: $type[2,80] = const @z
      %y: f32[3,80] = berth::narrow_linear(%x, %w, %s, %z, none, none, 8, $block, "none", 0.0, 0.0, "")
      return %y
    })",
                {{"w", numbers(16 * 80, -128, 127)},
                 {"s", scales},
                 {"type", zeros_type},
                 {"z", zeros},
                 {"block", std::to_string(block)}});
}

TEST(PackWeights, NarrowOnesLieInPanelsWithTheirScalesAndZeroPoints) {
  namespace at = arg::fused_narrow_linear_out;
  for (const char* isa : {"avx512", "avx2", "generic"}) {
    const ir::Module module = packed(narrow_text("i8", numbers(160, -9, 9)), isa);
    const auto nodes = nodes_of(module, ir::OpId::fused_narrow_linear_out);
    ASSERT_EQ(nodes.size(), 1U);
    EXPECT_EQ(std::get<std::string>(nodes[0]->args[at::packing]), "panels 64 [16,80]");
    const std::vector<uint8_t> weight = constant_at(module, *nodes[0], at::weight).blob.to_vector();
    const std::vector<uint8_t> scales = constant_at(module, *nodes[0], at::scales).blob.to_vector();
    const std::vector<uint8_t> zeros = constant_at(module, *nodes[0], at::zero_points).blob.to_vector();
    ASSERT_EQ(weight.size(), 80U * 16);
    EXPECT_EQ(constant_at(module, *nodes[0], at::scales).type.dtype, DType::kF16);
    ASSERT_EQ(scales.size(), 80U * 2 * sizeof(Half));
    ASSERT_EQ(zeros.size(), 80U * 2);
    EXPECT_EQ(constant_at(module, *nodes[0], at::zero_points).type.dtype, DType::kI8);
    for (int j = 0; j < 80; ++j) {
      const int panel = j / 64, width = panel == 0 ? 64 : 16;
      for (int k = 0; k < 16; ++k) {
        const int number = -128 + (k * 80 + j) * 37 % 256;
        EXPECT_EQ(weight[panel * 64 * 16 + (k / 4 * width + j % 64) * 4 + k % 4], number + 128) << k << ", " << j;
      }
      for (int b = 0; b < 2; ++b) {
        const int place = panel * 64 * 2 + b * width + j % 64;
        Half scale;
        std::memcpy(&scale, &scales[place * sizeof scale], sizeof scale);
        EXPECT_EQ(static_cast<float>(scale), static_cast<float>((b * 80 + j) * 5 % 17 * 0.25 - 1)) << b << ", " << j;
        EXPECT_EQ(static_cast<int8_t>(zeros[place]), -9 + (b * 80 + j) * 37 % 19) << b << ", " << j;
      }
    }
  }
}

// The first of 160 scales; the others are numbers of f16. 2^-24 is the smallest of these, 65504 the largest.
TEST(PackWeights, ScalesThatAreNotAllOfF16StayWhatTheyAre) {
  namespace at = arg::fused_narrow_linear_out;
  for (const auto& [first, half] : {std::pair{"5.9604644775390625e-08", true},
                                    {"-65504.0", true},
                                    {"-0.0", true},
                                    {"0.1", false},
                                    {"2.9802322387695312e-08", false},
                                    {"65520.0", false},
                                    {"1.00048828125", false}}) {
    const ir::Module module = packed(narrow_text("i8", numbers(160, -9, 9), std::string(first) + ", " + reals(159)));
    const auto nodes = nodes_of(module, ir::OpId::fused_narrow_linear_out);
    ASSERT_EQ(nodes.size(), 1U);
    EXPECT_NE(std::get<std::string>(nodes[0]->args[at::packing]), "") << first;
    const ir::Constant& scales = constant_at(module, *nodes[0], at::scales);
    EXPECT_EQ(scales.type.dtype, half ? DType::kF16 : DType::kF32) << first;
    float stored = 0;
    const std::vector<uint8_t> bytes = scales.blob.to_vector();
    if (half) {
      Half narrow;
      std::memcpy(&narrow, bytes.data(), sizeof narrow);
      stored = narrow;
    } else {
      std::memcpy(&stored, bytes.data(), sizeof stored);
    }
    EXPECT_EQ(stored, std::stof(first)) << first;
    EXPECT_EQ(std::signbit(stored), first[0] == '-') << first;
  }
}

TEST(PackWeights, InputsOfNarrowOnesAreRoundedForBf16Alone) {
  namespace at = arg::fused_narrow_linear_out;
  for (const auto& [weights, text] : {std::pair{DType::kF32, "panels 64 [16,80]"},
                                      {DType::kF16, "panels 64 [16,80]"},
                                      {DType::kBF16, "panels 64 [16,80] digits 2"}}) {
    const ir::Module module = packed(narrow_text("i8", numbers(160, -9, 9)), "", weights);
    EXPECT_EQ(std::get<std::string>(nodes_of(module, ir::OpId::fused_narrow_linear_out)[0]->args[at::packing]), text);
  }
}

TEST(PackWeights, ActivationsOfNarrowOnesHaveOneDigitWhereTheyAreAskedForAlone) {
  namespace at = arg::fused_narrow_linear_out;
  for (const DType weights : {DType::kF32, DType::kF16, DType::kBF16}) {
    const ir::Module module = packed(narrow_text("i8", numbers(160, -9, 9)), "", weights, true);
    EXPECT_EQ(std::get<std::string>(nodes_of(module, ir::OpId::fused_narrow_linear_out)[0]->args[at::packing]),
              "panels 64 [16,80] digits 1");
  }
}

TEST(PackWeights, ZeroPointsThatAreNotWholeStayReal) {
  namespace at = arg::fused_narrow_linear_out;
  const ir::Module module = packed(narrow_text("f32", reals(160)));
  const auto nodes = nodes_of(module, ir::OpId::fused_narrow_linear_out);
  ASSERT_EQ(nodes.size(), 1U);
  const ir::Constant& zeros = constant_at(module, *nodes[0], at::zero_points);
  EXPECT_NE(zeros.name, "z");
  EXPECT_EQ(zeros.type.dtype, DType::kF32);
  EXPECT_EQ(zeros.blob.size(), 80U * 2 * sizeof(float));
}

// A scale that is not finite has IEEE's answer in the portable kernel alone; blocks of three rows begin within a group.
TEST(PackWeights, NarrowOnesThatDoNotFitStayAsTheyAre) {
  namespace at = arg::fused_narrow_linear_out;
  const std::string zeros = numbers(160, -9, 9);
  for (const std::string& text :
       {narrow_text("i8", zeros, "inf, " + reals(159)), narrow_text("i8", zeros, reals(159) + ", nan"),
        narrow_text("i8", zeros, reals(160), 11)}) {
    const ir::Module module = packed(text);
    const auto nodes = nodes_of(module, ir::OpId::fused_narrow_linear_out);
    ASSERT_EQ(nodes.size(), 1U);
    EXPECT_EQ(std::get<std::string>(nodes[0]->args[at::packing]), "");
    EXPECT_EQ(constant_at(module, *nodes[0], at::weight).name, "w");
    EXPECT_EQ(constant_at(module, *nodes[0], at::scales).name, "s");
  }
}

// Two products of u8 with one weight of 6 rows and 5 columns.
const std::string kQuantized =
    filled(R"(
  const @w: i8[6,5] = dense<[$w]>
  const @s: f32[5] = dense<[0.5, 0.25, 1.0, 2.0, 0.125]>
  method forward(%x: u8[3,6], %z: u8[2,6]) {
    %w: i8[6,5] = const @w
    %s: f32[5] = const @s
    %a: f32[3,5] = berth::quantized_linear(%x, none, none, %w, none, %s, none, none, $rest)
    %b: f32[2,5] = berth::quantized_linear(%z, none, none, %w, none, %s, none, none, $rest)
    return %a, %b
  })",
           {{"w", numbers(30, -128, 127)},
            {"rest", R"("none", 0.0, 0.0, 0.0, 0, 1.0, 0, 1.0, 0, 0, 255, "divide", f32, "")"}});

TEST(PackWeights, QuantizedOnesAreReplacedOnceForAllWhoReadThem) {
  namespace at = arg::quantized_linear_out;
  const ir::Module module = packed(kQuantized, "avx2");
  const auto nodes = nodes_of(module, ir::OpId::quantized_linear_out);
  ASSERT_EQ(nodes.size(), 2U);
  const ir::Constant& weight = constant_at(module, *nodes[0], at::weight);
  EXPECT_EQ(&weight, &constant_at(module, *nodes[1], at::weight));
  EXPECT_EQ(weight.name, "w_packed");
  EXPECT_EQ(weight.type.dtype, DType::kI8);
  EXPECT_EQ(constant_at(module, *nodes[0], at::scale).name, "s");
  const std::string text = std::get<std::string>(nodes[0]->args[at::packing]);
  EXPECT_EQ(text, std::get<std::string>(nodes[1]->args[at::packing]));
  cpu::QuantizedLayout layout;
  const auto bytes = static_cast<int64_t>(weight.blob.size());
  ASSERT_TRUE(cpu::read_quantized_packing({text.data(), text.size()}, bytes, false, 1, true, &layout)) << text;
  EXPECT_EQ(layout.depth, 6);
  EXPECT_EQ(layout.columns, 5);
  // Each number is there, beside zeros that fill up.
  const std::vector<uint8_t> dense = passes::parsed(kQuantized).constants.begin()->blob.to_vector();
  const std::vector<uint8_t> packed_bytes = weight.blob.to_vector();
  ASSERT_EQ(dense.size(), 30U);
  for (int64_t j = 0; j < layout.columns; ++j) {
    for (int64_t k = 0; k < layout.depth; ++k) {
      const int64_t place =
          layout.column_place(j) + k / cpu::kQuad * cpu::kQuad * layout.panel_columns() + k % cpu::kQuad;
      EXPECT_EQ(packed_bytes[place], dense[k * 5 + j]) << k << ", " << j;
    }
  }
}

TEST(PackWeights, GenericLeavesQuantizedOnesDense) {
  namespace at = arg::quantized_linear_out;
  const ir::Module module = packed(kQuantized, "generic");
  for (const ir::Node* node : nodes_of(module, ir::OpId::quantized_linear_out)) {
    EXPECT_EQ(std::get<std::string>(node->args[at::packing]), "");
    EXPECT_EQ(constant_at(module, *node, at::weight).name, "w");
  }
}

TEST(PackWeights, WeightsThatAreComputedStay) {
  const ir::Module module = packed(R"(
    method forward(%x: u8[3,6], %w: i8[6,5], %s: f32[5]) {
      %a: f32[3,5] = berth::quantized_linear(%x, none, none, %w, none, %s, none, none, "none", 0.0, 0.0, 0.0, 0, 1.0, 0, 1.0, 0, 0, 255, "divide", f32, "")
      return %a
    })");
  const auto nodes = nodes_of(module, ir::OpId::quantized_linear_out);
  ASSERT_EQ(nodes.size(), 1U);
  EXPECT_EQ(std::get<std::string>(nodes[0]->args[arg::quantized_linear_out::packing]), "");
  EXPECT_TRUE(module.constants.empty());
}

}  // namespace
}  // namespace berth::fuse

#endif
