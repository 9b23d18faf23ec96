// Sizes that are known only at run time: computed once, where they are needed, and not where a kernel finds them
// itself.
#include "compiler/emit/symbols.h"

#include "base/text_testing.h"
#include "compiler/emit/emit_testing.h"
#include "format/write/write_program.h"

namespace berth::emit {
namespace {

using testing::listing;
using testing::only_method;
using testing::outputs_of;
using testing::program_of;
using testing::refusal_of;

// Holds row 225.
TEST(Symbols, SizesAreComputedOnceBeforeTheirFirstUse) {
  const EmittedProgram emitted = program_of(R"(
    symbol n in [1, 8]
    symbol m in [2, 4]
    method forward(%x: f32[n,m]) {
      %a: f32[(n + m)] = aten::full([(n + m)], 1.5, f32)
      %b: f32[max(n, 4)] = aten::full([max(n, 4)], inf, f32)
      %c: f32[min(n, m)] = aten::full([min(n, m)], -1, f32)
      %d: f32[floordiv(n, 2)] = aten::full([floordiv(n, 2)], 1, f32)
      %e: f32[mod(n, 2)] = aten::full([mod(n, 2)], 1, f32)
      %f: f32[(n + m)] = aten::full([(n + m)], 0, f32)
      return %a, %b, %c, %d, %e, %f, n
    })");
  const format::MethodDesc& method = only_method(emitted);
  const std::string text = listing(method);
  const auto count = [&](const std::string& what) {
    size_t n = 0;
    for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++n;
    return n;
  };
  EXPECT_EQ(count("aten::sym_size.int("), 2u);
  EXPECT_EQ(count("executorch_prim::add.Scalar("), 1u);
  EXPECT_EQ(count("executorch_prim::sym_max.Scalar("), 1u);
  EXPECT_EQ(count("executorch_prim::sym_min.Scalar("), 1u);
  EXPECT_EQ(count("executorch_prim::floordiv.Scalar("), 1u);
  EXPECT_EQ(count("executorch_prim::mod.Scalar("), 1u);
  EXPECT_LT(text.rfind("executorch_prim"), text.find("aten::full"));
  EXPECT_NE(text.find("inf"), std::string::npos);
  EXPECT_EQ(outputs_of(method)[0].substr(0, 9), "f32[<=12]");
  EXPECT_EQ(outputs_of(method)[4].substr(0, 8), "f32[<=1]");
}

TEST(Symbols, OnlySymbolsThatAreNeededAreComputed) {
  const EmittedProgram emitted = program_of(R"(
    symbol n in [1, 8]
    method forward(%x: f32[n,4]) {
      %a: f32[n,4] = aten::relu(%x)
      %v: f32[(n * 4)] = aten::view_copy(%a, [(n * 4)])
      %y: f32[(n * 4)] = aten::exp(%v)
      return %y
    })");
  EXPECT_EQ(listing(only_method(emitted)), dedent(R"(
    aten::relu.out(v0, v1, v1)
    executorch_prim::et_view.default(v1, [-1], v2)
    aten::exp.out(v2, v5, v5)
  )"));
}

TEST(Symbols, APermutationThatMovesNothingSetsSizes) {
  const EmittedProgram emitted = program_of(R"(
    symbol n in [1, 8]
    method forward(%x: f32[1,n,4]) {
      %a: f32[1,n,4] = aten::relu(%x)
      %p: f32[n,1,4] = aten::permute_copy(%a, [1, 0, 2])
      %y: f32[n,1,4] = aten::exp(%p)
      return %y
    })");
  EXPECT_EQ(listing(only_method(emitted)), dedent(R"(
    aten::relu.out(v0, v1, v1)
    executorch_prim::et_view.default(v1, [-1, 1, 4], v2)
    aten::exp.out(v2, v7, v7)
  )"));
}

// -1 would give five elements for an n of 1 and an m of 5.
TEST(Symbols, AViewsSizeThatAnotherInputHasIsWritten) {
  const EmittedProgram emitted = program_of(R"(
    symbol n in [1, 8]
    symbol m in [1, 8]
    method forward(%x: f32[n], %y: f32[m]) {
      %a: f32[n] = aten::relu(%x)
      %v: f32[m] = aten::view_copy(%a, [m])
      %z: f32[m] = aten::exp(%v)
      return %z
    })");
  // Value 3 holds y's size.
  EXPECT_NE(listing(only_method(emitted)).find("aten::sym_size.int(v1, 0, v3)\n"), std::string::npos);
  const auto& sizes = std::get<format::IntListDesc>(only_method(emitted).values[6]);
  EXPECT_EQ(sizes.items, std::vector<int64_t>{3});
}

TEST(Symbols, AViewsSizeThatOnlyTheViewHasStaysOpen) {
  const EmittedProgram emitted = program_of(R"(
    symbol n in [1, 8]
    symbol m in [1, 8]
    method forward(%x: f32[n]) {
      %a: f32[n] = aten::relu(%x)
      %v: f32[m] = aten::view_copy(%a, [m])
      %z: f32[m] = aten::exp(%v)
      return %z
    })");
  EXPECT_NE(listing(only_method(emitted)).find("et_view.default(v1, [-1], v2)"), std::string::npos);
}

TEST(Symbols, AViewsSizeThatIsAQuotientStaysOpen) {
  const EmittedProgram emitted = program_of(R"(
    symbol n in [1, 8]
    symbol m in [1, 8]
    method forward(%x: f32[n,m,6]) {
      %a: f32[n,m,6] = aten::relu(%x)
      %v: f32[4,floordiv(((n * m) * 6), 4)] = aten::view_copy(%a, [4, floordiv(((n * m) * 6), 4)])
      %z: f32[4,floordiv(((n * m) * 6), 4)] = aten::exp(%v)
      return %z
    })");
  EXPECT_NE(listing(only_method(emitted)).find("et_view.default(v1, [4, -1], v2)"), std::string::npos);
}

TEST(Symbols, AViewOfPerhapsNoElementsHasItsSizesWritten) {
  const EmittedProgram emitted = program_of(R"(
    symbol n in [0, 8]
    method forward(%x: f32[n,4]) {
      %a: f32[n,4] = aten::relu(%x)
      %v: f32[n,2,2] = aten::view_copy(%a, [n, 2, 2])
      %y: f32[n,2,2] = aten::exp(%v)
      return %y
    })");
  EXPECT_EQ(only_method(emitted).operators[0].name, "aten::sym_size");
}

TEST(Symbols, ADataDependentSizeIsReadFromItsResult) {
  const EmittedProgram emitted = program_of(R"(
    symbol k in [0, 6]
    method forward(%x: f32[6]) {
      %i: i64[k,1] = aten::nonzero(%x)
      %f: f32[k] = aten::full([k], 1, f32)
      return %i, %f
    })");
  EXPECT_EQ(listing(only_method(emitted)), dedent(R"(
    aten::nonzero.out(v0, v1, v1)
    aten::sym_size.int(v1, 0, v3)
    aten::full.out([0], 1, v4, v4)
  )"));
  EXPECT_EQ(outputs_of(only_method(emitted))[0].substr(0, 10), "i64[<=6,1]");
  EXPECT_EQ(refusal_of(R"(
    symbol k in [0, 6]
    method forward(%x: f32[6]) {
      %f: f32[k] = aten::full([k], 1, f32)
      %i: i64[k,1] = aten::nonzero(%x)
      return %i, %f
    })"),
            "method forward: aten::full: argument 'size': the size k is needed, but no tensor before has it as a "
            "dimension");
}

}  // namespace
}  // namespace berth::emit
