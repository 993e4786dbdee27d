#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "json_schema/grammar_for_tests.h"

namespace corral::json_schema {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(Objects, HaveTheirPropertiesInTheOrderOfTheSchema) {
  const auto* schema = R"({"type":"object","properties":{"think":{"type":"string"},"answer":{"type":"integer"},
                           "note":{"type":"string"}},"required":["answer"],"additionalProperties":false})";
  EXPECT_THAT(fitting(schema, {R"({"think":"x","answer":1})", R"({"answer":1,"note":"y"})", R"({"answer":1})",
                               R"({"think":"x","answer":1,"note":"y"})", R"({"answer":1,"think":"x"})",
                               R"({"think":"x"})", R"({"think":"x","note":"y"})", "{}"}),
              ElementsAre(R"({"think":"x","answer":1})", R"({"answer":1,"note":"y"})", R"({"answer":1})",
                          R"({"think":"x","answer":1,"note":"y"})"));
}

TEST(Objects, AreOpenInStrictUnlessTheySayOtherwise) {
  const auto* named = R"({"type":"object","properties":{"a":{"type":"null"}}})";
  EXPECT_TRUE(allows(named, R"({"a":null,"b":[1]})", Reading::strict));
  EXPECT_FALSE(allows(named, R"({"b":[1],"a":1})", Reading::strict)) << "a has a type wherever it stands";
  EXPECT_FALSE(allows(named, R"({"a":null,"b":[1]})", Reading::lenient));
  for (const auto* schema : {R"({"type":"object"})", R"({"type":"object","properties":{}})"}) {
    EXPECT_TRUE(allows(schema, R"({"b":[1]})", Reading::lenient)) << schema;
    EXPECT_TRUE(allows(schema, R"({"b":[1]})", Reading::strict)) << schema;
  }
  EXPECT_FALSE(allows(R"({"type":"object","properties":{},"additionalProperties":false})", R"({"b":1})"));
}

TEST(Objects, KeywordsImplyATypeOnlyWithoutStrict) {
  const auto* schema = R"({"properties":{"a":{"type":"null"}},"minLength":2})";
  EXPECT_THAT(fitting(schema, {"1", "[]", R"("xy")", R"("x")", R"({"a":null})", R"({"a":1})"}),
              ElementsAre("1", "[]", R"("xy")", R"({"a":null})"));
  EXPECT_FALSE(allows(schema, "1"));
}

TEST(Objects, OfManyOptionalPropertiesHaveASmallGrammar) {
  const auto bytes = [](std::size_t count) {
    std::string inside;
    for (std::size_t i = 0; i < count; ++i) inside += (i ? ",\"p" : "\"p") + std::to_string(i) + R"(":{"type":"null"})";
    Workspace workspace("j");
    EXPECT_TRUE(
        make_grammar(*json::parse(R"({"type":"object","properties":{)" + inside + "}}"), workspace, Reading::lenient));
    return workspace.text.text().size();
  };
  EXPECT_LT(bytes(512), 5 * bytes(128));
}

TEST(Objects, PartsOfAllOfCountTheirOwnPropertiesOnly) {
  const auto* schema = R"({"type":"object","allOf":[{"properties":{"a":{}},"additionalProperties":{"type":"integer"}},
                           {"properties":{"b":{"minimum":3}},"patternProperties":{"^c":{"type":"integer"}}}]})";
  EXPECT_THAT(fitting(schema, {R"({"a":"x"})", R"({"b":3})", R"({"b":2})", R"({"b":"x"})", R"({"c1":1,"d":1})",
                               R"({"c1":"x"})", R"({"d":"x"})"}),
              ElementsAre(R"({"a":"x"})", R"({"b":3})", R"({"c1":1,"d":1})"));
}

TEST(Objects, UnevaluatedPropertiesKnowAllPartsOfTheirSchema) {
  const auto* schema = R"({"type":"object","$ref":"#/$defs/a","anyOf":[{"properties":{"b":{}},"required":["b"]},
                           {"properties":{"c":{}}}],"properties":{"d":{}},"patternProperties":{"^e":{}},
                           "unevaluatedProperties":false,"$defs":{"a":{"properties":{"a":{}}}}})";
  EXPECT_THAT(fitting(schema, {R"({"d":1,"a":1,"b":1})", R"({"a":1,"c":1})", R"({"a":1,"e1":1})", R"({"f":1})",
                               R"({"d":1,"f":1})"}),
              ElementsAre(R"({"d":1,"a":1,"b":1})", R"({"a":1,"c":1})", R"({"a":1,"e1":1})"));
  EXPECT_THAT(fitting(R"({"type":"object","unevaluatedProperties":false})", {"{}", R"({"a":1})"}), ElementsAre("{}"));
  EXPECT_THAT(fitting(R"({"type":"object","unevaluatedProperties":{"type":"null"},"not":{"required":["b"]}})",
                      {R"({"a":null})", R"({"a":1})", R"({"b":null})"}),
              ElementsAre(R"({"a":null})"));
  EXPECT_THAT(fitting(R"({"type":"object","allOf":[{"additionalProperties":true}],"unevaluatedProperties":false})",
                      {R"({"a":1})"}),
              ElementsAre(R"({"a":1})"));
  EXPECT_THAT(fitting(R"({"type":"object","properties":{"a":{}},"allOf":[{"unevaluatedProperties":false}]})",
                      {"{}", R"({"a":1})"}),
              ElementsAre("{}"))
      << "it doesn't see what stands beside its own schema";
  EXPECT_THAT(complaints(R"({"type":"object","unevaluatedProperties":false,
                             "not":{"if":{"additionalProperties":{}},"then":{"properties":{"b":{"const":1}}}}})"),
              ElementsAre(testing::HasSubstr("fits no value")))
      << "what is inside of not evaluates nothing";
  EXPECT_THAT(fitting(R"({"type":"object","dependentRequired":{"a":["b"]},"unevaluatedProperties":false})",
                      {"{}", R"({"a":1,"b":1})", R"({"b":1})"}),
              ElementsAre("{}"));
}

TEST(Objects, MayHaveManyPatterns) {
  std::string patterns;
  for (char c = 'a'; c < 'u'; ++c)
    patterns += std::string(c > 'a' ? "," : "") + R"("^)" + c + R"(":{"const":")" + c + "\"}";
  const auto schema =
      R"({"type":"object","patternProperties":{)" + patterns + R"(},"additionalProperties":false,"required":["bx"]})";
  EXPECT_THAT(
      fitting(schema, {R"({"bx":"b"})", R"({"bx":"b","cy":"c"})", R"({"bx":"b","cy":"d"})", R"({"bx":"b","z":1})"}),
      ElementsAre(R"({"bx":"b"})", R"({"bx":"b","cy":"c"})"));
  EXPECT_THAT(fitting(R"({"type":"object","patternProperties":{"^a":{"minimum":2},"b$":{"type":"integer"}}})",
                      {R"({"ab":3})", R"({"ab":1})", R"({"ab":"x"})", R"({"ac":2.5})", R"({"c":1})"}),
              ElementsAre(R"({"ab":3})", R"({"ac":2.5})", R"({"c":1})"));
}

TEST(Objects, CountTheirProperties) {
  const auto* schema = R"({"type":"object","properties":{"a":{},"b":{}},"required":["b"],"minProperties":2,
                           "maxProperties":3})";
  EXPECT_THAT(fitting(schema, {R"({"b":1})", R"({"a":1,"b":1})", R"({"b":1,"c":1})", R"({"a":1,"b":1,"c":1})",
                               R"({"a":1,"b":1,"c":1,"d":1})"}),
              ElementsAre(R"({"a":1,"b":1})", R"({"b":1,"c":1})", R"({"a":1,"b":1,"c":1})"));
}

TEST(Objects, NamesMayHaveAnySchema) {
  const auto* schema = R"({"type":"object","propertyNames":{"anyOf":[{"$ref":"#/$defs/a"},{"enum":["x"]}]},
                           "$defs":{"a":{"pattern":"^a"}}})";
  EXPECT_THAT(fitting(schema, {R"({"ab":1})", R"({"x":1})", R"({"b":1})"}), ElementsAre(R"({"ab":1})", R"({"x":1})"));
  EXPECT_THAT(complaints(schema), IsEmpty());
}

}  // namespace
}  // namespace corral::json_schema
