// Tensors in model files: every way to write them, and those that lie about their size or their place.
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>

#include "compiler/import/onnx/model_testing.h"

namespace berth::onnx {
namespace {

namespace fs = std::filesystem;

/// The bytes that the constant called `name` has after importing a model whose only output it is.
std::vector<uint8_t> imported(const TestModel& model, const std::string& name, std::string* failed = nullptr) {
  auto module = model.import();
  if (!module.ok()) {
    if (failed != nullptr) *failed = module.error().text();
    return {};
  }
  for (const ir::Constant& constant : module->constants) {
    if (constant.name == name) return constant.blob.to_vector();
  }
  return {};
}

template <typename T>
std::vector<uint8_t> bytes_of(const std::vector<T>& numbers) {
  std::vector<uint8_t> bytes(numbers.size() * sizeof(T));
  std::memcpy(bytes.data(), numbers.data(), bytes.size());
  return bytes;
}

TestModel with_output(const std::string& name) {
  TestModel m;
  m.output(name);
  return m;
}

TEST(Literal, EveryTypeIsReadFromItsField) {
  TestModel m = with_output("t");
  proto::Tensor& t = m.tensor("t", {3}, ElementType::kInt8);
  for (int i : {-128, 0, 127}) t.add_int32_data(i);
  EXPECT_EQ(imported(m, "t"), bytes_of<int8_t>({-128, 0, 127}));

  t.set_data_type(static_cast<int32_t>(ElementType::kBool));
  EXPECT_EQ(imported(m, "t"), bytes_of<uint8_t>({1, 0, 1}));

  t.clear_int32_data();
  for (int bits : {0x3c00, 0xc000, 0x7bff}) t.add_int32_data(bits);
  t.set_data_type(static_cast<int32_t>(ElementType::kFloat16));
  EXPECT_EQ(imported(m, "t"), bytes_of<uint16_t>({0x3c00, 0xc000, 0x7bff}));
  t.set_data_type(static_cast<int32_t>(ElementType::kBfloat16));
  EXPECT_EQ(imported(m, "t"), bytes_of<uint16_t>({0x3c00, 0xc000, 0x7bff}));

  t.clear_int32_data();
  t.set_data_type(static_cast<int32_t>(ElementType::kUint32));
  for (uint64_t number : {0u, 7u, 4294967295u}) t.add_uint64_data(number);
  EXPECT_EQ(imported(m, "t"), bytes_of<uint32_t>({0, 7, 4294967295u}));

  t.clear_uint64_data();
  t.set_data_type(static_cast<int32_t>(ElementType::kDouble));
  for (double number : {1e300, -0.5, 0.0}) t.add_double_data(number);
  EXPECT_EQ(imported(m, "t"), bytes_of<double>({1e300, -0.5, 0.0}));

  t.clear_double_data();
  t.set_data_type(static_cast<int32_t>(ElementType::kFloat));
  for (float number : {1.5f, -2.0f, 0.0f}) t.add_float_data(number);
  EXPECT_EQ(imported(m, "t"), bytes_of<float>({1.5f, -2.0f, 0.0f}));

  t.clear_float_data();
  t.set_data_type(static_cast<int32_t>(ElementType::kInt64));
  for (int64_t number : {INT64_MIN, int64_t{-1}, INT64_MAX}) t.add_int64_data(number);
  EXPECT_EQ(imported(m, "t"), bytes_of<int64_t>({INT64_MIN, -1, INT64_MAX}));
}

TEST(Literal, ElementsOfFourBitsHaveAByteEach) {
  TestModel m = with_output("t");
  proto::Tensor& t = m.tensor("t", {3}, ElementType::kInt4);
  t.set_raw_data(std::string("\x8f\x07", 2));  // -1, -8, 7: the first number in the low half
  EXPECT_EQ(imported(m, "t"), bytes_of<int8_t>({-1, -8, 7}));
  t.set_data_type(static_cast<int32_t>(ElementType::kUint4));
  EXPECT_EQ(imported(m, "t"), bytes_of<uint8_t>({15, 8, 7}));
  t.set_data_type(static_cast<int32_t>(ElementType::kFloat4E2M1));
  EXPECT_EQ(imported(m, "t"), bytes_of<uint8_t>({15, 8, 7}));
}

TEST(Literal, ElementsOfTwoBitsHaveAByteEach) {
  TestModel m = with_output("t");
  proto::Tensor& t = m.tensor("t", {5}, ElementType::kInt2);
  t.set_raw_data(std::string("\xe4\x02", 2));  // 0, 1, 2, 3 from the low bits on, then 2
  EXPECT_EQ(imported(m, "t"), bytes_of<int8_t>({0, 1, -2, -1, -2}));
  t.set_data_type(static_cast<int32_t>(ElementType::kUint2));
  EXPECT_EQ(imported(m, "t"), bytes_of<uint8_t>({0, 1, 2, 3, 2}));
  t.set_raw_data(std::string("\xe4", 1));
  std::string failed;
  imported(m, "t", &failed);
  EXPECT_CONTAINS(failed, "needs 2 raw bytes for its shape, found 1");
}

TEST(Literal, FloatsOfEightBitsAreTheirCodes) {
  TestModel m = with_output("t");
  proto::Tensor& t = m.tensor("t", {3}, ElementType::kFloat8E4M3Fn);
  t.set_raw_data(std::string("\x7f\x80\x38", 3));
  EXPECT_EQ(imported(m, "t"), bytes_of<uint8_t>({0x7f, 0x80, 0x38}));
  t.clear_raw_data();
  t.set_data_type(static_cast<int32_t>(ElementType::kFloat8E8M0));
  for (const int32_t code : {0, 127, 255}) t.add_int32_data(code);
  EXPECT_EQ(imported(m, "t"), bytes_of<uint8_t>({0, 127, 255}));
}

TEST(Literal, SizesMustMatchTheShape) {
  TestModel m = with_output("t");
  proto::Tensor& t = m.tensor("t", {2, 2}, ElementType::kFloat);
  std::string failed;
  const auto expect = [&](const std::string& part) {
    failed.clear();
    imported(m, "t", &failed);
    EXPECT_CONTAINS(failed, "onnx tensor \"t\": ");
    EXPECT_CONTAINS(failed, part);
  };
  t.set_raw_data("1234567");
  expect("needs 16 raw bytes for its shape, found 7");
  t.add_float_data(1);
  expect("more than one field");
  t.clear_raw_data();
  expect("needs 4 elements for its shape, found fewer");
  for (int i = 0; i < 4; ++i) t.add_float_data(1);
  expect("needs 4 elements for its shape, found more");
  t.clear_float_data();
  t.add_int64_data(1);
  expect("in no field that may hold them");
  t.clear_int64_data();
  t.set_dims(0, -3);
  expect("a dimension of -3");
  t.set_dims(0, int64_t{1} << 40);
  expect("a dimension of 1099511627776");
  t.set_dims(0, 1 << 30);
  t.set_dims(1, 1 << 30);
  expect("more than 2^40 elements");
  t.set_dims(0, 1 << 30);
  t.set_dims(1, 512);
  t.add_float_data(1);
  expect("found fewer");  // and no memory is asked for elements that cannot be there
  t.set_data_type(static_cast<int32_t>(ElementType::kString));
  expect("STRING");
  t.set_data_type(99);
  expect("type 99");
  for (int i = 0; i < 15; ++i) t.add_dims(1);
  expect("17 dimensions");
}

TEST(Literal, SparseTensorsScatterTheirValues) {
  TestModel m = with_output("s");
  proto::SparseTensor* s = m.model.mutable_graph()->add_sparse_initializer();
  TestModel::fill(s->mutable_values(), "s", {2}, ElementType::kFloat).add_float_data(5);
  s->mutable_values()->add_float_data(7);
  proto::Tensor& indices = TestModel::fill(s->mutable_indices(), "i", {2, 2}, ElementType::kInt64);
  for (int64_t i : {0, 1, 1, 2}) indices.add_int64_data(i);
  s->add_dims(2);
  s->add_dims(3);
  const std::vector<uint8_t> expected = bytes_of<float>({0, 5, 0, 0, 0, 7});
  EXPECT_EQ(imported(m, "s"), expected);

  indices.clear_dims();
  indices.add_dims(2);
  indices.clear_int64_data();
  for (int64_t i : {1, 5}) indices.add_int64_data(i);
  EXPECT_EQ(imported(m, "s"), expected);

  std::string failed;
  indices.set_int64_data(1, 6);
  imported(m, "s", &failed);
  EXPECT_CONTAINS(failed, "has an index outside its shape");

  indices.set_int64_data(1, 5);
  s->set_dims(0, 1 << 20);
  s->set_dims(1, 1 << 19);  // dense, this would be 2 TiB
  imported(m, "s", &failed);
  EXPECT_CONTAINS(failed, "more than 2 × the file + 64 MB");
}

/// A folder of its own below the system's temporary one, removed at the end.
class LiteralTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / ("berth_onnx_" + std::string(6, 'X'))).string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    root_ = pattern;
    fs::create_directories(root_ / "model" / "weights");
    write(root_ / "outside.bin", 512);
    write(root_ / "model" / "beside.bin", 512);
    write(root_ / "model" / "weights" / "deep.bin", 512);
  }
  void TearDown() override { fs::remove_all(root_); }

  static void write(const fs::path& path, size_t size) {
    std::ofstream out(path, std::ios::binary);
    for (size_t i = 0; i < size; ++i) out.put(static_cast<char>(i));
  }

  /// Imports a model beside which the f32[100] tensor "t" has these entries; the failure's text or its bytes.
  std::string import_with(const std::vector<std::pair<std::string, std::string>>& entries,
                          std::vector<uint8_t>* bytes) {
    TestModel m;
    m.output("t");
    proto::Tensor& t = m.tensor("t", {100}, ElementType::kFloat);
    t.set_data_location(1);
    for (const auto& [key, value] : entries) {
      proto::StringEntry* entry = t.add_external_data();
      entry->set_key(key);
      entry->set_value(value);
    }
    const fs::path path = root_ / "model" / "m.onnx";
    std::ofstream(path, std::ios::binary) << m.bytes();
    auto module = import_onnx(path.string());
    if (!module.ok()) return module.error().text();
    *bytes = module->constants[{0}].blob.to_vector();
    EXPECT_TRUE(module->constants[{0}].blob.is_mapped());
    return "";
  }

  fs::path root_;
  std::vector<uint8_t> bytes_;
};

TEST_F(LiteralTest, ExternalDataIsInOrBelowTheModelsFolder) {
  EXPECT_EQ(import_with({{"location", "beside.bin"}, {"offset", "8"}, {"length", "400"}}, &bytes_), "");
  ASSERT_EQ(bytes_.size(), 400u);
  EXPECT_EQ(bytes_[0], 8);
  EXPECT_EQ(import_with({{"location", "weights/deep.bin"}}, &bytes_), "");
  EXPECT_EQ(bytes_[0], 0);
  EXPECT_EQ(import_with({{"location", "weights/../beside.bin"}}, &bytes_), "");
}

TEST_F(LiteralTest, ExternalDataNeverLeavesTheModelsFolder) {
  EXPECT_CONTAINS(import_with({{"location", "../outside.bin"}}, &bytes_), "leads out of the model's folder");
  EXPECT_CONTAINS(import_with({{"location", (root_ / "outside.bin").string()}}, &bytes_), "is absolute");
  fs::create_symlink(root_ / "outside.bin", root_ / "model" / "link.bin");
  EXPECT_CONTAINS(import_with({{"location", "link.bin"}}, &bytes_), "leads out of the model's folder");
  fs::create_directory_symlink(root_, root_ / "model" / "up");
  EXPECT_CONTAINS(import_with({{"location", "up/outside.bin"}}, &bytes_), "leads out of the model's folder");
  // A neighbour whose name begins like the folder's is outside too.
  fs::create_directories(root_ / "model2");
  write(root_ / "model2" / "w.bin", 512);
  EXPECT_CONTAINS(import_with({{"location", "../model2/w.bin"}}, &bytes_), "leads out of the model's folder");
  // A link that stays inside is fine.
  fs::create_symlink(root_ / "model" / "beside.bin", root_ / "model" / "inner.bin");
  EXPECT_EQ(import_with({{"location", "inner.bin"}}, &bytes_), "");
}

TEST_F(LiteralTest, ExternalDataIsARegularFileThatHoldsTheBytes) {
  EXPECT_CONTAINS(import_with({{"location", "weights"}}, &bytes_), "not a regular file");
  EXPECT_CONTAINS(import_with({{"location", "nowhere.bin"}}, &bytes_), "names no file");
  EXPECT_CONTAINS(import_with({{"location", ""}}, &bytes_), "is not a file name");
  EXPECT_CONTAINS(import_with({}, &bytes_), "is not a file name");
  EXPECT_CONTAINS(import_with({{"location", std::string("beside.bin\0x", 12)}}, &bytes_), "is not a file name");
  EXPECT_CONTAINS(import_with({{"location", "beside.bin"}, {"offset", "120"}}, &bytes_), "which has 512");
  EXPECT_CONTAINS(import_with({{"location", "beside.bin"}, {"offset", "18446744073709551610"}}, &bytes_),
                  "which has 512");
  EXPECT_CONTAINS(import_with({{"location", "beside.bin"}, {"offset", "-8"}}, &bytes_), "offset that is not a number");
  EXPECT_CONTAINS(import_with({{"location", "beside.bin"}, {"length", "8"}}, &bytes_), "needs 400 bytes");
  EXPECT_CONTAINS(import_with({{"location", "beside.bin"}, {"length", "99999999999999999999999"}}, &bytes_),
                  "length that is not a number");
}

TEST(Literal, ExternalDataOfAModelInMemoryIsRefused) {
  TestModel m = with_output("t");
  proto::Tensor& t = m.tensor("t", {4}, ElementType::kFloat);
  t.set_data_location(1);
  proto::StringEntry* entry = t.add_external_data();
  entry->set_key("location");
  entry->set_value("beside.bin");
  EXPECT_CONTAINS(failure(m), "the model was not read from a file");
}

TEST_F(LiteralTest, ExternalDataIsAmongTheFilesNotToOverwrite) {
  TestModel m;
  m.output("t");
  proto::Tensor& t = m.tensor("t", {100}, ElementType::kFloat);
  t.set_data_location(1);
  proto::StringEntry* entry = t.add_external_data();
  entry->set_key("location");
  entry->set_value("beside.bin");
  const fs::path path = root_ / "model" / "m.onnx";
  std::ofstream(path, std::ios::binary) << m.bytes();
  const auto module = import_onnx(path.string());
  ASSERT_TRUE(module.ok()) << module.error().text();
  ASSERT_EQ(module->files.size(), 1u);
  EXPECT_TRUE(fs::equivalent(module->files[0], root_ / "model" / "beside.bin"));
}

}  // namespace
}  // namespace berth::onnx
