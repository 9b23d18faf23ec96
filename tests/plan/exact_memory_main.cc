// exact_memory PROGRAM…: for tests on programs that the repository does not hold. Exit code 1 when a number is not
// exact.
#include <cstdio>

#include "backends/cpu/cpu_backend.h"
#include "base/mapped_file.h"
#include "tests/plan/exact_memory.h"

int main(int count, char** arguments) {
  berth::CpuBackend cpu;
  berth::Backend* const backends[] = {&cpu};
  bool good = true;
  for (int i = 1; i < count; ++i) {
    const auto file = berth::MappedFile::open(arguments[i]);
    if (!file.ok()) {
      std::printf("%s\n", file.error().text().c_str());
      return 2;
    }
    const berth::plan_test::ExactMemory exact = berth::plan_test::check_exact_memory((*file)->bytes(), backends);
    good = good && exact.problem.empty();
    std::printf("%s: %s", arguments[i], exact.problem.empty() ? "exact:" : exact.problem.c_str());
    for (const berth::MemoryNeeded& needed : exact.needed) {
      std::printf(" %zu method, %zu temp, %llu arena bytes", needed.method_bytes, needed.temp_bytes,
                  static_cast<unsigned long long>(needed.arena_bytes));
    }
    std::printf("\n");
  }
  return good ? 0 : 1;
}
