// Compiles a model to a program with Berth as a library, and prints the memory that the program needs.
//
//   compile MODEL.onnx PROGRAM.pte
#include "compiler/compile.h"

#include <cstdio>

namespace {

berth::Status compile_model(const char* model, const char* program) {
  BERTH_ASSIGN_OR_RETURN(berth::ir::Module module, berth::load_model(model, {}));
  berth::CompileReport report;
  BERTH_TRY(berth::compile_to_file(std::move(module), {}, program, &report));
  for (const berth::ArenaReport& arena : report.arenas) {
    std::printf("%s: arena %d takes %lld bytes, no plan takes fewer than %lld\n", arena.method.c_str(), arena.id,
                static_cast<long long>(arena.bytes), static_cast<long long>(arena.lower_bound));
  }
  return berth::Done{};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: compile MODEL.onnx PROGRAM.pte\n");
    return 2;
  }
  const berth::Status compiled = compile_model(argv[1], argv[2]);
  if (compiled.ok()) return 0;
  std::fprintf(stderr, "%s\n", compiled.error().text().c_str());
  return 1;
}
