#include "compiler/import/pt2/json.h"

#include <cmath>

#include "compiler/import/pt2/archive_testing.h"

namespace berth::pt2 {
namespace {

TEST(Json, DeepNestingIsRefusedAt64) {
  const auto nested = [](size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); };
  EXPECT_TRUE(parse_json(nested(64), "j").ok());
  for (const size_t depth : {size_t{65}, size_t{1000000}}) {
    EXPECT_EQ(failure_of(parse_json(nested(depth), "j")), "j: its JSON is nested deeper than 64");
  }
  std::string objects;
  for (int i = 0; i < 100000; ++i) objects += "{\"a\":";
  EXPECT_FALSE(parse_json(objects, "j").ok());
}

TEST(Json, TextThatIsNotJsonIsRefused) {
  for (const char* bad : {"", "{", "nul", "{\"a\":1,}", "[1 2]", "\"\xff\xfe\"", "1e999999", "{\"a\"}"}) {
    EXPECT_EQ(failure_of(parse_json(bad, "j")), "j: is not JSON, or ends too soon") << bad;
  }
}

TEST(Json, OnlyMetadataIsLeftOut) {
  const auto json = parse_json(
      R"({"graph_module": {"module_call_graph": [1], "graph": {"nodes": [{"metadata": {"from_node": "x", "stack_trace": "s"}}],
          "tensor_values": {"from_node": 1, "guards_code": 2, "torch_fn": 3}}}, "guards_code": [4]})",
      "j");
  ASSERT_TRUE(json.ok());
  EXPECT_EQ(json->text(), R"({"graph_module":{"graph":{"nodes":[{"metadata":{"stack_trace":"s"}}],)"
                          R"("tensor_values":{"from_node":1,"guards_code":2,"torch_fn":3}}}})");
}

TEST(Json, ATensorMayBeCalledMetadata) {
  const std::string text =
      R"({"graph_module":{"graph":{"a_tensors":{"metadata":{"dtype":7}},"nodes":[{"metadata":{},"target":"relu"}]}}})";
  const auto json = parse_json(text, "j");
  ASSERT_TRUE(json.ok());
  EXPECT_EQ(json->text(), text);
}

// A walk over all earlier items at each item's end would take hours.
TEST(Json, AMillionObjectsTakeLinearTime) {
  constexpr size_t kItems = 1'000'000;
  std::string items = "[{}";
  for (size_t i = 1; i < kItems; ++i) items += ",{}";
  items += "]";
  const auto json = parse_json("{\"unknown\": " + items + ", \"guards_code\": " + items + ", \"after\": 1}", "j");
  ASSERT_TRUE(json.ok());
  EXPECT_EQ((*json)["unknown"].size(), kItems);
  EXPECT_FALSE(json->contains("guards_code"));
  EXPECT_EQ((*json)["after"], 1);
}

TEST(Json, TheFirstWrongFieldIsNamed) {
  JsonReader reader("file");
  EXPECT_EQ(reader.integer(Json(7), "a"), 7);
  EXPECT_EQ(reader.number(Json("-Infinity"), "a"), -HUGE_VAL);
  EXPECT_TRUE(std::isnan(reader.number(Json("NaN"), "a")));
  EXPECT_EQ(reader.number(Json(3), "a"), 3);
  EXPECT_TRUE(reader.ok());
  reader.integer(Json(1.5), "nodes[3].x");
  reader.text(Json(1), "later");
  EXPECT_EQ(reader.failure().text(), "file: nodes[3].x: expected an integer of 64 bits");
  JsonReader big("file");
  big.integer(Json(uint64_t{1} << 63), "y");
  EXPECT_FALSE(big.ok());
}

}  // namespace
}  // namespace berth::pt2
