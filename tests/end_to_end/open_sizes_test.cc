// Delegates whose memory follows the sizes of a call. The fears: an output that holds dead values before its own is given
// the bytes of its own sizes alone, which may be none.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "backends/cpu/cpu_backend.h"
#include "compiler/compile.h"
#include "compiler/ir/parse.h"
#include "kernels/portable/portable.h"
#include "runtime/host/host_method.h"

namespace berth {
namespace {

// The bool of one byte lies where %y does, which has no bytes for n = 0; without fusion all nodes stay.
const char* const kModel = R"(
  symbol n in [0, 5]
  method forward(%s: f32[], %x: f32[n,4]) {
    %c: bool[] = aten::gt.Scalar(%s, 1.0)
    %w: f32[] = aten::where.self(%c, %s, %s)
    %y: f32[n,4] = aten::neg(%x)
    return %w, %y
  })";

TEST(OpenSizes, AnOutputWithoutElementsIsStillScratchForWhatIsDeadBefore) {
  auto module = ir::parse(kModel);
  ASSERT_TRUE(module.ok()) << module.error().text();
  CompileOptions options;
  options.target = "cpu";
  auto bytes = compile(std::move(*module), options);
  ASSERT_TRUE(bytes.ok()) << bytes.error().text();
  CpuBackend backend;
  BufferLoader loader{Span<const uint8_t>(*bytes)};
  Backend* const backends[] = {&backend};
  LoadOptions load;
  load.backends = backends;
  auto program = Program::load(loader, portable::kernels(), load);
  ASSERT_TRUE(program.ok());
  auto host = HostMethod::load(*program, "forward");
  ASSERT_TRUE(host.ok());
  Method& method = host->method();
  for (const int32_t n : {5, 0, 1, 0}) {
    float s = 3;
    std::vector<float> x(static_cast<size_t>(n) * 4, 2);
    const int32_t sizes[] = {n, 4};
    ASSERT_EQ(method.set_input(0, &s, Span<const int32_t>(), DType::kF32), Error::kOk);
    ASSERT_EQ(method.set_input(1, x.data(), sizes, DType::kF32), Error::kOk);
    ASSERT_EQ(host->execute(), Error::kOk) << "n = " << n << ": " << method.last_report().message;
    EXPECT_EQ(method.get_output(0).tensor().data<float>()[0], 3);
    const Tensor& y = method.get_output(1).tensor();
    ASSERT_EQ(y.numel(), n * 4);
    for (int64_t i = 0; i < y.numel(); ++i) EXPECT_EQ(y.data<float>()[i], -2) << "n = " << n;
  }
}

}  // namespace
}  // namespace berth
