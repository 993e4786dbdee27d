#include <chat-peg-parser.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine_server/templates/parser_spec.h"

namespace corral::engine_server {
namespace {

// The rules of an answer may not fit what is gone on with: once that threw out of a running stream.
TEST(ChatParser, ABeginningThatFitsNoRuleIsToldAtTheEnd) {
  auto spec = std::make_shared<ParserSpec>();
  spec->params.parser = build_chat_peg_parser([](common_chat_peg_builder& p) { return p.literal("<only>") + p.end(); });
  spec->params.generation_prompt = "begun";
  spec->params.is_continuation = true;
  EXPECT_THROW(common_chat_parse("", true, spec->params), std::exception) << "else this test is of no use";
  for (const bool stream : {true, false}) {
    ChatParser parser(spec, stream);
    std::vector<protocol::ChatDelta> deltas;
    parser.push("more", deltas);
    const auto read = parser.finish(deltas, false);
    ASSERT_FALSE(read);
    EXPECT_THAT(read.error().message, testing::HasSubstr("cannot be parsed"));
    EXPECT_TRUE(deltas.empty());
  }
}

// The whole answer was read for each piece: 256 KiB of a tool call came to 8 GiB.
TEST(ChatParser, ReadsNoMoreThanGrowsWithTheAnswer) {
  auto spec = std::make_shared<ParserSpec>();
  spec->has_tools = true;
  spec->params.parser = build_chat_peg_parser([](common_chat_peg_builder& p) { return p.content(p.rest()) + p.end(); });
  ChatParser parser(spec, true);
  std::vector<protocol::ChatDelta> deltas;
  std::size_t said = 0, total = 0, longest_wait = 0;
  const auto take = [&] {
    for (const auto& delta : deltas) said += delta.content.size();
    deltas.clear();
  };
  for (int i = 0; i < 64 * 1024; ++i) {
    parser.push("{\"a\"", deltas);
    total += 4;
    take();
    if (total <= 4096) EXPECT_EQ(said, total) << "short answers come piece by piece";
    longest_wait = std::max(longest_wait, total - said);
  }
  ASSERT_TRUE(parser.finish(deltas));
  take();
  EXPECT_EQ(said, total);
  EXPECT_LT(parser.read_bytes(), (4u << 20) + 129 * total + total);
  EXPECT_LT(longest_wait, total / 100);
}

}  // namespace
}  // namespace corral::engine_server
