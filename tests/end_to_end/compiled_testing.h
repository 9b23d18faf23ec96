// A module of one method `forward`, compiled for the host and loaded: what end-to-end tests run.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <utility>
#include <vector>

#include "backends/cpu/cpu_backend.h"
#include "compiler/compile.h"
#include "compiler/ir/parse.h"
#include "kernels/portable/portable.h"
#include "runtime/host/host_method.h"

namespace berth::testing {

struct Compiled {
  Compiled(const char* ir, const CompileOptions& options) : Compiled(parsed(ir), options) {}
  Compiled(ir::Module module, const CompileOptions& options) {
    auto made = compile(std::move(module), options);
    EXPECT_TRUE(made.ok()) << made.error().text();
    bytes = std::move(*made);
    loader = std::make_unique<BufferLoader>(Span<const uint8_t>(bytes));
    Backend* const backends[] = {&backend};
    LoadOptions load;
    load.backends = backends;
    auto loaded = Program::load(*loader, portable::kernels(), load);
    EXPECT_TRUE(loaded.ok());
    program = std::make_unique<Program>(std::move(*loaded));
    auto forward = HostMethod::load(*program, "forward");
    EXPECT_TRUE(forward.ok());
    host = std::make_unique<HostMethod>(std::move(*forward));
  }

  Method& method() const { return host->method(); }

  static ir::Module parsed(const char* ir) {
    auto module = ir::parse(ir);
    EXPECT_TRUE(module.ok()) << module.error().text();
    return std::move(*module);
  }

  std::vector<uint8_t> bytes;
  CpuBackend backend;
  std::unique_ptr<BufferLoader> loader;
  std::unique_ptr<Program> program;
  std::unique_ptr<HostMethod> host;
};

}  // namespace berth::testing
