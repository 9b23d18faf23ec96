// Programs with a damaged nested program as a delegate's payload. Possible errors: a reader that trusts it and crashes
// or hangs, damage that is not detected or that is reported as a bug of Berth.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include "backends/cpu/cpu_backend.h"
#include "compiler/compile.h"
#include "compiler/ir/parse.h"
#include "kernels/portable/portable.h"
#include "runtime/program.h"
#include "tools/memory_needed.h"
#include "tools/program_file.h"

namespace berth {
namespace {

std::vector<uint8_t> compiled() {
  CompileOptions options;
  options.target = "cpu";
  auto module = ir::parse(R"(
    method forward(%x: f32[4,3]) {
      %a: f32[4,3] = aten::relu(%x)
      %y: f32[4] = aten::sum.dim_IntList(%a, [1], false, none)
      return %y
    })");
  EXPECT_TRUE(module.ok()) << module.error().text();
  auto bytes = compile(std::move(*module), options);
  EXPECT_TRUE(bytes.ok()) << bytes.error().text();
  return std::move(*bytes);
}

Span<const uint8_t> payload_in(const std::vector<uint8_t>& file) {
  format::ProgramView view;
  EXPECT_EQ(format::ProgramView::open(file, &view, nullptr), Error::kOk);
  Span<const uint8_t> payload;
  EXPECT_EQ(view.delegate_payload(*view.method(0).delegates()->Get(0), &payload), Error::kOk);
  return payload;
}

// What memory_needed() says, with the method's values laid out.
Error measure(const std::vector<uint8_t>& file, Verification verification, Report* report) {
  CpuBackend backend;
  Backend* const backends[] = {&backend};
  LoadOptions options;
  options.verification = verification;
  options.backends = backends;
  const BufferLoader loader(file);
  BERTH_ASSIGN_OR_RETURN(const Program program, Program::load(loader, portable::kernels(), options));
  BERTH_ASSIGN_OR_RETURN(const MemoryNeeded least, program.memory_needed("forward", {}, 1, report));
  std::vector<std::max_align_t> scratch(least.method_bytes / sizeof(std::max_align_t) + 1);
  BERTH_ASSIGN_OR_RETURN(
      const MemoryNeeded needed,
      program.memory_needed("forward", {reinterpret_cast<uint8_t*>(scratch.data()), least.method_bytes}, 1, report));
  return needed.temp_bytes == MemoryNeeded::kUnknown ? Error::kInternal : Error::kOk;
}

constexpr uint8_t kWrong[] = {0x00, 0x01, 0x10, 0x7f, 0x80, 0xff};

// Each byte of the nested program with each wrong value, in turn.
template <typename Visit>
void for_each_damage(Visit&& visit) {
  std::vector<uint8_t> file = compiled();
  const Span<const uint8_t> payload = payload_in(file);
  const size_t begin = payload.data() - file.data();
  for (size_t at = begin; at < begin + payload.size(); ++at) {
    const uint8_t right = file[at];
    for (const uint8_t wrong : kWrong) {
      file[at] = wrong;
      if (wrong != right) visit(file, at - begin);
    }
    file[at] = right;
  }
}

TEST(DamagedPayload, FailsMemoryNeededWithoutCrashing) {
  size_t refused = 0;
  size_t taken = 0;
  for_each_damage([&](const std::vector<uint8_t>& file, size_t at) {
    Report report;
    const Error full = measure(file, Verification::kFull, &report);
    EXPECT_EQ(measure(file, Verification::kMinimal, &report), full) << "byte " << at << ": " << report.message;
    ++(full == Error::kOk ? taken : refused);
  });
  EXPECT_GT(refused, 1000u);
  EXPECT_GT(taken, 100u) << "padding and names may be anything";
}

std::string written(const std::vector<uint8_t>& file) {
  const std::string path = ::testing::TempDir() + "damaged_payload.pte";
  std::ofstream(path, std::ios::binary).write(reinterpret_cast<const char*>(file.data()), file.size());
  return path;
}

TEST(DamagedPayload, IsReportedAsTheFilesFault) {
  std::vector<uint8_t> file = compiled();
  const Span<const uint8_t> payload = payload_in(file);
  const std::string sound = written(file);
  ASSERT_TRUE(tool::check_payloads(*tool::open_program(sound)).ok());
  EXPECT_EQ(tool::check_payloads(*tool::open_program(sound))->opened, 1);
  // The nested FlatBuffer's root, far outside of it.
  file[static_cast<size_t>(payload.data() - file.data()) + 32 + 2] = 0x7f;
  const std::string path = written(file);
  const auto program = tool::open_program(path);
  ASSERT_TRUE(program.ok()) << "the program around it is sound";
  for (const Failure& failure : {tool::check_payloads(*program).error(), load_model(path, {}).error()}) {
    EXPECT_EQ(failure.code, Error::kInvalidProgram);
    EXPECT_EQ(failure.place.rfind(path + ": methods[0].delegates[0]: nested program", 0), 0u) << failure.place;
    EXPECT_EQ(failure.message.find("report"), std::string::npos) << failure.message;
  }
}

TEST(DamagedPayload, DoesNotCrashInspect) {
  size_t step = 0;
  for_each_damage([&](const std::vector<uint8_t>& file, size_t) {
    if (++step % 23 != 0) return;  // a file each
    Json methods = {{{"name", "forward"}}};
    tool::add_memory_needed(written(file), {}, methods);
    EXPECT_EQ(methods.size(), 1u);
  });
}

}  // namespace
}  // namespace berth
