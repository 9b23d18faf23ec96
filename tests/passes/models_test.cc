// Every pass, one after the other, on the models that the repository holds: the evaluator gives after each what it gave
// before it, and at the end what PyTorch gave.
#include "compiler/import/onnx/import_onnx.h"
#include "compiler/passes/passes_testing.h"
#include "tools/npy.h"

namespace berth::passes {
namespace {

std::string path_of(const std::string& model, const std::string& file) {
  return std::string(BERTH_SOURCE_DIR) + "/models/" + model + "/" + file;
}

eval::Item array_of(const std::string& model, const std::string& file) {
  const auto read = tool::read_npy(path_of(model, file));
  EXPECT_TRUE(read.ok()) << (read.ok() ? "" : read.error().text());
  eval::Array array;
  if (read.ok()) {
    array.dtype = read->dtype;
    array.sizes.assign(read->shape.begin(), read->shape.end());
    array.bytes.assign(read->bytes.begin(), read->bytes.end());
  }
  return eval::Item(std::in_place_type<eval::Array>, std::move(array));
}

class PassesOnModels : public testing::TestWithParam<const char*> {};

TEST_P(PassesOnModels, KeepTheOutputs) {
  auto loaded = import_onnx(path_of(GetParam(), "model.onnx"));
  ASSERT_TRUE(loaded.ok()) << loaded.error().text();
  ir::Module module = std::move(*loaded);
  const std::vector<eval::Item> inputs = {array_of(GetParam(), "in0.npy")};
  auto first = eval::evaluate(module, module.methods[0], inputs);
  ASSERT_TRUE(first.ok()) << first.error().text();
  std::vector<eval::Item> before = std::move(*first);
  Options options;
  options.verify = true;
  for (const Pass& pass : pipeline()) {
    SCOPED_TRACE(std::string(pass.name));
    const Status done = run({&pass, 1}, module, options);
    ASSERT_TRUE(done.ok()) << done.error().text();
    const Status sound = ir::verify(module);
    ASSERT_TRUE(sound.ok()) << sound.error().text();
    auto after = eval::evaluate(module, module.methods[0], inputs);
    ASSERT_TRUE(after.ok()) << after.error().text();
    ASSERT_EQ(after->size(), before.size());
    // Folding scales into weights rounds differently; nothing else may.
    const double tolerance = pass.name == "fold_batch_norm" ? 1e-5 : 0;
    for (size_t i = 0; i < before.size(); ++i) expect_close(before[i], (*after)[i], tolerance);
    before = std::move(*after);
  }
  expect_close(array_of(GetParam(), "out0.npy"), before[0], 1e-4);
}

INSTANTIATE_TEST_SUITE_P(All, PassesOnModels, testing::Values("digits", "dscnn_kws", "lstm_tagger", "randwire"));

}  // namespace
}  // namespace berth::passes
