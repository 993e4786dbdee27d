#include "json_schema/keywords.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "json_schema/grammar_for_tests.h"

namespace corral::json_schema {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(Keywords, WithWrongValuesAreRefusedWithTheirPlaceAndValue) {
  const std::pair<const char*, const char*> rows[] = {
      {R"({"type":"string","minLength":2.5})", "#/minLength must be a whole number from 0 up, not 2.5"},
      {R"({"contains":{},"maxContains":-1})", "#/maxContains must be a whole number from 0 up, not -1"},
      {R"({"minItems":2000000})", "#/minItems must be 1000000 or less, not 2000000"},
      {R"({"type":"number","multipleOf":0})", "#/multipleOf must be above 0, not 0"},
      {R"({"properties":{"a":5}})", "#/properties/a must be a schema: an object or a boolean, not 5"},
      {R"({"anyOf":[]})", "#/anyOf must be an array that isn't empty, not []"},
      {R"({"pattern":["a"]})", "#/pattern must be a string, not [\"a\"]"},
      {R"({"exclusiveMinimum":"5"})", "#/exclusiveMinimum must be a number, not \"5\""},
      {R"({"uniqueItems":"true"})", "#/uniqueItems must be a boolean, not \"true\""},
      {R"({"dependentRequired":{"card":"address"}})",
       "#/dependentRequired/card must be an array of names, not \"address\""},
      {R"({"dependencies":{"card":"address"}})", "#/dependencies/card must be an array of names, not \"address\""},
      {R"({"type":"number","not":{"type":"interger"}})",
       "#/not/type must be one of object, array, string, number, integer, boolean, null, or a list of them, not "
       "interger"},
      {R"({"enum":[1],"type":"interger"})",
       "#/type must be one of object, array, string, number, integer, boolean, null, or a list of them, not interger"},
      {R"({"type":"text"})",
       "#/type must be one of object, array, string, number, integer, boolean, null, or a list of them, not text"},
  };
  for (const auto& [schema, message] : rows) {
    EXPECT_THAT(complaints(schema), ElementsAre(std::string("'schema' can't be used: the part at ") + message));
  }
  EXPECT_THAT(complaints(R"({"type":"string","minLength":2.0})"), IsEmpty());
}

TEST(Keywords, OfReferencesWithSeveralTargetsAreRefused) {
  EXPECT_THAT(
      complaints(R"({"$dynamicRef":"#x","$defs":{"a":{"$dynamicAnchor":"x"},"b":{"$dynamicAnchor":"x"}}})"),
      ElementsAre("'schema' has \"$dynamicRef\" at #/$dynamicRef, which can't be enforced (only references with one "
                  "target, known before): leave it out, or leave out 'strict'"));
}

}  // namespace
}  // namespace corral::json_schema
