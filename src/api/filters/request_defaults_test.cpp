#include "api/filters/request_defaults.h"

#include <gtest/gtest.h>

namespace corral::api {
namespace {

using protocol::Ask;

constexpr auto kDefaults = R"({"temperature":0.5,"n_predict":8,"embd_normalize":1})";

TEST(RequestDefaults, AreAddedWhereTheBodySaysNothing) {
  EXPECT_EQ(with_defaults(R"({"messages":[]})", kDefaults, Ask::chat),
            R"({"messages":[],"temperature":0.5,"n_predict":8})");
  EXPECT_EQ(with_defaults("{ \"prompt\":\"x\"}\n", kDefaults, Ask::native_completion),
            "{ \"prompt\":\"x\",\"temperature\":0.5,\"n_predict\":8}\n");
  EXPECT_EQ(with_defaults("{}", R"({"temperature":0})", Ask::completion), R"({"temperature":0})");
}

TEST(RequestDefaults, WhatIsSaidStays) {
  const std::string body = R"({"temperature":1,"max_tokens":3})";
  EXPECT_EQ(with_defaults(body, kDefaults, Ask::chat), body) << "max_tokens is n_predict";
  const std::string tools = R"({"tools":[],"temperature":1})";
  EXPECT_EQ(with_defaults(tools, R"({"grammar":"g"})", Ask::chat), tools) << "they make a grammar themselves";
}

TEST(RequestDefaults, ASystemTextIsTheFirstMessageOfAChatWithoutOne) {
  const std::string defaults = R"({"system":"Be \"brief\".","temperature":0.5})";
  EXPECT_EQ(
      with_defaults(R"({"model":"a", "messages": [ {"role":"user","content":"hi"} ],"n":1})", defaults, Ask::chat),
      R"({"model":"a","messages":[{"role":"system","content":"Be \"brief\"."},)"
      R"({"role":"user","content":"hi"}],"n":1,"temperature":0.5})");
  for (const auto* role : {"system", "developer"}) {
    const auto own = std::string(R"({"messages":[{"role":")") + role + R"(","content":"x"}],"temperature":1})";
    EXPECT_EQ(with_defaults(own, defaults, Ask::chat), own);
  }
  const std::string prompt = R"({"prompt":"x","temperature":1})";
  EXPECT_EQ(with_defaults(prompt, defaults, Ask::completion), prompt);
  EXPECT_EQ(with_defaults(R"({"messages":[]})", R"({"system":"x"})", Ask::chat), R"({"messages":[]})");
}

TEST(RequestDefaults, NullSaysNothing) {
  EXPECT_EQ(with_defaults(R"({"temperature":null,"max_tokens":3})", kDefaults, Ask::chat),
            R"({"temperature":null,"max_tokens":3,"temperature":0.5})");
}

TEST(RequestDefaults, APresetOfAPresetKeepsWhatItDoesNotSet) {
  const std::string inherited = R"({"max_tokens":20,"temperature":1.5,"system":"Rhyme."})";
  EXPECT_EQ(merged_defaults(R"({"temperature":0,"top_p":1})", inherited),
            R"({"temperature":0,"top_p":1,"max_tokens":20,"system":"Rhyme."})");
  EXPECT_EQ(merged_defaults(R"({"n_predict":5,"system":""})", inherited),
            R"({"n_predict":5,"system":"","temperature":1.5})");
  EXPECT_EQ(merged_defaults("{}", R"({"n":2})"), R"({"n":2})");
  EXPECT_EQ(merged_defaults("", inherited), inherited);
  EXPECT_EQ(merged_defaults(inherited, ""), inherited);
  EXPECT_EQ(merged_defaults("", ""), "");
  EXPECT_EQ(merged_defaults("[]", inherited), "[]") << "it is refused elsewhere";
}

TEST(RequestDefaults, OnlyFieldsOfWhatIsAsked) {
  EXPECT_EQ(with_defaults(R"({"input":"x"})", kDefaults, Ask::embedding), R"({"input":"x","embd_normalize":1})");
  EXPECT_EQ(with_defaults(R"({"content":"x"})", kDefaults, Ask::tokenize), R"({"content":"x"})");
}

}  // namespace
}  // namespace corral::api
