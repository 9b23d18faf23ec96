// TestProgram: small `.pt2` archives for tests, written here field by field.
//
//     TestProgram p;
//     p.input("x", {2, 3});
//     p.node("aten.relu.default", {{"self", tensor("x")}}, "y", {2, 3});
//     p.output("y");
//     auto module = p.import();
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "compiler/import/pt2/import_pt2.h"
#include "compiler/import/pt2/zip_testing.h"
#include "compiler/ir/print.h"
#include "compiler/ir/verify.h"

namespace berth::pt2 {

using nlohmann::json;

// Arguments of nodes.
inline json tensor(const std::string& name) { return {{"as_tensor", {{"name", name}}}}; }
inline json tensor_list(const std::vector<std::string>& names) {
  json list = json::array();
  for (const std::string& name : names) list.push_back({{"name", name}});
  return {{"as_tensors", list}};
}
inline json integer(int64_t number) { return {{"as_int", number}}; }
inline json integers(const std::vector<int64_t>& numbers) { return {{"as_ints", numbers}}; }
inline json real(double number) { return {{"as_float", number}}; }
inline json truth(bool value) { return {{"as_bool", value}}; }
inline json text(const std::string& value) { return {{"as_string", value}}; }
inline json element_type(int number) { return {{"as_scalar_type", number}}; }
inline json sym_int(const std::string& name) { return {{"as_sym_int", {{"as_name", name}}}}; }
inline json sym_ints(const std::vector<json>& items) { return {{"as_sym_ints", items}}; }
inline json nothing() { return {{"as_none", true}}; }

/// A size of a tensor: a number, or an expression.
inline json size_of(const json& size) {
  if (size.is_number()) return {{"as_int", size}};
  return {{"as_expr", {{"expr_str", size}, {"hint", nullptr}}}};
}

constexpr int kF32 = 7;
constexpr int kI64 = 5;
constexpr int kBool = 12;

/// What a tensor is: contiguous unless strides are given.
inline json tensor_meta(const std::vector<json>& sizes, int dtype = kF32, std::vector<json> strides = {},
                        int64_t offset = 0) {
  json shape = json::array();
  for (const json& size : sizes) shape.push_back(size_of(size));
  int64_t stride = 1;
  if (strides.empty()) {
    strides.resize(sizes.size());
    for (size_t d = sizes.size(); d-- > 0;) {
      strides[d] = stride;
      if (sizes[d].is_number()) stride *= sizes[d].get<int64_t>();
    }
  }
  json steps = json::array();
  for (const json& step : strides) steps.push_back(size_of(step));
  return {{"dtype", dtype},
          {"sizes", shape},
          {"requires_grad", false},
          {"device", {{"type", "cpu"}, {"index", nullptr}}},
          {"strides", steps},
          {"storage_offset", {{"as_int", offset}}},
          {"layout", 7}};
}

/// A graph, of the program or within a node.
class TestGraph {
 public:
  void placeholder(const std::string& name, const std::vector<json>& sizes, int dtype = kF32) {
    graph_["inputs"].push_back(tensor(name));
    graph_["tensor_values"][name] = tensor_meta(sizes, dtype);
  }
  json& node(const std::string& target, const std::vector<std::pair<std::string, json>>& inputs, const json& outputs) {
    json list = json::array();
    for (const auto& [name, value] : inputs) list.push_back({{"name", name}, {"arg", value}, {"kind", 1}});
    graph_["nodes"].push_back({{"target", "torch.ops." + target},
                               {"inputs", list},
                               {"outputs", outputs},
                               {"metadata", json::object()},
                               {"is_hop_single_tensor_return", nullptr}});
    return graph_["nodes"].back();
  }
  /// With one tensor as result.
  json& node(const std::string& target, const std::vector<std::pair<std::string, json>>& inputs,
             const std::string& output, const std::vector<json>& sizes = {}, int dtype = kF32) {
    graph_["tensor_values"][output] = tensor_meta(sizes, dtype);
    return node(target, inputs, json::array({tensor(output)}));
  }
  void result(const json& output) { graph_["outputs"].push_back(output); }
  json as_argument() const { return {{"as_graph", {{"name", "body"}, {"graph", graph_}}}}; }

 protected:
  json graph_ = {{"inputs", json::array()},          {"outputs", json::array()},
                 {"nodes", json::array()},           {"tensor_values", json::object()},
                 {"sym_int_values", json::object()}, {"sym_bool_values", json::object()}};
};

class TestProgram : public TestGraph {
 public:
  void input(const std::string& name, const std::vector<json>& sizes, int dtype = kF32) {
    placeholder(name, sizes, dtype);
    input_specs_.push_back({{"user_input", {{"arg", tensor(name)}}}});
  }
  void strides(const std::string& name, const std::vector<int64_t>& steps) {
    json list = json::array();
    for (int64_t step : steps) list.push_back(size_of(step));
    graph_["tensor_values"][name]["strides"] = list;
  }
  /// A placeholder of another type, and what the file says of where it comes from.
  void special_input(const json& argument, const json& spec) {
    graph_["inputs"].push_back(argument);
    input_specs_.push_back(spec);
  }
  void parameter(const std::string& name, const std::string& full, const json& meta, const std::string& file) {
    weight(name, full, meta, file);
    input_specs_.push_back({{"parameter", {{"arg", {{"name", name}}}, {"parameter_name", full}}}});
  }
  void buffer(const std::string& name, const std::string& full, const json& meta, const std::string& file) {
    weight(name, full, meta, file);
    input_specs_.push_back({{"buffer", {{"arg", {{"name", name}}}, {"buffer_name", full}, {"persistent", true}}}});
  }
  /// A payload file of weights.
  void payload(const std::string& file, const std::vector<float>& numbers) {
    std::string bytes(numbers.size() * sizeof(float), '\0');
    if (!bytes.empty()) std::memcpy(bytes.data(), numbers.data(), bytes.size());
    files_["data/weights/" + file] = bytes;
  }
  void output(const std::string& name) { special_output(tensor(name), {{"user_output", {{"arg", tensor(name)}}}}); }
  void special_output(const json& argument, const json& spec) {
    result(argument);
    output_specs_.push_back(spec);
  }
  void symbol(const std::string& name, const json& min, const json& max) {
    ranges_[name] = {{"min_val", min}, {"max_val", max}};
  }
  void sym_int_value(const std::string& name, const json& size) { graph_["sym_int_values"][name] = size_of(size); }

  json document() const {
    return {{"graph_module",
             {{"graph", graph_}, {"signature", {{"input_specs", input_specs_}, {"output_specs", output_specs_}}}}},
            {"range_constraints", ranges_},
            {"schema_version", {{"major", major}, {"minor", 20}}},
            {"torch_version", "2.15.0"}};
  }
  std::string bytes() const {
    TestArchive archive;
    for (const auto& [name, content] : files_) archive.add("m/" + name, content);
    archive.add("m/data/weights/model_weights_config.json", json{{"config", weights_}}.dump());
    archive.add("m/models/model.json", document().dump());
    archive.add("m/archive_format", "pt2");
    archive.add("m/byteorder", "little");
    return archive.bytes();
  }
  Expected<ir::Module> import(const ImportOptions& options = {}) const {
    const std::string all = bytes();
    auto module = import_pt2(Span<const uint8_t>(reinterpret_cast<const uint8_t*>(all.data()), all.size()), options);
    if (module.ok()) {
      const Status sound = ir::verify(*module);
      EXPECT_TRUE(sound.ok()) << sound.error().text() << "\n" << ir::print(*module);
    }
    return module;
  }

  int major = 8;

 private:
  void weight(const std::string& name, const std::string& full, const json& meta, const std::string& file) {
    graph_["inputs"].push_back(tensor(name));
    graph_["tensor_values"][name] = meta;
    weights_[full] = {{"path_name", file}, {"is_param", true}, {"use_pickle", false}, {"tensor_meta", meta}};
  }

  json input_specs_ = json::array(), output_specs_ = json::array();
  json ranges_ = json::object(), weights_ = json::object();
  std::map<std::string, std::string> files_;
};

/// The message of a failure; empty, with a failed expectation, when there is none.
template <typename T>
std::string failure_of(const Expected<T>& result) {
  EXPECT_FALSE(result.ok());
  return result.ok() ? std::string() : result.error().text();
}

}  // namespace berth::pt2
