// The fear: a nested program that reaches beyond what its call was given.

#include "backends/nested/check_nested.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "backends/nested/nested_testing.h"

namespace berth {
namespace {

using format::DelegateDesc;
using format::JumpFalseDesc;
using format::KernelCallDesc;
using format::MoveDesc;
using format::ProgramDesc;
using format::TensorDesc;
using format::testing::tensor;
using testing::HostBackend;
using testing::nested_add_relu;

class CheckNestedTest : public testing::NestedTest {};

// Each entry makes a sound nested program reach beyond its call.
struct Hostile {
  const char* what;
  void (*bend)(format::MethodDesc& method, ProgramDesc& program);
  const char* place;
};

const Hostile kHostile[] = {
    {"another name", [](auto& m, auto&) { m.name = "forward"; }, "nested program methods"},
    {"two methods",
     [](auto&, auto& p) {
       p.methods.push_back(p.methods[0]);
       p.methods[1].name = "more";
     },
     "nested program methods"},
    {"a delegate of its own",
     [](auto& m, auto& p) {
       m.delegates = {DelegateDesc{"test.host", 0, {}}};
       p.payloads = {format::Bytes::of({1})};
     },
     "nested program delegates[0]"},
    {"an arena on a device",
     [](auto& m, auto&) {
       m.arenas[0].device = Device(DeviceType::kSim, 0);
       std::get<TensorDesc>(m.values[3]).device = Device(DeviceType::kSim, 0);
     },
     "nested program arenas[0]"},
    {"a tensor on a device", [](auto& m, auto&) { std::get<TensorDesc>(m.values[4]).device = DeviceType::kSim; },
     "nested program values[4]"},
    {"a second arena",
     [](auto& m, auto&) {
       m.arenas.push_back({16, Device()});
       std::get<TensorDesc>(m.values[3]).planned->memory_id = 2;
     },
     "nested program arenas[1]"},
    {"a constant of its own",
     [](auto& m, auto& p) {
       m.values[1] = format::testing::constant({4}, 1);
       p.constants = {format::Bytes::of(testing::weight_bytes(4))};
     },
     "nested program values[1]"},
    {"state with an initial value",
     [](auto& m, auto& p) {
       std::get<TensorDesc>(m.values[3]).data_buffer_idx = 1;
       p.initial_values = {format::Bytes::of(testing::weight_bytes(4))};
     },
     "nested program values[3]"},
    {"state that begins as zeros", [](auto& m, auto&) { std::get<TensorDesc>(m.values[3]).name = "state"; },
     "nested program values[3]"},
    {"an input in the scratch",
     [](auto& m, auto&) { std::get<TensorDesc>(m.values[0]).planned = format::ArenaOffset{}; },
     "nested program inputs[0]"},
    {"an output in the scratch", [](auto& m, auto&) { m.outputs = {3}; }, "nested program outputs[0]"},
    {"an input that is a number", [](auto& m, auto&) { m.inputs = {2}; }, "nested program inputs[0]"},
    {"an input that is a constant", [](auto& m, auto&) { m.inputs = {1}; }, "nested program inputs[0]"},
    {"an input twice",
     [](auto& m, auto&) {
       m.inputs = {0, 0};
     },
     "nested program inputs[1]"},
    {"an output twice",
     [](auto& m, auto&) {
       m.outputs = {4, 4};
     },
     "nested program outputs[1]"},
    {"an input that is the output", [](auto& m, auto&) { m.outputs = {0}; }, "nested program outputs[0]"},
    {"a place beyond the scratch", [](auto& m, auto&) { std::get<TensorDesc>(m.values[3]).planned->offset = 16; }, ""},
    {"an input that is an out argument",
     [](auto& m, auto&) {
       m.instructions[0] = KernelCallDesc{0, {0, 1, 2, 0, 0}};
     },
     "nested program instructions[0]"},
    {"an input that is changed in place",
     [](auto& m, auto&) {
       m.operators.push_back({"aten::copy_", ""});
       m.values.push_back(false);
       m.instructions.push_back(KernelCallDesc{2, {0, 3, 5, 0}});
     },
     "nested program instructions[2]"},
    {"an input that becomes a view",
     [](auto& m, auto&) {
       m.operators.push_back({"executorch_prim::et_view", "default"});
       m.values.push_back(int64_t{4});
       m.values.push_back(format::IntListDesc{{5}});
       m.instructions.push_back(KernelCallDesc{2, {3, 6, 0}});
     },
     "nested program instructions[2]"},
    {"a row that is written",
     [](auto& m, auto&) {
       m.operators.push_back({"berth::row", "write"});
       m.values.push_back(int64_t{0});
       m.values.push_back(tensor({}));
       m.instructions.push_back(KernelCallDesc{2, {3, 5, 6}});
     },
     "nested program instructions[2]"},
    {"an output that becomes a view",
     [](auto& m, auto&) {
       m.operators.push_back({"executorch_prim::et_view", "default"});
       m.values.push_back(int64_t{4});
       m.values.push_back(format::IntListDesc{{5}});
       m.instructions.push_back(KernelCallDesc{2, {3, 6, 4}});
     },
     "nested program instructions["},
    {"an input that is written through a view",
     [](auto& m, auto&) {
       m.operators.push_back({"executorch_prim::et_view", "default"});
       m.operators.push_back({"aten::copy_", ""});
       m.values.push_back(int64_t{4});
       m.values.push_back(format::IntListDesc{{5}});
       m.values.push_back(tensor({4}));
       m.values.push_back(false);
       m.instructions.push_back(KernelCallDesc{2, {0, 6, 7}});
       m.instructions.push_back(KernelCallDesc{3, {7, 3, 8, 7}});
     },
     "nested program instructions[3]"},
    {"an input in a list of outputs",
     [](auto& m, auto&) {
       m.operators.push_back({"test::write_all", "out"});
       m.values.push_back(format::TensorListDesc{{4, 0}});
       m.instructions.push_back(KernelCallDesc{2, {3, 5, 5}});
     },
     "nested program instructions[2]"},
    {"a move of an input",
     [](auto& m, auto&) {
       m.instructions.push_back(MoveDesc{0, 3});
     },
     "nested program instructions[2]"},
    {"a move of a constant",
     [](auto& m, auto&) {
       m.instructions.push_back(MoveDesc{1, 3});
     },
     "nested program instructions[2]"},
    {"a move to an output",
     [](auto& m, auto&) {
       m.instructions.push_back(MoveDesc{3, 4});
     },
     "nested program instructions[2]"},
    {"a move to an input",
     [](auto& m, auto&) {
       m.instructions.push_back(MoveDesc{3, 0});
     },
     "nested program instructions[2]"},
};

// The same with an output used as scratch: arena 2 is the bytes of output 0, arena 1 the scratch.
const Hostile kHostileLent[] = {
    {"an arena larger than its result", [](auto& m, auto&) { m.arenas[1].bytes = 32; }, "nested program outputs[0]"},
    {"a result that is not the whole arena",
     [](auto& m, auto&) {
       m.arenas[1].bytes = 32;
       std::get<TensorDesc>(m.values[5]).planned->offset = 16;
     },
     "nested program outputs[0]"},
    {"a result in the scratch", [](auto& m, auto&) { std::get<TensorDesc>(m.values[5]).planned->memory_id = 1; },
     "nested program outputs[0]"},
    {"an arena whose result lies elsewhere", [](auto& m, auto&) { std::get<TensorDesc>(m.values[5]).planned.reset(); },
     "nested program outputs[0]"},
    {"an arena without a result",
     [](auto& m, auto&) {
       m.arenas.push_back({16, Device()});
     },
     "nested program arenas[2]"},
    {"an input in a result",
     [](auto& m, auto&) {
       std::get<TensorDesc>(m.values[0]).planned = format::ArenaOffset{2, 0};
     },
     "nested program inputs[0]"},
    {"one arena for two results",
     [](auto& m, auto&) {
       m.arenas.push_back({16, Device()});
       m.outputs = {5, 3};
     },
     "nested program outputs[1]"},
    {"state in a result", [](auto& m, auto&) { std::get<TensorDesc>(m.values[3]).name = "state"; },
     "nested program values[3]"},
    {"a result that becomes a view",
     [](auto& m, auto&) {
       m.operators.push_back({"executorch_prim::et_view", "default"});
       m.values.push_back(int64_t{4});
       m.values.push_back(format::IntListDesc{{6}});
       m.instructions.push_back(KernelCallDesc{2, {4, 7, 5}});
     },
     "nested program instructions["},
    {"a result that is moved",
     [](auto& m, auto&) {
       m.instructions.push_back(MoveDesc{5, 4});
     },
     "nested program instructions[3]"},
    {"a place beyond the result", [](auto& m, auto&) { std::get<TensorDesc>(m.values[3]).planned->offset = 16; }, ""},
};

TEST_F(CheckNestedTest, ProgramsThatReachBeyondTheirResultsAreRefusedWithThePlace) {
  ASSERT_EQ(measure(testing::nested_with_output_scratch()), Error::kOk) << report_.place << ": " << report_.message;
  for (const Hostile& hostile : kHostileLent) {
    SCOPED_TRACE(hostile.what);
    ProgramDesc program = testing::nested_with_output_scratch();
    hostile.bend(program.methods[0], program);
    EXPECT_EQ(measure(program), Error::kInvalidProgram);
    EXPECT_NE(report_.message[0], '\0');
    EXPECT_EQ(std::string(report_.place).rfind(hostile.place, 0), 0u) << report_.place << ": " << report_.message;
  }
}

TEST_F(CheckNestedTest, AnOldPayloadHasNoArenaButItsScratch) {
  version_ = format::kNestedVersion;
  EXPECT_EQ(measure(testing::nested_with_output_scratch()), Error::kInvalidProgram);
  EXPECT_STREQ(report_.place, "nested program arenas[1]");
  version_ = format::kNestedOutputScratchVersion;
  EXPECT_EQ(measure(nested_add_relu()), Error::kOk) << "a new one needs none: " << report_.message;
}

// x + w in x's own bytes.
TEST_F(CheckNestedTest, AnInputIsChangedInPlaceOnlyWhereItIsAnOutput) {
  ProgramDesc program = nested_add_relu();
  auto& method = program.methods[0];
  method.instructions = {KernelCallDesc{0, {0, 1, 2, 0, 0}}};
  method.outputs = {0};
  version_ = format::kNestedInPlaceVersion;
  EXPECT_EQ(measure(program), Error::kOk) << report_.place << ": " << report_.message;
  version_ = format::kNestedOutputScratchVersion;
  EXPECT_EQ(measure(program), Error::kInvalidProgram);
  EXPECT_STREQ(report_.place, "nested program outputs[0]");
  version_ = format::kNestedInPlaceVersion;
  method.outputs = {4};
  EXPECT_EQ(measure(program), Error::kInvalidProgram);
  EXPECT_NE(std::string(report_.message).find("an input or a view, is written"), std::string::npos) << report_.message;
}

TEST_F(CheckNestedTest, AnInputLiesInTheScratchOrIsTheCallers) {
  ProgramDesc program = nested_add_relu();
  auto& method = program.methods[0];
  method.values[0] = method.values[3];
  version_ = format::kNestedPortInScratchVersion;
  EXPECT_EQ(measure(program), Error::kOk) << report_.place << ": " << report_.message;
  version_ = format::kNestedInPlaceVersion;
  EXPECT_EQ(measure(program), Error::kInvalidProgram) << "older readers do not know it";
  EXPECT_STREQ(report_.place, "nested program inputs[0]");
  version_ = format::kNestedPortInScratchVersion;
  method.arenas.push_back(method.arenas[0]);
  std::get<format::TensorDesc>(method.values[0]).planned->memory_id = format::nested_output_arena(0);
  EXPECT_EQ(measure(program), Error::kInvalidProgram) << "in a result's bytes";
  EXPECT_STREQ(report_.place, "nested program inputs[0]");
}

TEST_F(CheckNestedTest, AnOutputLiesInTheScratchOrFillsItsArena) {
  ProgramDesc program = nested_add_relu();
  auto& method = program.methods[0];
  method.values[4] = method.values[3];
  method.instructions = {KernelCallDesc{0, {0, 1, 2, 4, 4}}};
  version_ = format::kNestedPortInScratchVersion;
  EXPECT_EQ(measure(program), Error::kOk) << report_.place << ": " << report_.message;
  version_ = format::kNestedInPlaceVersion;
  EXPECT_EQ(measure(program), Error::kInvalidProgram) << "older readers do not know it";
  EXPECT_STREQ(report_.place, "nested program outputs[0]");
  version_ = format::kNestedPortInScratchVersion;
  method.arenas.push_back(method.arenas[0]);
  EXPECT_EQ(measure(program), Error::kInvalidProgram) << "an arena of its own, too";
  EXPECT_STREQ(report_.place, "nested program outputs[0]");
}

// The sum is written where x is, and x is read after it.
TEST_F(CheckNestedTest, AnInputInTheScratchThatIsReadLaterIsNotOverwritten) {
  ProgramDesc program = nested_add_relu();
  auto& method = program.methods[0];
  method.values[0] = method.values[3];
  version_ = format::kNestedPortInScratchVersion;
  ASSERT_EQ(load(program), Error::kOk) << report_.place << ": " << report_.message;
  unload();
  method.instructions.push_back(KernelCallDesc{1, {0, 4, 4}});
  EXPECT_EQ(load(program), Error::kInvalidProgram);
  EXPECT_NE(std::string(report_.message).find("over bytes of value 0"), std::string::npos) << report_.message;
}

TEST_F(CheckNestedTest, AValueInAResultReadAfterTheResultIsRefused) {
  ProgramDesc program = testing::nested_with_output_scratch();
  ASSERT_EQ(load(program), Error::kOk) << report_.place << ": " << report_.message;
  unload();
  program.methods[0].instructions.push_back(KernelCallDesc{1, {3, 4, 4}});
  EXPECT_EQ(load(program), Error::kInvalidProgram);
  EXPECT_NE(std::string(report_.message).find("writes value 5 over bytes of value 3"), std::string::npos)
      << report_.message;
}

TEST_F(CheckNestedTest, AResultOverwrittenAfterItWasWrittenIsRefused) {
  ProgramDesc program = testing::nested_with_output_scratch();
  program.methods[0].instructions.push_back(KernelCallDesc{1, {4, 3, 3}});
  EXPECT_EQ(load(program), Error::kInvalidProgram);
  EXPECT_NE(std::string(report_.message).find("writes value 3 over bytes of value 5"), std::string::npos)
      << report_.message;
}

TEST_F(CheckNestedTest, ProgramsThatReachOutsideAreRefusedWithThePlace) {
  version_ = format::kNestedVersion;
  ASSERT_EQ(measure(nested_add_relu()), Error::kOk);
  for (const Hostile& hostile : kHostile) {
    SCOPED_TRACE(hostile.what);
    ProgramDesc program = nested_add_relu();
    hostile.bend(program.methods[0], program);
    EXPECT_EQ(measure(program), Error::kInvalidProgram);
    EXPECT_NE(report_.message[0], '\0');
    EXPECT_NE(report_.place[0], '\0');
    EXPECT_EQ(std::string(report_.place).rfind(hostile.place, 0), 0u) << report_.place << ": " << report_.message;
  }
}

// The plan, too, is held before anything runs: here the constant sum is overwritten before it is read.
TEST_F(CheckNestedTest, APlanThatOverwritesWhatIsStillReadIsRefused) {
  ProgramDesc program = nested_add_relu();
  auto& method = program.methods[0];
  method.values.push_back(tensor({4}, 0));
  method.instructions.insert(method.instructions.begin() + 1, KernelCallDesc{1, {0, 5, 5}});
  ASSERT_EQ(measure(program), Error::kOk) << report_.message;
  EXPECT_EQ(load(), Error::kInvalidProgram);
}

TEST_F(CheckNestedTest, HostCodeDoesNotFollowTheAddressesOfADevice) {
  ProgramDesc jump = nested_add_relu();
  jump.methods[0].values.push_back(tensor({}, 0, DType::kBool));
  jump.methods[0].instructions.push_back(JumpFalseDesc{5, 0});
  ProgramDesc scalar = nested_add_relu();
  scalar.methods[0].operators.push_back({"aten::_local_scalar_dense", ""});
  scalar.methods[0].instructions.push_back(KernelCallDesc{2, {3, 2}});
  ProgramDesc sizes = nested_add_relu();
  sizes.methods[0].operators.push_back({"aten::sym_numel", ""});
  sizes.methods[0].instructions.push_back(KernelCallDesc{2, {3, 2}});
  EXPECT_EQ(measure(jump), Error::kOk) << report_.message;
  EXPECT_EQ(measure(scalar), Error::kOk) << report_.message;
  EXPECT_EQ(measure(sizes), Error::kOk) << report_.message;
  backend_ = std::make_unique<HostBackend>(false);
  EXPECT_EQ(measure(jump), Error::kInvalidProgram);
  EXPECT_STREQ(report_.place, "nested program instructions[2]");
  EXPECT_EQ(measure(scalar), Error::kInvalidProgram);
  EXPECT_STREQ(report_.place, "nested program instructions[2]");
  EXPECT_NE(std::string(report_.message).find("aten::_local_scalar_dense"), std::string::npos) << report_.message;
  EXPECT_EQ(load(scalar), Error::kInvalidProgram) << "nor where it was not measured before";
  EXPECT_EQ(measure(sizes), Error::kOk) << "sizes are not elements: " << report_.message;
}

TEST_F(CheckNestedTest, ATruncatedOrForeignPayloadIsRefused) {
  ASSERT_EQ(measure(nested_add_relu()), Error::kOk);
  const std::vector<uint8_t> whole = payload_;
  for (size_t size = 0; size < whole.size(); size += 16) {
    payload_.assign(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
    source_.payload = payload_;
    EXPECT_EQ(backend_->memory_needed(source_, {}, 1, &needed_, &report_), Error::kInvalidProgram) << size;
  }
}

TEST_F(CheckNestedTest, AMissingKernelIsNamedAtLoad) {
  ProgramDesc program = nested_add_relu();
  program.methods[0].operators[1] = {"berth::fused", "out"};
  ASSERT_EQ(measure(program), Error::kOperatorMissing);
  EXPECT_NE(std::string(report_.message).find("berth::fused.out"), std::string::npos) << report_.message;
}

}  // namespace
}  // namespace berth
