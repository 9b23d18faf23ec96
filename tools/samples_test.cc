#include "tools/samples.h"

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>

namespace berth::tool {
namespace {

namespace fs = std::filesystem;

Port port(std::string name, std::vector<int64_t> sizes, DType dtype = DType::kF32) {
  return {std::move(name), dtype, sizes, sizes};
}

// A folder that is gone at the end of the test.
class SamplesTest : public ::testing::Test {
 protected:
  SamplesTest() : folder_(fs::path(::testing::TempDir()) / "samples_test") {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  ~SamplesTest() override { fs::remove_all(folder_); }

  void put(const std::string& name, float number, const std::vector<int64_t>& shape = {1}) {
    fs::create_directories((folder_ / name).parent_path());
    Array array;
    array.shape = shape;
    array.bytes.resize(sizeof number);
    std::memcpy(array.bytes.data(), &number, sizeof number);
    ASSERT_TRUE(write_npy((folder_ / name).string(), array).ok());
  }

  // The first number of each input of each sample: "1 2 | 3 4", or the failure.
  std::string read(const std::vector<Port>& inputs) {
    SampleRequest request;
    request.folder = folder_.string();
    const auto samples = Samples::find(request, inputs);
    if (!samples.ok()) return samples.error().text();
    std::string text;
    for (size_t i = 0; i < samples->size(); ++i) {
      const auto arrays = samples->read(i);
      if (!arrays.ok()) return arrays.error().text();
      text += i == 0 ? "" : " |";
      for (const Array& array : *arrays) {
        float number = 0;
        std::memcpy(&number, array.bytes.data(), sizeof number);
        text += " " + std::to_string(static_cast<int>(number));
      }
    }
    return text;
  }

  fs::path folder_;
};

TEST_F(SamplesTest, OfOneInputEachFileIsASampleInTheOrderOfNumbers) {
  put("10.npy", 3);
  put("9.npy", 2);
  put("1.npy", 1);
  EXPECT_EQ(read({port("x", {1})}), " 1 | 2 | 3");
}

TEST_F(SamplesTest, AFolderForEachHoldsTheInputsByName) {
  put("a/x.npy", 1);
  put("a/y.npy", 2);
  put("b/y.npy", 4);
  put("b/x.npy", 3);
  EXPECT_EQ(read({port("x", {1}), port("y", {1})}), " 1 2 | 3 4");
}

TEST_F(SamplesTest, NamesThatAreNotFilesAreCounted) {
  put("a/in0.npy", 1);
  put("a/in1.npy", 2);
  EXPECT_EQ(read({port("model/x:0", {1}), port("model/y:0", {1})}), " 1 2");
}

TEST_F(SamplesTest, TheFolderItselfMayBeTheOneSample) {
  put("x.npy", 1);
  put("y.npy", 2);
  EXPECT_EQ(read({port("x", {1}), port("y", {1})}), " 1 2");
  put("x2.npy", 7);
  EXPECT_EQ(read({port("x", {1})}), " 1 | 7 | 2") << "three files are three samples of one input";
}

TEST_F(SamplesTest, WhatIsMissingIsNamed) {
  put("a/x.npy", 1);
  EXPECT_NE(
      read({port("x", {1}), port("y", {1})}).find("a: a sample's folder holds an array for each input: x.npy, y.npy"),
      std::string::npos);
  EXPECT_EQ(read({port("x", {1})}), " 1");
  put("b.npy", 1);
  EXPECT_NE(read({port("x", {1})}).find("holds both folders and .npy files"), std::string::npos);
}

TEST_F(SamplesTest, AnEmptyFolderIsNotNoSamples) {
  EXPECT_NE(read({port("x", {1})}).find("holds neither .npy files nor folders"), std::string::npos);
  EXPECT_NE(read({port("x", {1}), port("y", {1})}).find("holds no samples"), std::string::npos);
  fs::remove_all(folder_);
  EXPECT_NE(read({port("x", {1})}).find("cannot be read as a folder"), std::string::npos);
}

TEST_F(SamplesTest, AnotherSizeOrTypeIsASentence) {
  put("x.npy", 1, {1, 1});
  EXPECT_NE(read({port("x", {1})}).find("is f32[1,1], but input x is f32[1]"), std::string::npos);
  EXPECT_NE(read({port("x", {1, 1}, DType::kI64)}).find("but input x is i64[1,1]"), std::string::npos);
  Port dynamic = port("x", {1, 8});
  dynamic.lower[1] = 2;
  EXPECT_NE(read({dynamic}).find("but input x is f32[1,2..8]"), std::string::npos);
  dynamic.lower[1] = 1;
  EXPECT_EQ(read({dynamic}), " 1");
}

TEST(Samples, RandomOnesAreTheSameForASeedAndDifferFromEachOther) {
  const std::vector<Port> inputs = {port("x", {4}), port("n", {3}, DType::kI64)};
  SampleRequest request;
  request.random = 2;
  request.seed = 7;
  const auto samples = Samples::find(request, inputs);
  const auto again = Samples::find(request, inputs);
  ASSERT_TRUE(samples.ok() && again.ok());
  ASSERT_EQ(samples->size(), 2u);
  EXPECT_EQ((*samples->read(0))[0].bytes, (*again->read(0))[0].bytes);
  EXPECT_NE((*samples->read(0))[0].bytes, (*samples->read(1))[0].bytes);
  EXPECT_EQ((*samples->read(0))[1].bytes.size(), 24u);
}

TEST(Samples, FilesGoToInputsByNameOrInOrder) {
  const std::vector<Port> inputs = {port("x", {1}), port("y", {1})};
  SampleRequest request;
  request.files = {"y=b.npy", "a.npy"};
  const auto samples = Samples::find(request, inputs);
  ASSERT_TRUE(samples.ok()) << samples.error().text();
  EXPECT_EQ(samples->files(), (std::vector<std::string>{"a.npy", "b.npy"}));
  request.files = {"a.npy"};
  EXPECT_NE(Samples::find(request, inputs).error().text().find("input y: is not given"), std::string::npos);
  request.files = {"z=a.npy"};
  EXPECT_NE(Samples::find(request, inputs).error().text().find("has no input of that name"), std::string::npos);
}

}  // namespace
}  // namespace berth::tool
