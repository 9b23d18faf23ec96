// Numbers in compile specs come from files: what is not one counts as absent.
#include "base/delegate_specs.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace berth {
namespace {

DelegateSpecs read(const char* key, const std::string& value) {
  DelegateSpecs specs;
  specs.read(key, value.data(), value.size());
  return specs;
}

TEST(DelegateSpecs, NumbersAreRead) {
  EXPECT_EQ(read(kAlignmentSpec, "64").alignment, 64);
  EXPECT_EQ(read(kPaddingSpec, "100").padding, 100);
  EXPECT_EQ(read(kScratchSpec, "2147483647").scratch, INT32_MAX);
  EXPECT_TRUE(read(kPureSpec, "1").pure);
}

TEST(DelegateSpecs, WhatIsNotSuchANumberCountsAsAbsent) {
  for (const char* text : {"", "0", "-1", "1 ", " 1", "0x10", "99999999999999999999", "one", "3", "8192"}) {
    EXPECT_EQ(read(kAlignmentSpec, text).alignment, 0) << text;
  }
  for (const char* text : {"", "-1", "1048577", "9223372036854775808"}) {
    EXPECT_EQ(read(kPaddingSpec, text).padding, 0) << text;
    EXPECT_EQ(read(kScratchSpec, text == std::string("1048577") ? "2147483648" : text).scratch, 0) << text;
  }
  for (const char* text : {"", "0", "2", "yes", "11"}) EXPECT_FALSE(read(kPureSpec, text).pure) << text;
  DelegateSpecs none;
  none.read(kAlignmentSpec, nullptr, 0);
  none.read("other", "64", 2);
  EXPECT_EQ(none.alignment, 0);
}

TEST(DelegateSpecs, KeysOfBanksSayOfWhat) {
  using Of = BankSpec::Of;
  EXPECT_EQ(parse_bank_spec("berth.input_bank").of, Of::kInputs);
  EXPECT_EQ(parse_bank_spec("berth.input_bank").index, -1);
  EXPECT_EQ(parse_bank_spec("berth.input_bank.12").index, 12);
  EXPECT_EQ(parse_bank_spec("berth.output_bank.0").of, Of::kOutputs);
  EXPECT_EQ(parse_bank_spec("berth.scratch_bank").of, Of::kScratch);
  EXPECT_EQ(parse_bank_spec("berth.state_bank").of, Of::kState);
  for (const char* key :
       {"", "berth.", "berth.input_bank.", "berth.input_bank.-1", "berth.input_bank.x", "berth.input_bank.1000001",
        "berth.input_banks", "berth.scratch_bank.0", "berth.state_bank."}) {
    EXPECT_EQ(parse_bank_spec(key).of, Of::kNothing) << key;
  }
}

TEST(DelegateSpecs, WhatIsSaidOfStateIsRightOrASentence) {
  const auto problem = [](const std::vector<std::pair<const char*, std::string>>& said) {
    DelegateSpecs specs;
    for (const auto& [key, value] : said) specs.read(key, value.data(), value.size());
    return std::string(specs.problem() == nullptr ? "" : specs.problem());
  };
  EXPECT_EQ(problem({}), "");
  EXPECT_EQ(problem({{kScratchSpec, "-1"}}), "");
  EXPECT_EQ(problem({{kStateSpec, "1"}}), "");
  EXPECT_EQ(problem({{kStateInitSpec, "first"}, {kStateSpec, "2147483647"}}), "");
  EXPECT_EQ(read(kStateSpec, "4096").state, 4096);
  for (const char* text :
       {"", "0", "-1", "2147483648", "99999999999999999999", "1 ", "0x10", "one", "-9223372036854775808"}) {
    EXPECT_EQ(problem({{kStateSpec, text}}), "berth.state is not a number of bytes from 1 to 2147483647") << text;
    EXPECT_EQ(read(kStateSpec, text).state, 0) << text;
  }
  EXPECT_EQ(problem({{kStateSpec, "8"}, {kStateSpec, "8"}}), "berth.state stands twice");
  EXPECT_EQ(problem({{kStateSpec, "8"}, {kStateInitSpec, "a"}, {kStateInitSpec, "a"}}),
            "berth.state_init stands twice");
  EXPECT_EQ(problem({{kStateSpec, "8"}, {kStateInitSpec, ""}}), "berth.state_init is empty");
  EXPECT_EQ(problem({{kStateInitSpec, "a"}}), "berth.state_init stands without berth.state");
}

}  // namespace
}  // namespace berth
