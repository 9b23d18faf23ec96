// Records of runs: what is written is what happened, and what is read is not trusted.
#include "tools/etdump.h"

#include <gtest/gtest.h>

#include <cstring>

#include "compiler/compile.h"
#include "compiler/ir/parse.h"
#include "tools/etdump_generated.h"

namespace berth::tool {
namespace {

namespace etdump = fb::etdump;

constexpr const char* kText = R"(
method forward(%x: f32[8,8]) {
  %a: f32[8,8] = aten::mm(%x, %x) "first"
  %b: f32[8,8] = aten::relu(%a) "second"
  %c: f32[8,8] = aten::mm(%b, %a) "third"
  return %c
})";

struct Compiled {
  std::vector<uint8_t> bytes;
  format::ProgramView view;
};

Compiled compiled(const std::string& target, bool stack_traces) {
  Compiled out;
  CompileOptions options;
  options.target = target;
  options.stack_traces = stack_traces;
  auto bytes = compile(ir::parse(kText, "test").value(), options);
  EXPECT_TRUE(bytes.ok()) << bytes.error().text();
  out.bytes = std::move(bytes).value();
  EXPECT_EQ(format::ProgramView::open(out.bytes, &out.view, nullptr), Error::kOk);
  return out;
}

// The instruction that calls the delegate.
size_t delegate_call(const NodeNames& names) {
  size_t index = 0;
  while (index < 10 && names.inside(index) == nullptr) ++index;
  return index;
}

TEST(NodeNames, OutsideOfDelegatesNodesAreNamedWithoutAsking) {
  for (const bool stack_traces : {false, true}) {
    const Compiled program = compiled("portable", stack_traces);
    const NodeNames names = NodeNames::of(program.view, 0);
    EXPECT_EQ(names.node(0), "first");
    EXPECT_EQ(names.node(1), "second");
    EXPECT_EQ(names.node(2), "third");
    EXPECT_EQ(names.node(3), "");
    EXPECT_EQ(names.inside(0), nullptr);
    EXPECT_EQ(names.inside(3), nullptr);
  }
}

TEST(NodeNames, WithinDelegatesNodesAreNamedWithStackTraces) {
  const Compiled without = compiled("sim:0", false);
  const Compiled with = compiled("sim:0", true);
  const NodeNames unnamed = NodeNames::of(without.view, 0);
  const NodeNames named = NodeNames::of(with.view, 0);
  const size_t call = delegate_call(named);
  ASSERT_NE(named.inside(call), nullptr);
  EXPECT_EQ(named.inside(call)->node(0), "first");
  EXPECT_EQ(named.inside(call)->node(1), "second");
  EXPECT_EQ(named.inside(call)->node(2), "third");
  ASSERT_NE(unnamed.inside(call), nullptr);
  EXPECT_EQ(unnamed.inside(call)->node(0), "");
}

InstructionEvent event(size_t index, const char* name, bool is_delegate = false) {
  return {"forward", index, name, {}, is_delegate};
}

void call(RunRecorder& recorder, const InstructionEvent& what) {
  EXPECT_EQ(recorder.before(what), Error::kOk);
  recorder.after(what, Error::kOk);
}

// Two runs of an operator and a delegate with two operators.
std::vector<uint8_t> two_runs(RunRecorder& recorder) {
  call(recorder, event(9, "aten::neg.out"));  // before the first run: not recorded
  for (int run = 0; run < 2; ++run) {
    recorder.begin_run();
    call(recorder, event(0, "aten::add.out"));
    const InstructionEvent delegate = event(1, "berth.cpu", true);
    EXPECT_EQ(recorder.before(delegate), Error::kOk);
    call(recorder, event(0, "berth::conv.out"));
    call(recorder, event(1, "berth::conv.out"));
    recorder.after(delegate, Error::kOk);
    recorder.end_run();
  }
  return recorder.file();
}

const RecordedTime* find(const RunRecord& record, const std::string& name, const std::string& within = "") {
  for (const RecordedTime& time : record.times) {
    if (time.name == name && time.within == within) return &time;
  }
  return nullptr;
}

TEST(RunRecord, HasWhatHappenedInEachRun) {
  RunRecorder recorder;
  const std::vector<uint8_t> file = two_runs(recorder);
  EXPECT_TRUE(looks_like_run_record(file));
  const auto record = read_run_record(file, "x.etdp");
  ASSERT_TRUE(record.ok()) << record.error().text();
  EXPECT_EQ(record->runs, 2);
  EXPECT_EQ(record->times.size(), 5u);
  const RecordedTime* whole = find(*record, "Method::execute");
  const RecordedTime* add = find(*record, "native_call_add.out");
  const RecordedTime* delegate = find(*record, "DELEGATE_CALL");
  const RecordedTime* first = find(*record, "berth::conv.out", "0");
  const RecordedTime* second = find(*record, "berth::conv.out", "1");
  ASSERT_TRUE(whole && add && delegate && first && second);
  EXPECT_EQ(whole->instruction, -1);
  EXPECT_EQ(add->instruction, 0);
  EXPECT_EQ(delegate->instruction, 1);
  EXPECT_EQ(first->instruction, 1) << "that of the call";
  for (const RecordedTime* time : {whole, add, delegate, first, second}) EXPECT_EQ(time->calls, 2);
  EXPECT_GE(whole->total, add->total + delegate->total);
  EXPECT_GE(delegate->total, first->total + second->total);
}

TEST(RunRecord, SaysWhichNodeOfTheModelIsWithinADelegate) {
  const Compiled program = compiled("sim:0", true);
  const NodeNames names = NodeNames::of(program.view, 0);
  const size_t index = delegate_call(names);
  RunRecorder recorder(&names);
  recorder.begin_run();
  const InstructionEvent delegate = event(index, "berth.sim", true);
  EXPECT_EQ(recorder.before(delegate), Error::kOk);
  call(recorder, event(1, "aten::relu.out"));
  recorder.after(delegate, Error::kOk);
  recorder.end_run();
  const auto record = read_run_record(recorder.file(), "x.etdp");
  ASSERT_TRUE(record.ok());
  EXPECT_NE(find(*record, "aten::relu.out", "1 second"), nullptr);
}

TEST(RunRecord, IsReadWithItsSizeInFrontOrWithout) {
  for (const bool prefixed : {false, true}) {
    flatbuffers::FlatBufferBuilder builder;
    const auto name = builder.CreateString("native_call_add.out");
    const auto event = etdump::CreateProfileEvent(builder, name, 0, 4, 17, 0, 0, 100, 350);
    const std::vector<flatbuffers::Offset<etdump::Event>> events = {
        etdump::CreateEvent(builder, event),
        etdump::CreateEvent(builder, 0, etdump::CreateAllocationEvent(builder, 0, 64)),
        etdump::CreateEvent(builder, 0, 0, etdump::CreateDebugEvent(builder))};
    const std::vector<flatbuffers::Offset<etdump::Run>> runs = {
        etdump::CreateRun(builder, 0, -1, 0, builder.CreateVector(events))};
    const auto dump = etdump::CreateDump(builder, 0, builder.CreateVector(runs));
    if (prefixed) {
      builder.FinishSizePrefixed(dump, "ED00");
    } else {
      builder.Finish(dump, "ED00");
    }
    // Aligned as a mapped file is.
    const std::vector<uint8_t> file(builder.GetBufferPointer(), builder.GetBufferPointer() + builder.GetSize());
    const auto record = read_run_record(file, "x.etdp");
    ASSERT_TRUE(record.ok()) << prefixed << record.error().text();
    EXPECT_EQ(record->runs, 1);
    EXPECT_EQ(record->allocations, 1);
    EXPECT_EQ(record->debug_events, 1);
    ASSERT_EQ(record->times.size(), 1u);
    EXPECT_EQ(record->times[0].name, "native_call_add.out");
    EXPECT_EQ(record->times[0].instruction, 4);
    EXPECT_EQ(record->times[0].within, "17");
    EXPECT_EQ(record->times[0].total, 250);
  }
}

TEST(RunRecord, DamageIsAnErrorOrAnotherRecordButNeverACrash) {
  RunRecorder recorder;
  const std::vector<uint8_t> file = two_runs(recorder);
  for (size_t size = 0; size < file.size(); ++size) {
    const std::vector<uint8_t> cut(file.begin(), file.begin() + static_cast<std::ptrdiff_t>(size));
    EXPECT_FALSE(read_run_record(cut, "cut").ok()) << size;
  }
  for (size_t at = 0; at < file.size(); ++at) {
    for (const int flip : {0x01, 0x80, 0xff}) {
      std::vector<uint8_t> damaged = file;
      damaged[at] = static_cast<uint8_t>(damaged[at] ^ flip);
      static_cast<void>(read_run_record(damaged, "damaged").ok());
    }
  }
}

// One run that stands in the list a hundred thousand times would be read as often.
TEST(RunRecord, AFileThatRepeatsItselfIsRefused) {
  flatbuffers::FlatBufferBuilder builder;
  std::vector<flatbuffers::Offset<etdump::Event>> events(
      10000, etdump::CreateEvent(builder, etdump::CreateProfileEvent(builder)));
  const auto run = etdump::CreateRun(builder, 0, -1, 0, builder.CreateVector(events));
  const std::vector<flatbuffers::Offset<etdump::Run>> runs(100000, run);
  builder.FinishSizePrefixed(etdump::CreateDump(builder, 0, builder.CreateVector(runs)), "ED00");
  const auto record = read_run_record({builder.GetBufferPointer(), builder.GetSize()}, "x.etdp");
  ASSERT_FALSE(record.ok());
  EXPECT_EQ(record.error().code, Error::kInvalidExternalData);
  EXPECT_EQ(record.error().text(), "x.etdp: is a damaged record of runs");
}

}  // namespace
}  // namespace berth::tool
