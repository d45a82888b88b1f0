#include "package/json.h"

#include <gtest/gtest.h>

namespace retort {
namespace {

/// The error for a text that is not JSON; empty if it is JSON.
std::string complaint(std::string_view text) {
  try {
    parse_json(text);
    return "";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::fail);
    return e.message();
  }
}

TEST(Json, ReadsValues) {
  const JsonValue all = parse_json(
      "\xef\xbb\xbf {\"text\": \"a\\u00e4\\ud83d\\ude00\\n\", \"n\": -12, \"big\": "
      "9223372036854775808, \"half\": 0.5, \"list\": [1, {\"x\": null}], \"no\": false}\r\n");
  ASSERT_TRUE(all.is(JsonValue::Kind::object));
  EXPECT_EQ(all.members.size(), 6u);
  EXPECT_EQ(all.find("text")->text, "a\u00e4\U0001F600\n");
  EXPECT_EQ(all.find("n")->integer, -12);
  EXPECT_EQ(all.find("big")->integer, std::nullopt);
  EXPECT_EQ(all.find("half")->integer, std::nullopt);
  EXPECT_TRUE(all.find("half")->is(JsonValue::Kind::number));
  EXPECT_TRUE(all.find("list")->is(JsonValue::Kind::array));
  EXPECT_TRUE(all.find("no")->is(JsonValue::Kind::boolean));
  EXPECT_EQ(all.find("nobody"), nullptr);
}

TEST(Json, LastValueOfAKeyStaysInTheFirstPlace) {
  const JsonValue all = parse_json(R"({"a": 1, "b": 2, "a": 3})");
  ASSERT_EQ(all.members.size(), 2u);
  EXPECT_EQ(all.members[0].key, "a");
  EXPECT_EQ(all.members[0].value.integer, 3);
}

TEST(Json, ErrorsNameTheMistakeAndItsPlace) {
  EXPECT_NE(complaint("{\n\"a\":\n}").find("line 3"), std::string::npos);
  EXPECT_NE(complaint("{\"a\": 1} x").find("follows the end"), std::string::npos);
  EXPECT_NE(complaint("\"a").find("the end of a string"), std::string::npos);
  EXPECT_NE(complaint("\"\\ud800x\"").find("surrogate"), std::string::npos);
  EXPECT_NE(complaint("\"\xc0\xaf\"").find("not UTF-8"), std::string::npos);
  EXPECT_NE(complaint("1e999").find("too large"), std::string::npos);
  EXPECT_NE(complaint(std::string("{}\0", 3)).find("follows the end"), std::string::npos);
}

TEST(Json, DeepNestingIsRejectedBeforeTheStackOverflows) {
  const auto nested = [](size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); };
  EXPECT_EQ(complaint(nested(200)), "");
  EXPECT_NE(complaint(nested(1000000)).find("too deeply"), std::string::npos);
  EXPECT_NE(complaint(std::string(1000000, '[')).find("too deeply"), std::string::npos);
}

TEST(Json, EveryBeginningOfADocumentIsAnError) {
  const std::string text = R"({"a": [1.5e-3, "x\u0041\\"], "b": {"c": true, "d": null}})";
  EXPECT_EQ(complaint(text), "");
  for (size_t length = 0; length < text.size(); ++length) EXPECT_NE(complaint(text.substr(0, length)), "") << length;
}

}  // namespace
}  // namespace retort
