#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "json_schema/automaton.h"
#include "json_schema/converter.h"
#include "json_schema/formats.h"
#include "json_schema/grammar_for_tests.h"
#include "json_schema/number_range.h"
#include "json_schema/pattern.h"
#include "json_schema/text.h"

namespace corral::json_schema {
namespace {

bool matches(std::string_view pattern, std::string_view text) {
  Languages languages;
  return languages.contains(pattern_language(languages, pattern), characters_of(text));
}

TEST(Pattern, IsFoundAnywhereUnlessItIsAnchored) {
  EXPECT_TRUE(matches("b", "abc"));
  EXPECT_FALSE(matches("^b", "abc"));
  EXPECT_TRUE(matches("^a|c$", "abc"));
  EXPECT_FALSE(matches("^(b|$)", "abc"));
  EXPECT_TRUE(matches("x|^y|z$", "yx"));
  EXPECT_TRUE(matches("", "anything"));
}

TEST(Pattern, KnowsTheClassesOfEcmaScript) {
  EXPECT_TRUE(matches("^\\d\\D\\w\\W\\s\\S$", "1a_- x"));
  EXPECT_TRUE(matches("^\\s{3}$", "\u00A0\u2028\uFEFF"));
  EXPECT_FALSE(matches("^\\d$", "٣")) << "digits are those of ASCII";
  EXPECT_FALSE(matches("^.$", "\n"));
  EXPECT_TRUE(matches("^[^a]$", "\n"));
  EXPECT_TRUE(matches("^[\\]\\-a-c]+$", "]-b"));
  EXPECT_TRUE(matches("^\\u00e9\\xE9\\u{1F600}\\uD83D\\uDE00$", "éé😀😀"));
}

TEST(Pattern, LooksAhead) {
  EXPECT_TRUE(matches("^(?=.*\\d)(?=.*[a-z]).{4,}$", "abc1"));
  EXPECT_FALSE(matches("^(?=.*\\d)(?=.*[a-z]).{4,}$", "abcd"));
  EXPECT_FALSE(matches("^(?!ab)\\w+$", "abc"));
  EXPECT_TRUE(matches("^(?!ab)\\w+$", "bab"));
}

TEST(Pattern, SaysWhatItCantEnforce) {
  for (const auto* pattern :
       {"\\bx", "(a)\\1", "(?<=a)b", "\\p{L}", "(", "a)", "[a", "*", "(?:^a)*", "a{3,2}", "[b-a]"}) {
    Languages languages;
    EXPECT_THROW(pattern_language(languages, pattern), UnsupportedPattern) << pattern;
  }
}

std::string repeated(std::string_view text, std::size_t count) {
  std::string all;
  for (; count > 0; --count) all += text;
  return all;
}

TEST(Pattern, OfGroupsInGroupsEndsAtOnce) {
  EXPECT_TRUE(matches(repeated("(", 60) + "a" + repeated(")", 60), "xay"));
  EXPECT_TRUE(matches("^" + repeated("(", 50) + "a?" + repeated(")?b?", 50) + "$", "abb"));
  EXPECT_THROW(matches(repeated("(", 20) + "$" + repeated("){8}", 20), "a"), TooComplex);
  EXPECT_THROW(matches("a" + repeated("*", 100'000), "a"), UnsupportedPattern);
}

TEST(Pattern, HasLargeClasses) {
  std::string members;
  for (int high = 0x90; high < 0xBF; ++high) {
    for (int low = 0x80; low < 0xC0; low += 2) {
      for (int last = 0x80; last < 0xC0; last += 2) {
        members += {'\xE5', static_cast<char>(high), static_cast<char>(low)};
        members += {'\xE6', static_cast<char>(high), static_cast<char>(last)};
      }
    }
  }
  EXPECT_TRUE(matches("^[" + members + "z]$", "z"));
  EXPECT_FALSE(matches("^[^" + members + "z]$", "z"));
}

bool in_range(const NumberRange& range, std::string_view text) {
  Languages languages;
  return languages.contains(number_language(languages, range), characters_of(text));
}
std::optional<Bound> bound(double value, bool exclusive = false) { return Bound{Decimal::of(value), exclusive}; }

TEST(Numbers, StayWithinTheirBounds) {
  const NumberRange decimals{.min = bound(-1.5), .max = bound(20.25, true)};
  for (const auto* text : {"-1.5", "-1.50", "-1", "-0.01", "0", "0.0", "9.999", "10", "20.249", "20.2"}) {
    EXPECT_TRUE(in_range(decimals, text)) << text;
  }
  for (const auto* text : {"-1.51", "-2", "20.25", "20.250", "20.3", "21", "100", "00", "01", "1.", ".5", "-", "1e1"}) {
    EXPECT_FALSE(in_range(decimals, text)) << text;
  }
  const NumberRange above{.integer = true, .min = bound(98, true)};
  EXPECT_TRUE(in_range(above, "99"));
  EXPECT_TRUE(in_range(above, "100"));
  EXPECT_FALSE(in_range(above, "98"));
  EXPECT_FALSE(in_range(above, "99.5"));
  EXPECT_FALSE(in_range({.min = bound(5, true), .max = bound(6)}, "5.0000000000000001"))
      << "a double can't tell it from 5";
}

TEST(Numbers, EveryIntegerOfARange) {
  for (int min = -12; min <= 12; ++min) {
    for (int max = min; max <= 112; max += 9) {
      Languages languages;
      const auto language = number_language(languages, {.integer = true, .min = bound(min), .max = bound(max)});
      for (int value = -130; value <= 130; ++value) {
        EXPECT_EQ(languages.contains(language, characters_of(std::to_string(value))), value >= min && value <= max)
            << value << " of " << min << " to " << max;
      }
    }
  }
}

TEST(Numbers, Multiples) {
  for (int value = -50; value <= 50; ++value) {
    EXPECT_EQ(in_range({.integer = true, .step = Step{.digits = 7}}, std::to_string(value)), value % 7 == 0) << value;
  }
}

TEST(Formats, KnowTheCalendar) {
  const auto is_date = [](std::string_view text) { return matches(*format_pattern("date"), text); };
  EXPECT_TRUE(is_date("2024-02-29"));
  EXPECT_TRUE(is_date("2000-02-29"));
  EXPECT_FALSE(is_date("1900-02-29"));
  EXPECT_FALSE(is_date("2023-02-29"));
  EXPECT_FALSE(is_date("2023-04-31"));
  EXPECT_FALSE(is_date("2023-13-01"));
}

TEST(Schema, APatternNeverLeavesItsString) {
  for (const auto* schema : {R"({"pattern":"^.{3}$"})", R"({"pattern":"^[^#]{3}$"})", R"({"pattern":"^\\W{3}$"})"}) {
    EXPECT_FALSE(allows(schema, R"(""","")")) << schema;
    EXPECT_FALSE(allows(schema, "\"\t\t\t\"")) << schema;
    EXPECT_FALSE(allows(schema, R"("\\\")")) << schema;
    EXPECT_TRUE(allows(schema, R"("\"\\.")")) << schema;
  }
  EXPECT_TRUE(allows(R"({"pattern":"^[^#]{2}$"})", R"("\n\u0001")"));
  EXPECT_FALSE(allows(R"({"pattern":"^[^#]{1}$"})", R"("\u0023")"));
}

TEST(Schema, KeysBesideKnownOnesAreStringsToo) {
  const auto* schema = R"({"properties":{"an":{"type":"null"}},"additionalProperties":{"type":"integer"}})";
  EXPECT_TRUE(allows(schema, R"({"a":1,"and":2,"\n":3})"));
  EXPECT_FALSE(allows(schema, R"({"an":1})"));
  EXPECT_FALSE(allows(schema, R"({"\u0061n":1})"));
  EXPECT_FALSE(allows(schema, "{\"\n\":1}"));
}

TEST(Schema, HalvesOfSurrogatePairsAreNoText) {
  EXPECT_TRUE(allows(R"({"type":"string","maxLength":1})", R"("\ud83d\ude00")"));
  EXPECT_FALSE(allows(R"({"type":"string"})", R"("\ud83d")"));
  EXPECT_FALSE(allows(R"({"type":"number"})", "1e999"));
}

TEST(Schema, CountsProperties) {
  const auto* schema = R"({"properties":{"a":{},"b":{},"c":{}},"minProperties":2,"maxProperties":2})";
  EXPECT_FALSE(allows(schema, R"({"a":1})"));
  EXPECT_TRUE(allows(schema, R"({"a":1,"c":1})"));
  EXPECT_FALSE(allows(schema, R"({"a":1,"b":1,"c":1})"));
}

// Its automaton has too many states.
std::string complex_pattern() {
  return "^(?=.*" + repeated("(?:a|b).{9}", 60) + ")(?!.*" + repeated("c.{7}", 60) + ")";
}

json::Value with_complex(std::string_view schema) {
  std::string text(schema);
  for (auto at = text.find('@'); at != std::string::npos; at = text.find('@')) text.replace(at, 1, complex_pattern());
  return *json::parse(text);
}

TEST(Schema, WhatIsTooComplexIsReportedAndTheRestApplied) {
  const std::pair<const char*, const char*> schemas[] = {
      {R"({"type":"string","pattern":"@"})", "#/pattern"},
      {R"({"patternProperties":{"@":{"type":"null"}},"properties":{"a":{}},"required":["b"]})",
       "#/patternProperties/@"},
      {R"({"patternProperties":{"@":{"type":"null"}},"minProperties":1})", "#/patternProperties/@"},
      {R"({"propertyNames":{"pattern":"@"},"minProperties":1})", "#/propertyNames/pattern"},
      {R"({"propertyNames":{"pattern":"@","maxLength":9},"minProperties":1})", "#/propertyNames/pattern"},
  };
  Workspace workspace("j");
  for (int round = 0; round < 2; ++round) {
    for (const auto& [schema, pointer] : schemas) {
      const auto made = make_grammar(with_complex(schema), workspace, Reading::lenient);
      ASSERT_TRUE(made) << schema << made.error().reason;
      std::string expected(pointer);
      if (const auto at = expected.find('@'); at != std::string::npos) expected.replace(at, 1, complex_pattern());
      EXPECT_THAT(made->unenforced, testing::Contains(testing::Field(&Unenforced::pointer, expected))) << schema;
    }
  }
}

template <typename Spend>
void spend(Spend spend) {
  try {
    for (char32_t c = U'a';; ++c) spend(c);
  } catch (const TooComplex&) {
  }
}

void expect_usable(Workspace& workspace) {
  for (const auto* schema : {R"({"enum":["x"],"pattern":"^x"})", R"({"type":"string","format":"date","maxLength":9})",
                             R"({"patternProperties":{"^y":{}},"minProperties":1})", R"({"minimum":3,"maximum":77})",
                             R"({"propertyNames":{"enum":["k","l"],"minLength":1},"required":["k"]})",
                             R"({"properties":{"n":{}},"additionalProperties":{"type":"null"}})"}) {
    const auto made = make_grammar(*json::parse(schema), workspace, Reading::lenient);
    EXPECT_TRUE(made) << schema << (made ? "" : made.error().reason);
  }
}

TEST(Schema, SpentBoundsLeaveOtherSchemasUsable) {
  Workspace expressions("j"), lookups("j");
  spend([&](char32_t c) { expressions.languages.text(std::u32string(1000, c)); });
  expect_usable(expressions);
  spend([&](char32_t c) { lookups.languages.contains(lookups.languages.all(), std::u32string(1000, c)); });
  expect_usable(lookups);
}

TEST(Schema, APatternOfNamesThatIsNotEnforcedStillSaysWhatValuesAre) {
  const auto* schema =
      R"({"patternProperties":{"\\bx":{"type":"null"}},"additionalProperties":false,"minProperties":1})";
  EXPECT_TRUE(allows(schema, R"({"x":null})"));
  EXPECT_FALSE(allows(schema, R"({"x":1})"));
}

TEST(Schema, EqualStringsAreOneRule) {
  std::string properties;
  for (int i = 0; i < 50; ++i)
    properties += fmt::format(R"({}"p{}":{{"type":"string","format":"date"}})", i ? "," : "", i);
  const auto bytes = [](std::string_view schema) {
    Workspace workspace("j");
    EXPECT_TRUE(make_grammar(*json::parse(schema), workspace, Reading::lenient));
    return workspace.text.text().size();
  };
  EXPECT_LT(bytes(fmt::format(R"({{"properties":{{{}}}}})", properties)),
            bytes(R"({"properties":{"p":{"type":"string","format":"date"}}})") + 20'000);
}

TEST(Schema, AlternativesThatCopyTooMuchAreRefused) {
  std::string properties, alternatives;
  for (int i = 0; i < 400; ++i) {
    properties += fmt::format(R"({}"p{}":{{"enum":["{}"]}})", i ? "," : "", i, std::string(1000, 'x'));
  }
  for (int i = 0; i < 250; ++i) alternatives += fmt::format(R"({}{{"required":["p{}"]}})", i ? "," : "", i);
  Workspace workspace("j");
  const auto made =
      make_grammar(*json::parse(fmt::format(R"({{"properties":{{{}}},"anyOf":[{}]}})", properties, alternatives)),
                   workspace, Reading::lenient);
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().reason, "needs more than 32 MiB for copies of its alternatives: use fewer or smaller ones");
}

}  // namespace
}  // namespace corral::json_schema
