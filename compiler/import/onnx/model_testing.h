// TestModel: small ONNX models for tests, written by protobuf's own encoder.
//
//     TestModel m(13);
//     m.input("x", {1, 3, 8, 8});
//     m.node("Relu", {"x"}, {"y"});
//     m.output("y");
//     EXPECT_EQ(body(m), "%y: f32[1,3,8,8] = aten::relu(%x) …");
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "compiler/import/onnx/import_onnx.h"
#include "compiler/import/onnx/model.h"
#include "compiler/ir/print.h"
#include "compiler/ir/verify.h"
#include "onnx.pb.h"

namespace berth::onnx {

/// A chain of setters for one node's attributes.
class TestNode {
 public:
  explicit TestNode(proto::Node* node) : node_(node) {}
  TestNode& name(const std::string& name) { return node_->set_name(name), *this; }
  TestNode& domain(const std::string& domain) { return node_->set_domain(domain), *this; }
  TestNode& set(const std::string& name, int64_t i) { return add(name, AttributeType::kInt).set_i(i), *this; }
  TestNode& set(const std::string& name, int i) { return set(name, static_cast<int64_t>(i)); }
  TestNode& set(const std::string& name, float f) { return add(name, AttributeType::kFloat).set_f(f), *this; }
  TestNode& set(const std::string& name, const char* s) { return add(name, AttributeType::kString).set_s(s), *this; }
  TestNode& set(const std::string& name, const std::vector<int64_t>& ints) {
    proto::Attribute& attribute = add(name, AttributeType::kInts);
    for (int64_t i : ints) attribute.add_ints(i);
    return *this;
  }
  TestNode& set(const std::string& name, const std::vector<std::string>& texts) {
    proto::Attribute& attribute = add(name, AttributeType::kStrings);
    for (const std::string& text : texts) attribute.add_strings(text);
    return *this;
  }
  TestNode& set(const std::string& name, const std::vector<float>& floats) {
    proto::Attribute& attribute = add(name, AttributeType::kFloats);
    for (float f : floats) attribute.add_floats(f);
    return *this;
  }
  TestNode& refer(const std::string& name, const std::string& to) {
    node_->add_attribute()->set_name(name);
    node_->mutable_attribute()->rbegin()->set_ref_attr_name(to);
    return *this;
  }
  proto::Attribute& add(const std::string& name, AttributeType type) {
    proto::Attribute* attribute = node_->add_attribute();
    attribute->set_name(name);
    attribute->set_type(static_cast<int32_t>(type));
    return *attribute;
  }

 private:
  proto::Node* node_;
};

class TestModel {
 public:
  explicit TestModel(int64_t opset = 17, int64_t ir_version = 8) {
    model.set_ir_version(ir_version);
    model.add_opset_import()->set_version(opset);
  }

  void input(const std::string& name, const std::vector<int64_t>& shape, ElementType type = ElementType::kFloat) {
    proto::TensorType* tensor = value(model.mutable_graph()->add_input(), name, type);
    tensor->mutable_shape();
    for (int64_t size : shape) tensor->mutable_shape()->add_dim()->set_dim_value(size);
  }
  /// Each dimension a number or a dim_param; "" for neither.
  void symbolic_input(const std::string& name, const std::vector<std::string>& shape,
                      ElementType type = ElementType::kFloat) {
    proto::TensorType* tensor = value(model.mutable_graph()->add_input(), name, type);
    tensor->mutable_shape();
    for (const std::string& size : shape) {
      proto::Dimension* dim = tensor->mutable_shape()->add_dim();
      if (!size.empty() && size.find_first_not_of("0123456789") == std::string::npos) {
        dim->set_dim_value(std::stoll(size));
      } else if (!size.empty()) {
        dim->set_dim_param(size);
      }
    }
  }
  void output(const std::string& name) { model.mutable_graph()->add_output()->set_name(name); }
  TestNode node(const std::string& type, const std::vector<std::string>& inputs,
                const std::vector<std::string>& outputs) {
    return fill(model.mutable_graph()->add_node(), type, inputs, outputs);
  }
  proto::Tensor& tensor(const std::string& name, const std::vector<int64_t>& dims, ElementType type) {
    return fill(model.mutable_graph()->add_initializer(), name, dims, type);
  }
  void floats(const std::string& name, const std::vector<int64_t>& dims, const std::vector<float>& numbers) {
    proto::Tensor& t = tensor(name, dims, ElementType::kFloat);
    t.set_raw_data(numbers.data(), numbers.size() * sizeof(float));
  }
  void ints(const std::string& name, const std::vector<int64_t>& numbers) {
    proto::Tensor& t = tensor(name, {static_cast<int64_t>(numbers.size())}, ElementType::kInt64);
    for (int64_t number : numbers) t.add_int64_data(number);
  }
  void scalar(const std::string& name, int64_t number) { tensor(name, {}, ElementType::kInt64).add_int64_data(number); }

  static TestNode fill(proto::Node* node, const std::string& type, const std::vector<std::string>& inputs,
                       const std::vector<std::string>& outputs) {
    node->set_op_type(type);
    for (const std::string& input : inputs) node->add_input(input);
    for (const std::string& output : outputs) node->add_output(output);
    return TestNode(node);
  }
  static proto::Tensor& fill(proto::Tensor* tensor, const std::string& name, const std::vector<int64_t>& dims,
                             ElementType type) {
    tensor->set_name(name);
    tensor->set_data_type(static_cast<int32_t>(type));
    for (int64_t dim : dims) tensor->add_dims(dim);
    return *tensor;
  }

  std::string bytes() const { return model.SerializeAsString(); }
  Expected<ir::Module> import(const ImportOptions& options = {}) const {
    const std::string text = bytes();
    return import_onnx(Span<const uint8_t>(reinterpret_cast<const uint8_t*>(text.data()), text.size()), options);
  }

  proto::Model model;

 private:
  static proto::TensorType* value(proto::ValueInfo* info, const std::string& name, ElementType type) {
    info->set_name(name);
    proto::TensorType* tensor = info->mutable_type()->mutable_tensor_type();
    tensor->set_elem_type(static_cast<int32_t>(type));
    return tensor;
  }
};

/// The nodes of the imported method as text, a line each, without their sources; constants and the braces left out.
inline std::string body(const TestModel& model, const ImportOptions& options = {}) {
  auto module = model.import(options);
  if (!module.ok()) return "failed: " + module.error().text();
  const Status sound = ir::verify(*module);
  if (!sound.ok()) return "unsound: " + sound.error().text();
  std::string text;
  const ir::Method& method = module->methods[0];
  for (ir::NodeId id : method.body.nodes) {
    std::string line = ir::print(*module, method, method.node(id));
    line = line.substr(line.find_first_not_of(' '));
    while (!line.empty() && line.back() == '\n') line.pop_back();
    const size_t source = line.rfind(" \"");
    text += (source == std::string::npos ? line : line.substr(0, source)) + "\n";
  }
  return text;
}

/// What importing `model` fails with; "" when it does not fail.
inline std::string failure(const TestModel& model, const ImportOptions& options = {}) {
  auto module = model.import(options);
  return module.ok() ? "" : module.error().text();
}

inline bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

#define EXPECT_CONTAINS(text, part) EXPECT_TRUE(::berth::onnx::contains(text, part)) << (text)

}  // namespace berth::onnx
