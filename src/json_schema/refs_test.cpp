#include "json_schema/refs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "json_schema/grammar_for_tests.h"

namespace corral::json_schema {
namespace {

using testing::ElementsAre;

std::string first_ref(std::string_view schema) {
  const auto made = with_pointers(*json::parse(schema));
  return std::string(made.at("properties").at("a").at("$ref").as_string());
}

TEST(References, ByAnchorAndByUri) {
  EXPECT_EQ(first_ref(R"({"properties":{"a":{"$ref":"#x"}},"$defs":{"d":{"$anchor":"x"}}})"), "#/$defs/d");
  EXPECT_EQ(first_ref(R"({"$id":"http://e.org/root.json","properties":{"a":{"$ref":"item.json"}},
                          "$defs":{"d":{"$id":"item.json"}}})"),
            "#/$defs/d");
  EXPECT_EQ(first_ref(R"({"$id":"http://e.org/f/root.json","properties":{"a":{"$ref":"/g/item.json#/$defs/e"}},
                          "$defs":{"d":{"$id":"../g/item.json","$defs":{"e":{}}}}})"),
            "#/$defs/d/$defs/e");
  EXPECT_EQ(first_ref(R"({"$id":"http://e.org/root.json","properties":{"a":{"$ref":"http://e.org/root.json#"}}})"),
            "#");
  EXPECT_EQ(first_ref(R"({"properties":{"a":{"$ref":"http://e.org/other.json"}}})"), "http://e.org/other.json");
}

TEST(References, AreReadRelativeToTheirOwnId) {
  EXPECT_THAT(fitting(R"({"$ref":"#/$defs/d","$defs":{"e":{"type":"null"},
                          "d":{"$id":"http://e.org/d","$ref":"#/$defs/e","$defs":{"e":{"type":"integer"}}}}})",
                      {"1", "null"}),
              ElementsAre("1"));
}

TEST(References, OfAPartWithAnIdMayMeanTheWholeSchema) {
  EXPECT_EQ(first_ref(R"({"properties":{"a":{"$id":"a.json","$ref":"#/$defs/d"}},"$defs":{"d":{}}})"), "#/$defs/d");
}

TEST(References, InDataAreNone) {
  EXPECT_FALSE(
      has_named_refs(*json::parse(R"({"enum":[{"$ref":"x"}],"properties":{"$ref":{"type":"null"},"$id":{}}})")));
}

TEST(References, HavePointersWithEscapes) {
  EXPECT_EQ(first_ref(R"({"properties":{"a":{"$ref":"#x"}},"$defs":{"50%25/~":{"$anchor":"x"}}})"),
            "#/$defs/50%2525~1~0");
  EXPECT_THAT(fitting(R"({"$ref":"#x","$defs":{"50%25/~":{"$anchor":"x","type":"null"}}})", {"null", "1"}),
              ElementsAre("null"));
}

TEST(References, ToOtherDocumentsAreRefused) {
  EXPECT_THAT(
      complaints(R"({"$ref":"http://e.org/other.json"})"),
      ElementsAre("'schema' can't be used: the part at #/$ref names \"http://e.org/other.json\", which isn't in "
                  "this schema: put its target into '$defs'"));
}

}  // namespace
}  // namespace corral::json_schema
