#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "json_schema/grammar_for_tests.h"

namespace corral::json_schema {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(Not, OfSimpleSchemas) {
  EXPECT_THAT(fitting(R"({"not":{"type":["string","null"]}})", {"1", R"("x")", "null", "{}"}), ElementsAre("1", "{}"));
  EXPECT_THAT(fitting(R"({"not":{"type":"integer"}})", {"1", "1.5", "1.0", R"("x")"}), ElementsAre("1.5", R"("x")"));
  EXPECT_THAT(fitting(R"({"type":"string","not":{"enum":["a","b"]}})", {R"("a")", R"("ab")", R"("c")"}),
              ElementsAre(R"("ab")", R"("c")"));
  EXPECT_THAT(fitting(R"({"type":"integer","not":{"const":5}})", {"5", "4", "55", "-5"}), ElementsAre("4", "55", "-5"));
  EXPECT_THAT(fitting(R"({"type":"number","not":{"const":5}})", {"5", "5.00", "5.5", "0.5"}),
              ElementsAre("5.5", "0.5"));
  EXPECT_THAT(fitting(R"({"type":"number","not":{"type":"integer"}})", {"1.5", "3102111111111111.04"}),
              ElementsAre("1.5"))
      << "a double reads the second one as an integer";
  EXPECT_THAT(fitting(R"({"type":"object","not":{"required":["a","b"]}})",
                      {R"({"a":1})", R"({"b":1,"c":1})", R"({"a":1,"b":1})"}),
              ElementsAre(R"({"a":1})", R"({"b":1,"c":1})"));
  EXPECT_THAT(fitting(R"({"type":"string","not":{"pattern":"^a"}})", {R"("a")", R"("b")"}), ElementsAre(R"("b")"));
  EXPECT_THAT(fitting(R"({"type":"number","not":{"minimum":3}})", {"2.9", "3"}), ElementsAre("2.9"));
  EXPECT_THAT(
      fitting(R"({"type":"object","properties":{"a":{}},"not":{"properties":{"a":{"const":1}},"required":["a"]}})",
              {R"({"a":1})", R"({"a":2})", "{}"}),
      ElementsAre(R"({"a":2})", "{}"));
  EXPECT_THAT(fitting(R"({"not":{"anyOf":[{"type":"string"},{"not":{"type":"integer"}}]}})", {"1", "1.5", R"("x")"}),
              ElementsAre("1"));
}

TEST(Not, WhatAGrammarCantSayIsRefused) {
  EXPECT_THAT(
      complaints(R"({"type":"number","not":{"multipleOf":3}})"),
      ElementsAre(
          "'schema' has \"not\" at #/not, which can't be enforced (a grammar can't say what doesn't fit it): leave "
          "it out, or leave out 'strict'"));
  EXPECT_THAT(
      complaints(R"({"not":{}})"),
      ElementsAre("'schema' can't be used: the part at # fits no value: remove what contradicts each other in it"));
}

// The grammars of some formats leave out rare texts, which fit all the same.
TEST(Not, OfAFormatLeavesOutItsRareTexts) {
  EXPECT_THAT(
      fitting(R"({"type":"string","not":{"format":"hostname"}})", {R"("a.b.c.d.e.f")", R"("xn--a")", R"("a b")"}),
      ElementsAre(R"("a b")"));
  EXPECT_THAT(fitting(R"({"type":"string","not":{"format":"email"}})", {R"("\"a b\"@c.de")", R"("a")"}),
              ElementsAre(R"("a")"));
  EXPECT_THAT(fitting(R"({"type":"string","if":{"format":"uri"},"then":{"maxLength":5}})",
                      {R"("http://user@host/long")", R"("no uri at all")", R"("a:b")"}),
              ElementsAre(R"("no uri at all")", R"("a:b")"));
  EXPECT_THAT(fitting(R"({"type":"string","not":{"format":"ipv4"}})", {R"("1.2.3.4")", R"("1.2.3.256")"}),
              ElementsAre(R"("1.2.3.256")"));
}

TEST(Not, OfTooManyNumbersIsReported) {
  std::string numbers;
  for (int i = 0; i < 2000; ++i) numbers += fmt::format("{}{}", i ? "," : "", 100'000'000'000'000 + i * 7919L);
  EXPECT_THAT(
      complaints(R"({"type":"number","not":{"enum":[)" + numbers + "]}}"),
      ElementsAre("'schema' has \"not\" at #/not, which can't be enforced (it excludes too many numbers): leave "
                  "it out, or leave out 'strict'"));
}

TEST(Not, ThatLeavesNothingOfAnInexactNegationIsReported) {
  const auto* schema = R"({"type":"object","not":{"type":"object","patternProperties":{"^x":{"type":"string"}}}})";
  EXPECT_THAT(
      complaints(schema),
      ElementsAre("'schema' has \"not\" at #/not, which can't be enforced (a grammar can't say what doesn't fit "
                  "it): leave it out, or leave out 'strict'"));
  EXPECT_TRUE(allows(schema, R"({"x":1})", Reading::lenient));
}

TEST(OneOf, IsExact) {
  EXPECT_THAT(fitting(R"({"oneOf":[{"type":"integer"},{"minimum":2}]})", {"1", "3", "2.5", "1.5", R"("x")"}),
              ElementsAre("1", "2.5", R"("x")"));
  const auto* either =
      R"({"type":"object","properties":{"a":{},"b":{}},"oneOf":[{"required":["a"]},{"required":["b"]}]})";
  EXPECT_THAT(fitting(either, {"{}", R"({"a":1})", R"({"b":1})", R"({"a":1,"b":1})"}),
              ElementsAre(R"({"a":1})", R"({"b":1})"));
  const auto* tagged = R"({"oneOf":[{"$ref":"#/$defs/a"},{"$ref":"#/$defs/b"}],"$defs":{
      "a":{"type":"object","properties":{"t":{"const":"a"},"x":{"$ref":"#"}},"required":["t"]},
      "b":{"type":"object","properties":{"t":{"enum":["b","c"]}},"required":["t"]}}})";
  EXPECT_THAT(fitting(tagged, {R"({"t":"a","x":{"t":"b"}})", R"({"t":"c"})", R"({"t":"d"})"}),
              ElementsAre(R"({"t":"a","x":{"t":"b"}})", R"({"t":"c"})"));
  EXPECT_THAT(complaints(tagged), IsEmpty());
}

// MaskBench's Github_trivial---o14485: an open object of an alternative fits the other one too.
TEST(OneOf, OfOpenObjectsExcludesWhatFitsBoth) {
  const auto* schema = R"({"type":"object","oneOf":[
      {"type":"object","required":["type"],"properties":{"type":{"enum":["add"]},"email":{"type":"string"}}},
      {"type":"object","required":["type"],"properties":{"type":{"enum":["add","remove"]},"id":{"type":"integer"}}}]})";
  EXPECT_THAT(fitting(schema, {R"({"type":"add","email":"x"})", R"({"type":"remove","id":1})",
                               R"({"type":"add","id":"x"})", R"({"type":"add","email":1})"}),
              ElementsAre(R"({"type":"remove","id":1})", R"({"type":"add","id":"x"})", R"({"type":"add","email":1})"));
}

TEST(OneOf, OfClosedObjectsNeedsANameOfOneOfThem) {
  const auto* schema = R"({"oneOf":[{"type":"object","properties":{"a":{}},"additionalProperties":false},
                                    {"type":"object","properties":{"b":{}},"additionalProperties":false}]})";
  EXPECT_THAT(fitting(schema, {"{}", R"({"a":1})", R"({"b":1})", R"({"a":1,"b":1})"}),
              ElementsAre(R"({"a":1})", R"({"b":1})"));
}

// The second schema has more values than those that the grammar has for it.
TEST(OneOf, KnowsThatNegationsAreNotExact) {
  const auto* schema = R"({"oneOf":[{"type":"object"},
      {"not":{"type":"object","patternProperties":{"^x":{"type":"string"}}}}]})";
  EXPECT_THAT(fitting(schema, {R"({"x1":5})", R"({"x1":"a"})", "1"}), ElementsAre(R"({"x1":"a"})", "1"));
}

TEST(OneOf, WhatOverlapsIsRefusedInWords) {
  EXPECT_THAT(complaints(R"({"type":"number","oneOf":[{"multipleOf":2},{"multipleOf":3}]})"),
              ElementsAre("'schema' has \"oneOf\" at #/oneOf, which can't be enforced (its schemas overlap, so it is "
                          "treated as anyOf): leave it out, or leave out 'strict'"));
}

TEST(If, TakesOneOfTwoWays) {
  const auto* schema = R"({"type":"object","properties":{"kind":{"enum":["a","b"]},"x":{}},"required":["kind"],
      "if":{"properties":{"kind":{"const":"a"}}},"then":{"required":["x"]},"else":{"properties":{"x":false}}})";
  EXPECT_THAT(fitting(schema, {R"({"kind":"a"})", R"({"kind":"a","x":1})", R"({"kind":"b"})", R"({"kind":"b","x":1})"}),
              ElementsAre(R"({"kind":"a","x":1})", R"({"kind":"b"})"));
  EXPECT_THAT(fitting(R"({"if":{"type":"string"},"then":{"minLength":2}})", {R"("x")", R"("xy")", "1"}),
              ElementsAre(R"("xy")", "1"));
  EXPECT_THAT(complaints(R"({"then":false,"else":false})"), IsEmpty());
}

TEST(Dependencies, OfAllDrafts) {
  const auto* schema = R"({"type":"object","properties":{"a":{},"b":{}},"dependencies":{"a":["b"],
                           "c":{"properties":{"d":{"type":"null"}},"required":["d"]}}})";
  EXPECT_THAT(fitting(schema, {R"({"a":1})", R"({"a":1,"b":1})", R"({"c":1})", R"({"d":1})", R"({"d":null,"c":1})"}),
              ElementsAre(R"({"a":1,"b":1})", R"({"d":1})", R"({"d":null,"c":1})"));
  EXPECT_THAT(fitting(R"({"dependentRequired":{"a":["b"]}})", {"1", "{}", R"({"a":1})", R"({"a":1,"b":1})"}),
              ElementsAre("1", "{}", R"({"a":1,"b":1})"));
  EXPECT_THAT(fitting(R"({"type":"object","dependentSchemas":{"a":{"minProperties":2}}})",
                      {R"({"a":1})", R"({"a":1,"b":1})", R"({"b":1})"}),
              ElementsAre(R"({"a":1,"b":1})", R"({"b":1})"));
}

TEST(Enum, MustFitTheRestOfItsSchema) {
  EXPECT_THAT(fitting(R"({"enum":[1,"a",{"x":1},[1,1]],"uniqueItems":true,"required":["y"]})",
                      {"1", R"("a")", R"({"x":1})", "[1,1]"}),
              ElementsAre("1", R"("a")"));
  EXPECT_THAT(fitting(R"({"allOf":[{"enum":["a","bb"]},{"minLength":2}]})", {R"("a")", R"("bb")"}),
              ElementsAre(R"("bb")"));
  EXPECT_THAT(fitting(R"({"const":{"a":[1,2]}})", {R"({"a":[1,2]})", R"({"a": [1, 2]})", R"({"a":[1]})"}),
              ElementsAre(R"({"a":[1,2]})", R"({"a": [1, 2]})"));
}

TEST(Enum, HasExactMultiples) {
  EXPECT_THAT(fitting(R"({"enum":[0.3,0.30000000001,7],"multipleOf":0.1})", {"0.3", "0.30000000001", "7"}),
              ElementsAre("0.3", "7"));
}

TEST(AllOf, ComparesValuesAsJson) {
  EXPECT_THAT(fitting(R"({"allOf":[{"enum":[1,2,{"a":1,"b":2}]},{"enum":[1.0,{"b":2.0,"a":1}]}]})",
                      {"1", "2", R"({"a":1,"b":2})"}),
              ElementsAre("1", R"({"a":1,"b":2})"));
  EXPECT_THAT(fitting(R"({"type":"integer","allOf":[{"minimum":9007199254740992},{"minimum":9007199254740993}]})",
                      {"9007199254740992", "9007199254740993"}),
              ElementsAre("9007199254740993"));
}

TEST(AllOf, ReportsMultiplesWithTooManyDigits) {
  EXPECT_THAT(
      complaints(R"({"type":"integer","allOf":[{"multipleOf":1999},{"multipleOf":1997}]})"),
      ElementsAre("'schema' has \"multipleOf\" at #/multipleOf, which can't be enforced (it has too many digits): "
                  "leave it out, or leave out 'strict'"));
  EXPECT_THAT(complaints(R"({"type":"number","allOf":[{"multipleOf":0.01},{"multipleOf":0.01}]})"), IsEmpty());
}

TEST(Format, UnknownOnesAreAnnotations) {
  EXPECT_THAT(complaints(R"({"type":"string","format":"color"})"),
              ElementsAre("'schema': \"format\" at #/format isn't enforced (\"color\" isn't known)"));
  EXPECT_THAT(fitting(R"({"type":"string","format":"duration"})", {R"("P1Y2D")", R"("P1Y2M3DT4H5M6S")", R"("PT1S")",
                                                                   R"("P1W")", R"("P")", R"("PT")", R"("PT1H2S")"}),
              ElementsAre(R"("P1Y2M3DT4H5M6S")", R"("PT1S")", R"("P1W")"));
}

TEST(Format, GivesWayToAPatternThatContradictsIt) {
  const auto* schema = R"({"type":"string","format":"time","pattern":"^\\d\\d:\\d\\d$"})";
  EXPECT_THAT(fitting(schema, {R"("10:00")", R"("10:00:00Z")"}), ElementsAre(R"("10:00")"));
  EXPECT_THAT(complaints(schema),
              ElementsAre("'schema': \"format\" at #/format isn't enforced (it contradicts the pattern)"));
}

TEST(Strings, LongOnesWithAPattern) {
  const auto* schema = R"({"type":"string","format":"email","maxLength":1024,"minLength":6})";
  EXPECT_THAT(complaints(schema), IsEmpty());
  EXPECT_THAT(fitting(schema, {R"("a@b.de")", R"("a@b.d")"}), ElementsAre(R"("a@b.de")"));
  EXPECT_THAT(fitting(R"({"type":"string","pattern":"^x[a-z]*$","maxLength":20000})", {R"("xab")", R"("ab")"}),
              ElementsAre(R"("xab")"));
}

TEST(Numbers, MultiplesOfDecimals) {
  EXPECT_THAT(fitting(R"({"type":"number","multipleOf":0.01})", {"1", "1.5", "1.25", "1.255", "-0.07"}),
              ElementsAre("1", "1.5", "1.25", "-0.07"));
  EXPECT_THAT(fitting(R"({"type":"number","multipleOf":2.5})", {"5", "2.5", "7.5", "3", "2.25", "0", "12.5"}),
              ElementsAre("5", "2.5", "7.5", "0", "12.5"));
  EXPECT_THAT(fitting(R"({"type":"integer","multipleOf":10000,"maximum":30000})", {"0", "10000", "15000", "40000"}),
              ElementsAre("0", "10000"));
  EXPECT_THAT(complaints(R"({"type":"number","multipleOf":0.12345})"),
              ElementsAre("'schema' has \"multipleOf\" at #/multipleOf, which can't be enforced (it has too many "
                          "digits): leave it out, or leave out 'strict'"));
}

}  // namespace
}  // namespace corral::json_schema
