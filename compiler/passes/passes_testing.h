// For tests of passes: IR text through a pass, and the judgement that a pass keeps what a method gives.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <map>
#include <random>

#include "compiler/eval/evaluate.h"
#include "compiler/ir/parse.h"
#include "compiler/ir/print.h"
#include "compiler/ir/verify.h"
#include "compiler/passes/pipeline.h"
#include "compiler/passes/rewrite.h"

namespace berth::passes {

using PassFunction = Expected<Changed> (*)(ir::Module& module, const Options& options);

inline ir::Module parsed(const std::string& text) {
  auto module = ir::parse(text, "test");
  EXPECT_TRUE(module.ok()) << module.error().text() << "\n" << text;
  return module.ok() ? std::move(*module) : ir::Module();
}

/// The text after `pass`, verified; decisions go to `why` when it is not null.
inline std::string after(PassFunction pass, const std::string& text, std::vector<std::string>* why = nullptr) {
  ir::Module module = parsed(text);
  Options options;
  options.why = {"all"};
  options.why_lines = why;
  const auto changed = pass(module, options);
  EXPECT_TRUE(changed.ok()) << changed.error().text();
  const Status sound = ir::verify(module);
  EXPECT_TRUE(sound.ok()) << sound.error().text() << "\n" << ir::print(module);
  const std::string now = ir::print(module);
  EXPECT_EQ(*changed == Changed::kYes, now != ir::print(parsed(text))) << "the pass does not say whether it acted";
  return now;
}

/// `text` as the printer writes it, for comparisons.
inline std::string as_printed(const std::string& text) { return ir::print(parsed(text)); }

/// Random inputs of a method; symbols have the size that `sizes` gives them, or the upper end of their range.
inline std::vector<eval::Item> random_inputs(const ir::Module& module, const ir::Method& method, unsigned seed,
                                             const std::map<std::string, int>& sizes = {}) {
  const auto size_of = [&](ir::Dim dim) {
    const auto given = dim.is_constant() ? sizes.end() : sizes.find(module.symbols[dim.symbol].name);
    return static_cast<int32_t>(given == sizes.end() ? module.symbols.upper(dim) : given->second);
  };
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> real(-2, 2);
  std::vector<eval::Item> inputs;
  for (ir::ValueId id : method.body.inputs) {
    const ir::TensorType* type = method.value(id).tensor();
    if (type == nullptr) {
      inputs.emplace_back(std::in_place_type<bool>, true);
      continue;
    }
    eval::Array array;
    array.dtype = type->dtype;
    array.dim_order = type->dim_order;
    for (ir::Dim dim : type->shape) array.sizes.push_back(size_of(dim));
    for (int64_t i = 0; i < array.numel(); ++i) {
      const double number = is_floating(type->dtype) ? real(random) : static_cast<double>(random() % 2);
      const std::vector<uint8_t> element = ir::element_bytes(type->dtype, number);
      array.bytes.insert(array.bytes.end(), element.begin(), element.end());
    }
    inputs.emplace_back(std::in_place_type<eval::Array>, std::move(array));
  }
  return inputs;
}

inline void expect_close(const eval::Item& a, const eval::Item& b, double tolerance) {
  ASSERT_EQ(a.index(), b.index());
  const eval::Array* x = std::get_if<eval::Array>(&a);
  const eval::Array* y = std::get_if<eval::Array>(&b);
  if (x == nullptr) return;
  ASSERT_EQ(x->dtype, y->dtype);
  ASSERT_EQ(x->sizes, y->sizes);
  if (tolerance == 0) {
    EXPECT_EQ(x->bytes, y->bytes);
    return;
  }
  double largest = 0;
  for (int64_t i = 0; i < x->numel(); ++i) {
    const double number = std::abs(element_number(x->dtype, x->bytes, i));
    if (std::isfinite(number)) largest = std::max(largest, number);
  }
  for (int64_t i = 0; i < x->numel(); ++i) {
    const double left = element_number(x->dtype, x->bytes, i);
    const double right = element_number(y->dtype, y->bytes, i);
    if (left == right || (std::isnan(left) && std::isnan(right))) continue;
    ASSERT_LE(std::abs(left - right), tolerance * (std::abs(left) + largest)) << "element " << i;
  }
}

/// Evaluates every method of `text` before and after `pass` on random inputs and expects equal outputs.
inline void expect_keeps_outputs(PassFunction pass, const std::string& text, double tolerance = 0, unsigned seed = 7) {
  SCOPED_TRACE("seed " + std::to_string(seed));
  const ir::Module before = parsed(text);
  ir::Module module = parsed(text);
  const auto changed = pass(module, Options());
  ASSERT_TRUE(changed.ok()) << changed.error().text();
  for (size_t m = 0; m < before.methods.size(); ++m) {
    const std::vector<eval::Item> inputs = random_inputs(before, before.methods[m], seed);
    const auto expected = eval::evaluate(before, before.methods[m], inputs);
    ASSERT_TRUE(expected.ok()) << expected.error().text();
    const auto found = eval::evaluate(module, module.methods[m], inputs);
    ASSERT_TRUE(found.ok()) << found.error().text() << "\n" << ir::print(module);
    ASSERT_EQ(expected->size(), found->size());
    for (size_t i = 0; i < expected->size(); ++i) expect_close((*expected)[i], (*found)[i], tolerance);
  }
}

}  // namespace berth::passes
