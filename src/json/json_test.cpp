#include <limits>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "json/count.h"
#include "json/errors.h"
#include "json/lone_surrogates.h"
#include "json/peek.h"
#include "json/value.h"
#include "json/writer.h"

namespace corral::json {
namespace {

using testing::HasSubstr;

std::string in_quotes(std::string_view text) {
  std::string out;
  append_quoted(out, text);
  return out;
}

TEST(Count, IsWhatAnIntegerHolds) {
  EXPECT_EQ(to_count(0), 0u);
  EXPECT_EQ(to_count(7.9), 7u);
  EXPECT_EQ(to_count(kLargestCount), std::uint64_t{1} << 53);
  for (const double odd :
       {-1.0, -1e-9, 1e17, 1e300, std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()})
    EXPECT_EQ(to_count(odd), std::nullopt) << odd;
}

TEST(Writer, PutsCommasWhereTheyBelong) {
  std::string out;
  Writer json(out);
  json.begin_object().field("a", 1).key("b").begin_array().value(1.5).value("x").begin_object().end_object();
  json.begin_array().end_array().value(true).null().end_array().field("c", false).key("d").raw("[0]").end_object();
  EXPECT_EQ(out, R"({"a":1,"b":[1.5,"x",{},[],true,null],"c":false,"d":[0]})");
}

TEST(Writer, WritesNumbersThatReadBackTheSame) {
  std::string out;
  Writer json(out);
  json.begin_array().value(0.1f).value(0.1).value(std::numeric_limits<std::int64_t>::min());
  json.value(std::numeric_limits<std::uint64_t>::max()).value(std::numeric_limits<double>::infinity());
  json.value(std::nanf("")).value(1e300).value(-0.0).end_array();
  EXPECT_EQ(out, "[0.1,0.1,-9223372036854775808,18446744073709551615,null,null,1e+300,-0]");
}

TEST(Writer, WritesUsualFractionsWithoutAnExponent) {
  std::string out;
  Writer json(out);
  json.begin_array().value(0.0001).value(0.00001f).value(100000.0).value(-250000.5f).value(123456789.125);
  json.value(-1e-7).value(1e15).value(2e-7f).end_array();
  EXPECT_EQ(out, "[0.0001,0.00001,100000,-250000.5,123456789.125,-1e-07,1e+15,2e-07]");
}

TEST(Writer, EscapesWhatJsonWantsEscaped) {
  EXPECT_EQ(in_quotes("a\"b\\c\n\r\t\b\f\x01\x1f/\x7f"), "\"a\\\"b\\\\c\\n\\r\\t\\b\\f\\u0001\\u001f/\x7f\"");
  EXPECT_EQ(in_quotes("åß∂😀"), "\"åß∂😀\"");
  EXPECT_EQ(in_quotes(""), "\"\"");
  EXPECT_EQ(in_quotes(std::string_view("\0", 1)), "\"\\u0000\"");
}

TEST(Writer, KnowsWhatIsUtf8) {
  for (const auto* text : {"", "plain", "h\u00e9 \u20AC \U0001F600", "\uFFFD"}) EXPECT_TRUE(is_utf8(text)) << text;
  for (const auto* text : {"\xFF", "a\xE2\x82", "\x82", "\xC0\x80", "\xED\xA0\x80"})
    EXPECT_FALSE(is_utf8(text)) << text;
}

TEST(Writer, ReplacesWhatIsNoUtf8) {
  EXPECT_EQ(in_quotes("a\xFFz"), "\"a\uFFFDz\"");
  EXPECT_EQ(in_quotes("\xE2\x82"), "\"\uFFFD\"");                            // cut off: one replacement for the part
  EXPECT_EQ(in_quotes("\xF0\x9F\x98\x41"), "\"\uFFFD\x41\"");                // cut off by another character
  EXPECT_EQ(in_quotes("\xC0\xAF"), "\"\uFFFD\uFFFD\"");                      // overlong
  EXPECT_EQ(in_quotes("\xED\xA0\x80"), "\"\uFFFD\uFFFD\uFFFD\"");            // surrogate
  EXPECT_EQ(in_quotes("\xF4\x90\x80\x80"), "\"\uFFFD\uFFFD\uFFFD\uFFFD\"");  // past the last code point
}

TEST(Writer, WhateverBytesGoInJsonComesOut) {
  std::mt19937 random(7);
  for (int round = 0; round < 2000; ++round) {
    std::string bytes(random() % 24, '\0');
    for (auto& c : bytes) c = static_cast<char>(random() % 3 ? random() : 0xE0 + random() % 32);
    const auto peek = Peek::open(in_quotes(bytes));
    ASSERT_TRUE(peek) << testing::PrintToString(bytes);
    ASSERT_EQ(in_quotes(peek->root().as_string()), in_quotes(bytes));
  }
}

TEST(Parse, NamesTheByteOfTheFault) {
  struct {
    std::string text;
    std::string message;
  } const kCases[] = {
      {"{\"a\":1,}", "at byte 7"},
      {"{\"a\" 1}", "at byte 5"},
      {"[1,2", "at byte 4"},
      {"{} x", "byte"},
      {"", "empty"},
      {" \n", "empty"},
      {"nul", "byte"},
      {"\"\xFF\"", "byte"},
      {"[01]", "byte"},
      {"{\"a\":\"\x01\"}", "byte"},
      {"'a'", "at byte 0"},
  };
  for (const auto& [text, message] : kCases) {
    const auto parsed = parse(text);
    ASSERT_FALSE(parsed) << text;
    EXPECT_EQ(parsed.error().code, errc::malformed);
    EXPECT_THAT(parsed.error().message, HasSubstr(message)) << text;
    const auto peek = Peek::open(text);
    ASSERT_FALSE(peek) << text;
    EXPECT_THAT(peek.error().message, HasSubstr(message)) << text;
  }
}

// The library makes NaN or an infinity of them.
TEST(Parse, RefusesNumbersThatAreNone) {
  struct {
    std::string text;
    std::string where;
  } const kCases[] = {
      {"0e4740", ""},
      {"-1e400", ""},
      {R"({"a":0e4740})", "a"},
      {R"({"a":{"b":[1,{"c":1e99999}]}})", "a.b[1].c"},
      {R"([[0],[1,0.0e5000]])", "[1][1]"},
  };
  for (const auto& [text, where] : kCases) {
    const auto parsed = parse(text);
    ASSERT_FALSE(parsed) << text;
    EXPECT_EQ(parsed.error().code, errc::bad_number) << text;
    EXPECT_EQ(parsed.error().param, where) << text;
    EXPECT_THAT(parsed.error().message, HasSubstr(where)) << text;
  }
  for (const std::string text : {"0e300", "1.7e308", "-1e-300", "[1e308,{\"a\":0.0}]"})
    EXPECT_TRUE(parse(text)) << text;
  const auto long_name = parse("{\"" + std::string(100'000, 'a') + "\":1e400}");
  EXPECT_LT(long_name.error().message.size(), 400u);
}

TEST(Parse, RefusesTextsNestedTooDeep) {
  const std::string deep = std::string(100'000, '[') + std::string(100'000, ']');
  EXPECT_FALSE(parse(deep));
  EXPECT_FALSE(Peek::open(deep));
  const std::string fine = std::string(200, '[') + std::string(200, ']');
  EXPECT_TRUE(parse(fine));
  EXPECT_TRUE(Peek::open(fine));
}

TEST(Parse, ReadsMembersWithDefaults) {
  const auto value = parse(R"({"t":"x","n":2,"f":1.5,"b":true})");
  ASSERT_TRUE(value);
  EXPECT_EQ(text_or(*value, "t", ""), "x");
  EXPECT_EQ(text_or(*value, "n", "none"), "none");
  EXPECT_EQ(number_or(*value, "n", 0), 2);
  EXPECT_EQ(number_or(*value, "f", 0), 1.5);
  EXPECT_EQ(number_or(*value, "missing", 7), 7);
  EXPECT_TRUE(bool_or(*value, "b", false));
  EXPECT_EQ(serialize(*value), R"({"t":"x","n":2,"f":1.5,"b":true})");
}

// Used to come out as 9E-1.
TEST(Serialize, WritesFractionsAsPeopleDo) {
  const Value value = Array{0.9, -0.05, 1.5, 300.0, 0.0, 1e300, 7, "x", nullptr, Object{{"a\n", false}}};
  EXPECT_EQ(serialize(value), R"([0.9,-0.05,1.5,300.0,0.0,1e+300,7,"x",null,{"a\n":false}])");
}

TEST(Serialize, ComesBackTheSameOrOneBitBeside) {
  const Value value = Array{0.1,
                            1.0 / 3,
                            2.0,
                            0.05,
                            -1e-7,
                            12345678.9,
                            5e-324,
                            1.7976931348623157e308,
                            std::numeric_limits<std::int64_t>::min(),
                            std::numeric_limits<std::uint64_t>::max()};
  const auto again = parse(serialize(value));
  ASSERT_TRUE(again);
  EXPECT_EQ(*again, value) << serialize(*again);
  const double unlucky = 0.9452706955539223;  // read by way of two roundings
  EXPECT_NEAR(parse(serialize(Value(unlucky)))->get_double(), unlucky, 1e-15);
}

TEST(Peek, ReadsEveryKind) {
  const auto peek = Peek::open(
      R"({"s":"a\u00e9\n","i":-3,"u":18446744073709551615,"f":2.5,"b":true,"n":null,"a":[1,2],"o":{"x":{}}})");
  ASSERT_TRUE(peek);
  const auto root = peek->root();
  EXPECT_EQ(root.kind(), Kind::object);
  EXPECT_EQ(root.size(), 8u);
  EXPECT_EQ(root.find("s").as_string(), "aé\n");
  EXPECT_EQ(root.find("i").kind(), Kind::integer);
  EXPECT_EQ(root.find("i").as_integer(), -3);
  EXPECT_EQ(root.find("u").as_integer(), std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(root.find("f").kind(), Kind::number);
  EXPECT_EQ(root.find("f").as_number(), 2.5);
  EXPECT_EQ(root.find("i").as_number(), -3);
  EXPECT_TRUE(root.find("b").as_bool());
  EXPECT_TRUE(root.find("n").is_null());
  EXPECT_TRUE(root.find("n").found());
  EXPECT_FALSE(root.find("missing").found());
  EXPECT_TRUE(root.find("missing").is_null());
  EXPECT_EQ(root.find("missing").as_string(), "");
  EXPECT_EQ(root.find("a").size(), 2u);
  EXPECT_EQ(root.find("o").text(), R"({"x":{}})");
  EXPECT_EQ(root.find("i").as_string(), "");
  EXPECT_FALSE(root.find("i").as_bool());
  std::vector<std::int64_t> elements;
  root.find("a").each_element([&](View element) { elements.push_back(element.as_integer()); });
  EXPECT_EQ(elements, (std::vector<std::int64_t>{1, 2}));
}

TEST(Peek, OfTwoMembersOfOneNameTheLastCounts) {
  const auto peek = Peek::open(R"({"a":1,"a":2})");
  ASSERT_TRUE(peek);
  EXPECT_EQ(peek->root().find("a").as_integer(), 2);
}

TEST(Peek, SeveralAreOpenAtOnceAndKeepTheirText) {
  std::vector<Peek> open;
  for (int i = 0; i < 5; ++i) {
    std::string text = "[" + std::to_string(i) + "]";
    auto peek = Peek::open(std::move(text));
    ASSERT_TRUE(peek);
    open.push_back(std::move(*peek));
  }
  for (int i = 0; i < 5; ++i) {
    open[static_cast<std::size_t>(i)].root().each_element([&](View view) { EXPECT_EQ(view.as_integer(), i); });
  }
}

TEST(Peek, CutsLongValuesForMessagesBetweenCharacters) {
  std::string text = "\"";
  for (int i = 0; i < 100; ++i) text += "é";
  const auto peek = Peek::open(text + "\"");
  ASSERT_TRUE(peek);
  const auto shown = peek->root().excerpt();
  EXPECT_LT(shown.size(), 70u);
  EXPECT_EQ(in_quotes(shown).find("\uFFFD"), std::string::npos);
}

TEST(Peek, KnowsWhereLongValuesEnd) {
  const std::string word(1000, 'x'), quoted = "\"" + word + R"(\\\"\\")";
  const std::string text = R"({ "a" : [ )" + quoted + " , [], " + quoted + R"( ] , "b":{"c":[[[1, 2 ,"]}"]]]} ,"d":)" +
                           quoted + R"(, "e\u0041": -1.5e2 })";
  const auto peek = Peek::open(text);
  ASSERT_TRUE(peek);
  const auto root = peek->root();
  EXPECT_EQ(root.size(), 4u);
  EXPECT_EQ(root.find("a").size(), 3u);
  EXPECT_EQ(root.find("d").as_string(), word + R"(\"\)");
  EXPECT_EQ(root.find("b").text(), R"({"c":[[[1,2,"]}"]]]})");
  EXPECT_EQ(root.find("eA").as_number(), -150);
  EXPECT_EQ(root.find("a").text(), "[" + quoted + ",[]," + quoted + "]");
}

TEST(Peek, TellsWhetherAnythingIsInside) {
  const auto peek = Peek::open(R"({"a":[ ],"b":{ },"c":[0],"d":{"x":null},"e":"text"})");
  ASSERT_TRUE(peek);
  for (const auto* empty : {"a", "b", "e", "missing"}) EXPECT_TRUE(peek->root().find(empty).empty()) << empty;
  for (const auto* full : {"c", "d"}) EXPECT_FALSE(peek->root().find(full).empty()) << full;
  EXPECT_FALSE(peek->root().empty());
}

TEST(Peek, CountsAllValues) {
  const auto values = [](const std::string& text) { return Peek::open(text)->root().values(); };
  EXPECT_EQ(values("5"), 1u);
  EXPECT_EQ(values("[ ]"), 1u);
  EXPECT_EQ(values(R"("a,[b")"), 1u);
  EXPECT_EQ(values(R"([1, 2, [], [3]])"), 6u);
  EXPECT_EQ(values(R"({"a,b":{ },"c":{"d":[{}]}})"), 5u);
  EXPECT_EQ(View().values(), 0u);
}

TEST(Peek, FindsMembersOfObjectsTooLargeToList) {
  for (const int count : {10, 511, 512, 513, 2000}) {
    std::string text = "{";
    for (int i = 0; i < count; ++i) text += "\"m" + std::to_string(i) + "\":" + std::to_string(i) + ",";
    text += "\"m0\":-1}";
    const auto peek = Peek::open(text);
    ASSERT_TRUE(peek);
    EXPECT_EQ(peek->root().size(), std::size_t(count) + 1);
    EXPECT_EQ(peek->root().find("m0").as_integer(), -1);
    EXPECT_EQ(peek->root().find("m" + std::to_string(count - 1)).as_integer(), count - 1);
  }
}

TEST(Peek, ChecksEscapes) {
  EXPECT_TRUE(Peek::open(R"(["\ud83d\ude00","\\u","\/"])"));
  const auto peek = Peek::open(R"({"b":"x","a\\":"\ud83d\ude00\t\u20ac\u00e9\u0000","c":"\"\/\b\f\n\r"})");
  EXPECT_EQ(peek->root().find("a\\").as_string(), std::string_view("\U0001F600\t\u20AC\u00e9\0", 11));
  EXPECT_EQ(peek->root().find("b").as_string(), "x");
  EXPECT_EQ(peek->root().find("c").as_string(), "\"/\b\f\n\r");
  for (const std::string text :
       {R"(["\ud83d"])", R"(["\ude00"])", R"(["\ud83dx"])", R"(["\ud83d\n"])", R"(["\ud83d\u0041"])", R"(["\u12g4"])",
        R"(["\x41"])", R"(["\u12"])", R"({"\q":1})", "[\"\x01\"]", "[\"\xff\"]", "[\"\\\"]", "[\"\\u00", "\"\\"}) {
    EXPECT_FALSE(Peek::open(text)) << text;
  }
}

// Clients that cut texts at 16 bits send halves of characters.
TEST(LoneSurrogates, BecomeReplacementCharactersWhereverTheyStand) {
  const auto replaced = [](std::string text) {
    const auto before = text;
    EXPECT_EQ(replace_lone_surrogates(text), text != before);
    EXPECT_EQ(text.size(), before.size());
    return text;
  };
  const std::pair<std::string, std::string> kCases[] = {
      {R"(["\ud83d"])", R"(["\ufffd"])"},
      {R"(["\uDE00"])", R"(["\ufffd"])"},
      {R"({"\uD83d":{"a\udbff":["x\udc00y"]}})", R"({"\ufffd":{"a\ufffd":["x\ufffdy"]}})"},
      {R"(["\ud83d\ud83d\ude00"])", R"(["\ufffd\ud83d\ude00"])"},
      {R"(["\ude00\ud83d"])", R"(["\ufffd\ufffd"])"},
      {R"(["\ud83d\n\ude00"])", R"(["\ufffd\n\ufffd"])"},
      {R"(["\ud83d\u0041\ud7ff\ue000"])", R"(["\ufffd\u0041\ud7ff\ue000"])"},
      {R"(["\\\ud83d"])", R"(["\\\ufffd"])"},
      {"[\"\xED\xA0\xBD\"]", "[\"\uFFFD\"]"},
      {"[\"a\xED\xA0\xBD\xED\xB8\x80\"]", "[\"a\uFFFD\uFFFD\"]"},
  };
  for (const auto& [text, expected] : kCases) {
    EXPECT_FALSE(Peek::open(text)) << text << ": else this test is of no use";
    EXPECT_EQ(replaced(text), expected);
    EXPECT_TRUE(Peek::open(expected)) << expected;
    EXPECT_TRUE(parse(expected)) << expected;
  }
}

TEST(LoneSurrogates, AllElseStays) {
  for (const std::string same :
       {R"(["\ud83d\ude00 \uD83D\uDE00 \u00e9"])", R"(["\\ud83d", "\\\\ude00"])", R"({"a":"ud83d"})", R"(["\u12g4"])",
        R"(["\ud8)", "\\", "\\u", "", "\xED", "\xED\xA0", "\xED\x95\x9C 한국어 😀", "\xFF\xC0"}) {
    auto text = same;
    EXPECT_FALSE(replace_lone_surrogates(text)) << same;
    EXPECT_EQ(text, same);
  }
}

TEST(Peek, RefusesWhatOnlyLooksLikeAValue) {
  for (const std::string text : {"[nul]",      "[nullx]",     "[truey]", "[01]",     "[1.]",
                                 "[.5]",       "[-]",         "[1e]",    "[+1]",     "[1 2]",
                                 "[1,]",       "[,1]",        "[1",      R"({"a"})", R"({"a":})",
                                 R"({"a" 1})", R"({"a":1,})", R"({,})",  R"({a:1})", "[1]]",
                                 "[1] x",      "{}{}",        "nul",     "1 2",      "[18446744073709551616]",
                                 "[1e999]",    R"({"a":[1})", "[\"a]",   "[}",       "[-9223372036854775809]"}) {
    EXPECT_FALSE(Peek::open(text)) << text;
  }
  EXPECT_FALSE(Peek::open(std::string("[1]\0", 4)));
  EXPECT_FALSE(Peek::open(std::string("[\0]", 3)));
  EXPECT_FALSE(Peek::open("[" + std::string(400, '9') + ".5]"));
  for (const std::string text : {"3", "\"x\"", " null ", "[ ]", "{ }", "[0]", "[-0.0e-5]", "[1e-999]",
                                 "[9223372036854775808]", "[18446744073709551615]", "[-9223372036854775808]"})
    EXPECT_TRUE(Peek::open(text)) << text;
  EXPECT_EQ(Peek::open("[1e-999]")->root().text(), "[1e-999]");
  EXPECT_TRUE(Peek::open("[0." + std::string(400, '9') + "]"));
}

// A tree took 14 bytes for each byte of a body.
TEST(Peek, TakesLittleMemoryBesideTheText) {
  const std::string message = R"({"role":"user","content":"some words"})";
  std::string text = R"({"messages":[)" + message;
  for (int i = 0; i < 20'000; ++i) text += "," + message;
  text += R"(],"long":")" + std::string(1 << 20, 'x') + "\"}";
  const auto peek = Peek::open(text);
  ASSERT_TRUE(peek);
  EXPECT_EQ(peek->root().find("messages").size(), 20'001u);
  EXPECT_EQ(peek->root().find("long").as_string().size(), 1u << 20);
  EXPECT_LT(peek->held_bytes(), text.size() / 50);  // most of it for small texts to come
}

// Of texts that are made to have much written down.
TEST(Peek, TakesBoundedMemoryWhateverTheTextIs) {
  std::string deep = std::string(250, '[') + "1";
  for (int i = 0; i < 64; ++i) deep += ",1";
  deep += std::string(250, ']');
  std::string nested = "[" + deep, escapes = R"(["\n")", names = R"({"\n":0)";
  for (int i = 0; i < 1000; ++i) nested += "," + deep;
  for (int i = 0; i < 100'000; ++i) escapes += R"(,"\n")";
  for (int i = 0; i < 100'000; ++i) names += R"(,"\n":0)";
  for (const auto& text : {nested + "]", escapes + "]", names + "}"}) {
    const auto peek = Peek::open(text);
    ASSERT_TRUE(peek);
    EXPECT_LT(peek->held_bytes(), text.size() * 8);
  }
}

TEST(Peek, AgreesWithTheTreeParserOnMutatedTexts) {
  const std::string valid =
      R"({"model":"m","messages":[{"role":"user","content":"h\u00e9 \"x\""}],"n":1.5e3,"t":[true,false,null,-1]})";
  std::mt19937 random(11);
  int accepted = 0;
  for (int round = 0; round < 20'000; ++round) {
    std::string text = valid;
    for (auto edits = 1 + random() % 3; edits > 0; --edits) {
      const auto at = random() % text.size();
      switch (random() % 3) {
        case 0:
          text[at] = static_cast<char>(random());
          break;
        case 1:
          text.erase(at, 1 + random() % 4);
          break;
        default:
          text.insert(at, 1, "{}[]\",:0e-\\ "[random() % 12]);
          break;
      }
      if (text.empty()) break;
    }
    const bool peeked = Peek::open(text).has_value();
    // The number grammars of the two libraries agree too; only out-of-range numbers differ.
    if (peeked) {
      ++accepted;
      ASSERT_TRUE(parse(text)) << text;
    } else if (const auto tree = parse(text)) {
      // Only numbers that no type holds.
      EXPECT_THAT(text, testing::ContainsRegex("e|[0-9]{19}")) << text;
    }
  }
  EXPECT_GT(accepted, 100);
}

}  // namespace
}  // namespace corral::json
