// Constants that lie beside a program. The fears: the wrong bytes, bytes of another tensor, a file that is not there,
// and a name that does not exist.
#include "compiler/import/pte/external_data.h"

#include <unistd.h>

#include <cstdio>

#include "compiler/emit/plan_and_emit_testing.h"
#include "compiler/import/pte/data_file_testing.h"
#include "compiler/import/pte/import_testing.h"

namespace berth::pte::testing {
namespace {

using berth::testing::data_file;
using berth::testing::DataEntry;
using berth::testing::write_file;

// Files of this test, gone at its end.
class Files : public ::testing::Test {
 protected:
  ~Files() override {
    for (const std::string& file : files_) std::remove(file.c_str());
  }

  std::string file(const std::string& name, const std::vector<uint8_t>& bytes) {
    const std::string path = ::testing::TempDir() + "berth_" + std::to_string(::getpid()) + "_" + name;
    write_file(path, bytes);
    files_.push_back(path);
    return path;
  }

 private:
  std::vector<std::string> files_;
};

TensorDesc external(const std::string& key) {
  TensorDesc desc = tensor({4});
  desc.external = true;
  desc.name = key;
  return desc;
}

// relu(x + w) + v, where w and v lie beside the program.
ProgramDesc program_with_external_constants() {
  ProgramDesc program = format::testing::add_relu();
  MethodDesc& m = program.methods[0];
  m.values[1] = external("layer.weight");
  program.constants.clear();
  const int32_t v = static_cast<int32_t>(m.values.size());
  m.values.emplace_back(external("layer.other"));
  m.values.emplace_back(tensor({4}, 256));
  m.operators.push_back({"aten::mul", "out"});
  m.instructions.push_back(
      KernelCallDesc{static_cast<int32_t>(m.operators.size()) - 1, {m.outputs[0], v, v + 1, v + 1}});
  m.outputs = {v + 1};
  m.arenas = {{1024, Device()}};
  return program;
}

DataEntry weight(const std::string& key, const Floats& numbers) {
  return {key, bytes_of(numbers), 6, {static_cast<int32_t>(numbers.size())}, {0}};
}

std::string import_error(const std::string& path, const std::vector<std::string>& data) {
  ImportOptions options;
  options.data_files = data;
  const auto module = import_pte(path, options);
  return module.ok() ? "" : module.error().text();
}

class ExternalDataTest : public Files {};

TEST_F(ExternalDataTest, ComesFromTheGivenFile) {
  const std::string program = file("a.pte", format::testing::bytes_of(program_with_external_constants()));
  const std::string one = file("one.ptd", data_file({weight("layer.weight", {-1, 2, -3, 4}), weight("unused", {7})}));
  const std::string two = file("two.ptd", data_file({weight("layer.other", {1, 2, 3, 4})}));
  ImportOptions options;
  options.data_files = {one, two};
  const auto module = import_pte(program, options);
  ASSERT_TRUE(module.ok()) << module.error().text();
  EXPECT_EQ(numbers(run(*module, {floats({4}, {1, 1, 1, 1})})[0]), (Floats{0, 6, 0, 20}));
}

// Holds row 222.
TEST_F(ExternalDataTest, KeepsNamesAndIsStoredOnceWhereEqual) {
  ProgramDesc desc = program_with_external_constants();
  std::get<TensorDesc>(desc.methods[0].values[5]).name = "layer.weight";
  const std::string program = file("b.pte", format::testing::bytes_of(desc));
  file("b.ptd", data_file({weight("layer.weight", {-1, 2, -3, 4})}));
  const auto module = import_pte(program, {});
  ASSERT_TRUE(module.ok()) << module.error().text();
  ASSERT_EQ(module->constants.size(), 1u);
  EXPECT_EQ(module->constants[{0}].name, "layer.weight");
  EXPECT_TRUE(module->constants[{0}].blob.is_mapped());
  EXPECT_EQ(numbers(run(*module, {floats({4}, {1, 1, 1, 1})})[0]), (Floats{0, 6, 0, 20}));
}

// Holds row 222: two names, one value.
TEST_F(ExternalDataTest, EqualConstantsOfTwoNamesAreWrittenOnce) {
  const std::string program = file("g.pte", format::testing::bytes_of(program_with_external_constants()));
  file("g.ptd", data_file({weight("layer.weight", {1, 2, 3, 4}), weight("layer.other", {1, 2, 3, 4})}));
  const auto module = import_pte(program, {});
  ASSERT_TRUE(module.ok()) << module.error().text();
  ASSERT_EQ(module->constants.size(), 2u);
  EXPECT_EQ(module->constants[{0}].name, "layer.weight");
  EXPECT_EQ(module->constants[{1}].name, "layer.other");
  const auto emitted = emit::testing::plan_and_emit(*module);
  ASSERT_TRUE(emitted.ok()) << emitted.error().text();
  EXPECT_EQ(emitted->program.constants.size(), 1u);
}

TEST_F(ExternalDataTest, MissingDataIsNamedWithARemedy) {
  const std::string program = file("c.pte", format::testing::bytes_of(program_with_external_constants()));
  const std::string nothing = import_error(program, {});
  has(nothing, "needs \"layer.weight\" of 16 bytes, which lies in a data file (.ptd)");
  has(nothing, "give it with --data FILE.ptd");
  const std::string half = file("half.ptd", data_file({weight("layer.weight", {-1, 2, -3, 4})}));
  has(import_error(program, {half}), "needs \"layer.other\"");
  has(import_error(program, {half}), "have no such key");
}

TEST_F(ExternalDataTest, DataOfAnotherTensorIsRefused) {
  const std::string program = file("d.pte", format::testing::bytes_of(program_with_external_constants()));
  const auto said = [&](DataEntry entry) {
    const std::string other = file("other.ptd", data_file({std::move(entry)}));
    return import_error(program, {other});
  };
  DataEntry entry = weight("layer.weight", {-1, 2, -3, 4});
  entry.dtype = 3;
  has(said(entry), "is another tensor than the program's");
  entry = weight("layer.weight", {-1, 2, -3, 4});
  entry.sizes = {2, 2};
  entry.dim_order = {0, 1};
  has(said(entry), "is another tensor than the program's");
  has(said(weight("layer.weight", {1, 2})), "is another tensor than the program's");
  // Bytes of no type are taken when there are enough of them.
  has(said({"layer.weight", std::vector<uint8_t>(15), -1, {}, {}}), "is another tensor than the program's");
  has(said({"layer.weight", std::vector<uint8_t>(16), -1, {}, {}}), "needs \"layer.other\"");
}

TEST_F(ExternalDataTest, DamagedFilesAreRefusedByName) {
  const std::string program = file("e.pte", format::testing::bytes_of(program_with_external_constants()));
  std::vector<uint8_t> bytes = data_file({weight("layer.weight", {-1, 2, -3, 4})});
  const std::string twice = file("twice.ptd", bytes);
  has(import_error(program, {twice, twice}), "\"layer.weight\" is there already, in " + twice);
  bytes.resize(bytes.size() - 1);
  const std::string cut = file("cut.ptd", bytes);
  has(import_error(program, {cut}), cut + ": header: ");
  has(import_error(program, {program}), "not a data file");
  has(import_error(program, {cut + ".nowhere"}), cut + ".nowhere");
}

TEST_F(ExternalDataTest, MayBeTheInitialValueOfState) {
  MethodDesc m;
  m.values = {tensor({4}, 0), tensor({4}, 16), int64_t{1}, tensor({4}, 32)};
  TensorDesc& state = std::get<TensorDesc>(m.values[1]);
  state.external = true;
  state.name = "counter";
  m.inputs = {0};
  m.outputs = {3};
  m.operators = {{"aten::add", "out"}};
  m.instructions = {KernelCallDesc{0, {0, 1, 2, 3, 3}}};
  const std::string program = file("f.pte", format::testing::bytes_of(program_of(m)));
  file("f.ptd", data_file({weight("counter", {1, 2, 3, 4})}));
  const auto module = import_pte(program, {});
  ASSERT_TRUE(module.ok()) << module.error().text();
  ASSERT_EQ(module->states.size(), 1u);
  EXPECT_EQ(module->states[{0}].name, "counter");
  ASSERT_TRUE(module->states[{0}].initial.has_value());
  EXPECT_EQ(module->states[{0}].initial.value_or(ir::Blob()).to_vector(), bytes_of(Floats{1, 2, 3, 4}));
}

}  // namespace
}  // namespace berth::pte::testing
