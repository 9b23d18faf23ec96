// Models that say what the IR cannot hold, or ask for far more work than they are long. body() asks the verifier.
#include "compiler/import/onnx/model_testing.h"

namespace berth::onnx {
namespace {

constexpr int64_t kHuge = INT32_MAX;

// Without elements there is nothing to follow, whatever the other sizes are: no list of 2^31 rows is made of them.
TEST(MalformedInput, TensorsWithoutElementsAreNotFollowed) {
  TestModel m(13);
  m.tensor("none", {kHuge, 0, kHuge, kHuge}, ElementType::kInt64);
  m.ints("start", {0});
  m.ints("end", {kHuge});
  m.ints("axis", {0});
  m.node("Slice", {"none", "start", "end", "axis"}, {"part"});
  m.node("Transpose", {"part"}, {"y"}).set("perm", std::vector<int64_t>{1, 0, 3, 2});
  m.output("y");
  EXPECT_CONTAINS(body(m), "%y: i64[0,2147483647,2147483647,2147483647] = aten::permute_copy");
}

// Sizes that are followed have any number of dimensions; a tensor of them has not.
TEST(MalformedInput, TooManyDimensionsAreRefusedInATensor) {
  TestModel m(13);
  m.ints("sizes", {1, 2, 3});
  std::vector<int64_t> axes;
  for (int64_t i = 0; i < 20; ++i) axes.push_back(i);
  m.ints("axes", axes);
  m.node("Unsqueeze", {"sizes", "axes"}, {"y"});
  m.output("y");
  EXPECT_CONTAINS(failure(m), "expected at most 16 dimensions");
}

// An LSTM over a batch whose size only the run tells starts from zeros of that size.
TEST(MalformedInput, RecurrentLayersStartFromZerosOfAnOpenBatch) {
  TestModel m(14);
  m.symbolic_input("x", {"2", "n", "3"});
  m.floats("w", {1, 16, 3}, std::vector<float>(48, 0.5F));
  m.floats("r", {1, 16, 4}, std::vector<float>(64, 0.5F));
  m.node("LSTM", {"x", "w", "r"}, {"y"}).set("hidden_size", 4);
  m.output("y");
  ImportOptions options;
  options.input_shapes = {{"x", "2x1..8x3"}};
  EXPECT_CONTAINS(body(m, options), "= aten::full([n, 4], 0.0, f32)");
}

}  // namespace
}  // namespace berth::onnx
