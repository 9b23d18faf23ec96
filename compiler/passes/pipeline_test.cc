#include "compiler/passes/pipeline.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/text_testing.h"
#include "compiler/passes/passes_testing.h"

namespace berth::passes {
namespace {

constexpr char kModel[] = R"(
  const @w: f32[2,3] = dense<[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]>
  const @b: f32[2] = dense<[0.5, -0.5]>
  method forward(%x: f32[1,3]) {
    %w: f32[2,3] = const @w
    %b: f32[2] = const @b
    %t: f32[3,2] = aten::permute_copy(%w, [1, 0])
    %u: f32[1,1,3] = aten::unsqueeze_copy(%x, 0)
    %v: f32[1,3] = aten::squeeze_copy.dim(%u, 0)
    %m: f32[1,2] = aten::mm(%v, %t)
    %c: f32[1,2] = aten::clone(%m)
    %y: f32[1,2] = aten::add.Tensor(%c, %b)
    %r: f32[1,2] = aten::relu(%y)
    return %r
  })";

Expected<Changed> whole(ir::Module& module, const Options& options) {
  const Status status = run(pipeline(), module, options);
  if (!status.ok()) return status.error();
  return Changed::kYes;
}

TEST(Pipeline, ReducesALinearLayerToTwoNodes) {
  EXPECT_EQ(after(whole, kModel), dedent(R"(
    const @t: f32[3,2] = dense<[1, 4, 2, 5, 3, 6]>
    const @t_1_bias: f32[2] = dense<[0.5, -0.5]>

    method forward(%x: f32[1,3]) {
      %t_1: f32[3,2] = const @t
      %t_1_bias: f32[2] = const @t_1_bias
      %m: f32[1,2] = aten::addmm(%t_1_bias, %x, %t_1, 1, 1)
      %r: f32[1,2] = aten::relu(%m)
      return %r
    }
  )"));
  expect_keeps_outputs(whole, kModel, 1e-6);
}

TEST(Pipeline, ChangesNothingTheSecondTime) {
  ir::Module module = parsed(kModel);
  ASSERT_TRUE(run(pipeline(), module, Options()).ok());
  const std::string once = ir::print(module);
  ASSERT_TRUE(run(pipeline(), module, Options()).ok());
  EXPECT_EQ(ir::print(module), once);
}

class PipelineTest : public testing::Test {
 protected:
  void SetUp() override {
    options_.dump_dir = testing::TempDir() + "berth_dumps_" + std::to_string(::getpid());
    std::filesystem::create_directory(options_.dump_dir);
  }
  void TearDown() override { std::filesystem::remove_all(options_.dump_dir); }
  std::string read(const std::string& name) {
    std::ifstream file(options_.dump_dir + "/" + name);
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
  }
  Options options_;
};

TEST_F(PipelineTest, DumpsOnlyWhatChanged) {
  ir::Module module = parsed(kModel);
  ASSERT_TRUE(run(pipeline(), module, options_).ok());
  EXPECT_NE(read("00-input.ir").find("aten::clone"), std::string::npos);
  EXPECT_EQ(read("02-dce.ir"), "");  // everything is read
  EXPECT_EQ(read("03-simplify.ir").find("aten::clone"), std::string::npos);
  EXPECT_NE(read("03-simplify.ir").find("aten::permute_copy"), std::string::npos);
}

Expected<Changed> break_it(ir::Module& module, const Options&) {
  module.methods[0].value(module.methods[0].body.inputs[0]).tensor()->shape[0] = ir::Dim(7);
  return Changed::kYes;
}

Expected<Changed> give_up(ir::Module&, const Options&) { return Failure{Error::kInternal, "here", "no idea"}; }

TEST_F(PipelineTest, ADumpReproducesAFailure) {
  const Pass passes[] = {{"give_up", give_up}};
  ir::Module module = parsed(kModel);
  const Status status = run(passes, module, options_);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().text(), "pass give_up, here: no idea; to repeat it: berth compile " + options_.dump_dir +
                                       "/01-before-give_up.ir -o again.pte --why give_up");
  // The file stands alone.
  EXPECT_TRUE(ir::parse(read("01-before-give_up.ir"), "again").ok());
  const Status silent = run(passes, module, Options());
  EXPECT_NE(silent.error().text().find("--dump-ir DIR"), std::string::npos);
}

TEST(Pipeline, ABrokenModuleIsFoundRightAfterTheBrokenPass) {
  const Pass passes[] = {{"dce", pipeline()[1].run}, {"break_it", break_it}, {"give_up", give_up}};
  ir::Module module = parsed(kModel);
  Options options;
  options.verify = true;
  const Status status = run(passes, module, options);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().place.find("pass break_it, method forward"), 0u) << status.error().text();
}

TEST(Pipeline, TimesNameEveryPassThatRan) {
  ir::Module module = parsed(kModel);
  std::vector<PassTime> times;
  ASSERT_TRUE(run(pipeline(), module, Options(), &times).ok());
  ASSERT_EQ(times.size(), pipeline().size());
  EXPECT_EQ(times[0].name, "hoist_state_writes");
  EXPECT_GE(times[0].ms, 0);
}

}  // namespace
}  // namespace berth::passes
