#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "json_schema/grammar_for_tests.h"

namespace corral::json_schema {
namespace {

using testing::ElementsAre;

TEST(Arrays, MayBeShorterAndLongerThanTheirFirstItemsInStrict) {
  const auto* schema = R"({"type":"array","prefixItems":[{"type":"null"},{"type":"integer"}]})";
  EXPECT_THAT(fitting(schema, {"[]", "[null]", "[null,1]", "[1]", R"([null,1,"x"])"}),
              ElementsAre("[]", "[null]", "[null,1]", R"([null,1,"x"])"));
  EXPECT_TRUE(allows(schema, "[null,1]"));
  EXPECT_FALSE(allows(schema, "[null]"));
  EXPECT_FALSE(allows(schema, R"([null,1,"x"])"));
}

TEST(Arrays, Contain) {
  const auto* schema = R"({"type":"array","contains":{"type":"integer"},"maxItems":3})";
  EXPECT_THAT(fitting(schema, {"[]", "[1]", R"(["x"])", R"(["x",1])", R"([1,"x",1])", R"(["x","y","z",1])"}),
              ElementsAre("[1]", R"(["x",1])", R"([1,"x",1])"));
  const auto* counted = R"({"type":"array","items":{"enum":["a","b"]},"contains":{"const":"a"},"minContains":2,
                            "maxContains":2})";
  EXPECT_THAT(
      fitting(counted, {R"(["a"])", R"(["a","a"])", R"(["a","b","a"])", R"(["a","a","a"])", R"(["b","a","a","b"])"}),
      ElementsAre(R"(["a","a"])", R"(["a","b","a"])", R"(["b","a","a","b"])"));
  EXPECT_THAT(complaints(R"({"type":"array","contains":{"type":"null"},"minItems":100000})"),
              ElementsAre("'schema' has \"contains\" at #/contains, which can't be enforced (the array is too long): "
                          "leave it out, or leave out 'strict'"));
}

TEST(Arrays, OfListedValuesAreUnique) {
  const auto* schema =
      R"({"type":"array","items":{"enum":["a","b","c"]},"uniqueItems":true,"minItems":1,"maxItems":2})";
  EXPECT_THAT(fitting(schema, {"[]", R"(["a"])", R"(["b","a"])", R"(["a","a"])", R"(["a","b","c"])"}),
              ElementsAre(R"(["a"])", R"(["b","a"])"));
  EXPECT_THAT(complaints(R"({"type":"array","items":{"type":"string"},"uniqueItems":true})"),
              ElementsAre("'schema' has \"uniqueItems\" at #/uniqueItems, which can't be enforced (only for items that "
                          "are listed in an enum): leave it out, or leave out 'strict'"));
}

TEST(Arrays, OfListedValuesHaveOnlyThoseThatFit) {
  EXPECT_THAT(fitting(R"({"type":"array","items":{"type":"boolean","not":{"const":true}},"uniqueItems":true})",
                      {"[]", "[true]", "[false]", "[false,false]"}),
              ElementsAre("[]", "[false]"));
  EXPECT_THAT(complaints(R"({"type":"array","uniqueItems":true,"items":{"enum":[{"a":{"b":1}},2],
                             "properties":{"a":{"unevaluatedProperties":false}}}})"),
              ElementsAre("'schema' has \"unevaluatedProperties\" at #/items/unevaluatedProperties, which can't be "
                          "enforced (it is combined with enum or const): leave it out, or leave out 'strict'"));
}

TEST(Arrays, UnevaluatedItemsKnowAllPartsOfTheirSchema) {
  const auto* schema =
      R"({"type":"array","prefixItems":[{"type":"null"}],"allOf":[{"prefixItems":[true,{"type":"integer"}]}],
                           "unevaluatedItems":false})";
  EXPECT_THAT(fitting(schema, {"[]", "[null]", "[null,1]", "[null,1,1]"}), ElementsAre("[]", "[null]", "[null,1]"));
  EXPECT_THAT(fitting(R"({"dependentSchemas":{"c":{"items":true}},"unevaluatedItems":false})", {"[]", "[1]", "1"}),
              ElementsAre("[]", "1"))
      << "a schema for objects evaluates no items";
}

}  // namespace
}  // namespace corral::json_schema
