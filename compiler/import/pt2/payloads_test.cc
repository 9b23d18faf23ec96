#include "base/text_testing.h"
#include "compiler/import/pt2/archive_testing.h"

namespace berth::pt2 {
namespace {

/// The IR of a model that returns the parameter "w", its payload file being 0, 1, 2, … of `count`.
Expected<ir::Module> returning(const json& meta, size_t count) {
  TestProgram p;
  std::vector<float> numbers(count);
  for (size_t i = 0; i < count; ++i) numbers[i] = static_cast<float>(i);
  p.payload("weight_0", numbers);
  p.parameter("p_w", "w", meta, "weight_0");
  p.output("p_w");
  return p.import();
}

std::string text_of_weight(const json& meta, size_t count) {
  const auto module = returning(meta, count);
  return module.ok() ? ir::print(*module) : module.error().text();
}

TEST(Payloads, DenseTensorsKeepTheirBytesAndDimensionOrder) {
  // [2, 3] by columns: element (i, j) is i + 2 j.
  EXPECT_EQ(text_of_weight(tensor_meta({2, 3}, kF32, {1, 2}), 6), dedent(R"(
    const @w: f32[3,2] = dense<[0, 1, 2, 3, 4, 5]>

    method forward() {
      %w: f32[3,2] = const @w
      %w.permuted: f32[2,3] = aten::permute_copy(%w, [1, 0]) "w"
      return %w.permuted
    }
  )"));
}

TEST(Payloads, APartOfAStorageIsThatPart) {
  EXPECT_EQ(text_of_weight(tensor_meta({2}, kF32, {1}, 3), 6), dedent(R"(
    const @w: f32[2] = dense<[3, 4]>

    method forward() {
      %w: f32[2] = const @w
      return %w
    }
  )"));
}

TEST(Payloads, AStrideOfZeroIsOneElement) {
  EXPECT_EQ(text_of_weight(tensor_meta({4, 2}, kF32, {0, 1}), 2), dedent(R"(
    const @w: f32[1,2] = dense<[0, 1]>

    method forward() {
      %w: f32[1,2] = const @w
      %w.expanded: f32[4,2] = aten::expand_copy(%w, [4, 2], false) "w"
      return %w.expanded
    }
  )"));
}

TEST(Payloads, GapsAreNotRead) {
  EXPECT_EQ(text_of_weight(tensor_meta({2, 2}, kF32, {4, 2}, 1), 8), dedent(R"(
    const @w: f32[2,2] = dense<[1, 3, 5, 7]>

    method forward() {
      %w: f32[2,2] = const @w
      return %w
    }
  )"));
}

TEST(Payloads, StridesBeyondTheFileAreRefused) {
  for (const json& meta : {tensor_meta({7}), tensor_meta({2, 3}, kF32, {4, 1}), tensor_meta({2}, kF32, {1}, 5),
                           tensor_meta({3}, kF32, {int64_t{1} << 62})}) {
    const std::string message = text_of_weight(meta, 6);
    EXPECT_NE(message.find("pt2 tensor \"w\": its sizes and strides reach element"), std::string::npos) << message;
  }
}

TEST(Payloads, AbsurdSizesAreRefused) {
  EXPECT_NE(text_of_weight(tensor_meta({int64_t{1} << 40, int64_t{1} << 40}, kF32, {0, 0}), 6).find("more than 2^40"),
            std::string::npos);
  EXPECT_NE(text_of_weight(tensor_meta({-1}), 6).find("not a number of at least 0"), std::string::npos);
  EXPECT_NE(text_of_weight(tensor_meta({3}, kF32, {-1}), 6).find("not a number of at least 0"), std::string::npos);
  EXPECT_NE(text_of_weight(tensor_meta({3}, 99), 6).find("is not an element type"), std::string::npos);
}

TEST(Payloads, TiedWeightsAreOneConstant) {
  TestProgram p;
  p.payload("weight_0", {1, 2, 3, 4});
  p.parameter("p_a", "a", tensor_meta({4}), "weight_0");
  p.parameter("p_b", "b", tensor_meta({4}), "weight_0");
  p.output("p_a");
  p.output("p_b");
  const std::string path = ::testing::TempDir() + "/tied.pt2";
  const std::string bytes = p.bytes();
  FILE* file = std::fopen(path.c_str(), "wb");
  ASSERT_NE(file, nullptr);
  std::fwrite(bytes.data(), 1, bytes.size(), file);
  std::fclose(file);
  const auto module = import_pt2(path);
  ASSERT_TRUE(module.ok()) << module.error().text();
  ASSERT_EQ(module->constants.size(), 1u);
  EXPECT_TRUE(module->constants[{0}].blob.is_mapped());
  EXPECT_EQ(module->constants[{0}].blob.file_offset() % 64, 0u);
  EXPECT_EQ(module->methods[0].body.outputs[0], module->methods[0].body.outputs[1]);
  std::remove(path.c_str());
}

TEST(Payloads, PicklesAreRefused) {
  TestProgram p;
  p.input("x", {2});
  p.special_input(tensor("obj"), {{"custom_obj", {{"arg", {{"name", "obj"}}}, {"custom_obj_name", "thing"}}}});
  p.output("x");
  EXPECT_NE(failure_of(p.import()).find("is a custom object, \"thing\""), std::string::npos);
}

TEST(Payloads, MissingWeightsAreNamed) {
  TestProgram p;
  p.special_input(tensor("p_w"), {{"parameter", {{"arg", {{"name", "p_w"}}}, {"parameter_name", "layer.w"}}}});
  p.output("p_w");
  EXPECT_NE(failure_of(p.import()).find("pt2 tensor \"layer.w\": is not in the archive"), std::string::npos);
}

}  // namespace
}  // namespace berth::pt2
