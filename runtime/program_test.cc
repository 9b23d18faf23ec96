// Holds row 232.

#include "runtime/program.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>

#include "runtime/kernels_testing.h"
#include "runtime/log.h"

namespace berth {
namespace {

using format::testing::add_relu;
using testing::kernels;

struct Attempt {
  Error error = Error::kOk;
  Report report;
};

// Loads the program and its method, and runs it if both succeed: nothing of it may crash.
Attempt attempt(const std::vector<uint8_t>& bytes) {
  // A copy of exactly this size, so that a sanitizer sees reads beyond it.
  std::vector<uint8_t> file(bytes);
  file.shrink_to_fit();
  Attempt result;
  const BufferLoader loader{Span<const uint8_t>(file)};
  LoadOptions options;
  options.report = &result.report;
  Result<Program> program = Program::load(loader, kernels(), options);
  if (!program.ok()) {
    result.error = program.error();
    return result;
  }
  alignas(64) static uint8_t method_memory[16384], arena[4096], temp[1024];
  MemoryAllocator allocator({method_memory, sizeof(method_memory)});
  const Span<uint8_t> arenas[] = {{arena, sizeof(arena)}};
  const HierarchicalAllocator planned(arenas);
  Result<Method> method =
      program->load_method("forward", MemoryManager(allocator, planned, {temp, sizeof(temp)}), nullptr, &result.report);
  if (!method.ok()) {
    result.error = method.error();
    return result;
  }
  const float x[4] = {1, -1, 2, -2};
  const int32_t sizes[] = {4};
  result.error = method->set_input(0, x, sizes, DType::kF32);
  if (result.error == Error::kOk) result.error = method->execute();
  result.report = method->last_report();
  return result;
}

TEST(Program, ASoundFileRuns) { EXPECT_EQ(attempt(format::testing::bytes_of(add_relu())).error, Error::kOk); }

TEST(Program, AWrongIdentifierIsRefused) {
  std::vector<uint8_t> bytes = format::testing::bytes_of(add_relu());
  bytes[7] = '1';
  EXPECT_EQ(attempt(bytes).error, Error::kInvalidProgram);
}

TEST(Program, ARootOffsetOutsideTheFileIsRefused) {
  for (const uint32_t root : {0u, 3u, 0x7fffffffu, 0xffffffffu}) {
    std::vector<uint8_t> bytes = format::testing::bytes_of(add_relu());
    std::memcpy(bytes.data(), &root, sizeof(root));
    EXPECT_EQ(attempt(bytes).error, Error::kInvalidProgram) << root;
  }
}

TEST(Program, ATruncatedFileIsRefusedAtEveryLength) {
  const std::vector<uint8_t> bytes = format::testing::bytes_of(add_relu());
  for (size_t length = 0; length < bytes.size(); ++length) {
    const Attempt result = attempt(std::vector<uint8_t>(bytes.begin(), bytes.begin() + static_cast<long>(length)));
    EXPECT_NE(result.error, Error::kOk) << length;
    EXPECT_NE(result.report.message[0], '\0') << length;
  }
}

// Some flips change a number that any value fits; then the program runs, and nothing else is asked of it.
TEST(Program, NoFlippedBitCrashes) {
  const std::vector<uint8_t> bytes = format::testing::bytes_of(add_relu());
  for (size_t i = 0; i < bytes.size() * 8; ++i) {
    std::vector<uint8_t> flipped = bytes;
    flipped[i / 8] = static_cast<uint8_t>(flipped[i / 8] ^ 1 << i % 8);
    attempt(flipped);
  }
}

TEST(Program, MisalignedMemoryIsRefused) {
  const std::vector<uint8_t> bytes = format::testing::bytes_of(add_relu());
  std::vector<uint8_t> shifted(bytes.size() + 16);
  const BufferLoader loader{Span<const uint8_t>(shifted.data() + 1, bytes.size())};
  std::memcpy(shifted.data() + 1, bytes.data(), bytes.size());
  const Result<Program> program = Program::load(loader, kernels());
  ASSERT_FALSE(program.ok());
  EXPECT_EQ(program.error(), Error::kInvalidArgument);
}

TEST(Program, AConstantLargerThanItsSegmentIsRefused) {
  format::ProgramDesc desc = add_relu();
  std::get<format::TensorDesc>(desc.methods[0].values[1]).sizes = {5};
  const Attempt result = attempt(format::testing::bytes_of(desc));
  EXPECT_EQ(result.error, Error::kInvalidProgram);
  EXPECT_NE(std::string(result.report.place).find("values[1]"), std::string::npos) << result.report.place;
}

TEST(Program, AnEmptyMethodNameIsRefused) {
  format::ProgramDesc desc = add_relu();
  desc.methods[0].name = "";
  EXPECT_EQ(attempt(format::testing::bytes_of(desc)).error, Error::kInvalidProgram);
}

class FailingLoader final : public DataLoader {
 public:
  FailingLoader(Span<const uint8_t> file, int allowed) : inner_(file), allowed_(allowed) {}
  Result<FreeableBuffer> load(uint64_t offset, size_t size) const override {
    if (allowed_-- <= 0) return Error::kAccessFailed;
    return inner_.load(offset, size);
  }
  Error load_into(uint64_t offset, size_t size, void* out) const override {
    if (allowed_-- <= 0) return Error::kAccessFailed;
    return inner_.load_into(offset, size, out);
  }
  uint64_t size() const override { return inner_.size(); }

 private:
  BufferLoader inner_;
  mutable int allowed_;
};

// How many reads the file takes; with fewer of them it is not loaded.
int reads_of(const format::ProgramDesc& desc) {
  const std::vector<uint8_t> bytes = format::testing::bytes_of(desc);
  for (int allowed = 0; allowed < 10; ++allowed) {
    const FailingLoader loader(bytes, allowed);
    const Result<Program> program = Program::load(loader, kernels());
    if (program.ok()) return allowed;
    EXPECT_EQ(program.error(), Error::kAccessFailed);
  }
  return -1;
}

TEST(Program, AFailedReadIsAnErrorEachTime) {
  format::ProgramDesc desc = add_relu();
  EXPECT_EQ(reads_of(desc), 3);
  // A program without its names has other inputs for those who look for them by name.
  format::MethodMetaDesc meta;
  meta.name = desc.methods[0].name;
  desc.named_data.push_back(format::meta_blob({"berth test", {meta}}));
  EXPECT_EQ(reads_of(desc), 4);
}

TEST(Program, MethodsAreFoundByNameAndIndex) {
  format::ProgramDesc desc = add_relu();
  desc.methods.push_back(desc.methods[0]);
  desc.methods[1].name = "other";
  const std::vector<uint8_t> bytes = format::testing::bytes_of(desc);
  const BufferLoader loader{Span<const uint8_t>(bytes)};
  const Result<Program> program = Program::load(loader, kernels());
  ASSERT_TRUE(program.ok());
  ASSERT_EQ(program->num_methods(), 2u);
  EXPECT_STREQ(program->method_name(1), "other");
  EXPECT_EQ(program->method_name(2), nullptr);
  EXPECT_STREQ(program->method_meta("other")->name(), "other");
  EXPECT_EQ(program->method_meta("none").error(), Error::kInvalidArgument);
  EXPECT_EQ(program->method_meta(2).error(), Error::kInvalidArgument);
}

TEST(Program, MetaHasInputsOutputsAndArenas) {
  const std::vector<uint8_t> bytes = format::testing::bytes_of(add_relu());
  const BufferLoader loader{Span<const uint8_t>(bytes)};
  const Result<Program> program = Program::load(loader, kernels());
  ASSERT_TRUE(program.ok());
  const MethodMeta meta = program->method_meta("forward").value();
  ASSERT_EQ(meta.num_inputs(), 1u);
  EXPECT_EQ(meta.input_tag(0).value(), Tag::kTensor);
  EXPECT_EQ(meta.input_tag(1).error(), Error::kInvalidArgument);
  const TensorInfo info = meta.output_tensor_meta(0).value();
  EXPECT_EQ(info.nbytes, 16u);
  EXPECT_EQ(info.sizes[0], 4);
  EXPECT_EQ(info.dtype, DType::kF32);
  EXPECT_TRUE(info.is_memory_planned);
  EXPECT_EQ(meta.num_memory_planned_buffers(), 1u);
  EXPECT_EQ(meta.memory_planned_buffer_size(0).value(), 48u);
  EXPECT_EQ(meta.memory_planned_buffer_size(1).error(), Error::kInvalidArgument);
  EXPECT_TRUE(meta.memory_planned_buffer_device(0)->is_cpu());
  EXPECT_EQ(meta.num_instructions(), 2u);
  EXPECT_EQ(meta.num_operators(), 2u);
}

TEST(Program, AnApplicationsKernelComesBeforeTheTables) {
  static constexpr KernelEntry kOwn[] = {{"aten::relu.out", "Tensor self -> Tensor out", untyped<testing::relu>}};
  const KernelTable tables[] = {kOwn, kernels()};
  const std::vector<uint8_t> bytes = format::testing::bytes_of(add_relu());
  const BufferLoader loader{Span<const uint8_t>(bytes)};
  const Result<Program> program = Program::load(loader, tables);
  ASSERT_TRUE(program.ok());
  EXPECT_EQ(program->find_kernel("aten::relu", "out"), &kOwn[0]);
  EXPECT_EQ(program->find_kernel("aten::add", "out"), &kernels()[1]);
  EXPECT_NE(program->find_kernel("aten::sym_numel", ""), nullptr);
  EXPECT_NE(program->find_kernel("aten::copy_", nullptr), nullptr);
  EXPECT_EQ(program->find_kernel("aten::relu", ""), nullptr);
  EXPECT_EQ(program->find_kernel("aten::re", "lu.out"), nullptr);
  const KernelTable many[Program::kMaxTables + 1] = {};
  EXPECT_EQ(Program::load(loader, many).error(), Error::kInvalidArgument);
}

TEST(Program, TheLogHookHearsWhyALoadFailed) {
  std::string heard;
  set_log([](void* context, LogLevel, const char* text) { *static_cast<std::string*>(context) += text; }, &heard);
  const std::vector<uint8_t> bytes(40, 0);
  const BufferLoader loader{Span<const uint8_t>(bytes)};
  EXPECT_FALSE(Program::load(loader, kernels()).ok());
  set_log(nullptr, nullptr);
  EXPECT_NE(heard, "");
}

}  // namespace
}  // namespace berth
