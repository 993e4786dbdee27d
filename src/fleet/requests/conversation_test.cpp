#include "fleet/requests/conversation.h"

#include <string>

#include <gtest/gtest.h>

namespace corral::fleet {
namespace {

std::string chat(const std::string& messages, const std::string& rest = R"(,"stream":true})") {
  return R"({"model":"m","messages":[)" + messages + "]" + rest;
}
const std::string kSystem = R"({"role":"system","content":"Be brief. \"[{"})";
const std::string kFirst = R"({"role":"user","content":"Hello ]}"})";
const std::string kMore = R"(,{"role":"assistant","content":"Hi"},{"role":"user","content":"What now?"})";

TEST(Conversation, TurnsOfOneAreAlike) {
  const auto first = conversation_of(chat(kSystem + "," + kFirst), "k");
  EXPECT_NE(first, 0u);
  EXPECT_EQ(conversation_of(chat(kSystem + "," + kFirst + kMore), "k"), first);
  EXPECT_EQ(conversation_of(chat(kSystem + "," + kFirst + kMore, R"(,"temperature":1})"), "k"), first);
}

TEST(Conversation, OthersDiffer) {
  const auto first = conversation_of(chat(kSystem + "," + kFirst), "k");
  EXPECT_NE(conversation_of(chat(kSystem + "," + kFirst), "other"), first);
  EXPECT_NE(conversation_of(chat(kFirst), "k"), first);
  EXPECT_NE(conversation_of(chat(kSystem + R"(,{"role":"user","content":"Good bye"})"), "k"), first);
}

TEST(Conversation, ACompletionGoesByItsBeginning) {
  const auto prompt = [](const std::string& text) { return R"({"prompt":")" + text + R"(","model":"m"})"; };
  const std::string story(300, 'x');
  EXPECT_EQ(conversation_of(prompt(story), "k"), conversation_of(prompt(story + " and so on"), "k"));
  EXPECT_NE(conversation_of(prompt("a"), "k"), conversation_of(prompt("b"), "k"));
}

TEST(Conversation, WhatIsNoneIsNone) {
  for (const std::string body :
       {"", "{}", R"({"input":"x"})", R"({"prompt":[1,2,3]})", R"({"messages":7})", R"({"messages")"}) {
    EXPECT_EQ(conversation_of(body, "k"), 0u) << body;
  }
}

TEST(Conversation, ALongOneIsNotReadToItsEnd) {
  const std::string system = R"({"role":"system","content":")" + std::string(1 << 20, 's') + R"("})";
  EXPECT_EQ(conversation_of(chat(system + "," + kFirst), "k"), conversation_of(chat(system), "k"));
}

}  // namespace
}  // namespace corral::fleet
