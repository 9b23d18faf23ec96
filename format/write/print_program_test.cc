// The text of a program, whole, as a user sees it.
#include "format/write/print_program.h"

#include <gtest/gtest.h>

#include "base/text_testing.h"
#include "format/nested.h"
#include "format/verify.h"
#include "format/write/programs_testing.h"

namespace berth::format {
namespace {

std::string print(const ProgramDesc& program, const PrintOptions& options = {}) {
  const auto bytes = testing::bytes_of(program);
  ProgramView view;
  Report report;
  EXPECT_EQ(ProgramView::open({bytes.data(), bytes.size()}, &view, &report), Error::kOk) << report.message;
  EXPECT_EQ(verify_program(view, &report), Error::kOk) << report.place << ": " << report.message;
  return print_program(view, options);
}

TEST(PrintProgram, SmallProgram) {
  EXPECT_EQ(print(testing::add_relu()), dedent(R"(
    method forward
      in   %0: f32[4] @ 1:0..16
      out  %4: f32[4] @ 1:32..48
      arena 1: 48 bytes on cpu
      values
        %0: f32[4] @ 1:0..16
        %1: f32[4] = constant 1 (16 bytes)
        %2: 1
        %3: f32[4] @ 1:16..32
        %4: f32[4] @ 1:32..48
      instructions
        0: aten::add.out(%0, %1, 1, %3, %3)
        1: aten::relu.out(%3, %4, %4)
  )"));
}

TEST(PrintProgram, EveryFeatureOnce) {
  const std::string text = print(testing::one_of_everything());
  EXPECT_EQ(text.substr(text.find("method step")), dedent(R"(
    method step
      in   %0 x: f32[4] @ 1:0..16
      in   %11: true
      in   %9: 2.5
      out  %19: f32[4] @ 1:160..176
      out  %5: f32[2,3] @ 1:64..88 = initially 1
      out  %2: 1
      arena 1: 256 bytes on cpu, lower bound 200
      arena 2: 32 bytes on cuda:1
      delegate 0: Chip, 3 bytes, target_device="cuda:1"
      delegate 1: Nothing, 0 bytes
      values
        %0 x: f32[4] @ 1:0..16
        %1: f32[4] = constant 1 (16 bytes)
        %2: 1
        %3 sum: f32[4] @ 1:16..32
        %4: bool[] @ 1:32..33
        %5: f32[2,3] @ 1:64..88 = initially 1
        %6: f32[<=3,2] order 1,0 @ 1:96..120
        %7: f32[4]@cuda:1 @ 2:0..16
        %8: f32[4]@cuda:1 @ 2:16..32
        %9: 2.5
        %10: "floor"
        %11: true
        %12: none
        %13: [1, 1]
        %14: [0.5, -1.0]
        %15: [true, false]
        %16: [%0 x, %3 sum]
        %17: [none, none, %3 sum]
        %18: f32[2,3] @ 1:128..152
        %19: f32[4] @ 1:160..176
      instructions
        0: aten::add.out(%0 x, %1, 1, %3 sum, %3 sum)
        1: aten::gt.Scalar_out(%3 sum, 1, %4, %4)
        2: et_copy::_h2d_copy.out(%3 sum, %7, %7)
        3: delegate 0(%7, %8)
        4: jump to 7 unless %4
        5: %19 is %3 sum
        6: jump to 8 unless %4
        7: %19 is %0 x
        8: delegate 1(%5, %18)
        9: aten::copy_(%5, %18, true, %5)
  )"));
}

TEST(PrintProgram, OptionsOmitSections) {
  const std::string text = print(testing::add_relu(), {false, false});
  EXPECT_EQ(text, dedent(R"(
    method forward
      in   %0: f32[4] @ 1:0..16
      out  %4: f32[4] @ 1:32..48
      arena 1: 48 bytes on cpu
  )"));
}

TEST(PrintProgram, TextFromTheFileCannotControlATerminal) {
  ProgramDesc program = testing::add_relu();
  program.methods[0].name = "fo\x1b[2Jrward\n";
  program.methods[0].values.emplace_back(std::string("a\"\0b\xff", 5));
  program.methods[0].values.emplace_back(std::string(1000, 'x'));
  const std::string text = print(program);
  EXPECT_NE(text.find("method \"fo\\x1b[2Jrward\\x0a\"\n"), std::string::npos) << text;
  EXPECT_NE(text.find("%5: \"a\\\"\\x00b\\xff\"\n"), std::string::npos) << text;
  EXPECT_EQ(text.find(std::string(300, 'x')), std::string::npos) << "long texts are cut";
}

// Two delegates have one payload, a third bytes of another maker.
TEST(PrintProgram, NestedProgramsPrintUnderTheirDelegatesOnce) {
  ProgramDesc nested = testing::add_relu();
  nested.methods[0].name = kNestedMethodName;
  const auto file = testing::bytes_of(nested);
  const NestedHeader header = make_nested_header(file.size());
  std::vector<uint8_t> payload(header.bytes, header.bytes + kNestedHeaderSize);
  payload.insert(payload.end(), file.begin(), file.end());
  ProgramDesc program = testing::add_relu();
  program.payloads = {Bytes::of(payload), Bytes::of({1, 2, 3})};
  program.methods[0].delegates = {{"berth.sim", 0, {}}, {"Chip", 1, {}}, {"berth.sim", 0, {}}};
  const auto bytes = testing::bytes_of(program);
  ProgramView view;
  ASSERT_EQ(ProgramView::open({bytes.data(), bytes.size()}, &view, nullptr), Error::kOk);
  ASSERT_EQ(verify_program(view, nullptr), Error::kOk);
  PrintOptions options;
  options.values = false;
  const std::string size = std::to_string(payload.size());
  EXPECT_EQ(print_program(view, options), dedent(R"(
    method forward
      in   %0: f32[4] @ 1:0..16
      out  %4: f32[4] @ 1:32..48
      arena 1: 48 bytes on cpu
      delegate 0: berth.sim, )" + size + R"( bytes
        method delegate
          in   %0: f32[4] @ 1:0..16
          out  %4: f32[4] @ 1:32..48
          arena 1: 48 bytes on cpu
          instructions
            0: aten::add.out(%0, %1, 1, %3, %3)
            1: aten::relu.out(%3, %4, %4)
      delegate 1: Chip, 3 bytes
      delegate 2: berth.sim, )" + size + R"( bytes
        the same program as delegate 0
      instructions
        0: aten::add.out(%0, %1, 1, %3, %3)
        1: aten::relu.out(%3, %4, %4)
  )"));
}

}  // namespace
}  // namespace berth::format
