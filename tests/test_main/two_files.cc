// Tests of two files in one program, for `contract` beside it: those of the first pass, that of the second fails. With
// BERTH_SAME_NAME set, a third file has a test of the same name as one of the first.
#include <gtest/gtest.h>

#include <cstdlib>

namespace {

class Passes : public testing::Test {
  void TestBody() override {}
};

class Fails : public testing::Test {
  void TestBody() override { FAIL() << "the test of two_test.cc was run"; }
};

template <typename Case>
void add(const char* suite, const char* name, const char* file) {
  testing::RegisterTest(suite, name, nullptr, nullptr, file, 1, []() -> testing::Test* { return new Case; });
}

const bool kAdded = [] {
  add<Passes>("One", "IsRun", "tests/one_test.cc");
  add<Passes>("One", "IsRunToo", "tests/one_test.cc");
  add<Fails>("Two", "IsNotRun", "tests/two_test.cc");
  if (std::getenv("BERTH_SAME_NAME") != nullptr) add<Passes>("One", "IsRun", "tests/three_test.cc");
  return true;
}();

}  // namespace
