#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "format/write/meta_desc.h"
#include "runtime/kernels_testing.h"

namespace berth {
namespace {

using format::MethodDesc;
using format::MethodMetaDesc;
using format::ProgramDesc;
using format::SymbolDesc;
using format::TensorDesc;
using testing::ready;
using testing::Ready;
using testing::set_floats;

// x[n, 4] and y[n], z[n + 2]: n from 2 to 8. Or z as `computed` says.
ProgramDesc symbolic(const SymbolDesc* computed = nullptr, const std::function<void(MethodMetaDesc&)>& change = {}) {
  MethodDesc method;
  method.name = "forward";
  TensorDesc x = format::testing::tensor({8, 4}, 0);
  TensorDesc y = format::testing::tensor({8}, 128);
  TensorDesc z = format::testing::tensor({10}, 160);
  x.bounded = y.bounded = z.bounded = true;
  method.values = {x, y, z};
  method.inputs = {0, 1, 2};
  method.arenas = {{208, Device()}};

  MethodMetaDesc meta;
  meta.name = "forward";
  meta.values = {{0, "pixels", ""}, {1, "lengths", ""}};
  SymbolDesc n;
  n.name = "n";
  n.min = 2;
  n.max = 8;
  SymbolDesc longer;
  longer.kind = fb::SymbolKind::ADD;
  longer.min = 4;
  longer.max = 10;
  longer.a = fb::Operand(0, 0);
  longer.b = fb::Operand(2, -1);
  meta.symbols = {n, computed == nullptr ? longer : *computed};
  meta.dimensions = {{0, 0, 0}, {1, 0, 0}, {2, 0, 1}};
  if (change) change(meta);
  ProgramDesc program;
  program.methods = {method};
  format::MetaDesc all;
  all.methods = {meta};
  program.named_data = {format::meta_blob(all)};
  return program;
}

Error run(Method& method, int n_of_x, int n_of_y, int size_of_z) {
  const std::vector<float> data(64, 1);
  BERTH_RETURN_IF_ERROR(set_floats(method, 0, data, {n_of_x, 4}));
  BERTH_RETURN_IF_ERROR(set_floats(method, 1, data, {n_of_y}));
  BERTH_RETURN_IF_ERROR(set_floats(method, 2, data, {size_of_z}));
  return method.execute();
}

TEST(MethodSymbols, SizesThatAgreeRun) {
  Ready r = ready(symbolic());
  ASSERT_EQ(r.error, Error::kOk) << r.report.message;
  EXPECT_EQ(run(*r.method, 3, 3, 5), Error::kOk) << r.method->last_report().message;
  EXPECT_EQ(run(*r.method, 8, 8, 10), Error::kOk) << r.method->last_report().message;
}

TEST(MethodSymbols, ASizeOutsideItsRangeIsRefusedThoughItFits) {
  Ready r = ready(symbolic());
  ASSERT_EQ(r.error, Error::kOk);
  // 1 x 4 elements fit into 8 x 4; the model was not made for one row.
  EXPECT_EQ(set_floats(*r.method, 0, std::vector<float>(4), {1, 4}), Error::kInvalidArgument);
  EXPECT_STREQ(r.method->last_report().message, "the size of dimension 0 (n) is between 2 and 8, found 1");
}

TEST(MethodSymbols, InputsThatDisagreeAreRefused) {
  Ready r = ready(symbolic());
  ASSERT_EQ(r.error, Error::kOk);
  EXPECT_EQ(run(*r.method, 3, 4, 5), Error::kInvalidArgument);
  EXPECT_STREQ(r.method->last_report().message,
               "the size of dimension 0 (n) is 3 according to the other inputs, found 4");
  EXPECT_EQ(run(*r.method, 4, 4, 5), Error::kInvalidArgument);
  EXPECT_STREQ(r.method->last_report().place, "methods[forward].inputs[2]");
  EXPECT_EQ(run(*r.method, 4, 4, 6), Error::kOk);
}

// x[n, 4], y[n], z[n + 2] as above; n in steps of 3 from 2, and n + 2 at most 9.
ProgramDesc related() {
  SymbolDesc longer;
  longer.kind = fb::SymbolKind::ADD;
  longer.min = 4;
  longer.max = 10;
  longer.a = fb::Operand(0, 0);
  longer.b = fb::Operand(2, -1);
  ProgramDesc program = symbolic(&longer, [](MethodMetaDesc& meta) {
    meta.symbols[0].step = 3;
    format::SizeRelationDesc most;
    most.kind = fb::SizeRelationKind::AT_MOST;
    most.a = fb::Operand(0, 1);
    most.b = fb::Operand(9, -1);
    most.text = "(n + 2) <= 9";
    most.symbols = {0};
    format::SizeRelationDesc named;
    named.kind = fb::SizeRelationKind::NAMED;
    named.a = fb::Operand(0, 1);
    named.text = "longer == (n + 2)";
    meta.size_relations = {most, named};
  });
  return program;
}

TEST(MethodSymbols, RelationsAreCheckedWithTheirNameAndTheSizes) {
  Ready r = ready(related());
  ASSERT_EQ(r.error, Error::kOk) << r.report.message;
  EXPECT_EQ(run(*r.method, 2, 2, 4), Error::kOk) << r.method->last_report().message;
  EXPECT_EQ(run(*r.method, 5, 5, 7), Error::kOk) << r.method->last_report().message;
  EXPECT_EQ(run(*r.method, 4, 4, 6), Error::kInvalidArgument);
  EXPECT_STREQ(r.method->last_report().message, "the size of dimension 0 (n) must be such that n % 3 == 2, found 4");
  // At once, where one input tells all.
  EXPECT_EQ(set_floats(*r.method, 1, std::vector<float>(8), {8}), Error::kInvalidArgument);
  EXPECT_STREQ(r.method->last_report().message, "the sizes must be such that (n + 2) <= 9, found n = 8");
  EXPECT_STREQ(r.method->last_report().place, "methods[forward].inputs[1]");
  EXPECT_EQ(run(*r.method, 2, 2, 5), Error::kInvalidArgument);
  EXPECT_STREQ(r.method->last_report().message,
               "the size of dimension 0 (longer == (n + 2)) is 4 according to the other inputs, found 5");
}

TEST(MethodSymbols, AFixedSizeBesideAnOpenOneIsRefusedThoughItFits) {
  Ready r = ready(symbolic());
  ASSERT_EQ(r.error, Error::kOk) << r.report.message;
  EXPECT_EQ(set_floats(*r.method, 0, std::vector<float>(10), {2, 5}), Error::kInvalidArgument);
  EXPECT_STREQ(r.method->last_report().message, "the size of dimension 1 is 4 in the program, found 5");
  EXPECT_EQ(set_floats(*r.method, 0, std::vector<float>(6), {2, 3}), Error::kInvalidArgument);
  EXPECT_EQ(run(*r.method, 2, 2, 4), Error::kOk);
}

TEST(MethodSymbols, ARelationOfMoreThanNumbersHoldIsNotFulfilled) {
  SymbolDesc longer;
  longer.kind = fb::SymbolKind::ADD;
  longer.min = 4;
  longer.max = 10;
  longer.a = fb::Operand(0, 0);
  longer.b = fb::Operand(2, -1);
  Ready r = ready(symbolic(&longer, [](MethodMetaDesc& meta) {
    SymbolDesc large;
    large.kind = fb::SymbolKind::MUL;
    large.min = 0;
    large.max = INT64_MAX;
    large.a = fb::Operand(0, 0);
    large.b = fb::Operand(int64_t{1} << 61, -1);
    meta.symbols.push_back(large);
    format::SizeRelationDesc most;
    most.kind = fb::SizeRelationKind::AT_MOST;
    most.a = fb::Operand(0, 2);
    most.b = fb::Operand(int64_t{1} << 62, -1);
    most.text = "large";
    most.symbols = {0};
    meta.size_relations = {most};
  }));
  ASSERT_EQ(r.error, Error::kOk) << r.report.message;
  EXPECT_EQ(run(*r.method, 2, 2, 4), Error::kOk) << r.method->last_report().message;
  EXPECT_EQ(run(*r.method, 3, 3, 5), Error::kInvalidArgument);
  EXPECT_EQ(run(*r.method, 8, 8, 10), Error::kInvalidArgument);  // 2^64
  EXPECT_STREQ(r.method->last_report().message, "the sizes must be such that large, found n = 8");
}

TEST(MethodSymbols, RelationsOfSymbolsThatThereAreNotAreRefused) {
  const auto damaged = [](const std::function<void(MethodMetaDesc&)>& change) {
    return ready(symbolic(nullptr, change)).error;
  };
  format::SizeRelationDesc relation;
  EXPECT_EQ(damaged([&](MethodMetaDesc& meta) { meta.size_relations = {relation}; }), Error::kOk);
  EXPECT_EQ(damaged([&](MethodMetaDesc& meta) {
              meta.size_relations = {relation};
              meta.size_relations[0].a = fb::Operand(0, 2);
            }),
            Error::kInvalidProgram);
  EXPECT_EQ(damaged([&](MethodMetaDesc& meta) {
              meta.size_relations = {relation};
              meta.size_relations[0].symbols = {7};
            }),
            Error::kInvalidProgram);
  EXPECT_EQ(damaged([](MethodMetaDesc& meta) { meta.symbols[0].step = -1; }), Error::kInvalidProgram);
}

// A file may compute with any numbers: rounded down as in Python, and never beyond 64 bits. -1: there is no such
// number, and nothing is held to it.
TEST(MethodSymbols, ExpressionsOfAnyNumbersAreSafe) {
  struct Case {
    fb::SymbolKind kind;
    int64_t a;
    int64_t b;
    int expected;
  };
  const Case cases[] = {
      {fb::SymbolKind::MOD, 23, 5, 3},
      {fb::SymbolKind::MOD, -23, 5, 2},
      {fb::SymbolKind::MOD, 20, 5, 0},
      {fb::SymbolKind::MOD, INT64_MIN + 1, 5, 3},
      {fb::SymbolKind::MOD, 7, 0, -1},
      {fb::SymbolKind::MOD, INT64_MAX, -1, 0},
      {fb::SymbolKind::FLOOR_DIV, 23, 5, 4},
      {fb::SymbolKind::FLOOR_DIV, -23, -5, 4},
      {fb::SymbolKind::FLOOR_DIV, INT64_MIN + 1, INT64_MIN + 1, 1},
      {fb::SymbolKind::FLOOR_DIV, 7, 0, -1},
      {fb::SymbolKind::ADD, INT64_MAX, 1, -1},
      {fb::SymbolKind::MUL, INT64_MAX, 2, -1},
      {fb::SymbolKind::MUL, -2, -4, 8},
      {fb::SymbolKind::MAXIMUM, 3, -4, 3},
      {fb::SymbolKind::MINIMUM, 9, 6, 6},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(std::string(fb::EnumNameSymbolKind(c.kind)) + " " + std::to_string(c.a) + " " + std::to_string(c.b));
    SymbolDesc computed;
    computed.kind = c.kind;
    computed.min = 0;
    computed.max = 10;
    computed.a = fb::Operand(c.a, -1);
    computed.b = fb::Operand(c.b, -1);
    Ready r = ready(symbolic(&computed));
    ASSERT_EQ(r.error, Error::kOk) << r.report.message;
    for (int size = 0; size <= 10; ++size) {
      const bool fits = c.expected < 0 || size == c.expected;
      EXPECT_EQ(run(*r.method, 3, 3, size), fits ? Error::kOk : Error::kInvalidArgument) << size;
    }
  }
}

TEST(MethodSymbols, AreNamed) {
  Ready r = ready(symbolic());
  ASSERT_EQ(r.error, Error::kOk);
  EXPECT_STREQ(r.method->meta().input_names(0).name, "pixels");
  EXPECT_STREQ(r.method->meta().input_names(1).name, "lengths");
  EXPECT_STREQ(r.method->meta().input_names(2).name, "");
  EXPECT_STREQ(r.method->meta().input_names(9).name, "");
}

}  // namespace
}  // namespace berth
