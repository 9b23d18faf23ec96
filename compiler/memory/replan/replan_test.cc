// The fear: a plan that is smaller since something that is still wanted was forgotten. Tensors are of four floats, 16
// bytes, and lie far apart before; sums are by hand.
#include "compiler/memory/replan/replan.h"

#include <gtest/gtest.h>

#include "format/plan_check/access.h"
#include "format/write/programs_testing.h"

namespace berth::replan {
namespace {

using format::KernelCallDesc;
using format::MethodDesc;
using format::testing::bytes_of;
using format::testing::tensor;

/// A method of tensors at the given offsets; the first is the input.
struct Made {
  MethodDesc desc;

  explicit Made(const std::vector<int64_t>& offsets, int64_t arena = 1024) {
    desc.name = "forward";
    for (const int64_t offset : offsets) desc.values.emplace_back(tensor({4}, offset));
    desc.inputs = {0};
    desc.operators = {{"test::op", "out"},
                      {"executorch_prim::et_view", "default"},
                      {"executorch_prim::et_copy_index", "tensor"},
                      {"aten::relu", "out"}};
    desc.arenas = {{static_cast<uint64_t>(arena), Device()}};
  }
  Made& op(int32_t out, std::vector<int32_t> in) {
    in.push_back(out);
    in.push_back(out);
    desc.instructions.push_back(KernelCallDesc{0, std::move(in)});
    return *this;
  }
  Made& relu(int32_t out, int32_t in) {
    desc.instructions.push_back(KernelCallDesc{3, {in, out, out}});
    return *this;
  }
  Made& et_view(int32_t out, int32_t self) {
    desc.instructions.push_back(KernelCallDesc{1, {self, extra(format::IntListDesc{{}}), out}});
    return *this;
  }
  Made& copy_index(int32_t to, int32_t row) {
    desc.instructions.push_back(KernelCallDesc{2, {to, row, extra(int64_t{0})}});
    return *this;
  }
  Made& move(int32_t to, int32_t from) {
    desc.instructions.push_back(format::MoveDesc{from, to});
    return *this;
  }
  Made& delegate(std::vector<int32_t> args) {
    desc.delegates = {{"Chip", 0, {}}};
    desc.instructions.push_back(format::DelegateCallDesc{0, std::move(args)});
    return *this;
  }
  Made& jump(int32_t destination) {
    const int32_t condition = extra(true);
    desc.inputs.push_back(condition);
    desc.instructions.push_back(format::JumpFalseDesc{condition, destination});
    return *this;
  }
  Made& outputs(std::vector<int32_t> list) {
    desc.outputs = std::move(list);
    return *this;
  }
  Made& name(const char* name) {
    desc.name = name;
    return *this;
  }
  format::TensorDesc& value(int32_t v) { return std::get<format::TensorDesc>(desc.values[v]); }

 private:
  int32_t extra(format::ValueDesc value) {
    desc.values.push_back(std::move(value));
    return static_cast<int32_t>(desc.values.size()) - 1;
  }
};

std::vector<uint8_t> file_of(const std::vector<Made>& methods) {
  format::ProgramDesc program;
  for (const Made& method : methods) program.methods.push_back(method.desc);
  program.payloads = {format::Bytes::of({1, 2, 3})};
  program.initial_values = {format::Bytes::of(std::vector<uint8_t>(16, 3))};
  return bytes_of(program);
}

std::vector<uint8_t> joined(const format::ReplacedProgram& program) {
  std::vector<uint8_t> out;
  EXPECT_TRUE(program.write(format::append_to(&out)).ok());
  return out;
}

/// A replanned file and where its values lie.
struct After {
  std::vector<uint8_t> file;
  std::vector<ArenaChange> arenas;

  explicit After(const std::vector<uint8_t>& before) {
    auto result = replan(before);
    if (!result.ok()) {
      ADD_FAILURE() << result.error().place << ": " << result.error().message;
      return;
    }
    file = joined(result->program);
    arenas = result->arenas;
  }
  int64_t offset(int32_t value, size_t method = 0) const {
    format::ProgramView view;
    EXPECT_EQ(format::ProgramView::open(file, &view, nullptr), Error::kOk);
    return static_cast<int64_t>(
        format::planned_offset(*format::tensor_at(view.method(method), value)->allocation_info()));
  }
  bool apart(int32_t a, int32_t b) const { return std::abs(offset(a) - offset(b)) >= 16; }
};

TEST(Replan, AChainNeedsTwoBuffers) {
  const After after(file_of({Made({0, 64, 128, 192}).op(1, {0}).op(2, {1}).op(3, {2}).outputs({3})}));
  ASSERT_EQ(after.arenas.size(), 1u);
  EXPECT_EQ(after.arenas[0].before, 1024);
  EXPECT_EQ(after.arenas[0].after, 32);
  EXPECT_EQ(after.arenas[0].lower_bound, 32);
  EXPECT_TRUE(after.arenas[0].optimal);
}

TEST(Replan, ASecondRunChangesNothing) {
  const After once(file_of({Made({0, 64, 128, 192}).op(1, {0}).op(2, {0, 1}).op(3, {2}).outputs({3})}));
  const After twice(once.file);
  EXPECT_EQ(once.file, twice.file);
}

TEST(Replan, AnOptimalPlanIsUnchanged) {
  const std::vector<uint8_t> file = file_of({Made({16, 0, 16}, 32).op(1, {0}).op(2, {1}).outputs({2})});
  const After after(file);
  EXPECT_EQ(after.arenas[0].after, 32);
  EXPECT_EQ(after.offset(0), 16);
  EXPECT_EQ(after.offset(1), 0);
  EXPECT_EQ(after.offset(2), 16);
}

TEST(Replan, APlanAtTheRecordedBoundIsUnchanged) {
  // The second method's berth.meta says 200 of arena 1.
  const After after(bytes_of(format::testing::one_of_everything()));
  ASSERT_EQ(after.arenas.size(), 3u);
  EXPECT_EQ(after.arenas[1].before, 256);
  EXPECT_EQ(after.arenas[1].after, 200);
}

TEST(Replan, AnUnsoundFileIsRefused) {
  const auto result = replan(file_of({Made({0, 64, 64, 192}).op(1, {0}).op(2, {0}).op(3, {1, 2}).outputs({3})}));
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code, Error::kInvalidProgram);
}

//   0: a = op(x)   1: b = op(a)   2: c = op(b)   3: back to 1   4: d = op(c)
TEST(Replan, LoopsKeepWhatIsReadAgainAfterTheJumpBack) {
  const After after(
      file_of({Made({0, 64, 128, 192, 256}).op(1, {0}).op(2, {1}).op(3, {2}).jump(1).op(4, {3}).outputs({4})}));
  EXPECT_TRUE(after.apart(1, 2));
  EXPECT_TRUE(after.apart(1, 3)) << "c is written when a has been read, and a is read again";
  EXPECT_EQ(after.arenas[0].after, 48);
}

TEST(Replan, LoopsKeepAStackFromItsFirstRowOn) {
  Made made({0, 64, 128, 192});
  made.value(2).bounded = true;
  const After after(file_of({made.op(1, {0}).copy_index(2, 1).jump(0).op(3, {2}).outputs({3})}));
  EXPECT_TRUE(after.apart(0, 1));
  EXPECT_TRUE(after.apart(0, 2)) << "x is read in each round";
  EXPECT_TRUE(after.apart(1, 2)) << "a is written again when there are rows already";
  EXPECT_EQ(after.arenas[0].after, 48);
}

TEST(Replan, LoopsKeepAStackWhileItsNextRowIsComputed) {
  //   0: t = op(x)   1: a = op(t)   2: row of s   3: back to 0   4: y = op(s)
  const After after(
      file_of({Made({0, 64, 128, 192, 256}).op(1, {0}).op(2, {1}).copy_index(3, 2).jump(0).op(4, {3}).outputs({4})}));
  EXPECT_TRUE(after.apart(1, 3)) << "t is written when there are rows";
}

TEST(Replan, UnreadStacksStillHaveBytes) {
  const After after(file_of({Made({0, 64, 128, 192}).op(1, {0}).copy_index(2, 1).op(3, {0, 1}).outputs({3})}));
  EXPECT_TRUE(after.apart(2, 0));
  EXPECT_TRUE(after.apart(2, 1));
}

TEST(Replan, InPlaceResultsStayInPlace) {
  const After after(file_of({Made({0, 64, 64, 128}).op(1, {0}).relu(2, 1).op(3, {0, 2}).outputs({3})}));
  EXPECT_EQ(after.offset(1), after.offset(2));
  EXPECT_EQ(after.arenas[0].after, 48);
}

TEST(Replan, JumpsMayLeaveAnOutputAsTheLastRunLeftIt) {
  // 0: b = op(x)   1: to the end   2: c = op(b)   3: a = op(c)
  const After after(file_of({Made({0, 64, 128, 192}).op(2, {0}).jump(4).op(3, {2}).op(1, {3}).outputs({1})}));
  for (const int32_t other : {0, 2, 3}) EXPECT_TRUE(after.apart(1, other)) << other;
}

TEST(Replan, JumpsToTheEndKeepTheOutputs) {
  // 0: a = op(x)   1: to the end   2: b = op(x)   3: a = op(b)
  const After after(file_of({Made({0, 64, 128}).op(1, {0}).jump(4).op(2, {0}).op(1, {2}).outputs({1})}));
  EXPECT_TRUE(after.apart(1, 0));
  EXPECT_EQ(after.arenas[0].after, 48);
}

TEST(Replan, AliasesKeepTheBytes) {
  // 0: a = op(x)   1: n names a   2: b = op(x)   3: c = op(b, n)
  for (const bool view : {false, true}) {
    Made made({0, 64, 128, 192, 256});
    made.op(1, {0});
    view ? made.et_view(2, 1) : made.move(2, 1);
    const After after(file_of({made.op(3, {0}).op(4, {3, 2}).outputs({4})}));
    EXPECT_TRUE(after.apart(1, 3)) << view;
    EXPECT_TRUE(after.apart(1, 4)) << "read under its second name when c is written";
    EXPECT_TRUE(after.apart(3, 4));
  }
}

TEST(Replan, AliasesOfAliasesKeepTheBytes) {
  const After after(file_of(
      {Made({0, 64, 128, 192, 256, 320}).op(1, {0}).move(2, 1).move(3, 2).op(4, {0}).op(5, {4, 3}).outputs({5})}));
  EXPECT_TRUE(after.apart(1, 4));
  EXPECT_TRUE(after.apart(1, 5));
}

TEST(Replan, UnwrittenViewsMoveWithTheirBytes) {
  // v lies where a lies; nothing writes it. b is written between.
  const After after(file_of({Made({0, 512, 512, 128, 192}).op(1, {0}).op(3, {0}).op(4, {2, 3}).outputs({4})}));
  EXPECT_EQ(after.offset(1), after.offset(2));
  EXPECT_TRUE(after.apart(1, 3));
  EXPECT_TRUE(after.apart(2, 4));
  EXPECT_EQ(after.arenas[0].after, 48);
}

TEST(Replan, ViewsLiveAsLongAsTheirBase) {
  // v is read first, a after it.
  const After after(file_of({Made({0, 512, 512, 128, 192}).op(1, {0}).op(3, {2}).op(4, {3, 1}).outputs({4})}));
  EXPECT_TRUE(after.apart(1, 3));
  EXPECT_TRUE(after.apart(1, 4));
}

TEST(Replan, ArgumentsOfDelegatesLiveFromFirstToLastMention) {
  // a is only written twice; between, a foreign backend may remember what it did to it.
  const After after(file_of(
      {Made({0, 64, 128, 192, 256}).delegate({0, 1}).op(2, {0}).op(3, {2}).delegate({3, 1}).op(4, {1}).outputs({4})}));
  EXPECT_TRUE(after.apart(1, 2));
  EXPECT_TRUE(after.apart(1, 3));
}

TEST(Replan, StateLivesForever) {
  // s is read before it is written.
  const After after(file_of({Made({0, 64, 128, 192}).op(1, {0, 3}).op(3, {1}).op(2, {1}).outputs({2})}));
  for (const int32_t other : {0, 1, 2}) EXPECT_TRUE(after.apart(3, other)) << other;
  EXPECT_EQ(after.arenas[0].after, 48);
}

TEST(Replan, StateIsKnownByANameOrAnInitialValue) {
  for (const bool named : {false, true}) {
    Made made({0, 64, 128, 192});
    if (named) made.value(3).name = "counter";
    if (!named) made.value(3).data_buffer_idx = 1;
    // It is written and never read here: a later run of another program may.
    const After after(file_of({made.op(3, {0}).op(1, {0}).op(2, {1}).outputs({2})}));
    for (const int32_t other : {0, 1, 2}) EXPECT_TRUE(after.apart(3, other)) << named;
  }
}

TEST(Replan, StateOfSeveralMethodsKeepsItsBytesFromOthers) {
  Made reader({0, 64, 128, 192});
  Made writer({0, 192, 320});
  reader.op(1, {0, 3}).op(3, {1}).op(2, {1}).outputs({2}).name("read");
  // Nothing says that value 1 is state but its place.
  writer.op(1, {0}).op(2, {0}).outputs({2}).name("write");
  Made other({0, 256, 320, 384});
  other.op(1, {0}).op(2, {0, 1}).op(3, {2, 1, 0}).outputs({3}).name("other");
  const After after(file_of({reader, writer, other}));
  EXPECT_EQ(after.offset(3, 0), 192);
  EXPECT_EQ(after.offset(1, 1), 192);
  for (const int32_t value : {0, 1, 2, 3}) {
    EXPECT_GE(std::abs(after.offset(value, 2) - 192), 16) << "the state of another method";
  }
  ASSERT_EQ(after.arenas.size(), 3u);
  for (const ArenaChange& arena : after.arenas) EXPECT_EQ(arena.after, 208);
}

TEST(Replan, StateThatIsOnlyReadKeepsItsOffset) {
  Made writer({0, 64, 128, 192});
  Made reader({0, 64, 192});
  writer.op(1, {0, 3}).op(3, {1}).op(2, {1}).outputs({2}).name("write");
  reader.op(1, {0, 2}).outputs({1}).name("read");
  const After after(file_of({writer, reader}));
  EXPECT_EQ(after.offset(3, 0), 192);
  EXPECT_EQ(after.offset(2, 1), 192);
}

TEST(Replan, AlignmentIsAdded) {
  Made made({0, 512, 128, 192});
  made.value(0).planned->offset = 24;  // not a multiple of 16: as it was made
  const After after(file_of({made.op(1, {0}).op(2, {1}).op(3, {2}).outputs({3})}));
  for (const int32_t value : {1, 2, 3}) EXPECT_EQ(after.offset(value) % 16, 0);
}

TEST(Replan, DevicesKeepTheirArenas) {
  Made made({0, 64, 128, 192});
  for (const int32_t v : {1, 2}) {
    made.value(v).planned = format::ArenaOffset{2, static_cast<uint64_t>(v) * 1024};
    made.value(v).device = Device(DeviceType::kCuda, 0);
  }
  made.desc.arenas.push_back({4096, Device(DeviceType::kCuda, 0)});
  const After after(file_of({made.delegate({0, 1}).delegate({1, 2}).delegate({2, 3}).outputs({3})}));
  ASSERT_EQ(after.arenas.size(), 2u);
  EXPECT_EQ(after.arenas[1].device, Device(DeviceType::kCuda, 0));
  EXPECT_EQ(after.offset(1) % 256, 0);
  EXPECT_EQ(after.offset(2) % 256, 0);
  EXPECT_EQ(after.arenas[1].after, 272);
  // The input is not mentioned when the result is.
  EXPECT_EQ(after.arenas[0].after, 16);
}

TEST(Replan, OffsetsAreOf64Bits) {
  constexpr int64_t kHuge = int64_t{1} << 32;
  Made made({0, kHuge, 2 * kHuge, 3 * kHuge}, 4 * kHuge);
  for (const int32_t v : {0, 1, 2, 3}) made.value(v).sizes = {1 << 30};
  const After after(file_of({made.op(1, {0}).op(2, {0, 1}).op(3, {2}).outputs({3})}));
  EXPECT_EQ(after.arenas[0].after, 3 * kHuge);
  EXPECT_EQ(after.offset(0) + after.offset(1) + after.offset(2), 3 * kHuge) << "0, 1 and 2 times 4 GiB";
}

// Holds row 136: ExecuTorch made the arena 64 bytes larger than its values.
TEST(Replan, XnnpackKeepsThePaddingAfterTheArena) {
  Made made({0, 64, 128, 192});
  made.delegate({0, 1}).op(2, {1}).op(3, {2}).outputs({3});
  EXPECT_EQ(After(file_of({made})).arenas[0].after, 32);
  made.desc.delegates[0].id = "XnnpackBackend";
  const After after(file_of({made}));
  EXPECT_EQ(after.arenas[0].after, 32 + 64);
  EXPECT_EQ(after.arenas[0].lower_bound, 32 + 64);
  EXPECT_TRUE(after.arenas[0].optimal);
}

TEST(Replan, XnnpackNeverShrinksAnArenaThatIsTooSmall) {
  Made made({0, 64, 16, 32}, 80);
  made.delegate({0, 1}).op(2, {1}).op(3, {2}).outputs({3});
  made.desc.delegates[0].id = "XnnpackBackend";
  const After after(file_of({made}));
  EXPECT_EQ(after.arenas[0].after, 80);
  EXPECT_EQ(after.offset(1), 64);
}

}  // namespace
}  // namespace berth::replan
