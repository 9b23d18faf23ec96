// Runs a fuzz target on the files of a folder, without a fuzzer, so that fixed bugs stay fixed.
//
//     replay_fuzz ir_fuzz tests/fuzz/corpus/ir_fuzz
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

#include "tests/fuzz/targets.h"

int main(int count, char** arguments) {
  if (count != 3) return std::fprintf(stderr, "usage: %s TARGET FOLDER\n", arguments[0]), 2;
  const auto is_asked_for = [&](const FuzzTarget& target) { return std::strcmp(target.name, arguments[1]) == 0; };
  const auto* const target = std::find_if(std::begin(kFuzzTargets), std::end(kFuzzTargets), is_asked_for);
  if (target == std::end(kFuzzTargets)) return std::fprintf(stderr, "there is no fuzz target %s\n", arguments[1]), 2;
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(arguments[2])) files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  for (const std::filesystem::path& path : files) {
    std::printf("%s\n", path.c_str());
    std::fflush(stdout);  // the last line names the file that ends the program
    std::ifstream file(path, std::ios::binary);
    const std::vector<char> bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    if (file.bad()) return std::fprintf(stderr, "cannot be read\n"), 1;
    target->run(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
  }
  return files.empty() ? 1 : 0;
}
