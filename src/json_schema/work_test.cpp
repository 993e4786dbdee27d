// Hostile schemas: each of these took many seconds, gigabytes or the whole stack.
#include <functional>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pthread.h>

#include "json_schema/exclusion.h"
#include "json_schema/grammar_for_tests.h"

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define CORRAL_SANITIZED 1  // some would take half a minute
#endif
#endif

namespace corral::json_schema {
namespace {

using testing::AllOf;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

std::string joined(int begin, int end, std::string_view one) {
  std::string all;
  for (int i = begin; i < end; ++i) all += fmt::format("{}{}", i > begin ? "," : "", fmt::format(fmt::runtime(one), i));
  return all;
}

void on_small_stack(std::function<void()> run) {
  pthread_attr_t attributes;
  ASSERT_EQ(pthread_attr_init(&attributes), 0);
  ASSERT_EQ(pthread_attr_setstacksize(&attributes, 1 << 20), 0);
  pthread_t thread{};
  const auto call = [](void* given) -> void* {
    (*static_cast<std::function<void()>*>(given))();
    return nullptr;
  };
  ASSERT_EQ(pthread_create(&thread, &attributes, call, &run), 0);
  pthread_join(thread, nullptr);
  pthread_attr_destroy(&attributes);
}

TEST(Work, OfRequiredNamesIsLinear) {
  auto plain = json::parse(R"({"type":["object"],"required":[)" + joined(0, 50'000, R"("r{}")") + R"(],"members":[)" +
                           joined(0, 10'000, R"({{"properties":{{"p{}":true}}}})") + "]}")
                   ->as_object();
  EXPECT_TRUE(prune(plain));
}

// A long constant was written for each number of items.
TEST(Work, OfCountedItemsIsBounded) {
  const auto schema =
      R"({"type":"array","items":{"const":")" + std::string(400'000, 'x') +
      R"("},"contains":{"type":"number"},"minContains":0,"maxContains":0,"minItems":900,"maxItems":900})";
  EXPECT_THAT(complaints(schema), IsEmpty());
}

TEST(Work, OfNegatedListsIsBounded) {
  const auto schema = R"({"not":{"anyOf":[)" + joined(0, 100, R"({{"$ref":"#/$defs/c","title":"{}"}})") +
                      R"(]},"$defs":{"c":{"anyOf":[)" + joined(0, 100, R"({{"$ref":"#/$defs/b","title":"{}"}})") +
                      R"(]},"b":{"prefixItems":[)" + joined(0, 80'000, "true") + "]}}}";
  EXPECT_THAT(complaints(schema), ElementsAre(HasSubstr("a grammar can't say what doesn't fit it")));
}

TEST(Work, OfReferencesNeedsNoStack) {
  std::string chain;
  for (int i = 0; i < 10'000; ++i) chain += fmt::format(R"("a{}":{{"$anchor":"a{}","$ref":"#a{}"}},)", i, i, i + 1);
  on_small_stack([&] {
    EXPECT_THAT(complaints(R"({"$ref":"#a0","$defs":{)" + chain + R"("z":{"$anchor":"a10000"}}})"),
                ElementsAre(HasSubstr("has more than 100 schemas inside each other")));
  });
}

TEST(Work, OfLongNamesAboveManyPartsIsBounded) {
  EXPECT_THAT(
      complaints(R"({"$defs":{")" + std::string(100'000, 'x') + R"(":{"$defs":{)" +
                 joined(0, 10'000, R"("a{0}":{{"$anchor":"a{0}"}})") + "}}}}"),
      ElementsAre("'schema' can't be used: the part at # has more than 32 MiB of names of its parts: shorten them"));
}

TEST(Work, OfCountedPropertiesNeedsNoStack) {
  std::string parts;
  for (int i = 0; i < 19; ++i) {
    parts += fmt::format(R"({}{{"properties":{{{}}}}})", i ? "," : "", joined(500 * i, 500 * i + 500, R"("p{}":true)"));
  }
  const auto schema = R"({"type":"object","minProperties":1,"allOf":[)" + parts + "]}";
  on_small_stack([&] { EXPECT_THAT(complaints(schema), IsEmpty()); });
}

#ifndef CORRAL_SANITIZED

TEST(Work, OfLongListsIsLinear) {
  const auto list = [](int begin) { return R"({"enum":[)" + joined(begin, begin + 100'000, "{}") + "]}"; };
  EXPECT_THAT(complaints(R"({"allOf":[)" + list(0) + "," + list(100'000) + "]}"),
              ElementsAre(HasSubstr("fits no value")));
  EXPECT_THAT(complaints(R"({"type":"array","uniqueItems":true,"items":)" + list(0) + "}"),
              ElementsAre(HasSubstr("the list of values is too long")));
  EXPECT_THAT(complaints(R"({"allOf":[{"required":[)" + joined(0, 50'000, R"("a{}")") + R"(]},{"required":[)" +
                         joined(0, 50'000, R"("b{}")") + "]}]}"),
              ElementsAre(HasSubstr("schemas")));
}

TEST(Work, OfComparedAlternativesIsBounded) {
  const auto alternatives = [](std::string_view name) {
    return R"({"anyOf":[)" + joined(0, 120, R"({{"$ref":"#/$defs/)" + std::string(name) + R"(","title":"{}"}})") + "]}";
  };
  EXPECT_THAT(
      complaints(R"({"$defs":{"a":{"enum":[)" + joined(0, 1000, "{}") + R"(]},"b":{"enum":[)" +
                 joined(1000, 2000, "{}") + R"(]}},"oneOf":[)" + alternatives("a") + "," + alternatives("b") + "]}"),
      IsEmpty());
  EXPECT_THAT(
      complaints(R"({"$defs":{"r":{"type":"object","required":[)" + joined(0, 500, R"("r{}")") + R"(]}},"oneOf":[)" +
                 joined(0, 200, R"({{"allOf":[{{"$ref":"#/$defs/r"}}],"properties":{{"t":{{"const":{}}}}},
                                            "required":["t"]}})") +
                 "]}"),
      ElementsAre(HasSubstr("use fewer")));
}

TEST(Work, OfLengthsBesidePatternsIsBounded) {
  const auto schema = R"({"type":"object","properties":{)" +
                      joined(0, 2000, R"("p{}":{{"type":"string","format":"uri","maxLength":5000}})") + "}}";
  EXPECT_THAT(complaints(schema),
              AllOf(Not(IsEmpty()), Each(HasSubstr("together with its pattern it is too complex"))));
}

// A long text was compared with each of a million schemas.
TEST(Work, OfALongConstantIsBounded) {
  const auto many = [](std::string_view one) { return R"({"anyOf":[)" + joined(0, 100, one) + "]}"; };
  const auto schema = R"({"enum":[{"a":")" + std::string(400'000, 'x') +
                      R"("}],"properties":{"a":{"$ref":"#/$defs/c"}},"$defs":{"c":)" +
                      many(R"({{"$ref":"#/$defs/b","title":"{}"}})") + R"(,"b":)" +
                      many(R"({{"$ref":"#/$defs/a","title":"{}"}})") + R"(,"a":)" +
                      many(R"({{"type":"string","minLength":1000000,"title":"{}"}})") + "}}";
  EXPECT_THAT(complaints(schema), ElementsAre(HasSubstr("a comparison with its values is too complex")));
}

// Of the tools of one request: all of them together cost one to two seconds.
TEST(Work, OfManySchemasHasOneLimit) {
  std::string parts;
  for (int i = 0; i < 20; ++i)
    parts += fmt::format(R"("t{0}":{{"anyOf":[{{"$ref":"#/$defs/t{1}"}},{{"$ref":"#/$defs/t{1}"}}]}},)", i, i + 1);
  const auto schema = *json::parse(R"({"enum":[{"a":1}],"properties":{"a":{"$ref":"#/$defs/t0"}},"$defs":{)" + parts +
                                   R"("t20":false}})");
  Workspace workspace("j");
  int made = 0;
  while (made < 380 && make_grammar(schema, workspace, Reading::strict)) ++made;
  EXPECT_LT(made, 30);
}

TEST(Work, OfPatternsWithManyCharactersIsBounded) {
  std::string patterns;
  for (int i = 0; i < 12; ++i) {
    std::string pattern;
    for (int c = 0; c < 340; ++c) pattern += fmt::format("\\u{:04x}", 0x4e00 + 400 * i + c);
    patterns += fmt::format(R"({}"^{}":true)", i ? "," : "", pattern);
  }
  const auto schema = R"({"type":"object","properties":{)" +
                      joined(0, 50, R"("p{0}":{{"$ref":"#/$defs/m","minProperties":{0}}})") +
                      R"(},"$defs":{"m":{"patternProperties":{)" + patterns + "}}}}";
  EXPECT_THAT(complaints(schema), ElementsAre("'schema' can't be used: the part at # is too complex: simplify its "
                                              "patterns and alternatives, or use fewer"));
}

#endif

}  // namespace
}  // namespace corral::json_schema
