// Damaged and hostile programs: each is refused with its place, none is believed.
#include "format/verify.h"

#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <string>

#include "format/plan_check/verify_plan.h"
#include "format/write/print_program.h"
#include "format/write/programs_testing.h"

namespace berth::format {
namespace {

using testing::add_relu;
using testing::bytes_of;
using testing::constant;
using testing::one_of_everything;
using testing::tensor;

/// All that a host does with a file that it does not know.
Error look_at(const std::vector<uint8_t>& bytes, Report* report) {
  ProgramView program;
  const Error opened = ProgramView::open({bytes.data(), bytes.size()}, &program, report);
  if (opened != Error::kOk) return opened;
  const Error verified = verify_program(program, report);
  if (verified != Error::kOk) return verified;
  for (size_t m = 0; m < program.method_count(); ++m) {
    std::vector<uint8_t> scratch(std::min<size_t>(plan_scratch_bytes(program, m), 1 << 20));
    verify_plan(program, m, {scratch.data(), scratch.size()}, nullptr, report);
  }
  EXPECT_FALSE(print_program(program).empty());
  return Error::kOk;
}

struct Refusal {
  Error code = Error::kOk;
  std::string place;
  std::string message;
};

/// What verify_program says about add_relu() after `bend`.
Refusal refusal(const std::function<void(ProgramDesc&)>& bend) {
  ProgramDesc program = add_relu();
  bend(program);
  const auto bytes = bytes_of(program);
  Report report;
  const Error code = verify_program({bytes.data(), bytes.size()}, &report);
  return {code, report.place, report.message};
}

#define EXPECT_REFUSED(bend, the_code, the_place, part) \
  do { \
    const Refusal r = refusal([](ProgramDesc& p) { bend; }); \
    EXPECT_EQ(r.code, the_code) << #bend; \
    EXPECT_EQ(r.place, the_place) << #bend; \
    EXPECT_NE(r.message.find(part), std::string::npos) << #bend << " says: " << r.message; \
  } while (false)

TEST(Verify, SoundProgramsPass) {
  for (const ProgramDesc& program : {add_relu(), one_of_everything()}) {
    const auto bytes = bytes_of(program);
    Report report;
    EXPECT_EQ(look_at(bytes, &report), Error::kOk) << report.place << ": " << report.message;
  }
}

// Holds row 232: truncation.
TEST(Verify, TruncatedFilesAreRefusedAtEveryLength) {
  const auto whole = bytes_of(one_of_everything());
  for (size_t size = 0; size < whole.size(); ++size) {
    const std::vector<uint8_t> cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
    Report report;
    ASSERT_NE(look_at(cut, &report), Error::kOk) << size << " of " << whole.size() << " bytes";
    ASSERT_STRNE(report.message, "");
  }
}

// Holds row 232: corruption. Many flips are harmless; none may crash, hang or read outside (the sanitizers say).
TEST(Verify, EveryFlippedBitIsSurvived) {
  auto bytes = bytes_of(one_of_everything());
  int refused = 0;
  for (size_t i = 0; i < bytes.size(); ++i) {
    for (int bit = 0; bit < 8; ++bit) {
      bytes[i] = static_cast<uint8_t>(bytes[i] ^ 1 << bit);
      Report report;
      if (look_at(bytes, &report) != Error::kOk) ++refused;
      bytes[i] = static_cast<uint8_t>(bytes[i] ^ 1 << bit);
    }
  }
  EXPECT_GT(refused, 1000) << "flips are hardly noticed: is anything checked?";
}

TEST(Verify, BytesOfAllOnesAndZerosAreSurvived) {
  const auto whole = bytes_of(one_of_everything());
  for (const uint8_t fill : {uint8_t{0}, uint8_t{0xff}, uint8_t{0x7f}, uint8_t{0x80}}) {
    for (size_t i = 0; i + 4 <= whole.size(); ++i) {
      auto bytes = whole;
      std::memset(bytes.data() + i, fill, 4);
      Report report;
      look_at(bytes, &report);
    }
  }
}

// Holds row 232: misaligned data.
TEST(Verify, MisalignedProgramIsRefused) {
  const auto bytes = bytes_of(add_relu());
  std::vector<uint8_t> moved(bytes.size() + 16);
  for (const size_t shift : std::vector<size_t>{1, 4, 8}) {
    std::memcpy(moved.data() + shift, bytes.data(), bytes.size());
    Report report;
    EXPECT_EQ(verify_program({moved.data() + shift, bytes.size()}, &report), Error::kInvalidArgument) << shift;
  }
}

// Holds row 232: bad root offset.
TEST(Verify, RootOutsideTheProgramIsRefused) {
  const auto whole = bytes_of(add_relu());
  for (const uint32_t root : {0u, 4u, static_cast<uint32_t>(whole.size()), 0x7fffffffu, 0xffffffffu}) {
    auto bytes = whole;
    std::memcpy(bytes.data(), &root, 4);
    Report report;
    EXPECT_EQ(verify_program({bytes.data(), bytes.size()}, &report), Error::kInvalidProgram) << root;
    EXPECT_STREQ(report.place, "header");
  }
}

// Holds row 212: what no arena holds, offsets up to 2^64 - 1 included. A negative one cannot be written.
TEST(Verify, FalseTensorsAreRefused) {
  EXPECT_REFUSED(std::get<TensorDesc>(p.methods[0].values[3]).sizes = {-1}, Error::kInvalidProgram,
                 "methods[0].values[3]", "negative");
  EXPECT_REFUSED((p.methods[0].values[3] = tensor({INT32_MAX, INT32_MAX, INT32_MAX}, 0)), Error::kInvalidProgram,
                 "methods[0].values[3]", "the number of bytes overflows");
  EXPECT_REFUSED((p.methods[0].values[3] = tensor({65536, 65536}, 0)), Error::kInvalidProgram, "methods[0].values[3]",
                 "do not fit into arena 1 of 48 bytes");
  EXPECT_REFUSED((p.methods[0].values[3] = tensor({4}, 36)), Error::kInvalidProgram, "methods[0].values[3]",
                 "16 bytes at offset 36 do not fit into arena 1 of 48 bytes");
  EXPECT_REFUSED(std::get<TensorDesc>(p.methods[0].values[3]).planned->offset = UINT64_MAX, Error::kInvalidProgram,
                 "methods[0].values[3]", "do not fit");
  EXPECT_REFUSED((p.methods[0].values[3] = tensor({4}, 18)), Error::kInvalidProgram, "methods[0].values[3]",
                 "not a multiple");
  EXPECT_REFUSED(std::get<TensorDesc>(p.methods[0].values[3]).planned->memory_id = 0, Error::kInvalidProgram,
                 "methods[0].values[3]", "arena 0 does not exist");
  EXPECT_REFUSED(std::get<TensorDesc>(p.methods[0].values[3]).planned->memory_id = 2, Error::kInvalidProgram,
                 "methods[0].values[3]", "arena 2 does not exist");
  EXPECT_REFUSED(std::get<TensorDesc>(p.methods[0].values[3]).dim_order = {1}, Error::kInvalidProgram,
                 "methods[0].values[3]", "not a permutation");
  EXPECT_REFUSED((std::get<TensorDesc>(p.methods[0].values[3]).dim_order = {0, 1}), Error::kInvalidProgram,
                 "methods[0].values[3]", "1 sizes and 2 entries");
  EXPECT_REFUSED((p.methods[0].values[3] = tensor({1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}, 0)),
                 Error::kInvalidProgram, "methods[0].values[3]", "at most 16");
  EXPECT_REFUSED(std::get<TensorDesc>(p.methods[0].values[3]).dtype = static_cast<DType>(30), Error::kInvalidProgram,
                 "methods[0].values[3]", "element type 30 does not exist");
  EXPECT_REFUSED(std::get<TensorDesc>(p.methods[0].values[3]).device = Device(static_cast<DeviceType>(7)),
                 Error::kInvalidProgram, "methods[0].values[3]", "device type 7 does not exist");
  EXPECT_REFUSED(std::get<TensorDesc>(p.methods[0].values[3]).device = Device(DeviceType::kCuda),
                 Error::kInvalidProgram, "methods[0].values[3]", "the tensor is on cuda:0, its arena 1 on cpu");
  EXPECT_REFUSED(std::get<TensorDesc>(p.methods[0].values[3]).external = true, Error::kInvalidProgram,
                 "methods[0].values[3]", "no name");
}

// Holds row 232: oversized constant request.
TEST(Verify, ConstantsOutsideTheirSegmentAreRefused) {
  EXPECT_REFUSED((p.methods[0].values[1] = constant({5}, 1)), Error::kInvalidProgram, "methods[0].values[1]",
                 "constant 1 of 20 bytes is not in the constant segment");
  EXPECT_REFUSED((p.methods[0].values[1] = constant({4}, 2)), Error::kInvalidProgram, "methods[0].values[1]",
                 "constant 2");
  EXPECT_REFUSED((p.methods[0].values[1] = constant({4}, UINT32_MAX)), Error::kInvalidProgram, "methods[0].values[1]",
                 "is not in");
  EXPECT_REFUSED(std::get<TensorDesc>(p.methods[0].values[0]).data_buffer_idx = 1, Error::kInvalidProgram,
                 "methods[0].values[0]", "initial value 1");
  EXPECT_REFUSED(p.constants.clear(), Error::kInvalidProgram, "methods[0].values[1]", "constant 1");
}

TEST(Verify, MisalignedConstantsAreRefused) {
  ProgramDesc program = add_relu();
  program.constants.insert(program.constants.begin(), Bytes::of({1, 2, 3}));
  std::get<TensorDesc>(program.methods[0].values[1]).data_buffer_idx = 2;
  program.constant_alignment = 1;
  const auto bytes = bytes_of(program);
  Report report;
  EXPECT_EQ(verify_program({bytes.data(), bytes.size()}, &report), Error::kInvalidProgram);
  EXPECT_NE(std::string(report.message).find("not a multiple of its element's 4 bytes"), std::string::npos);
}

/// A program as exporters made it until September 2024: constant 1, of `size` bytes, inside the FlatBuffer.
std::vector<uint8_t> old_program(size_t size) {
  flatbuffers::FlatBufferBuilder builder;
  builder.ForceVectorAlignment(size, 1, 16);
  const auto storage = builder.CreateVector(std::vector<uint8_t>(size, 5));
  const auto buffers = builder.CreateVector(
      std::vector<flatbuffers::Offset<fb::Buffer>>{fb::CreateBuffer(builder), fb::CreateBuffer(builder, storage)});
  const auto sizes = builder.CreateVector(std::vector<int32_t>{4});
  const auto order = builder.CreateVector(std::vector<uint8_t>{0});
  const auto weight = fb::CreateTensor(builder, fb::ScalarType::FLOAT, 0, sizes, order, false, 1);
  const auto values = builder.CreateVector(
      std::vector<flatbuffers::Offset<fb::EValue>>{fb::CreateEValue(builder, fb::KernelTypes::Tensor, weight.Union())});
  const auto ints = builder.CreateVector(std::vector<int32_t>());
  const auto chain =
      fb::CreateChain(builder, 0, 0, builder.CreateVector(std::vector<flatbuffers::Offset<fb::Instruction>>()));
  const auto chains = builder.CreateVector(std::vector<flatbuffers::Offset<fb::Chain>>{chain});
  const auto operators = builder.CreateVector(std::vector<flatbuffers::Offset<fb::Operator>>());
  const auto delegates = builder.CreateVector(std::vector<flatbuffers::Offset<fb::BackendDelegate>>());
  const auto arenas = builder.CreateVector(std::vector<int64_t>{0});
  const auto name = builder.CreateString("forward");
  const auto plan = fb::CreateExecutionPlan(builder, name, 0, values, ints, ints, chains, operators, delegates, arenas);
  const auto plans = builder.CreateVector(std::vector<flatbuffers::Offset<fb::ExecutionPlan>>{plan});
  fb::FinishProgramBuffer(builder, fb::CreateProgram(builder, 0, plans, buffers));
  return {builder.GetBufferPointer(), builder.GetBufferPointer() + builder.GetSize()};
}

TEST(Verify, ConstantsInsideOldProgramsAreFound) {
  const auto bytes = old_program(32);  // longer than the tensor: padding was usual
  ProgramView program;
  Report report;
  ASSERT_EQ(ProgramView::open({bytes.data(), bytes.size()}, &program, &report), Error::kOk) << report.message;
  ASSERT_EQ(verify_program(program, &report), Error::kOk) << report.place << ": " << report.message;
  Span<const uint8_t> found;
  ASSERT_EQ(program.constant(1, 16, &found), Error::kOk);
  EXPECT_EQ(found[15], 5);
  EXPECT_EQ(program.constant(1, 33, &found), Error::kInvalidProgram);
  EXPECT_EQ(program.constant(2, 1, &found), Error::kInvalidProgram);

  const auto short_one = old_program(15);
  EXPECT_EQ(verify_program({short_one.data(), short_one.size()}, &report), Error::kInvalidProgram);
  EXPECT_STREQ(report.message, "constant 1 of 16 bytes is not in the file");
}

// Holds row 234.
TEST(Verify, ListsHoldTheKindTheyDeclare) {
  EXPECT_REFUSED((p.methods[0].values.emplace_back(TensorListDesc{{0, 2}})), Error::kInvalidType,
                 "methods[0].values[5]", "item 1 of the list of Tensor is value 2, of kind Int");
  EXPECT_REFUSED((p.methods[0].values.emplace_back(TensorListDesc{{5}})), Error::kInvalidProgram,
                 "methods[0].values[5]", "the tensors of a list must come before it");
  EXPECT_REFUSED((p.methods[0].values.emplace_back(TensorListDesc{{-1}})), Error::kInvalidProgram,
                 "methods[0].values[5]", "value -1");
  EXPECT_REFUSED((p.methods[0].values.emplace_back(OptionalTensorListDesc{{-1, -2}})), Error::kInvalidProgram,
                 "methods[0].values[5]", "value -2");
  EXPECT_REFUSED((p.methods[0].values.emplace_back(OptionalTensorListDesc{{2}})), Error::kInvalidType,
                 "methods[0].values[5]", "of kind Int");
  EXPECT_REFUSED((p.methods[0].values.emplace_back(IntListDesc{{2, 6}})), Error::kInvalidProgram,
                 "methods[0].values[5]", "item 1 is value 6; there are 6 values");
  EXPECT_REFUSED((p.methods[0].values.emplace_back(IntListDesc{{INT64_MIN}})), Error::kInvalidProgram,
                 "methods[0].values[5]", "item 0 is value -9223372036854775808");
  EXPECT_REFUSED((p.methods[0].values.emplace_back(IntListDesc{{0}})), Error::kInvalidType, "methods[0].values[5]",
                 "of kind Tensor");
}

TEST(Verify, CallsOutsideTheTablesAreRefused) {
  EXPECT_REFUSED((p.methods[0].instructions[1] = KernelCallDesc{2, {3, 4, 4}}), Error::kInvalidProgram,
                 "methods[0].instructions[1]", "operator 2 does not exist; there are 2");
  EXPECT_REFUSED((p.methods[0].instructions[1] = KernelCallDesc{-1, {3, 4, 4}}), Error::kInvalidProgram,
                 "methods[0].instructions[1]", "operator -1");
  EXPECT_REFUSED((p.methods[0].instructions[1] = KernelCallDesc{1, {3, 5, 4}}), Error::kInvalidProgram,
                 "methods[0].instructions[1]", "argument 1 is value 5; there are 5 values");
  EXPECT_REFUSED((p.methods[0].instructions[1] = DelegateCallDesc{0, {3, 4}}), Error::kInvalidProgram,
                 "methods[0].instructions[1]", "delegate 0 does not exist");
  EXPECT_REFUSED((p.methods[0].instructions[1] = MoveDesc{3, 5}), Error::kInvalidProgram, "methods[0].instructions[1]",
                 "value 5 does not exist");
  EXPECT_REFUSED((p.methods[0].instructions[1] = MoveDesc{2, 4}), Error::kInvalidProgram, "methods[0].instructions[1]",
                 "value 2 of kind Int is moved to value 4 of kind Tensor");
  EXPECT_REFUSED((p.methods[0].instructions[1] = JumpFalseDesc{2, 3}), Error::kInvalidProgram,
                 "methods[0].instructions[1]", "goes to instruction 3; the chain has 2");
  EXPECT_REFUSED((p.methods[0].instructions[1] = JumpFalseDesc{2, -1}), Error::kInvalidProgram,
                 "methods[0].instructions[1]", "goes to instruction -1");
  EXPECT_REFUSED((p.methods[0].instructions[1] = JumpFalseDesc{3, 0}), Error::kInvalidProgram,
                 "methods[0].instructions[1]", "neither a Bool");
  EXPECT_REFUSED((p.methods[0].instructions[1] = FreeDesc{3}), Error::kNotSupported, "methods[0].instructions[1]",
                 "FreeCall");
  EXPECT_REFUSED(p.methods[0].inputs[0] = 5, Error::kInvalidProgram, "methods[0].inputs[0]", "value 5 does not exist");
  EXPECT_REFUSED(p.methods[0].outputs[0] = -1, Error::kInvalidProgram, "methods[0].outputs[0]", "value -1");
  EXPECT_REFUSED(p.methods[0].operators[0].name.clear(), Error::kInvalidProgram, "methods[0].operators[0]", "no name");
  EXPECT_REFUSED(p.methods[0].operators[0].name = std::string(95, 'x'), Error::kInvalidProgram,
                 "methods[0].operators[0]", "99 characters");
}

// Holds row 232: null plan name.
TEST(Verify, MethodsHaveDistinctNames) {
  EXPECT_REFUSED(p.methods[0].name.clear(), Error::kInvalidProgram, "methods[0]", "no name");
  EXPECT_REFUSED(p.methods[0].name[0] = '\0', Error::kInvalidProgram, "methods[0]", "no name");
  EXPECT_REFUSED(p.methods.push_back(p.methods[0]), Error::kInvalidProgram, "methods[1]",
                 "methods 0 and 1 are both called \"forward\"");
}

TEST(Verify, DelegatesAndDevicesAreCheckedAgainstTheTables) {
  const auto bent = [](const std::function<void(ProgramDesc&)>& bend) {
    ProgramDesc program = one_of_everything();
    bend(program);
    const auto bytes = bytes_of(program);
    Report report;
    verify_program({bytes.data(), bytes.size()}, &report);
    return std::string(report.place) + ": " + report.message;
  };
  EXPECT_EQ(bent([](ProgramDesc& p) { p.methods[1].delegates[0].id.clear(); }),
            "methods[1].delegates[0]: the delegate has no backend");
  EXPECT_EQ(bent([](ProgramDesc& p) {
              p.methods[1].delegates[0].compile_specs.push_back({"target_device", {'s', 'i', 'm', ':', '0'}});
            }),
            "methods[1].delegates[0]: target_device is both cuda:1 and sim:0; expected one device");
  EXPECT_NE(bent([](ProgramDesc& p) {
              p.methods[1].delegates[1].compile_specs = {{"target_device", {}}};
            }).find("methods[1].delegates[1]: target_device \"\" is not a device; expected"),
            std::string::npos);
  EXPECT_EQ(bent([](ProgramDesc& p) { p.methods[1].arenas[1].device = Device(DeviceType::kCuda, 0); }),
            "methods[1].values[7]: the tensor is on cuda:1, its arena 2 on cuda:0");
  EXPECT_EQ(bent([](ProgramDesc& p) { p.methods[1].arenas[1].device = Device(static_cast<DeviceType>(55)); }),
            std::string("methods[1].non_const_buffer_device[0]: device type 55 does not exist; the types are ") +
                device_type_names());
  EXPECT_EQ(bent([](ProgramDesc& p) { p.methods[1].arenas[0].bytes = uint64_t{1} << 63; }),
            "methods[1].non_const_buffer_sizes[1]: -9223372036854775808 bytes");
}

// Each run looks all symbolic dimensions of all inputs up: a short file must not make that hours.
TEST(Verify, SymbolicDimensionsOfManyInputsHaveALimit) {
  const auto said = [](size_t inputs, size_t dimensions) {
    ProgramDesc program = add_relu();
    program.methods[0].inputs.assign(inputs, program.methods[0].inputs[0]);
    MethodMetaDesc meta;
    meta.name = program.methods[0].name;
    SymbolDesc n;
    n.name = "n";
    n.min = 1;
    n.max = 8;
    meta.symbols = {n};
    meta.dimensions.assign(dimensions, {program.methods[0].inputs[0], 0, 0});
    program.named_data = {meta_blob({"berth test", {meta}})};
    const auto bytes = bytes_of(program);
    Report report;
    verify_program({bytes.data(), bytes.size()}, &report);
    return std::string(report.place) + ": " + report.message;
  };
  EXPECT_EQ(said(4096, 4096), ": ");
  EXPECT_EQ(said(4096, 4097),
            "methods[0].meta.dimensions: 4097 symbolic dimensions of 4096 inputs are more than a run can check");
}

// A program that is not verified may lack its tables; names are verified whenever they are read.
TEST(Verify, MetaOfAMethodWithoutValuesIsRefused) {
  flatbuffers::FlatBufferBuilder builder;
  const auto name = builder.CreateString("a method that has a name and nothing else");
  fb::ExecutionPlanBuilder plan(builder);
  plan.add_name(name);
  const auto plans = builder.CreateVector(std::vector<flatbuffers::Offset<fb::ExecutionPlan>>{plan.Finish()});
  fb::ProgramBuilder root(builder);
  root.add_execution_plan(plans);
  builder.Finish(root.Finish(), "ET12");
  alignas(16) static uint8_t file[1024];
  ASSERT_LE(builder.GetSize(), sizeof file);
  std::memcpy(file, builder.GetBufferPointer(), builder.GetSize());
  ProgramView program;
  Report report;
  ASSERT_EQ(ProgramView::open({file, builder.GetSize()}, &program, &report), Error::kOk) << report.message;
  MethodMetaDesc meta;
  meta.name = "a method that has a name and nothing else";
  std::vector<uint8_t> bytes;
  const auto keep = [&](Span<const uint8_t> part) {
    bytes.insert(bytes.end(), part.begin(), part.end());
    return Status(Done{});
  };
  ASSERT_TRUE(meta_blob({"berth test", {meta}}).bytes.write(keep).ok());
  program.attach_meta({bytes.data(), bytes.size()});
  EXPECT_EQ(verify_meta(program, &report), Error::kInvalidProgram);
  EXPECT_STREQ(report.message, "the method has no values or no arenas");
}

TEST(Verify, MetaIsCheckedToo) {
  const auto bent = [](const std::function<void(MethodMetaDesc&)>& bend) {
    ProgramDesc program = one_of_everything();
    MethodMetaDesc meta;
    meta.name = "step";
    bend(meta);
    program.named_data.back() = meta_blob({"berth test", {meta}});
    const auto bytes = bytes_of(program);
    Report report;
    verify_program({bytes.data(), bytes.size()}, &report);
    return std::string(report.place) + ": " + report.message;
  };
  EXPECT_EQ(bent([](MethodMetaDesc& m) { m.name = "missing"; }), "berth.meta: no method is called \"missing\"");
  EXPECT_EQ(bent([](MethodMetaDesc& m) {
              m.values = {{3, "a", ""}, {3, "b", ""}};
            }),
            "methods[1].meta.values[1]: value 3 after 3; they ascend and there are 20");
  EXPECT_EQ(bent([](MethodMetaDesc& m) { m.outputs = std::vector<std::string>(9, "y"); }).substr(0, 40),
            "methods[1].meta.outputs: 9 names for 3 o");
  EXPECT_EQ(bent([](MethodMetaDesc& m) {
              m.values = {{-1, "a", ""}};
            }),
            "methods[1].meta.values[0]: value -1 after -1; they ascend and there are 20");
  EXPECT_EQ(bent([](MethodMetaDesc& m) {
              m.dimensions = {{0, 1, 0}};
            }),
            "methods[1].meta.dimensions[0]: no dimension 1 of a tensor 0, or no symbol 0");
  EXPECT_EQ(bent([](MethodMetaDesc& m) {
              m.symbols = {{"", fb::SymbolKind::ADD, 0, 1, {0, 0}, {1, -1}}};
            }),
            "methods[1].meta.symbols[0]: operand 0 is not an earlier symbol");
  EXPECT_EQ(bent([](MethodMetaDesc& m) {
              m.relations = {{3, 2, fb::RelationKind::VIEW}};
            }),
            "methods[1].meta.relations[0]: values 3 and 2 are not two tensors");
  EXPECT_EQ(bent([](MethodMetaDesc& m) {
              m.relations = {{3, 0, static_cast<fb::RelationKind>(9)}};
            }),
            "methods[1].meta.relations[0]: kind 9 of relation does not exist");
  EXPECT_EQ(bent([](MethodMetaDesc& m) {
              m.arenas = {{1, 48, 0, fb::Proof::OPEN, -1, "", 0}};
            }),
            "methods[1].meta.arenas[0]: alignment 48 is not a power of two");
  EXPECT_EQ(bent([](MethodMetaDesc& m) {
              m.arenas = {{1, 16, 257, fb::Proof::OPEN, -1, "", 0}};
            }),
            "methods[1].meta.arenas[0]: the lower bound 257 is above the arena's 256 bytes");
  EXPECT_EQ(bent([](MethodMetaDesc& m) {
              m.arenas = {{1, 16, 0, fb::Proof::OPEN, -1, "sram", 255}};
            }),
            "methods[1].meta.arenas[0]: the bank's 255 bytes are fewer than the arena's 256");
}

// A file of a few megabytes that names one list of a million items a hundred thousand times would take minutes.
TEST(Verify, SharedListsCannotMultiplyTheWork) {
  flatbuffers::FlatBufferBuilder builder;
  const auto items = builder.CreateVector(std::vector<int64_t>(20000, 0));
  std::vector<flatbuffers::Offset<fb::EValue>> values;
  values.push_back(fb::CreateEValue(builder, fb::KernelTypes::Int, fb::CreateInt(builder, 1).Union()));
  for (int i = 0; i < 20000; ++i) {
    values.push_back(fb::CreateEValue(builder, fb::KernelTypes::IntList, fb::CreateIntList(builder, items).Union()));
  }
  const auto value_list = builder.CreateVector(values);
  const auto name = builder.CreateString("forward");
  const auto none = builder.CreateVector(std::vector<int32_t>());
  const auto sizes = builder.CreateVector(std::vector<int64_t>{0});
  const auto instructions = builder.CreateVector(std::vector<flatbuffers::Offset<fb::Instruction>>());
  const auto chains = builder.CreateVector(
      std::vector<flatbuffers::Offset<fb::Chain>>{fb::CreateChain(builder, none, none, instructions)});
  const auto operators = builder.CreateVector(std::vector<flatbuffers::Offset<fb::Operator>>());
  const auto delegates = builder.CreateVector(std::vector<flatbuffers::Offset<fb::BackendDelegate>>());
  const auto plan =
      fb::CreateExecutionPlan(builder, name, 0, value_list, none, none, chains, operators, delegates, sizes);
  const auto plans = builder.CreateVector(std::vector<flatbuffers::Offset<fb::ExecutionPlan>>{plan});
  fb::FinishProgramBuffer(builder, fb::CreateProgram(builder, 0, plans));
  const std::vector<uint8_t> bytes(builder.GetBufferPointer(), builder.GetBufferPointer() + builder.GetSize());
  Report report;
  EXPECT_EQ(verify_program({bytes.data(), bytes.size()}, &report), Error::kOutOfResources);
  EXPECT_STREQ(report.message, "the lists name more items than a file of this size can hold");
}

// Holds row 232: null segments.
TEST(Verify, TablesOfConstantsNeedTheirSegment) {
  for (const bool with_constants : {true, false}) {
    flatbuffers::FlatBufferBuilder builder;
    const auto constants = fb::CreateSubsegmentOffsets(builder, 0, builder.CreateVector(std::vector<uint64_t>{0, 0}));
    const auto key = builder.CreateString("weights");
    const auto named =
        builder.CreateVector(std::vector<flatbuffers::Offset<fb::NamedData>>{fb::CreateNamedData(builder, key, 0)});
    const auto none = builder.CreateVector(std::vector<flatbuffers::Offset<fb::ExecutionPlan>>());
    fb::ProgramBuilder program(builder);
    program.add_execution_plan(none);
    if (with_constants) program.add_constant_segment(constants);
    if (!with_constants) program.add_named_data(named);
    fb::FinishProgramBuffer(builder, program.Finish());
    const std::vector<uint8_t> bytes(builder.GetBufferPointer(), builder.GetBufferPointer() + builder.GetSize());
    Report report;
    EXPECT_EQ(verify_program({bytes.data(), bytes.size()}, &report), Error::kInvalidProgram);
    EXPECT_STREQ(report.message, "segment 0 does not exist; there are 0");
  }
}

/// A program whose FlatBuffer lacks what it must have: `omit` is the list that is left out.
std::string without(int omit) {
  flatbuffers::FlatBufferBuilder builder;
  const auto ints = builder.CreateVector(std::vector<int32_t>());
  const auto maybe = [&omit, k = 0](auto offset) mutable { return k++ == omit ? decltype(offset)(0) : offset; };
  auto keep = maybe;
  const auto values = keep(builder.CreateVector(std::vector<flatbuffers::Offset<fb::EValue>>()));
  const auto inputs = keep(ints);
  const auto outputs = keep(ints);
  const auto chains = keep(builder.CreateVector(std::vector<flatbuffers::Offset<fb::Chain>>{
      fb::CreateChain(builder, 0, 0, builder.CreateVector(std::vector<flatbuffers::Offset<fb::Instruction>>()))}));
  const auto operators = keep(builder.CreateVector(std::vector<flatbuffers::Offset<fb::Operator>>()));
  const auto delegates = keep(builder.CreateVector(std::vector<flatbuffers::Offset<fb::BackendDelegate>>()));
  const auto sizes = keep(builder.CreateVector(std::vector<int64_t>{0}));
  const auto name = builder.CreateString("forward");
  const auto plan =
      fb::CreateExecutionPlan(builder, name, 0, values, inputs, outputs, chains, operators, delegates, sizes);
  const auto plans = keep(builder.CreateVector(std::vector<flatbuffers::Offset<fb::ExecutionPlan>>{plan}));
  fb::FinishProgramBuffer(builder, fb::CreateProgram(builder, 0, plans));
  const std::vector<uint8_t> bytes(builder.GetBufferPointer(), builder.GetBufferPointer() + builder.GetSize());
  Report report;
  const Error code = verify_program({bytes.data(), bytes.size()}, &report);
  return code == Error::kOk ? "sound" : report.message;
}

TEST(Verify, AbsentListsAreNamed) {
  EXPECT_EQ(without(-1), "sound");
  const char* names[] = {"values", "inputs", "outputs", "chains", "operators", "delegates", "non_const_buffer_sizes"};
  for (int i = 0; i < 7; ++i) EXPECT_EQ(without(i), std::string("the method has no list of ") + names[i]);
  EXPECT_EQ(without(7), "the program has no list of methods");
}

}  // namespace
}  // namespace berth::format
