#include "runtime/host/host_method.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <string>

#include "format/write/meta_desc.h"
#include "runtime/host/file_loader.h"
#include "runtime/host/thread_pool.h"
#include "runtime/kernels_testing.h"

namespace berth {
namespace {

using format::ProgramDesc;
using format::TensorDesc;
using format::testing::add_relu;
using format::testing::bytes_of;
using format::testing::tensor;
using testing::floats;
using testing::kernels;
using testing::set_floats;

class File {
 public:
  explicit File(const std::vector<uint8_t>& bytes)
      : path_(std::string(::testing::TempDir()) + "berth_" +
              ::testing::UnitTest::GetInstance()->current_test_info()->name()) {
    std::ofstream out(path_, std::ios::binary);
    out.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  }
  ~File() { std::remove(path_.c_str()); }
  const char* path() const { return path_.c_str(); }

 private:
  std::string path_;
};

void expect_runs(const DataLoader& loader) {
  const Result<Program> program = Program::load(loader, kernels());
  ASSERT_TRUE(program.ok());
  HostThreadPool pool(2);
  HostOptions options;
  options.pool = &pool;
  Result<HostMethod> method = HostMethod::load(*program, "forward", options);
  ASSERT_TRUE(method.ok());
  HostMethod moved = std::move(*method);
  ASSERT_EQ(set_floats(moved.method(), 0, {0, 0, 4, 0}, {4}), Error::kOk);
  ASSERT_EQ(moved.method().execute(), Error::kOk);
  EXPECT_EQ(floats(moved.method().get_output(0)), (std::vector<float>{0, 2, 1, 4}));
}

TEST(HostMethod, RunsFromAMappedFile) {
  const File file(bytes_of(add_relu()));
  const Result<MappedFileLoader> loader = MappedFileLoader::open(file.path());
  ASSERT_TRUE(loader.ok());
  expect_runs(*loader);
}

TEST(HostMethod, RunsFromAFileThatIsRead) {
  const File file(bytes_of(add_relu()));
  const Result<FileLoader> loader = FileLoader::open(file.path());
  ASSERT_TRUE(loader.ok());
  expect_runs(*loader);
}

TEST(FileLoader, NamesAMissingFile) {
  Report report;
  EXPECT_EQ(MappedFileLoader::open("/nonexistent/x.pte", &report).error(), Error::kNotFound);
  EXPECT_NE(std::string(report.place).find("/nonexistent/x.pte"), std::string::npos) << report.place;
  EXPECT_EQ(FileLoader::open("/nonexistent/x.pte", &report).error(), Error::kNotFound);
  EXPECT_FALSE(FileLoader::open("/", &report).ok());
  EXPECT_FALSE(MappedFileLoader::open("/", &report).ok());
}

TEST(FileLoader, RefusesRangesOutsideTheFile) {
  const File file(std::vector<uint8_t>(100, 7));
  const FileLoader read = FileLoader::open(file.path()).value();
  const MappedFileLoader mapped = MappedFileLoader::open(file.path()).value();
  for (const DataLoader* loader : {static_cast<const DataLoader*>(&read), static_cast<const DataLoader*>(&mapped)}) {
    EXPECT_EQ(loader->size(), 100u);
    uint8_t bytes[100] = {};
    EXPECT_EQ(loader->load_into(1, 100, bytes), Error::kInvalidArgument);
    EXPECT_EQ(loader->load_into(UINT64_MAX, 2, bytes), Error::kInvalidArgument);
    EXPECT_EQ(loader->load(101, 0).error(), Error::kInvalidArgument);
    EXPECT_EQ(loader->load_into(0, 100, bytes), Error::kOk);
    EXPECT_EQ(bytes[99], 7);
    EXPECT_EQ(loader->load(100, 0)->size(), 0u);
    EXPECT_EQ(loader->load(98, 2)->data()[1], 7);
  }
}

TEST(FileLoader, AFileTruncatedWhileReadingIsAnError) {
  const File file(std::vector<uint8_t>(100, 7));
  const FileLoader loader = FileLoader::open(file.path()).value();
  std::ofstream(file.path(), std::ios::trunc).close();
  EXPECT_EQ(loader.load(0, 100).error(), Error::kAccessFailed);
}

TEST(HostMethod, UnplannedOutputsGetMemory) {
  ProgramDesc desc = add_relu();
  desc.methods[0].values[4] = tensor({4});
  const std::vector<uint8_t> bytes = bytes_of(desc);
  const BufferLoader loader{Span<const uint8_t>(bytes)};
  expect_runs(loader);
}

// Two methods add to one state in arena 2.
TEST(HostMethod, SharedArenasCarryStateBetweenMethods) {
  ProgramDesc desc;
  for (const char* name : {"a", "b"}) {
    format::MethodDesc method;
    method.name = name;
    TensorDesc state = tensor({1}, 0);
    state.planned->memory_id = 2;
    method.values = {tensor({1}, 0), state, int64_t{1}, tensor({1}, 16), false};
    method.inputs = {0};
    method.outputs = {3};
    method.operators = {{"aten::add", "out"}, {"aten::copy_", ""}};
    method.instructions = {format::KernelCallDesc{0, {0, 1, 2, 3, 3}}, format::KernelCallDesc{1, {1, 3, 4, 1}}};
    method.arenas = {{32, Device()}, {16, Device()}};
    desc.methods.push_back(method);
  }
  const std::vector<uint8_t> bytes = bytes_of(desc);
  const BufferLoader loader{Span<const uint8_t>(bytes)};
  const Result<Program> program = Program::load(loader, kernels());
  ASSERT_TRUE(program.ok());
  const Result<HostArenas> arenas = HostArenas::make(*program);
  ASSERT_TRUE(arenas.ok());
  HostOptions options;
  options.arenas = &*arenas;
  Result<HostMethod> a = HostMethod::load(*program, "a", options);
  Result<HostMethod> b = HostMethod::load(*program, "b", options);
  ASSERT_TRUE(a.ok() && b.ok());
  float sum = 0;
  for (HostMethod* method : {&*a, &*b, &*a}) {
    ASSERT_EQ(set_floats(method->method(), 0, {2}, {1}), Error::kOk);
    ASSERT_EQ(method->method().execute(), Error::kOk);
    sum += 2;
    EXPECT_EQ(floats(method->method().get_output(0)), std::vector<float>{sum});
  }
}

// A file of a few hundred bytes can ask for any amount of memory.
TEST(HostMethod, LoadDoesNotTouchLargeZeroStateAndUnusedBytes) {
  constexpr int32_t kFloats = 16 << 20;
  ProgramDesc desc = add_relu();
  TensorDesc state = tensor({kFloats}, 0);
  state.planned->memory_id = 2;
  state.name = "cache";
  desc.methods[0].values.emplace_back(state);
  TensorDesc behind = tensor({4}, uint64_t{kFloats} * sizeof(float));
  behind.planned->memory_id = 2;
  desc.methods[0].values.emplace_back(behind);
  desc.methods[0].arenas.push_back({uint64_t{kFloats} * 2 * sizeof(float), Device()});
  const std::vector<uint8_t> bytes = bytes_of(desc);
  const BufferLoader loader{Span<const uint8_t>(bytes)};
  const Result<Program> program = Program::load(loader, kernels());
  ASSERT_TRUE(program.ok());
  const Result<HostArenas> arenas = HostArenas::make(*program);
  ASSERT_TRUE(arenas.ok());
  const Span<uint8_t> arena = arenas->view(*program->method_meta("forward")).spans[1];
  HostOptions options;
  options.arenas = &*arenas;
  options.resident = true;
  ASSERT_TRUE(HostMethod::load(*program, "forward", options).ok());
  std::vector<unsigned char> pages((arena.size() + 4095) / 4096);
  const uintptr_t page_size = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
  ASSERT_EQ(reinterpret_cast<uintptr_t>(arena.data()) % page_size, 0u);
  ASSERT_EQ(::mincore(arena.data(), arena.size(), pages.data()), 0);
  const auto resident = [](unsigned char page) { return (page & 1) != 0; };
  // What follows the state is resident, of a large page at most.
  EXPECT_TRUE(resident(pages[uint64_t{kFloats} * sizeof(float) / page_size]));
  EXPECT_LT(std::count_if(pages.begin(), pages.end(), resident), 1024);

  // What an earlier load left there does not stay.
  arena.data()[0] = 1;
  arena.data()[uint64_t{kFloats} * 2] = 1;
  ASSERT_TRUE(HostMethod::load(*program, "forward", options).ok());
  EXPECT_EQ(arena.data()[0], 0);
  EXPECT_EQ(arena.data()[uint64_t{kFloats} * 2], 0);
}

TEST(HostMethod, AnImpossiblyLargeArenaIsAnError) {
  ProgramDesc desc = add_relu();
  desc.methods[0].arenas[0].bytes = INT64_MAX;
  const std::vector<uint8_t> bytes = bytes_of(desc);
  const BufferLoader loader{Span<const uint8_t>(bytes)};
  const Result<Program> program = Program::load(loader, kernels());
  ASSERT_TRUE(program.ok());
  Report report;
  HostOptions options;
  options.report = &report;
  EXPECT_EQ(HostMethod::load(*program, "forward", options).error(), Error::kMemoryAllocationFailed);
  EXPECT_NE(std::string(report.message).find("9223372036854775807"), std::string::npos) << report.message;
}

TEST(SharedTemp, MethodsThatNeedTheSameHaveTheSame) {
  SharedTemp temp;
  const Span<uint8_t> first = temp.at_least(100).value();
  EXPECT_EQ(temp.at_least(100)->data(), first.data());
  EXPECT_EQ(temp.at_least(0)->data(), first.data());
  const Span<uint8_t> larger = temp.at_least(size_t{8} << 20).value();
  EXPECT_GE(larger.size(), size_t{8} << 20);
  first[99] = 7;  // it stays for the methods that have it
  EXPECT_EQ(temp.at_least(100)->data(), first.data());
}

// r = relu(x), x[n]: two tensors of at most 16 MiB each.
ProgramDesc large_relu() {
  constexpr int32_t kMost = 4 << 20;
  format::MethodDesc method;
  method.name = "forward";
  method.values = {tensor({kMost}, 0), tensor({kMost}, 4 * int64_t{kMost})};
  for (format::ValueDesc& value : method.values) std::get<TensorDesc>(value).bounded = true;
  method.inputs = {0};
  method.outputs = {1};
  method.operators = {{"aten::relu", "out"}};
  method.instructions = {format::KernelCallDesc{0, {0, 1, 1}}};
  method.arenas = {{8 * uint64_t{kMost}, Device()}};
  format::MethodMetaDesc meta;
  meta.name = "forward";
  format::SymbolDesc n;
  n.name = "n";
  n.min = 1;
  n.max = kMost;
  meta.symbols = {n};
  meta.dimensions = {{0, 0, 0}, {1, 0, 0}};
  meta.stacks = {{1, 16, {{{0}, {}}, {{1}, {0}}}}};
  ProgramDesc program;
  program.methods = {method};
  format::MetaDesc all;
  all.methods = {meta};
  program.named_data = {format::meta_blob(all)};
  return program;
}

size_t resident_bytes(Span<uint8_t> memory) {
  const size_t page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  std::vector<unsigned char> pages(memory.size() / page + 1);
  EXPECT_EQ(::mincore(memory.data(), memory.size(), pages.data()), 0);
  return page * static_cast<size_t>(std::count_if(pages.begin(), pages.end(), [](unsigned char p) { return p & 1; }));
}

TEST(HostMethod, MemoryFollowsTheSizes) {
  const std::vector<uint8_t> bytes = bytes_of(large_relu());
  const BufferLoader loader{Span<const uint8_t>(bytes)};
  const Result<Program> program = Program::load(loader, kernels());
  ASSERT_TRUE(program.ok());
  const Result<HostArenas> arenas = HostArenas::make(*program);
  ASSERT_TRUE(arenas.ok());
  HostOptions options;
  options.arenas = &*arenas;
  options.resident = true;
  Result<HostMethod> method = HostMethod::load(*program, "forward", options);
  ASSERT_TRUE(method.ok());
  const Span<uint8_t> arena = arenas->view(method->method().meta()).spans[0];
  EXPECT_LT(resident_bytes(arena), arena.size() / 8) << "loaded";
  const std::vector<float> data(4 << 20, 1);
  const auto run = [&](int32_t n) {
    const int32_t sizes[] = {n};
    ASSERT_EQ(method->method().set_input(0, data.data(), sizes, DType::kF32), Error::kOk);
    ASSERT_EQ(method->execute(), Error::kOk);
    EXPECT_EQ(method->method().get_output(0).tensor().data<float>()[n - 1], 1);
  };
  // Large pages may be resident beyond what is used.
  constexpr size_t kSlack = 8 << 20;
  run(1000);
  EXPECT_LE(resident_bytes(arena), kSlack);
  run(4 << 20);
  EXPECT_GE(resident_bytes(arena), arena.size() / 8 * 7);
  run(1000);
  EXPECT_LE(resident_bytes(arena), kSlack) << "given back at once";
  run(4 << 20);
  for (int32_t i = 0; i < 70; ++i) run((2 << 20) + i);
  EXPECT_LE(resident_bytes(arena), arena.size() / 2 + kSlack) << "given back after a while";
}

// y = relu(s), s a state of 4 MiB whose initial value is zeros but for the last element.
ProgramDesc large_state(float last) {
  constexpr int32_t kCount = 1 << 20;
  format::MethodDesc method;
  method.name = "forward";
  method.values = {tensor({kCount}, 0), tensor({kCount}, 4 * int64_t{kCount})};
  std::get<TensorDesc>(method.values[0]).data_buffer_idx = 1;
  method.outputs = {1};
  method.operators = {{"aten::relu", "out"}};
  method.instructions = {format::KernelCallDesc{0, {0, 1, 1}}};
  method.arenas = {{8 * uint64_t{kCount}, Device()}};
  ProgramDesc program;
  program.methods = {method};
  std::vector<uint8_t> bytes(4 * size_t{kCount}, 0);
  std::memcpy(&bytes[bytes.size() - sizeof last], &last, sizeof last);
  program.initial_values = {format::Bytes::of(bytes)};
  return program;
}

// A cache begins as zeros, and is as large as the longest text: the fear is a load that writes all of it, or one that
// takes what was there before, or almost nothing, for nothing.
TEST(HostMethod, StateThatBeginsAsZerosIsNotTouchedAtLoad) {
  for (const float last : {0.0F, 3.0F}) {
    const std::vector<uint8_t> bytes = bytes_of(large_state(last));
    const BufferLoader loader{Span<const uint8_t>(bytes)};
    const Result<Program> program = Program::load(loader, kernels());
    ASSERT_TRUE(program.ok());
    const Result<HostArenas> arenas = HostArenas::make(*program);
    ASSERT_TRUE(arenas.ok());
    HostOptions options;
    options.arenas = &*arenas;
    for (int load = 0; load < 2; ++load) {
      Result<HostMethod> method = HostMethod::load(*program, "forward", options);
      ASSERT_TRUE(method.ok());
      const Span<uint8_t> arena = arenas->view(method->method().meta()).spans[0];
      const size_t resident = resident_bytes(arena.subspan(0, arena.size() / 2));
      EXPECT_EQ(resident < arena.size() / 8, last == 0) << resident;
      ASSERT_EQ(method->execute(), Error::kOk);
      const float* y = method->method().get_output(0).tensor().data<float>();
      const int32_t count = 1 << 20;
      EXPECT_EQ(std::count(y, y + count - 1, 0.0F), count - 1);
      EXPECT_EQ(y[count - 1], last);
      std::memset(arena.data(), 0x41, arena.size());
    }
  }
}

}  // namespace
}  // namespace berth
