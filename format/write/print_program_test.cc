// The text of a program, whole, as a user sees it.
#include "format/write/print_program.h"

#include <gtest/gtest.h>

#include "format/nested.h"
#include "format/verify.h"
#include "format/write/test_programs.h"

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
  EXPECT_EQ(print(testing::add_relu()),
            "method forward\n"
            "  in   %0: f32[4] @ 1:0..16\n"
            "  out  %4: f32[4] @ 1:32..48\n"
            "  arena 1: 48 bytes on cpu\n"
            "  values\n"
            "    %0: f32[4] @ 1:0..16\n"
            "    %1: f32[4] = constant 1 (16 bytes)\n"
            "    %2: 1\n"
            "    %3: f32[4] @ 1:16..32\n"
            "    %4: f32[4] @ 1:32..48\n"
            "  instructions\n"
            "    0: aten::add.out(%0, %1, 1, %3, %3)\n"
            "    1: aten::relu.out(%3, %4, %4)\n");
}

TEST(PrintProgram, OneOfEverything) {
  const std::string text = print(testing::one_of_everything());
  EXPECT_EQ(text.substr(text.find("method step")),
            "method step\n"
            "  in   %0 x: f32[4] @ 1:0..16\n"
            "  in   %11: true\n"
            "  in   %9: 2.5\n"
            "  out  %19: f32[4] @ 1:160..176\n"
            "  out  %5: f32[2,3] @ 1:64..88 = initially 1\n"
            "  out  %2: 1\n"
            "  arena 1: 256 bytes on cpu, lower bound 200\n"
            "  arena 2: 32 bytes on cuda:1\n"
            "  delegate 0: Chip, 3 bytes, target_device=\"cuda:1\"\n"
            "  delegate 1: Nothing, 0 bytes\n"
            "  values\n"
            "    %0 x: f32[4] @ 1:0..16\n"
            "    %1: f32[4] = constant 1 (16 bytes)\n"
            "    %2: 1\n"
            "    %3 sum: f32[4] @ 1:16..32\n"
            "    %4: bool[] @ 1:32..33\n"
            "    %5: f32[2,3] @ 1:64..88 = initially 1\n"
            "    %6: f32[<=3,2] order 1,0 @ 1:96..120\n"
            "    %7: f32[4]@cuda:1 @ 2:0..16\n"
            "    %8: f32[4]@cuda:1 @ 2:16..32\n"
            "    %9: 2.5\n"
            "    %10: \"floor\"\n"
            "    %11: true\n"
            "    %12: none\n"
            "    %13: [1, 1]\n"
            "    %14: [0.5, -1.0]\n"
            "    %15: [true, false]\n"
            "    %16: [%0 x, %3 sum]\n"
            "    %17: [none, none, %3 sum]\n"
            "    %18: f32[2,3] @ 1:128..152\n"
            "    %19: f32[4] @ 1:160..176\n"
            "  instructions\n"
            "    0: aten::add.out(%0 x, %1, 1, %3 sum, %3 sum)\n"
            "    1: aten::gt.Scalar_out(%3 sum, 1, %4, %4)\n"
            "    2: et_copy::_h2d_copy.out(%3 sum, %7, %7)\n"
            "    3: delegate 0(%7, %8)\n"
            "    4: jump to 7 unless %4\n"
            "    5: %19 is %3 sum\n"
            "    6: jump to 8 unless %4\n"
            "    7: %19 is %0 x\n"
            "    8: delegate 1(%5, %18)\n"
            "    9: aten::copy_(%5, %18, true, %5)\n");
}

TEST(PrintProgram, OptionsLeaveOut) {
  const std::string text = print(testing::add_relu(), {false, false});
  EXPECT_EQ(text,
            "method forward\n"
            "  in   %0: f32[4] @ 1:0..16\n"
            "  out  %4: f32[4] @ 1:32..48\n"
            "  arena 1: 48 bytes on cpu\n");
}

TEST(PrintProgram, TextFromTheFileCannotDriveATerminal) {
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
TEST(PrintProgram, NestedProgramsStandUnderTheirDelegatesOnce) {
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
  EXPECT_EQ(print_program(view, options),
            "method forward\n"
            "  in   %0: f32[4] @ 1:0..16\n"
            "  out  %4: f32[4] @ 1:32..48\n"
            "  arena 1: 48 bytes on cpu\n"
            "  delegate 0: berth.sim, " +
                size +
                " bytes\n"
                "    method delegate\n"
                "      in   %0: f32[4] @ 1:0..16\n"
                "      out  %4: f32[4] @ 1:32..48\n"
                "      arena 1: 48 bytes on cpu\n"
                "      instructions\n"
                "        0: aten::add.out(%0, %1, 1, %3, %3)\n"
                "        1: aten::relu.out(%3, %4, %4)\n"
                "  delegate 1: Chip, 3 bytes\n"
                "  delegate 2: berth.sim, " +
                size +
                " bytes\n"
                "    the same program as delegate 0\n"
                "  instructions\n"
                "    0: aten::add.out(%0, %1, 1, %3, %3)\n"
                "    1: aten::relu.out(%3, %4, %4)\n");
}

}  // namespace
}  // namespace berth::format
