// The plan check runs where programs are made and where they are loaded: in the compiler's final check, and when a
// method is loaded, where records in the file must not weaken it.
#include <gtest/gtest.h>

#include <string>

#include "compiler/check_program.h"
#include "format/write/programs_testing.h"
#include "kernels/portable/portable.h"
#include "runtime/host/host_method.h"

namespace berth {
namespace {

using format::JumpFalseDesc;
using format::KernelCallDesc;
using format::testing::tensor;

/// An input x of eight floats; r is its first half under one condition, and relu(y) otherwise; out = (x, r). The file
/// says that r lies at `place` and is a view of x, so that x's own half is never copied.
format::ProgramDesc piece_of_an_input(int64_t place) {
  format::MethodDesc method;
  method.name = "forward";
  method.values = {tensor({1}, 64, DType::kBool), tensor({8}, 0), tensor({4}, 32), tensor({4}, place), false};
  method.inputs = {0, 1, 2};
  method.outputs = {1, 3};
  method.operators = {{"aten::relu", "out"}};
  method.instructions = {JumpFalseDesc{0, 2}, JumpFalseDesc{4, 3}, KernelCallDesc{0, {2, 3, 3}}};
  method.arenas = {{96, Device()}};
  format::MethodMetaDesc meta;
  meta.name = "forward";
  meta.relations = {fb::Relation(3, 1, fb::RelationKind::VIEW)};
  format::ProgramDesc program;
  program.methods = {method};
  program.named_data = {format::meta_blob({"berth test", {meta}})};
  return program;
}

/// A straight line: h = relu(x), i = relu(h), y = relu(h), with i over h.
format::ProgramDesc line(int64_t i) {
  format::MethodDesc method;
  method.name = "forward";
  method.values = {tensor({4}, 0), tensor({4}, 16), tensor({4}, i), tensor({4}, 48)};
  method.inputs = {0};
  method.outputs = {2, 3};
  method.operators = {{"aten::relu", "out"}};
  method.instructions = {KernelCallDesc{0, {0, 1, 1}}, KernelCallDesc{0, {1, 2, 2}}, KernelCallDesc{0, {1, 3, 3}}};
  method.arenas = {{64, Device()}};
  format::ProgramDesc program;
  program.methods = {method};
  return program;
}

/// "loaded", or why not.
std::string load(const format::ProgramDesc& desc, Verification verification = Verification::kFull) {
  const std::vector<uint8_t> file = format::testing::bytes_of(desc);
  const BufferLoader loader{Span<const uint8_t>(file)};
  LoadOptions load_options;
  load_options.verification = verification;
  const auto program = Program::load(loader, portable::kernels(), load_options);
  if (!program.ok()) return "no program";
  Report report;
  HostOptions options;
  options.report = &report;
  const auto method = HostMethod::load(*program, "forward", options);
  return method.ok() ? "loaded" : std::string(report.place) + ": " + report.message;
}

std::string checked(const format::ProgramDesc& desc) {
  const auto status = check_program(format::testing::bytes_of(desc));
  return status.ok() ? "sound" : status.error().text();
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

// Limits 1.7. Always, for every file, unless the loading code says that he knows better.
TEST(PlanCheck, RunsAtEveryLoadAndAfterEveryCompilation) {
  EXPECT_EQ(load(line(32)), "loaded");
  EXPECT_EQ(checked(line(32)), "sound");
  const std::string fault = "it writes value 2 over bytes of value 1, which instruction 2 still reads";
  EXPECT_TRUE(has(load(line(16)), "methods[0].instructions[1]: " + fault)) << load(line(16));
  EXPECT_TRUE(has(checked(line(16)), fault)) << checked(line(16));
  EXPECT_EQ(load(line(16), Verification::kMinimal), "loaded");
}

// Limits 1.6. An emitter once made this: the branch that computes the result wrote into the living input.
TEST(PlanCheck, ARecordedViewExcusesNothing) {
  const std::string fault = "it writes value 3 over bytes of value 1, which is an output";
  EXPECT_TRUE(has(load(piece_of_an_input(0)), fault)) << load(piece_of_an_input(0));
  EXPECT_TRUE(has(checked(piece_of_an_input(0)), fault)) << checked(piece_of_an_input(0));
}

/// line(), all of it in arena `arena` of three.
format::ProgramDesc line_in(uint32_t arena, int64_t i) {
  format::ProgramDesc program = line(i);
  format::MethodDesc& method = program.methods[0];
  method.arenas.clear();
  for (uint32_t k = 1; k <= 3; ++k) method.arenas.push_back({k == arena ? 64u : 16u, Device()});
  for (format::ValueDesc& value : method.values) std::get<format::TensorDesc>(value).planned->memory_id = arena;
  return program;
}

/// x goes to a device twice and comes back twice; the second copy there lies at `second`.
format::ProgramDesc there_and_back(Device device, uint64_t second) {
  format::MethodDesc method;
  method.name = "forward";
  method.values = {tensor({4}, 0), tensor({4}, 0), tensor({4}, 0), tensor({4}, 16), tensor({4}, 32)};
  for (const size_t there : {size_t{1}, size_t{2}}) {
    auto& one = std::get<format::TensorDesc>(method.values[there]);
    one.device = device;
    one.planned = format::ArenaOffset{2, there == 1 ? 0 : second};
  }
  method.inputs = {0};
  method.outputs = {3, 4};
  method.operators = {{"et_copy::_h2d_copy", "out"}, {"et_copy::_d2h_copy", "out"}};
  method.instructions = {KernelCallDesc{0, {0, 1, 1}}, KernelCallDesc{0, {0, 2, 2}}, KernelCallDesc{1, {1, 3, 3}},
                         KernelCallDesc{1, {2, 4, 4}}};
  method.arenas = {{48, Device()}, {32, device}};
  format::ProgramDesc program;
  program.methods = {method};
  return program;
}

TEST(PlanCheck, ChecksTheArenasOfHostAndDevices) {
  const std::string fault = "it writes value 2 over bytes of value 1, which instruction 2 still reads";
  for (uint32_t arena = 1; arena <= 3; ++arena) {
    EXPECT_EQ(checked(line_in(arena, 32)), "sound") << arena;
    EXPECT_TRUE(has(checked(line_in(arena, 16)), fault)) << arena << ": " << checked(line_in(arena, 16));
  }
  for (const Device device : {Device(DeviceType::kCuda, 1), Device(DeviceType::kSim, 0)}) {
    EXPECT_EQ(checked(there_and_back(device, 16)), "sound");
    for (const uint64_t second : {0u, 4u}) {
      EXPECT_TRUE(has(checked(there_and_back(device, second)), fault)) << checked(there_and_back(device, second));
    }
  }
  // The same offset in another arena is another byte.
  format::ProgramDesc apart = line(16);
  apart.methods[0].arenas.push_back({64, Device()});
  std::get<format::TensorDesc>(apart.methods[0].values[2]).planned->memory_id = 2;
  EXPECT_EQ(checked(apart), "sound");
}

/// h = relu(x) and i = relu(x), and a last call takes h in a list; i lies at `place`.
format::ProgramDesc listed(int64_t place, bool optional) {
  format::MethodDesc method;
  method.name = "forward";
  method.values = {tensor({4}, 0), tensor({4}, 16), tensor({4}, place), tensor({8}, 64), int64_t{0}};
  const format::TensorListDesc list{{1, 2}};
  if (optional) {
    method.values.push_back(format::OptionalTensorListDesc{{1, 2}});
  } else {
    method.values.push_back(list);
  }
  method.inputs = {0};
  method.outputs = {3};
  method.operators = {{"aten::relu", "out"}, {"aten::cat", "out"}};
  method.instructions = {KernelCallDesc{0, {0, 1, 1}}, KernelCallDesc{0, {0, 2, 2}}, KernelCallDesc{1, {5, 4, 3, 3}}};
  method.arenas = {{96, Device()}};
  format::ProgramDesc program;
  program.methods = {method};
  return program;
}

TEST(PlanCheck, AListsElementsCountAsRead) {
  const std::string fault = "it writes value 2 over bytes of value 1, which instruction 2 still reads";
  for (const bool optional : {false, true}) {
    EXPECT_EQ(checked(listed(32, optional)), "sound");
    EXPECT_TRUE(has(checked(listed(16, optional)), fault)) << checked(listed(16, optional));
  }
  // By a delegate as by a kernel.
  for (const int64_t place : {32, 16}) {
    format::ProgramDesc program = listed(place, false);
    program.methods[0].instructions[2] = format::DelegateCallDesc{0, {5, 3}};
    program.methods[0].delegates = {{"Chip", 0, {}}};
    program.payloads = {format::Bytes::of({1, 2, 3})};
    EXPECT_TRUE(has(checked(program), place == 32 ? "sound" : fault)) << checked(program);
  }
}

TEST(PlanCheck, AListThatIsMovedIsRefused) {
  format::ProgramDesc program = listed(32, false);
  format::MethodDesc& method = program.methods[0];
  method.values.push_back(format::TensorListDesc{{1, 1}});
  method.instructions.insert(method.instructions.begin() + 2, format::MoveDesc{5, 6});
  EXPECT_TRUE(has(checked(program), "only tensors can be followed")) << checked(program);
}

// Same bytes, same elements; but not element by element the same places.
TEST(PlanCheck, InPlaceUnderOtherSizesIsRefused) {
  const auto chain = [](std::vector<int32_t> from, std::vector<int32_t> to) {
    format::MethodDesc method;
    method.name = "forward";
    method.values = {tensor(from, 0), tensor(from, 64), tensor(std::move(to), 64)};
    method.inputs = {0};
    method.outputs = {2};
    method.operators = {{"aten::relu", "out"}};
    method.instructions = {KernelCallDesc{0, {0, 1, 1}}, KernelCallDesc{0, {1, 2, 2}}};
    method.arenas = {{128, Device()}};
    format::ProgramDesc program;
    program.methods = {method};
    return checked(program);
  };
  EXPECT_EQ(chain({2, 8}, {2, 8}), "sound");
  EXPECT_TRUE(has(chain({2, 8}, {8, 2}), "which it reads")) << chain({2, 8}, {8, 2});
  EXPECT_TRUE(has(chain({2, 8}, {16}), "which it reads")) << chain({2, 8}, {16});
  EXPECT_TRUE(has(chain({16}, {4, 4}), "which it reads")) << chain({16}, {4, 4});
}

/// v = relu(x) and w = relu(x) in the bytes of v, both read later, with relations of the file's own invention.
format::ProgramDesc claimed(int64_t w, std::vector<fb::Relation> relations) {
  format::MethodDesc method;
  method.name = "forward";
  method.values = {tensor({4}, 0), tensor({4}, 16), tensor({4}, w), tensor({4}, 48), int64_t{1}};
  method.inputs = {0};
  method.outputs = {3};
  method.operators = {{"aten::relu", "out"}, {"aten::add", "out"}};
  method.instructions = {KernelCallDesc{0, {0, 1, 1}}, KernelCallDesc{0, {0, 2, 2}},
                         KernelCallDesc{1, {1, 2, 4, 3, 3}}};
  method.arenas = {{64, Device()}};
  format::MethodMetaDesc meta;
  meta.name = "forward";
  meta.relations = std::move(relations);
  format::ProgramDesc program;
  program.methods = {method};
  program.named_data = {format::meta_blob({"berth test", {meta}})};
  return program;
}

TEST(PlanCheck, RecordsExcuseNoWriteOverAnotherValue) {
  EXPECT_EQ(checked(claimed(32, {})), "sound");
  for (const fb::RelationKind kind : {fb::RelationKind::VIEW, fb::RelationKind::IN_PLACE, fb::RelationKind::STATE}) {
    for (const auto& [value, base] : {std::pair{1, 2}, std::pair{2, 1}}) {
      const std::string said = checked(claimed(16, {fb::Relation(value, base, kind)}));
      EXPECT_TRUE(has(said, "over bytes of value 1")) << static_cast<int>(kind) << " " << value << ": " << said;
    }
  }
}

// Two that are recorded as views of each other: whatever is said of them, it is said.
TEST(PlanCheck, CyclicViewsEndTheCheck) {
  const std::vector<fb::Relation> circle = {fb::Relation(1, 2, fb::RelationKind::VIEW),
                                            fb::Relation(2, 1, fb::RelationKind::VIEW)};
  EXPECT_EQ(checked(claimed(32, circle)), "sound");
  EXPECT_TRUE(has(checked(claimed(16, circle)), "over bytes of value 1")) << checked(claimed(16, circle));
  // Nothing writes either of them: both name what was there before.
  format::ProgramDesc unwritten = claimed(16, circle);
  unwritten.methods[0].instructions.erase(unwritten.methods[0].instructions.begin(),
                                          unwritten.methods[0].instructions.begin() + 2);
  EXPECT_FALSE(has(checked(unwritten), "far more steps")) << checked(unwritten);
}

// A value that nothing writes is a view of what has its place, of all of it: not of what fills its first half.
TEST(PlanCheck, AnInferredViewCoversAllOfItsBase) {
  const auto half = [](std::vector<int32_t> sizes) {
    format::MethodDesc method;
    method.name = "forward";
    method.values = {tensor({4}, 0), tensor({4}, 32), tensor(std::move(sizes), 32), tensor({4}, 16)};
    method.inputs = {0};
    method.outputs = {2};
    method.operators = {{"aten::relu", "out"}};
    method.instructions = {KernelCallDesc{0, {0, 1, 1}}};
    method.arenas = {{64, Device()}};
    format::ProgramDesc program;
    program.methods = {method};
    return checked(program);
  };
  EXPECT_EQ(half({2, 2}), "sound");
  EXPECT_TRUE(has(half({8}), "it writes value 1 over bytes of value 2")) << half({8});
}

}  // namespace
}  // namespace berth
