// The main() of test programs. A program has the tests of many files; with `--file` it runs those of one:
//
//   build/release/compiler/fuse/tests_fuse --file cut_rows_test.cc
//
// which fails if there are none: a file that is not compiled any more would pass otherwise. It takes the place of
// --gtest_filter. Without it, --gtest_filter picks among the tests of all files, as gtest says.
#include <gtest/gtest.h>

#include <cstdio>
#include <map>
#include <string>

namespace {

constexpr int kFailed = 1;
constexpr int kWrongArguments = 2;

/// Calls `visit` with the name, SUITE.CASE, and the path of each test.
template <typename Visit>
void for_each_test(const Visit& visit) {
  const testing::UnitTest& all = *testing::UnitTest::GetInstance();
  for (int i = 0; i < all.total_test_suite_count(); ++i) {
    const testing::TestSuite& suite = *all.GetTestSuite(i);
    for (int k = 0; k < suite.total_test_count(); ++k) {
      const testing::TestInfo& test = *suite.GetTestInfo(k);
      visit(std::string(suite.name()) + "." + test.name(), std::string(test.file()));
    }
  }
}

bool ends_with(const std::string& text, const std::string& end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

/// Filters for the tests of the file. False, with a message, if there are none, or if one of another file has the name
/// of one of these: a filter cannot tell them apart.
bool filter_for(const std::string& file) {
  std::string filter;
  std::map<std::string, std::string> path_of;
  bool unique = true;
  for_each_test([&](const std::string& name, const std::string& path) {
    if (path == file || ends_with(path, "/" + file)) filter += (filter.empty() ? "" : ":") + name;
    const std::string& first = path_of.emplace(name, path).first->second;
    if (first == path) return;
    std::fprintf(stderr, "%s and %s both have a test %s\n", first.c_str(), path.c_str(), name.c_str());
    unique = false;
  });
  if (filter.empty()) std::fprintf(stderr, "there is no test of a file %s in this program\n", file.c_str());
  testing::GTEST_FLAG(filter) = filter;
  return unique && !filter.empty();
}

}  // namespace

int main(int count, char** arguments) {
  testing::InitGoogleTest(&count, arguments);
  if (count == 1) return RUN_ALL_TESTS();
  if (count != 3 || std::string(arguments[1]) != "--file" || testing::GTEST_FLAG(filter) != "*") {
    std::fprintf(stderr, "usage: %s [--file x_test.cc | --gtest_filter=…] [--gtest_…]\n", arguments[0]);
    return kWrongArguments;
  }
  return filter_for(arguments[2]) ? RUN_ALL_TESTS() : kFailed;
}
