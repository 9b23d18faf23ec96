// The bytes of program files: header, alignment, order of segments, and that the same description gives the same file.
#include "format/write/write_program.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "format/tensor_facts.h"
#include "format/verify.h"
#include "format/write/programs_testing.h"

namespace berth::format {
namespace {

using testing::add_relu;
using testing::bytes_of;
using testing::one_of_everything;

uint64_t number_at(const std::vector<uint8_t>& bytes, size_t at, size_t width) {
  uint64_t value = 0;
  for (size_t i = 0; i < width; ++i) value |= static_cast<uint64_t>(bytes[at + i]) << (8 * i);
  return value;
}

ProgramView view_of(const std::vector<uint8_t>& bytes) {
  ProgramView view;
  Report report;
  EXPECT_EQ(ProgramView::open({bytes.data(), bytes.size()}, &view, &report), Error::kOk) << report.message;
  EXPECT_EQ(verify_program(view, &report), Error::kOk) << report.place << ": " << report.message;
  return view;
}

std::string as_text(Span<const uint8_t> bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

// The offsets are those of the format (format/header.h), checked here byte by byte.
TEST(WriteProgram, HeaderHasTheLayout) {
  const auto bytes = bytes_of(add_relu());
  EXPECT_EQ(std::memcmp(bytes.data() + 4, "ET12eh00", 8), 0);
  EXPECT_EQ(number_at(bytes, 12, 4), 32u);
  const uint64_t program_size = number_at(bytes, 16, 8);
  const uint64_t segment_base = number_at(bytes, 24, 8);
  EXPECT_EQ(segment_base, (program_size + 127) / 128 * 128);
  EXPECT_EQ(number_at(bytes, 32, 8), 16u) << "one constant of four floats";
  EXPECT_EQ(bytes.size(), segment_base + 16) << "nothing follows the last segment";
  for (uint64_t i = program_size; i < segment_base; ++i) EXPECT_EQ(bytes[i], 0);
}

TEST(WriteProgram, WithoutSegmentsThereIsNoHeader) {
  ProgramDesc program = add_relu();
  program.constants.clear();
  program.methods[0].values[1] = testing::tensor({4});
  program.methods[0].inputs = {0, 1};
  const auto bytes = bytes_of(program);
  EXPECT_NE(std::memcmp(bytes.data() + 8, "eh00", 4), 0);
  const ProgramView view = view_of(bytes);
  EXPECT_EQ(view.layout().program_size, bytes.size());
  ASSERT_EQ(length(view.root().segments()), 1u) << "the segment of constants is listed though it is empty";
  EXPECT_EQ(view.root().segments()->Get(0)->size(), 0u);
  EXPECT_EQ(view.root().constant_segment()->offsets()->size(), 1u);
}

// Holds row 231.
TEST(WriteProgram, SegmentsAreInOrderAndAligned) {
  ProgramDesc program = one_of_everything();
  program.constants.push_back(Bytes::of({1, 2, 3}));
  program.constants.push_back(Bytes::of({4}));
  program.segment_alignment = 256;
  program.constant_alignment = 64;
  const auto bytes = bytes_of(program);
  const ProgramView view = view_of(bytes);
  EXPECT_EQ(view.layout().segment_base % 256, 0u);
  // Constants, initial values, one payload (the other is empty), two named data.
  ASSERT_EQ(length(view.root().segments()), 5u);
  for (const fb::DataSegment* segment : *view.root().segments()) EXPECT_EQ(segment->offset() % 256, 0u);
  const auto* offsets = view.root().constant_segment()->offsets();
  ASSERT_EQ(offsets->size(), 4u);
  EXPECT_EQ(offsets->Get(0), 0u);
  EXPECT_EQ(offsets->Get(1), 0u);
  EXPECT_EQ(offsets->Get(2), 64u);
  EXPECT_EQ(offsets->Get(3), 128u);
  EXPECT_EQ(view.root().segments()->Get(0)->size(), 129u) << "no padding after the last constant";

  Span<const uint8_t> found;
  ASSERT_EQ(view.constant(2, 3, &found), Error::kOk);
  EXPECT_EQ(as_text(found), "\1\2\3");
  ASSERT_EQ(view.initial_value(1, 24, &found), Error::kOk);
  EXPECT_EQ(as_text(found), std::string(24, 7));
  ASSERT_EQ(view.named_data("weights", &found), Error::kOk);
  EXPECT_EQ(as_text(found), std::string(40, 9));
  ASSERT_EQ(view.delegate_payload(*view.method(1).delegates()->Get(0), &found), Error::kOk);
  EXPECT_EQ(as_text(found), "\1\2\3");
  ASSERT_EQ(view.delegate_payload(*view.method(1).delegates()->Get(1), &found), Error::kOk);
  EXPECT_TRUE(found.empty());
}

TEST(WriteProgram, TheDescriptionIsReadBack) {
  const auto bytes = bytes_of(one_of_everything());
  const ProgramView view = view_of(bytes);
  ASSERT_EQ(view.method_count(), 2u);
  EXPECT_EQ(view.find_method("step"), 1);
  EXPECT_EQ(view.find_method("back"), -1);
  const fb::ExecutionPlan& plan = view.method(1);

  const fb::Tensor& state = *tensor_at(plan, 5);
  EXPECT_EQ(storage_of(state), Storage::kState);
  EXPECT_STREQ(text(state.extra_tensor_info()->fully_qualified_name()), "counter");
  EXPECT_EQ(planned_offset(*state.allocation_info()), 64u);
  const fb::Tensor& bounded = *tensor_at(plan, 6);
  EXPECT_EQ(bounded.shape_dynamism(), fb::TensorShapeDynamism::DYNAMIC_BOUND);
  EXPECT_EQ(bounded.dim_order()->Get(0), 1);
  EXPECT_EQ(tensor_device(*tensor_at(plan, 7)), Device(DeviceType::kCuda, 1));
  EXPECT_EQ(tensor_at(plan, 0)->extra_tensor_info(), nullptr) << "nothing extra for tensors of the host";
  EXPECT_EQ(arena_device(plan, 2), Device(DeviceType::kCuda, 1));
  EXPECT_EQ(view.method(0).non_const_buffer_device(), nullptr) << "no list when all arenas are the host's";

  EXPECT_EQ(plan.values()->Get(9)->val_as_Double()->double_val(), 2.5);
  EXPECT_STREQ(text(plan.values()->Get(10)->val_as_String()->string_val()), "floor");
  EXPECT_EQ(plan.values()->Get(15)->val_as_BoolList()->items()->Get(0), 1);
  EXPECT_EQ(plan.values()->Get(17)->val_as_OptionalTensorList()->items()->Get(0), -1);
  const fb::Chain& chain = *plan.chains()->Get(0);
  EXPECT_EQ(chain.instructions()->Get(4)->instr_args_as_JumpFalseCall()->destination_instruction(), 7);
  EXPECT_STREQ(text(chain.stacktrace()->Get(0)->items()->Get(0)->context()), "return x + w");

  ASSERT_NE(view.meta(), nullptr);
  const fb::MethodMeta& meta = *view.meta()->methods()->Get(0);
  EXPECT_STREQ(text(meta.values()->Get(1)->node()), "Add_0");
  EXPECT_EQ(meta.symbols()->Get(1)->b()->constant(), 2);
  EXPECT_EQ(meta.arenas()->Get(0)->proof(), fb::Proof::LOAD);
}

// Holds row 211.
TEST(WriteProgram, OffsetsKeepAll64Bits) {
  for (const uint64_t offset :
       {uint64_t{0}, uint64_t{55556}, uint64_t{0xffffffff} - 3, uint64_t{1} << 32, (uint64_t{1} << 62) + 16}) {
    ProgramDesc program = add_relu();
    std::get<TensorDesc>(program.methods[0].values[3]).planned->offset = offset;
    program.methods[0].arenas[0].bytes = (uint64_t{1} << 62) + 64;
    const auto bytes = bytes_of(program);
    EXPECT_EQ(planned_offset(*tensor_at(view_of(bytes).method(0), 3)->allocation_info()), offset);
  }
}

// Holds row 225.
TEST(WriteProgram, InfinitiesStayInfinities) {
  ProgramDesc program = add_relu();
  const auto first = static_cast<uint32_t>(program.methods[0].values.size());
  for (const double number : {HUGE_VAL, -HUGE_VAL, std::nan("")}) program.methods[0].values.emplace_back(number);
  const auto bytes = bytes_of(program);
  const fb::ExecutionPlan& plan = view_of(bytes).method(0);
  const auto number = [&](uint32_t i) { return plan.values()->Get(first + i)->val_as_Double()->double_val(); };
  EXPECT_EQ(number(0), HUGE_VAL);
  EXPECT_EQ(number(1), -HUGE_VAL);
  EXPECT_TRUE(std::isnan(number(2)));
}

// Holds row 229.
TEST(WriteProgram, LargeArenasKeepTheirSize) {
  ProgramDesc program = add_relu();
  program.methods[0].arenas[0].bytes = uint64_t{1} << 48;
  const auto bytes = bytes_of(program);
  EXPECT_EQ(view_of(bytes).method(0).non_const_buffer_sizes()->Get(1), int64_t{1} << 48);
}

// Holds row 227, row 228. Only what is not the host's is listed; a file without such arenas has no list.
TEST(WriteProgram, ListsTheDevicesOfTheArenas) {
  ProgramDesc program = add_relu();
  program.methods[0].arenas = {
      {48, Device()}, {64, Device(DeviceType::kCuda, 0)}, {8, Device()}, {32, Device(DeviceType::kCuda, 3)}};
  const auto bytes = bytes_of(program);
  const fb::ExecutionPlan& plan = view_of(bytes).method(0);
  ASSERT_EQ(length(plan.non_const_buffer_device()), 2u);
  const Device expected[] = {Device(), Device(DeviceType::kCuda, 0), Device(), Device(DeviceType::kCuda, 3)};
  for (uint32_t k = 1; k <= 4; ++k) EXPECT_EQ(arena_device(plan, k), expected[k - 1]);
  const auto host = bytes_of(add_relu());
  EXPECT_EQ(view_of(host).method(0).non_const_buffer_device(), nullptr);
}

TEST(WriteProgram, ATensorAndItsArenaAreOnOneDevice) {
  EXPECT_TRUE(check_arenas(add_relu()).ok());
  EXPECT_TRUE(check_arenas(one_of_everything()).ok());
  const auto said = [](ProgramDesc program) {
    const Status status = check_arenas(program);
    return status.ok() ? "nothing" : status.error().text();
  };
  ProgramDesc program = add_relu();
  std::get<TensorDesc>(program.methods[0].values[3]).device = Device(DeviceType::kCuda, 1);
  EXPECT_EQ(said(program), "method forward: values[3]: the tensor is on cuda:1, its arena 1 on cpu");
  program.methods[0].arenas[0].device = Device(DeviceType::kCuda, 1);
  EXPECT_EQ(said(program), "method forward: values[0]: the tensor is on cpu, its arena 1 on cuda:1");
  program = add_relu();
  std::get<TensorDesc>(program.methods[0].values[4]).planned->memory_id = 2;
  EXPECT_EQ(said(program), "method forward: values[4]: arena 2 does not exist; there are arenas 1 to 1");
}

TEST(WriteProgram, SameDescriptionGivesTheSameBytes) {
  EXPECT_EQ(bytes_of(one_of_everything()), bytes_of(one_of_everything()));
}

TEST(WriteProgram, AFailingSinkStopsTheWrite) {
  const auto whole = bytes_of(one_of_everything());
  size_t calls = 0;
  const auto count = write_program(one_of_everything(), [&](Span<const uint8_t>) -> Status {
    ++calls;
    return Done();
  });
  ASSERT_TRUE(count.ok());
  for (size_t fail_at = 1; fail_at <= calls; ++fail_at) {
    size_t call = 0;
    const auto done = write_program(one_of_everything(), [&](Span<const uint8_t>) -> Status {
      if (++call == fail_at) return Failure{Error::kAccessFailed, "disk", "it is full"};
      return Done();
    });
    ASSERT_FALSE(done.ok());
    EXPECT_EQ(done.error().message, "it is full");
    EXPECT_EQ(call, fail_at) << "nothing is written after a failure";
  }
}

TEST(WriteProgram, BlobsOfAnotherSizeThanDeclaredAreRefused) {
  for (const size_t given : {size_t{15}, size_t{17}}) {
    ProgramDesc program = add_relu();
    const std::vector<uint8_t> bytes(given);
    program.constants[0] = {16, [bytes](const Sink& sink) { return sink({bytes.data(), bytes.size()}); }};
    const auto done = program_bytes(program);
    ASSERT_FALSE(done.ok());
    EXPECT_EQ(done.error().code, Error::kInternal);
  }
}

// Holds row 231.
TEST(WriteProgram, AlignmentsThatAreNotPowersOfTwoAreRefused) {
  for (const uint32_t alignment : {0u, 3u, 48u}) {
    ProgramDesc program = add_relu();
    program.constant_alignment = alignment;
    EXPECT_EQ(program_bytes(program).error().code, Error::kInvalidArgument);
    program.constant_alignment = 16;
    program.segment_alignment = alignment;
    EXPECT_EQ(program_bytes(program).error().code, Error::kInvalidArgument);
  }
}

TEST(WriteProgram, MetaOfALaterVersionIsIgnored) {
  flatbuffers::FlatBufferBuilder builder;
  fb::FinishMetaBuffer(builder, fb::CreateMeta(builder, kMetaVersion + 1));
  ProgramDesc program = add_relu();
  const uint8_t* start = builder.GetBufferPointer();
  program.named_data = {{kMetaKey, Bytes::of({start, start + builder.GetSize()}), 16}};
  const auto bytes = bytes_of(program);
  EXPECT_EQ(view_of(bytes).meta(), nullptr);
}

}  // namespace
}  // namespace berth::format
