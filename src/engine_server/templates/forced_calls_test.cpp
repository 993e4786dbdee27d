#include "engine_server/templates/forced_calls.h"

#include <gtest/gtest.h>

namespace corral::engine_server {
namespace {

std::string of(std::string grammar) {
  forbid_text_before_calls(grammar);
  return grammar;
}

// First rules that the library makes of templates it knows.
TEST(ForcedCalls, TextBeforeTheCallGoes) {
  EXPECT_EQ(of("a ::= [0]\nroot ::= \"<|im_start|>assistant\\n\" space until-160? tool-calls\nspace ::= | \" \"\n"),
            "a ::= [0]\nroot ::= \"<|im_start|>assistant\\n\" space tool-calls\nspace ::= | \" \"\n");
  EXPECT_EQ(of("root ::= \"a\" space until-151 space tool-call-root"), "root ::= \"a\" space space tool-call-root");
  EXPECT_EQ(of("root ::= \"<|open|>response\"? until-14 \"<|close|>\"? kimi-k3-tool-call \"e\"?"),
            "root ::= \"<|open|>response\"? \"<|close|>\"? kimi-k3-tool-call \"e\"?");
}

TEST(ForcedCalls, OneCallIsAllowedWhereManyWere) {
  std::string grammar = "root ::= tool-calls\ntool-calls ::= (tool-call space)+\ntool-get ::= \"x\"\n";
  allow_one_call(grammar);
  EXPECT_EQ(grammar, "root ::= tool-calls\ntool-calls ::= tool-call space\ntool-get ::= \"x\"\n");
}

TEST(ForcedCalls, ThoughtsStay) {
  for (const char* grammar : {"root ::= (\"<think>\" until-4 \"</think>\")? tool-call",
                              "root ::= \"<think>\" space until-2 space \"</think>\" space tool-call",
                              "root ::= (start thought | ) tool-call until-18? \"e\"?"}) {
    EXPECT_EQ(of(grammar), grammar);
  }
  EXPECT_EQ(of("root ::= \"<think>\" space until-2 space \"</think>\" space until-170 tool-call"),
            "root ::= \"<think>\" space until-2 space \"</think>\" space tool-call");
}

TEST(ForcedCalls, WhatIsNoRuleOfCallsStaysAsItIs) {
  for (const char* grammar :
       {"", "root ::= \"until-1 tool-call\"", "root ::= [\" until-1 tool-call] x", "x ::= until-1 tool-call"}) {
    EXPECT_EQ(of(grammar), grammar);
  }
}

}  // namespace
}  // namespace corral::engine_server
