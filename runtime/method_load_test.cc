#include <gtest/gtest.h>

#include <string>

#include "runtime/kernels_testing.h"
#include "runtime/method_data.h"

namespace berth {
namespace {

using format::KernelCallDesc;
using format::MethodDesc;
using format::ProgramDesc;
using format::TensorDesc;
using format::testing::add_relu;
using format::testing::bytes_of;
using format::testing::constant;
using format::testing::tensor;
using testing::kernels;
using testing::ready;
using testing::Ready;

struct Sources {
  explicit Sources(const ProgramDesc& desc) : file(bytes_of(desc)), loader{Span<const uint8_t>(file)} {
    program = std::make_unique<Program>(Program::load(loader, kernels()).value());
  }
  std::vector<uint8_t> file;
  BufferLoader loader;
  std::unique_ptr<Program> program;
};

alignas(64) uint8_t method_memory[65536];
alignas(64) uint8_t arena[65536];
alignas(64) uint8_t temp[4096];

struct Memory {
  size_t method = sizeof(method_memory);
  Span<uint8_t> planned = {arena, sizeof(arena)};
  size_t temp_bytes = sizeof(temp);
};

Error load(const Program& program, const Memory& memory, Report* report) {
  MemoryAllocator allocator({method_memory, memory.method});
  const Span<uint8_t> arenas[] = {memory.planned};
  const HierarchicalAllocator planned(arenas);
  const MemoryManager manager(allocator, planned, {temp, memory.temp_bytes});
  const Result<Method> method = program.load_method("forward", manager, nullptr, report);
  return method.ok() ? Error::kOk : method.error();
}

// A program with something of everything that takes memory.
ProgramDesc varied() {
  ProgramDesc desc = add_relu();
  MethodDesc& method = desc.methods[0];
  TensorDesc bounded = tensor({2, 2}, 48);
  bounded.bounded = true;
  method.values.emplace_back(bounded);                            // 5
  method.values.emplace_back(format::IntListDesc{{2, 2}});        // 6
  method.values.emplace_back(format::TensorListDesc{{0, 1, 3}});  // 7
  method.values.emplace_back(tensor({4}, 64));                    // 8
  method.values.emplace_back(format::TensorListDesc{{4, 8}});     // 9
  method.values.emplace_back(int64_t{0});                         // 10
  method.operators.push_back({"test::sum", "out"});
  method.operators.push_back({"test::twice", "out"});
  method.operators.push_back({"aten::sym_numel", ""});
  method.instructions.emplace_back(KernelCallDesc{2, {7, 8, 8}});
  method.instructions.emplace_back(KernelCallDesc{3, {8, 4, 8, 9}});
  method.instructions.emplace_back(KernelCallDesc{4, {5, 10}});
  method.arenas = {{80, Device()}};
  return desc;
}

// Holds row 233. Each size of method memory up to the one that is needed is the failure of one allocation or another.
TEST(MethodLoad, EveryAllocationThatFailsIsACleanError) {
  const Sources sources(varied());
  Report report;
  const size_t needed =
      sources.program->memory_needed("forward", {method_memory, sizeof(method_memory)}).value().method_bytes;
  ASSERT_LT(needed, sizeof(method_memory));
  for (size_t bytes = 0; bytes < needed; bytes += 8) {
    Memory memory;
    memory.method = bytes;
    ASSERT_EQ(load(*sources.program, memory, &report), Error::kMemoryAllocationFailed) << bytes;
    EXPECT_STREQ(report.place, "method memory");
    EXPECT_NE(std::string(report.message).find(std::to_string(needed)), std::string::npos) << report.message;
  }
  Memory memory;
  memory.method = needed;
  EXPECT_EQ(load(*sources.program, memory, &report), Error::kOk) << report.place << " " << report.message;
}

TEST(MethodLoad, TakesExactlyWhatMemoryNeededSays) {
  const Sources sources(varied());
  const MemoryNeeded unknown = sources.program->memory_needed("forward").value();
  EXPECT_EQ(unknown.temp_bytes, MemoryNeeded::kUnknown);
  EXPECT_EQ(unknown.arena_bytes, 80u);
  const MemoryNeeded needed = sources.program->memory_needed("forward", {method_memory, unknown.method_bytes}).value();
  EXPECT_EQ(needed.method_bytes, unknown.method_bytes);
  EXPECT_EQ(needed.temp_bytes, 16u);
  MemoryAllocator allocator({method_memory, sizeof(method_memory)});
  const Span<uint8_t> arenas[] = {{arena, 80}};
  const HierarchicalAllocator planned(arenas);
  ASSERT_TRUE(sources.program->load_method("forward", MemoryManager(allocator, planned, {temp, 16})).ok());
  EXPECT_EQ(allocator.used_size(), needed.method_bytes);
}

TEST(MethodLoad, TooLittleTempMemoryIsRefusedWithTheNumber) {
  const Sources sources(varied());
  Memory memory;
  memory.temp_bytes = 15;
  Report report;
  EXPECT_EQ(load(*sources.program, memory, &report), Error::kMemoryAllocationFailed);
  EXPECT_STREQ(report.place, "temp memory");
  EXPECT_EQ(std::string(report.message).substr(0, 8), "16 bytes");
}

TEST(MethodLoad, MissingSmallOrMisalignedArenasAreRefused) {
  const Sources sources(varied());
  Report report;
  Memory memory;
  memory.planned = {arena, 79};
  EXPECT_EQ(load(*sources.program, memory, &report), Error::kMemoryAllocationFailed);
  EXPECT_STREQ(report.message, "80 bytes are needed, 79 were given");
  memory.planned = {arena + 8, 1000};
  EXPECT_EQ(load(*sources.program, memory, &report), Error::kInvalidArgument);
  MemoryAllocator allocator({method_memory, sizeof(method_memory)});
  const HierarchicalAllocator none;
  EXPECT_EQ(sources.program->load_method("forward", MemoryManager(allocator, none)).error(), Error::kInvalidArgument);
}

TEST(MethodLoad, AMissingMethodIsNamed) {
  const Sources sources(add_relu());
  MemoryAllocator allocator({method_memory, sizeof(method_memory)});
  const HierarchicalAllocator none;
  Report report;
  EXPECT_EQ(sources.program->load_method("backward", MemoryManager(allocator, none), nullptr, &report).error(),
            Error::kInvalidArgument);
  EXPECT_STREQ(report.message, "there is no method \"backward\"; the first of 1 is \"forward\"");
}

TEST(MethodLoad, MissingKernelsAreNamedAndCounted) {
  ProgramDesc desc = add_relu();
  desc.methods[0].operators[0].overload = "other_out";
  desc.methods[0].operators[1].name = "aten::relux";
  const Ready r = ready(desc);
  EXPECT_EQ(r.error, Error::kOperatorMissing);
  EXPECT_EQ(std::string(r.report.message).substr(0, 52), "no kernel for aten::add.other_out, and for 1 other o");
}

// Limits 1.8.
// A sound instruction after a bad one must not hide it.
TEST(MethodLoad, AMissingOperatorIsNotHiddenByALaterOne) {
  for (const Verification verification : {Verification::kFull, Verification::kMinimal}) {
    for (const int32_t index : {2, -1, INT32_MAX}) {
      ProgramDesc desc = add_relu();
      std::get<KernelCallDesc>(desc.methods[0].instructions[0]).op_index = index;
      const Ready r = ready(desc, verification);
      EXPECT_EQ(r.error, Error::kInvalidProgram);
      EXPECT_NE(std::string(r.report.place).find("instructions[0]"), std::string::npos);
    }
  }
}

TEST(MethodLoad, AMissingBackendIsNamed) {
  ProgramDesc desc = add_relu();
  desc.methods[0].delegates = {{"FancyBackend", 0, {}}};
  desc.payloads = {format::Bytes::of(std::vector<uint8_t>{1, 2, 3})};
  const Sources sources(desc);
  EXPECT_STREQ(sources.program->method_meta("forward")->delegate_id(0), "FancyBackend");
  Report report;
  EXPECT_EQ(load(*sources.program, Memory(), &report), Error::kNotFound);
  EXPECT_STREQ(report.message, "no backend \"FancyBackend\" was given to Program::load (LoadOptions::backends)");
}

TEST(MethodLoad, AMissingDeviceIsNamed) {
  ProgramDesc desc = add_relu();
  for (format::ValueDesc& value : desc.methods[0].values) {
    if (auto* t = std::get_if<TensorDesc>(&value); t != nullptr && t->planned) t->device = Device(DeviceType::kCuda, 1);
  }
  desc.methods[0].arenas[0].device = Device(DeviceType::kCuda, 1);
  const Sources sources(desc);
  Report report;
  EXPECT_EQ(load(*sources.program, Memory(), &report), Error::kNotFound);
  EXPECT_STREQ(report.place, "methods[forward].arenas[0]");
  EXPECT_STREQ(report.message, "cuda:1 is used, but no allocator is registered for its type");
}

TEST(MethodLoad, AConstantInAnotherFileIsNamed) {
  ProgramDesc desc = add_relu();
  TensorDesc& weight = std::get<TensorDesc>(desc.methods[0].values[1]);
  weight.external = true;
  weight.name = "layer.weight";
  const Ready r = ready(desc);
  EXPECT_EQ(r.error, Error::kInvalidState);
  EXPECT_NE(std::string(r.report.message).find("layer.weight"), std::string::npos);
}

// Holds row 234.
TEST(MethodLoad, ATensorListWithAnotherKindIsRefused) {
  for (const Verification verification : {Verification::kFull, Verification::kMinimal}) {
    ProgramDesc desc = varied();
    desc.methods[0].values[7] = format::TensorListDesc{{0, 2}};
    EXPECT_EQ(ready(desc, verification).error, Error::kInvalidType);
    desc.methods[0].values[7] = format::OptionalTensorListDesc{{0, -1, 2}};
    EXPECT_EQ(ready(desc, verification).error, Error::kInvalidType);
    desc.methods[0].values[7] = format::TensorListDesc{{0, 99}};
    EXPECT_EQ(ready(desc, verification).error, Error::kInvalidProgram);
    desc.methods[0].values[7] = format::TensorListDesc{{0, -1}};
    EXPECT_EQ(ready(desc, verification).error, Error::kInvalidProgram);
    desc.methods[0].values[7] = format::OptionalTensorListDesc{{0, -1, 3}};
    EXPECT_EQ(ready(desc, verification).error, Error::kOk);
  }
}

// Holds row 219.
TEST(MethodLoad, AConstantUsedTwiceIsInMemoryOnce) {
  ProgramDesc desc = add_relu();
  desc.methods[0].values.emplace_back(constant({2, 2}, 1));
  desc.methods[0].outputs = {4, 1, 5};
  const Ready r = ready(desc);
  ASSERT_EQ(r.error, Error::kOk);
  EXPECT_EQ(r.method->get_output(1).tensor().raw(), r.method->get_output(2).tensor().raw());
  const uint8_t* constant_bytes = static_cast<const uint8_t*>(r.method->get_output(1).tensor().raw());
  EXPECT_GE(constant_bytes, r.file.data());
  EXPECT_LT(constant_bytes, r.file.data() + r.file.size());
}

// Holds row 224: a dimension order that is none of a tensor's own.
TEST(MethodLoad, ADimensionOrderThatIsNotAPermutationIsRefused) {
  for (const Verification verification : {Verification::kFull, Verification::kMinimal}) {
    ProgramDesc desc = add_relu();
    TensorDesc& sum = std::get<TensorDesc>(desc.methods[0].values[3]);
    sum.sizes = {2, 2};
    sum.dim_order = {1, 1};
    EXPECT_EQ(ready(desc, verification).error, Error::kInvalidProgram);
    sum.dim_order = {0, 2};
    EXPECT_EQ(ready(desc, verification).error, Error::kInvalidProgram);
    sum.dim_order = {0};
    EXPECT_EQ(ready(desc, verification).error, Error::kInvalidProgram);
    sum.dim_order = {1, 0};
    EXPECT_EQ(ready(desc, verification).error, Error::kOk);
  }
}

TEST(MethodLoad, CallsWithTheWrongNumberOfValuesAreRefused) {
  for (const std::vector<int32_t>& args :
       {std::vector<int32_t>{0, 1, 2, 3}, {0, 1, 2, 3, 3, 3}, {}, {0, 1, 2, 99, 3}}) {
    for (const Verification verification : {Verification::kFull, Verification::kMinimal}) {
      ProgramDesc desc = add_relu();
      std::get<KernelCallDesc>(desc.methods[0].instructions[0]).args = args;
      EXPECT_EQ(ready(desc, verification).error, Error::kInvalidProgram);
    }
  }
}

TEST(MethodLoad, CallsWithValuesOfAnotherKindAreRefused) {
  ProgramDesc desc = add_relu();
  std::get<KernelCallDesc>(desc.methods[0].instructions[0]).args = {0, 2, 2, 3, 3};
  const Ready r = ready(desc);
  EXPECT_EQ(r.error, Error::kInvalidType);
  EXPECT_STREQ(r.report.place, "methods[forward].instructions[0] aten::add.out");
  EXPECT_STREQ(r.report.message, "argument 1 must be a tensor, found an integer");
}

TEST(MethodLoad, AMisalignedElementIsRefused) {
  ProgramDesc desc = add_relu();
  std::get<TensorDesc>(desc.methods[0].values[3]).planned->offset = 18;
  EXPECT_EQ(ready(desc, Verification::kMinimal).error, Error::kInvalidProgram);
}

TEST(MethodLoad, AnOffsetOutsideItsArenaIsRefused) {
  for (const Verification verification : {Verification::kFull, Verification::kMinimal}) {
    ProgramDesc desc = add_relu();
    TensorDesc& y = std::get<TensorDesc>(desc.methods[0].values[4]);
    y.planned->offset = 36;
    EXPECT_NE(ready(desc, verification).error, Error::kOk);
    y.planned->offset = UINT64_MAX - 3;
    EXPECT_NE(ready(desc, verification).error, Error::kOk);
    y.planned->offset = 32;
    y.planned->memory_id = 2;
    EXPECT_NE(ready(desc, verification).error, Error::kOk);
    y.planned->memory_id = 0;
    EXPECT_NE(ready(desc, verification).error, Error::kOk);
  }
}

TEST(MethodLoad, ATensorWithoutMemoryIsOnlyTakenWhereTheKernelIgnoresIt) {
  MethodDesc method;
  method.name = "forward";
  method.values = {tensor({2}, 0), tensor({2}, 16), tensor({2}), format::TensorListDesc{{1, 2}}};
  method.inputs = {0};
  method.outputs = {1};
  method.operators = {{"test::twice", "out"}};
  method.instructions = {KernelCallDesc{0, {0, 1, 2, 3}}};
  method.arenas = {{32, Device()}};
  ProgramDesc desc;
  desc.methods = {method};
  Ready r = ready(desc);
  ASSERT_EQ(r.error, Error::kOk) << r.report.message;
  ASSERT_EQ(testing::set_floats(*r.method, 0, {1, 2}, {2}), Error::kOk);
  ASSERT_EQ(r.method->execute(), Error::kOk);
  EXPECT_EQ(testing::floats(r.method->get_output(0)), (std::vector<float>{2, 4}));

  std::get<KernelCallDesc>(desc.methods[0].instructions[0]).args = {0, 2, 1, 3};
  EXPECT_EQ(ready(desc).error, Error::kInvalidProgram);
  std::get<KernelCallDesc>(desc.methods[0].instructions[0]).args = {2, 1, 1, 3};
  EXPECT_EQ(ready(desc).error, Error::kInvalidProgram);
}

}  // namespace
}  // namespace berth
