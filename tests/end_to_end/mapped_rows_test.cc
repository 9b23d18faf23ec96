// Rows of an embedding table in a mapped file: neither in the program itself nor in a delegate does the table become
// resident, which would take 64 KB of memory for each word.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <fstream>
#include <memory>
#include <sstream>

#include "backends/cpu/cpu_backend.h"
#include "compiler/compile.h"
#include "compiler/ir/parse.h"
#include "kernels/portable/portable.h"
#include "runtime/host/file_loader.h"
#include "runtime/host/host_method.h"

namespace berth {
namespace {

constexpr size_t kMappedRows = 8192;
constexpr size_t kColumns = 256;  // 8 MiB
constexpr int32_t kWords = 48;

ir::Module embedding() {
  auto module = ir::parse(R"(
    const @table: f32[8192,256] = splat<0.5>
    method forward(%words: i64[48]) {
      %table: f32[8192,256] = const @table
      %rows: f32[48,256] = aten::embedding(%table, %words)
      %y: f32[48,256] = aten::relu(%rows)
      return %y
    })");
  EXPECT_TRUE(module.ok());
  std::vector<uint8_t> bytes(kMappedRows * kColumns * sizeof(float));
  for (size_t i = 0; i < kMappedRows * kColumns; ++i) {
    const float number = static_cast<float>(i);
    std::memcpy(bytes.data() + i * sizeof(float), &number, sizeof(float));
  }
  module->constants[{0}].blob = ir::Blob::owned(std::move(bytes));
  return std::move(*module);
}

// KiB of the mappings of `path` that are resident; -1 where the system does not say.
int resident_kb(const std::string& path) {
  std::ifstream smaps("/proc/self/smaps");
  int sum = -1;
  bool here = false;
  for (std::string line; std::getline(smaps, line);) {
    const bool heading = line.find('-') < line.find(' ');
    if (heading) here = line.size() > path.size() && line.compare(line.size() - path.size(), path.size(), path) == 0;
    if (here && line.compare(0, 4, "Rss:") == 0) sum = std::max(sum, 0) + std::atoi(line.c_str() + 4);
  }
  return sum;
}

struct File {
  explicit File(const std::vector<uint8_t>& bytes) : path(::testing::TempDir() + "berth_rows_XXXXXX") {
    const int descriptor = ::mkstemp(path.data());
    EXPECT_EQ(::write(descriptor, bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
    ::close(descriptor);
  }
  ~File() { std::remove(path.c_str()); }
  std::string path;
};

void expect_rows_without_their_table(const char* target, bool resident) {
  CompileOptions options;
  options.target = target;
  const auto bytes = compile(embedding(), options);
  ASSERT_TRUE(bytes.ok()) << bytes.error().text();
  ASSERT_GE(bytes->size(), kMappedRows * kColumns * sizeof(float));
  const File file(*bytes);
  const auto loader = MappedFileLoader::open(file.path.c_str());
  ASSERT_TRUE(loader.ok());
  CpuBackend backend;
  Backend* const backends[] = {&backend};
  LoadOptions load;
  load.backends = backends;
  const auto program = Program::load(*loader, portable::kernels(), load);
  ASSERT_TRUE(program.ok());
  HostOptions host;
  host.resident = resident;
  auto method = HostMethod::load(*program, "forward", host);
  ASSERT_TRUE(method.ok());
  const int before = resident_kb(file.path);
  int64_t words[kWords];
  for (int32_t i = 0; i < kWords; ++i) words[i] = static_cast<int64_t>(kMappedRows) - 1 - i * 170;
  const int32_t sizes[] = {kWords};
  for (int run = 0; run < 2; ++run) {
    ASSERT_EQ(method->method().set_input(0, words, sizes, DType::kI64), Error::kOk);
    ASSERT_EQ(method->method().execute(), Error::kOk) << method->method().last_report().message;
    const float* const rows = method->method().get_output(0).tensor().data<float>();
    for (size_t i = 0; i < kWords * kColumns; ++i) {
      const size_t row = words[i / kColumns];
      ASSERT_EQ(rows[i], static_cast<float>(row * kColumns + i % kColumns));
    }
  }
  // The file's own tables are read in place, but not a piece of 64 KB or more a word.
  EXPECT_LE(resident_kb(file.path), before + 256) << target;
}

TEST(MappedRows, ATableStaysOnDisk) {
  for (const bool resident : {false, true}) {
    expect_rows_without_their_table("portable", resident);
    expect_rows_without_their_table("cpu", resident);
  }
}

}  // namespace
}  // namespace berth
