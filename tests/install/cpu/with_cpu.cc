// Runs a program for the cpu target with the backend of an installed Berth, and says whether oneDNN was opened for it,
// and whether it is there.
//
//     with_cpu digits.pte

#include <cstdio>
#include <fstream>
#include <string>

#include "backends/cpu/cpu_backend.h"
#include "backends/cpu/thread_pool.h"
#include "kernels/portable/portable.h"
#include "runtime/host/file_loader.h"
#include "runtime/host/host_method.h"

namespace {

int fail(const char* what, const berth::Report& report) {
  std::fprintf(stderr, "%s: %s: %s\n", what, report.place, report.message);
  return 1;
}

bool is_mapped(const std::string& name) {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    if (line.find(name) != std::string::npos) return true;
  }
  return false;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  berth::CpuBackend backend;
  berth::Report report;
  const berth::Result<berth::MappedFileLoader> loader = berth::MappedFileLoader::open(argv[1], &report);
  if (!loader.ok()) return fail(argv[1], report);
  berth::Backend* const backends[] = {&backend};
  berth::LoadOptions options;
  options.backends = backends;
  options.report = &report;
  const berth::Result<berth::Program> program = berth::Program::load(*loader, berth::portable::kernels(), options);
  if (!program.ok()) return fail(argv[1], report);
  const auto pool = berth::make_cpu_thread_pool(2);
  berth::HostOptions host;
  host.pool = pool.get();
  host.report = &report;
  berth::Result<berth::HostMethod> method = berth::HostMethod::load(*program, program->method_name(0), host);
  if (!method.ok()) return fail(argv[1], report);
  // What the program sees: 8 x 8 places, all dark.
  static const float picture[64] = {};
  const int32_t sizes[] = {1, 1, 8, 8};
  if (method->method().set_input(0, picture, sizes, berth::DType::kF32) != berth::Error::kOk) {
    return fail("input", method->method().last_report());
  }
  if (method->method().execute() != berth::Error::kOk) return fail("run", method->method().last_report());
  if (is_mapped("libdnnl")) std::puts("opened");
  std::printf("cpu: %s\n", berth::describe_onednn().c_str());
  return 0;
}
