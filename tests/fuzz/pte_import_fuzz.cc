// Imports any bytes as a program file. What imports must be sound IR: the verifier is the judge. The fear: a lie of the
// file that its own verification lets pass, and a file that asks for work without end.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>

#include "base/check.h"
#include "compiler/import/pte/import_pte.h"
#include "compiler/ir/verify.h"
#include "tests/fuzz/own_operators.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  // At a multiple of 16, and of exactly this size, so that the address sanitizer sees a byte read beyond it.
  const std::unique_ptr<uint8_t[]> file(new uint8_t[size]);
  if (size > 0) std::memcpy(file.get(), data, size);
  berth::ImportOptions options;
  options.operators = berth::fuzz::own_operators();
  auto module = berth::import_pte(berth::Span<const uint8_t>(file.get(), size), options);
  if (module.ok()) {
    const berth::Status sound = berth::ir::verify(*module);
    BERTH_CHECK(sound.ok());
  } else {
    BERTH_CHECK(!module.error().message.empty());
  }
  return 0;
}
