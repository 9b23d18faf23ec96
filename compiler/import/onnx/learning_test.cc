// Linear models and norms of ai.onnx.ml: the figures are ONNX Runtime's, and what it gives another answer for is
// refused.
#include "compiler/import/onnx/run_testing.h"

namespace berth::onnx {
namespace {

/// One node over x: f32[`shape`], whose results are called label and y, or y alone.
TestNode add_model(TestModel& m, const char* type, std::vector<int64_t> shape = {2, 2}) {
  m.model.add_opset_import()->set_domain("ai.onnx.ml");
  m.model.mutable_opset_import(1)->set_version(3);
  m.input("x", shape);
  const bool classifies = type == std::string("LinearClassifier");
  TestNode node =
      m.node(type, {"x"}, classifies ? std::vector<std::string>{"label", "y"} : std::vector<std::string>{"y"});
  if (classifies) m.output("label");
  m.output("y");
  return node.domain("ai.onnx.ml");
}

std::vector<eval::Item> results(const TestModel& m) { return run(m, {floats({2, 2}, {1, 2, 3, -4})}); }

Floats regressed(const char* transform) {
  TestModel m;
  add_model(m, "LinearRegressor")
      .set("coefficients", Floats{1, 2, 3, 4})
      .set("targets", 2)
      .set("post_transform", transform);
  return numbers<float>(results(m));
}

TEST(LinearRegressor, ScoresAreTransformed) {
  expect_near(regressed("NONE"), {5, 11, -5, -7});
  expect_near(regressed("LOGISTIC"), {0.9933071F, 0.9999833F, 0.0066929F, 0.0009111F});
  expect_near(regressed("SOFTMAX"), {0.0024726F, 0.9975274F, 0.8807970F, 0.1192029F});
}

std::string regressor_failure(int64_t targets, const Floats& coefficients, const char* transform) {
  TestModel m;
  add_model(m, "LinearRegressor")
      .set("coefficients", coefficients)
      .set("targets", targets)
      .set("post_transform", transform);
  return failure(m);
}

TEST(LinearRegressor, WhatOnnxRuntimeDoesNotDoIsRefused) {
  EXPECT_EQ(regressor_failure(1, {1, 2}, "NONE"), "");
  for (const char* transform : {"LOGISTIC", "SOFTMAX"}) {
    EXPECT_CONTAINS(regressor_failure(1, {1, 2}, transform),
                    "attribute 'post_transform' of one target, which ONNX Runtime does not heed");
  }
  EXPECT_CONTAINS(regressor_failure(2, {1, 2, 3, 4}, "PROBIT"), "attribute 'post_transform' is \"PROBIT\"");
  for (const int64_t targets : {0, -1}) {
    EXPECT_CONTAINS(regressor_failure(targets, {}, "NONE"), "attribute 'targets' must be at least 1");
  }
  EXPECT_CONTAINS(regressor_failure(2, {1, 2}, "NONE"), "'coefficients' or 'intercepts' do not fit the input");
}

TestNode add_classifier(TestModel& m, const Ints& labels, const Floats& coefficients, const Floats& intercepts) {
  TestNode node = add_model(m, "LinearClassifier").set("coefficients", coefficients).set("classlabels_ints", labels);
  if (!intercepts.empty()) node.set("intercepts", intercepts);
  return node;
}

TEST(LinearClassifier, GivesTheLabelOfTheLargestScore) {
  TestModel two;
  add_classifier(two, {7, 9}, {1, 2, 3, 4}, {0.5F, 1});
  EXPECT_EQ(numbers<int64_t>(results(two)), (Ints{9, 7}));
  expect_near(numbers<float>(results(two), 1), {5.5F, 12, -4.5F, -6});
  TestModel three;
  add_classifier(three, {7, 9, 8}, {1, 2, 3, 4, 5, 6}, {}).set("post_transform", "SOFTMAX");
  EXPECT_EQ(numbers<int64_t>(results(three)), (Ints{8, 7}));
  expect_near(numbers<float>(results(three), 1),
              {0.0000061F, 0.0024726F, 0.9975212F, 0.8668133F, 0.1173104F, 0.0158762F});
}

std::string classifier_failure(const Ints& labels, const Floats& coefficients, const Floats& intercepts) {
  TestModel m;
  add_classifier(m, labels, coefficients, intercepts);
  return failure(m);
}

// The fears: one label is the answer to everything, and a row that tells two classes apart is taken for a damaged one.
TEST(LinearClassifier, FewerRowsThanTwoAreRefused) {
  EXPECT_CONTAINS(classifier_failure({7}, {1, 2}, {0.5F}), "expected two labels or more, found one");
  EXPECT_CONTAINS(classifier_failure({7, 9}, {1, 2}, {0.5F}), "one row of coefficients for two classes");
  EXPECT_CONTAINS(classifier_failure({7, 9}, {1, 2}, {}), "one row of coefficients for two classes");
  EXPECT_CONTAINS(classifier_failure({7, 9}, {1, 2, 3, 4}, {0.5F}), "'coefficients' or 'intercepts' do not fit");
  EXPECT_CONTAINS(classifier_failure({7, 9, 8}, {1, 2}, {}), "'coefficients' or 'intercepts' do not fit");
}

TEST(LinearClassifier, LabelsMustBeThereAndBeNumbers) {
  TestModel none;
  add_model(none, "LinearClassifier").set("coefficients", Floats{1, 2, 3, 4});
  EXPECT_CONTAINS(failure(none), "there are no labels: attribute 'classlabels_ints' is missing");
  TestModel texts;
  add_model(texts, "LinearClassifier")
      .set("coefficients", Floats{1, 2, 3, 4})
      .set("classlabels_strings", std::vector<std::string>{"cat", "dog"});
  EXPECT_CONTAINS(failure(texts), "texts as labels");
}

Floats normalized(const char* norm) {
  TestModel m;
  add_model(m, "Normalizer").set("norm", norm);
  return numbers<float>(run(m, {floats({2, 2}, {-1, -2, 3, -4})}));
}

TEST(Normalizer, TheLargestElementKeepsItsSign) {
  expect_near(normalized("MAX"), {1, 2, 1, -1.3333334F});
  expect_near(normalized("L1"), {-0.3333333F, -0.6666667F, 0.4285714F, -0.5714286F});
  expect_near(normalized("L2"), {-0.4472136F, -0.8944272F, 0.6F, -0.8F});
}

TEST(Normalizer, IsOfOneRowOrOfRows) {
  for (const std::vector<int64_t>& shape : {std::vector<int64_t>{}, {2, 2, 2}}) {
    for (const char* norm : {"MAX", "L1", "L2"}) {
      TestModel m;
      add_model(m, "Normalizer", shape).set("norm", norm);
      EXPECT_CONTAINS(failure(m), "expected 1 or 2 dimensions, found f32[");
    }
  }
  TestModel row;
  add_model(row, "Normalizer", {2}).set("norm", "L1");
  expect_near(numbers<float>(run(row, {floats({2}, {-1, -2})})), {-0.3333333F, -0.6666667F});
}

}  // namespace
}  // namespace berth::onnx
