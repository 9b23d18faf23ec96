// Programs with data files: both are written or neither, and nothing that is needed is written over.
#include "compiler/data_files.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "compiler/compile.h"
#include "compiler/import/pte/external_data.h"
#include "compiler/ir/parse.h"
#include "compiler/ir/print.h"
#include "format/program_view.h"

namespace berth {
namespace {

constexpr const char* kTwoWeights = R"(
  const @first.weight: f32[4] = dense<[1, 2, 3, 4]>
  const @second.weight: f32[4] = dense<[5, 6, 7, 8]>
  method forward(%x: f32[4]) {
    %first.weight: f32[4] = const @first.weight
    %second.weight: f32[4] = const @second.weight
    %a: f32[4] = aten::mul.Tensor(%x, %first.weight)
    %y: f32[4] = aten::add.Tensor(%a, %second.weight)
    return %y
  })";

class DataFilesTest : public ::testing::Test {
 protected:
  void SetUp() override { std::filesystem::create_directories(folder_); }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string in(const std::string& name) const { return folder_ + "/" + name; }
  bool exists(const std::string& name) const { return std::filesystem::exists(in(name)); }
  static std::string contents(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  }

  Status compile(const std::vector<std::string>& external, const std::string& program = "model.pte") {
    options_.external_constants = external;
    return compile_to_file(ir::parse(kTwoWeights, "test").value(), options_, in(program), &report_);
  }
  std::string refusal(const std::vector<std::string>& external, const std::string& program = "model.pte") {
    const Status status = compile(external, program);
    return status.ok() ? "accepted" : status.error().text();
  }

  const std::string folder_ = ::testing::TempDir() + "berth_data_files_" + std::to_string(::getpid());
  CompileOptions options_;
  CompileReport report_;
};

TEST_F(DataFilesTest, AProgramWithItsDataFileIsTheModelAgain) {
  const Status status = compile({in("model.ptd")});
  ASSERT_TRUE(status.ok()) << status.error().text();
  ASSERT_EQ(report_.external.size(), 1u);
  EXPECT_EQ(report_.external[0].constants, 2);
  EXPECT_EQ(report_.external[0].bytes, 32);
  EXPECT_EQ(report_.constant_bytes, 0);
  EXPECT_LT(contents(in("model.ptd")).size(), 1024u);
  const auto again = load_model(in("model.pte"), {});
  ASSERT_TRUE(again.ok()) << again.error().text();
  const std::string text = ir::print(*again);
  EXPECT_NE(text.find("first.weight: f32[4] = dense<[1, 2, 3, 4]>"), std::string::npos) << text;
  EXPECT_NE(text.find("second.weight: f32[4] = dense<[5, 6, 7, 8]>"), std::string::npos) << text;
}

TEST_F(DataFilesTest, WhatDelegatesReadLiesThereToo) {
  options_.target = "sim:0";
  const Status status = compile({"first*=" + in("model.ptd")});
  ASSERT_TRUE(status.ok()) << status.error().text();
  ASSERT_EQ(report_.external.size(), 1u);
  EXPECT_EQ(report_.external[0].constants, 1);
  const std::string file = contents(in("model.pte"));
  const std::vector<uint8_t> bytes(file.begin(), file.end());
  format::ProgramView view;
  ASSERT_EQ(format::ProgramView::open(bytes, &view, nullptr), Error::kOk);
  const std::vector<ExternalUse> uses = external_uses(view);
  ASSERT_EQ(uses.size(), 1u) << "the other is in the program";
  EXPECT_EQ(uses[0].key, "first.weight");
  const auto data = ExternalData::open({in("model.ptd")});
  ASSERT_TRUE(data.ok());
  ASSERT_TRUE(data->find(uses[0]).ok());
  const float expected[] = {1, 2, 3, 4};
  ASSERT_EQ(data->find("first.weight")->size, sizeof expected);
  EXPECT_EQ(std::memcmp(data->find("first.weight")->bytes().data(), expected, sizeof expected), 0);
  EXPECT_EQ(data_file_beside(view, in("model.pte")), in("model.ptd"));
  // The program that is made of it holds all again.
  const auto again = load_model(in("model.pte"), {});
  ASSERT_TRUE(again.ok()) << again.error().text();
  EXPECT_NE(std::find_if(again->named_data.begin(), again->named_data.end(),
                         [](const ir::NamedData& one) { return one.key == "first.weight"; }),
            again->named_data.end());
  std::filesystem::remove(in("model.ptd"));
  const auto without = load_model(in("model.pte"), {});
  ASSERT_FALSE(without.ok());
  EXPECT_EQ(without.error().code, Error::kNotFound);
  EXPECT_NE(without.error().text().find("\"first.weight\", which its delegates read, is neither"), std::string::npos)
      << without.error().text();
}

TEST_F(DataFilesTest, TheLastRuleThatMatchesWins) {
  ASSERT_TRUE(compile({in("all.ptd"), "second*=" + in("second.ptd")}).ok());
  const auto all = ExternalData::open({in("all.ptd")});
  const auto second = ExternalData::open({in("second.ptd")});
  ASSERT_TRUE(all.ok() && second.ok());
  EXPECT_EQ(all->blobs().size(), 1u);
  EXPECT_NE(all->find("first.weight"), nullptr);
  EXPECT_NE(second->find("second.weight"), nullptr);
  EXPECT_EQ(refusal({"second*=" + in("second.ptd"), in("all.ptd")}), "accepted");
  EXPECT_EQ(ExternalData::open({in("all.ptd")})->blobs().size(), 2u);
}

TEST_F(DataFilesTest, AlignmentsAreThoseAskedFor) {
  options_.segment_alignment = 4096;
  options_.constant_alignment = 64;
  ASSERT_TRUE(compile({"first*=" + in("model.ptd")}).ok());
  EXPECT_EQ(ExternalData::open({in("model.ptd")})->find("first.weight")->offset % 4096, 0u);
  ASSERT_TRUE(compile({}).ok());
  const std::string file = contents(in("model.pte"));
  std::vector<uint8_t> bytes(file.begin(), file.end());
  format::ProgramView view;
  ASSERT_EQ(format::ProgramView::open(bytes, &view, nullptr), Error::kOk);
  EXPECT_EQ(view.layout().segment_base % 4096, 0u);
  const auto* offsets = view.root().constant_segment()->offsets();
  ASSERT_EQ(offsets->size(), 3u);
  EXPECT_EQ(offsets->Get(2) - offsets->Get(1), 64u);
  for (const uint32_t wrong : {0u, 8u, 100u, 1u << 21, 1u << 31}) {
    options_.segment_alignment = wrong;
    EXPECT_NE(refusal({}).find("expected a power of two from 16 to 1048576"), std::string::npos) << wrong;
    options_.segment_alignment = 128;
    options_.constant_alignment = wrong;
    EXPECT_NE(refusal({}).find("expected a power of two from 16 to 1048576"), std::string::npos) << wrong;
    options_.constant_alignment = 16;
  }
}

TEST_F(DataFilesTest, NoFileIsWrittenOverThatIsNeeded) {
  EXPECT_NE(refusal({in("model.pte")}).find("this is the program's own file"), std::string::npos);
  EXPECT_NE(refusal({in("./model.pte")}).find("this is the program's own file"), std::string::npos);
  EXPECT_NE(refusal({"first*=" + in("a.ptd"), "second*=" + in("./a.ptd")}).find("same file"), std::string::npos);
  EXPECT_NE(refusal({"/dev/null"}).find("expected a regular file"), std::string::npos);
  EXPECT_FALSE(exists("model.pte"));
  EXPECT_FALSE(exists("a.ptd"));
  ASSERT_TRUE(compile({in("model.ptd")}).ok());
  const std::string before = contents(in("model.ptd"));
  options_.external_constants = {in("model.ptd")};
  auto module = load_model(in("model.pte"), {});
  ASSERT_TRUE(module.ok());
  const Status status = compile_to_file(std::move(*module), options_, in("other.pte"));
  ASSERT_FALSE(status.ok());
  EXPECT_NE(status.error().text().find("would be lost"), std::string::npos) << status.error().text();
  EXPECT_EQ(contents(in("model.ptd")), before);
}

TEST_F(DataFilesTest, AProgramThatCannotBeWrittenLeavesTheDataFileAsItWas) {
  std::ofstream(in("model.ptd")) << "precious";
  EXPECT_NE(refusal({in("model.ptd")}, "no/such/folder.pte"), "accepted");
  EXPECT_EQ(contents(in("model.ptd")), "precious");
  EXPECT_NE(refusal({in("no/model.ptd")}), "accepted");
  EXPECT_FALSE(exists("model.pte"));
  size_t files = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(folder_)) ++files;
  EXPECT_EQ(files, 1u) << "no temporary file is left";
}

TEST_F(DataFilesTest, RulesWithoutEffectAreErrors) {
  EXPECT_NE(refusal({"third*=" + in("a.ptd")}).find("no constant has such a name"), std::string::npos);
  EXPECT_NE(refusal({"=" + in("a.ptd")}).find("expected FILE.ptd"), std::string::npos);
  EXPECT_NE(refusal({"*="}).find("expected FILE.ptd"), std::string::npos);
  EXPECT_NE(refusal({""}).find("expected FILE.ptd"), std::string::npos);
  const char* kPlain = "method forward(%x: f32[4]) {\n  %y: f32[4] = aten::neg(%x)\n  return %y\n}";
  options_.external_constants = {in("a.ptd")};
  const Status none = compile_to_file(ir::parse(kPlain, "test").value(), options_, in("model.pte"));
  ASSERT_FALSE(none.ok());
  EXPECT_NE(none.error().text().find("the program has no constants"), std::string::npos) << none.error().text();
  EXPECT_FALSE(exists("a.ptd"));
  options_.external_constants = {in("a.ptd")};
  EXPECT_FALSE(berth::compile(ir::parse(kTwoWeights, "test").value(), options_).ok());
}

}  // namespace
}  // namespace berth
