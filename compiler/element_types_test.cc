// The fear: a program is made that no kernel will run.
#include <gtest/gtest.h>

#include "compiler/compile.h"
#include "compiler/ir/parse.h"

namespace berth {
namespace {

constexpr const char* kSmallNumbers = R"(
  method forward(%x: f32[2,3]) {
    %small: f8e4m3[2,3] = aten::_to_copy(%x, false, none, f8e4m3)
    %turned: f8e4m3[2,3] = aten::neg(%small) "neg_1"
    %unread: c64[2,3] = aten::_to_copy(%x, false, none, c64)
    %nothing: c64[2,3] = aten::neg(%unread)
    %y: f32[2,3] = aten::_to_copy(%turned, false, none, f32)
    return %y
  })";

TEST(ElementTypes, WithoutAKernelAreRefusedForAnyTarget) {
  for (const char* target : {"portable", "cpu", "sim:0", "cuda:0,cpu"}) {
    auto module = ir::parse(kSmallNumbers, "test");
    ASSERT_TRUE(module.ok()) << module.error().text();
    CompileOptions options;
    options.target = target;
    const auto program = compile(std::move(*module), options);
    ASSERT_FALSE(program.ok()) << target;
    EXPECT_EQ(program.error().code, Error::kNotSupported);
    EXPECT_EQ(program.error().text().find("method forward: \"neg_1\" aten::neg: has no kernel for elements of "
                                          "f8e4m3, which %small has; "),
              0u)
        << program.error().text();
  }
}

}  // namespace
}  // namespace berth
