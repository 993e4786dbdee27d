#include <chat-peg-parser.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine_server/parser_spec.h"

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
    EXPECT_THAT(read.error().message, testing::HasSubstr("can't be read"));
    EXPECT_TRUE(deltas.empty());
  }
}

}  // namespace
}  // namespace corral::engine_server
