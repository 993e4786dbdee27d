#include "protocol/answers/native.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "json/value.h"

namespace corral::protocol {
namespace {

using Paths = std::vector<std::string>;

TEST(Native, FieldsAreSelectedByTheirPaths) {
  const std::string object = R"({"a":1,"b":{"c":[1,2],"d":{"e":"x"}},"f":null})";
  EXPECT_EQ(select_fields(object, Paths{"a"}), R"({"a":1})");
  EXPECT_EQ(select_fields(object, Paths{"b/c", "a"}), R"({"b/c":[1,2],"a":1})");
  EXPECT_EQ(select_fields(object, Paths{"b/d/e", "f"}), R"({"b/d/e":"x","f":null})");
  EXPECT_EQ(select_fields(object, Paths{"a", "a"}), R"({"a":1})");
  for (const auto* missing : {"x", "a/b", "b/x", "b/c/0", "", "/", "b/", "/b", "f/g"}) {
    EXPECT_EQ(select_fields(object, Paths{missing}), "{}") << missing;
  }
}

TEST(Native, AnAnswerTellsAllOfItself) {
  NativeAnswer answer{.index = 2,
                      .content = "a\n\"b\"",
                      .tokens = {5, 6},
                      .model = "m",
                      .settings = R"({"top_k":40})",
                      .prompt = "p",
                      .has_new_line = true,
                      .stop_type = "word",
                      .stopping_word = "END",
                      .usage = {.prompt_tokens = 9, .cached_tokens = 4, .completion_tokens = 3}};
  const auto value = *json::parse(native_answer(answer));
  EXPECT_EQ(value.at("content").as_string(), "a\n\"b\"");
  EXPECT_EQ(value.at("index").as_int64(), 2);
  EXPECT_EQ(json::serialize(value.at("tokens")), "[5,6]");
  EXPECT_TRUE(value.at("stop").as_bool());
  EXPECT_EQ(value.at("generation_settings").at("top_k").as_int64(), 40);
  EXPECT_EQ(value.at("stop_type").as_string(), "word");
  EXPECT_EQ(value.at("stopping_word").as_string(), "END");
  EXPECT_EQ(value.at("tokens_predicted").as_int64(), 3);
  EXPECT_EQ(value.at("tokens_evaluated").as_int64(), 9);
  EXPECT_EQ(value.at("tokens_cached").as_int64(), 4);
  EXPECT_FALSE(json::find(value, "completion_probabilities"));
  EXPECT_EQ(native_answers(Paths{"{}"}), "{}");
  EXPECT_EQ(native_answers(Paths{"{}", "{}"}), "[{},{}]");
}

TEST(Native, EventsCountTokens) {
  const NativeWriter writer(1, LogprobShape::probabilities, false);
  std::string out;
  const std::int32_t tokens[] = {7};
  const TokenLogprob logprob{{.id = 7, .token = "x", .logprob = 0}};
  writer.text(out, "x", tokens, {.cache_n = 3, .prompt_n = 2, .predicted_n = 4}, {&logprob, 1});
  EXPECT_EQ(out,
            "data: {\"index\":1,\"content\":\"x\",\"tokens\":[7],\"stop\":false,\"tokens_predicted\":4,"
            "\"tokens_evaluated\":5,\"completion_probabilities\":[{\"id\":7,\"token\":\"x\",\"bytes\":[120],"
            "\"prob\":1,\"top_probs\":[]}]}\n\n");
  out.clear();
  writer.progress(out, {.total = 5, .cache = 3, .processed = 4, .time_ms = 2}, {.cache_n = 3, .prompt_n = 1});
  EXPECT_EQ(out,
            "data: {\"index\":1,\"content\":\"\",\"tokens\":[],\"stop\":false,\"tokens_predicted\":0,"
            "\"tokens_evaluated\":5,\"prompt_progress\":{\"total\":5,\"cache\":3,\"processed\":4,\"time_ms\":2}}\n\n");
}

}  // namespace
}  // namespace corral::protocol
