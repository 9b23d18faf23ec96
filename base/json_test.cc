#include "base/json.h"

#include <gtest/gtest.h>

#include <climits>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <string>
#include <vector>

namespace berth {
namespace {

TEST(Json, ABracedListIsAnObjectWhereAllItemsAreNamed) {
  const Json object = {{"name", "x"}, {"shape", {1, 3}}, {"targets", {"portable", "cpu"}}, {"none", nullptr}};
  EXPECT_EQ(object.text(), R"({"name":"x","shape":[1,3],"targets":["portable","cpu"],"none":null})");
  const Json list = {{"a", "b"}, {"c"}};
  EXPECT_EQ(list.text(), R"([["a","b"],["c"]])");
  const Json objects = {{{"name", "cpu"}, {"count", 1}}};
  EXPECT_EQ(objects.text(), R"([{"name":"cpu","count":1}])");
  EXPECT_EQ(Json::array({"one"}).text(), R"(["one"])");
  EXPECT_EQ(Json::array().text() + Json::object().text() + Json().text(), "[]{}null");
  EXPECT_EQ(Json(std::vector<int64_t>{1, -2}).text(), "[1,-2]");
}

// Python's json.loads() gave the characters.
TEST(Json, TextsOfAnyBytesAreValid) {
  EXPECT_EQ(Json(std::string("a\"\\\n\t\x01\x1f/\0", 9)).text(), R"("a\"\\\n\t\u0001\u001f/\u0000")");
  EXPECT_EQ(Json("gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x9a\xa2").text(),
            "\"gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x9a\xa2\"");
  const std::string replaced = "\xef\xbf\xbd";
  for (const char* bad : {"\xff", "\x80", "\xc3", "\xc0", "\xf5"}) EXPECT_EQ(Json(bad).text(), '"' + replaced + '"');
  // Longer than need be, half a pair, beyond U+10FFFF: each byte by itself.
  EXPECT_EQ(Json("\xc0\xaf").text(), '"' + replaced + replaced + '"');
  EXPECT_EQ(Json("\xe0\x9f\xbf").text(), '"' + replaced + replaced + replaced + '"');
  EXPECT_EQ(Json("\xed\xa0\x80").text(), '"' + replaced + replaced + replaced + '"');
  EXPECT_EQ(Json("\xf4\x90\x80\x80").text(), '"' + replaced + replaced + replaced + replaced + '"');
  EXPECT_EQ(Json("\xc3(").text(), '"' + replaced + "(\"");
}

TEST(Json, NumbersReadAsWhatTheyWere) {
  EXPECT_EQ(Json(INT64_MIN).text(), "-9223372036854775808");
  EXPECT_EQ(Json(UINT64_MAX).text(), "18446744073709551615");
  EXPECT_EQ(Json(uint64_t{7}), Json(7));
  EXPECT_EQ(Json(true).text(), "true");
  EXPECT_EQ(Json(3.0).text(), "3.0");
  EXPECT_EQ(Json(-0.0).text(), "-0.0");
  EXPECT_EQ(Json(HUGE_VAL).text() + Json(std::nan("")).text(), "nullnull");
  for (const double number : {0.1, 1.0 / 3, 1e22, 1e300, 5e-324, -123456.789, std::numeric_limits<double>::max()}) {
    const std::string text = Json(number).text();
    EXPECT_EQ(std::strtod(text.c_str(), nullptr), number) << text;
    EXPECT_NE(text.find_first_of(".e"), std::string::npos) << text;
  }
}

TEST(Json, MembersKeepTheirOrderAndAreSetOnce) {
  Json json;
  json["b"] = 1;
  json["a"]["inner"] = "x";
  json["b"] = 2;
  json["list"].push_back(1.5);
  json["list"].push_back({{"k", "v"}});
  json["list"].back()["more"] = true;
  EXPECT_EQ(json.text(), R"({"b":2,"a":{"inner":"x"},"list":[1.5,{"k":"v","more":true}]})");
  json.erase("a");
  json.update({{"b", 3}, {"c", nullptr}});
  EXPECT_EQ(json.text(), R"({"b":3,"list":[1.5,{"k":"v","more":true}],"c":null})");
  const Json& read = json;
  EXPECT_TRUE(read["nothing"]["of"]["it"].is_null());
  EXPECT_FALSE(read.contains("nothing"));
  EXPECT_EQ(read["list"].size(), 2u);
  EXPECT_EQ(read["b"].get<int>(), 3);
  EXPECT_EQ(read["b"].begin(), read["b"].end()) << "a number has no items";
}

}  // namespace
}  // namespace berth
