// What of bodies is kept, and what isn't.
#include "api/activity/capture.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "json/value.h"

namespace corral::api {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr std::string_view kGone = R"("[struck out]")";

// `SECRET` in it, which must be gone, and nothing else.
std::string struck(std::string text) {
  auto done = without_secrets(text);
  EXPECT_THAT(done, Not(HasSubstr("SECRET"))) << text;
  return done;
}

TEST(Secrets, AreKnownByTheirNames) {
  for (const std::string name : {"api_key", "apiKey", "x-api-key", "OPENAI_API_KEY", "password", "db_password", "token",
                                 "access_token", "refreshToken", "secret", "client_secret", "secretKey",
                                 "Authorization", "private_key", "credentials", "cookie", "aws_secret_access_key"}) {
    EXPECT_EQ(struck("{\"" + name + "\":\"SECRET\"}"), "{\"" + name + "\":" + std::string(kGone) + "}");
    struck("{\"" + name + "\":[\"SECRET\"]}");
    struck("{\"a\":[{\"" + name + "\":{\"b\":\"SECRET\"}}]}");
  }
}

TEST(Secrets, OtherNamesStay) {
  for (const std::string text :
       {R"({"max_tokens":7,"messages":[{"role":"user","content":"hi"}]})", R"({"usage":{"prompt_tokens":3}})",
        R"({"content":[{"token":" a","logprob":-1.5,"top_logprobs":[{"token":"b","logprob":-2.5}]}]})",
        R"({"tokens":[1,2]})", R"({"password":null})", R"("text")", R"({"content":"[1, 2 } no JSON"})"}) {
    EXPECT_EQ(without_secrets(text), text);
  }
}

TEST(Secrets, AreStruckInTextsThatAreJson) {
  EXPECT_EQ(struck(R"({"arguments":"{\"path\":\"/x\",\"api_key\":\"SECRET\"}"})"),
            R"({"arguments":"{\"path\":\"/x\",\"api_key\":\"[struck out]\"}"})");
  struck(R"({"content":" {\"inner\":\"{\\\"password\\\":\\\"SECRET\\\"}\"}"})");
  EXPECT_EQ(without_secrets(R"({"content":"{\"a\": 1}"})"), R"({"content":"{\"a\": 1}"})") << "as it was";
}

// Nobody knows what the rest of it is.
TEST(Secrets, PiecesOfArgumentsGo) {
  EXPECT_THAT(struck(R"({"delta":{"tool_calls":[{"function":{"arguments":"SECRET"}}]}})"), HasSubstr(kGone));
  EXPECT_THAT(struck(R"({"type":"input_json_delta","partial_json":"key\": \"SECRET"})"), HasSubstr(kGone));
  EXPECT_THAT(struck(R"({"type":"response.function_call_arguments.delta","delta":"SECRET"})"), HasSubstr(kGone));
  const std::string text = R"({"type":"response.output_text.delta","delta":"hello"})";
  EXPECT_EQ(without_secrets(text), text);
}

// Such a text was kept as it was, with its secrets, and such a body wasn't kept at all.
TEST(Secrets, AreFoundBesideHalfAnEmoji) {
  EXPECT_EQ(struck(R"({"a":"x\ud83d","token":"SECRET"})"), R"({"a":"x�","token":"[struck out]"})");
  EXPECT_EQ(struck(R"({"text":"{\"a\":\"\\ud83d\",\"token\":\"SECRET\"}"})"),
            R"({"text":"{\"a\":\"�\",\"token\":\"[struck out]\"}"})");
  EXPECT_THAT(struck(R"({"arguments":"{\"a\":\"x\\ude00\",\"token\":\"SECRET\"}"})"), HasSubstr("x�"));
}

Capture capture_of(std::string request, std::string answer, std::string type) {
  Capture capture;
  capture.request.add(request);
  capture.answer.add(answer);
  capture.answer_type = std::move(type);
  return capture;
}

TEST(Captures, AnswersAreReadAsWhatTheyAre) {
  EXPECT_EQ(
      capture_of(R"({"a":1})", R"({"b":2})", "application/json").document(),
      R"({"request":{"a":1},"request_bytes":7,"answer":{"b":2},"answer_bytes":7,"answer_type":"application/json"})");
  EXPECT_THAT(
      capture_of("{}", ": ping\n\ndata: {\"b\":2}\n\nevent: x\ndata: {\"token\":\"SECRET\"}\n\ndata: [DONE]\n\n",
                 "text/event-stream")
          .document(),
      HasSubstr(R"("answer":[{"b":2},{"token":"[struck out]"}])"));
  EXPECT_THAT(capture_of("{}", "{\"b\":2}\n{\"b\":3}\n", "application/x-ndjson").document(),
              HasSubstr(R"("answer":[{"b":2},{"b":3}])"));
  EXPECT_THAT(capture_of("no JSON", "RIFF", "audio/wav").document(),
              HasSubstr(R"("request":null,"request_bytes":7,"answer":null,"answer_bytes":4)"));
}

TEST(Captures, OfLongBodiesOnlyTheLengthIsKept) {
  Capture capture = capture_of("{}", "", "text/event-stream");
  const std::string piece = "data: \"" + std::string(1'000, 'x') + "\"\n\n";
  for (int i = 0; i < 2'000; ++i) capture.answer.add(piece);
  EXPECT_EQ(capture.bytes(), 2u);
  EXPECT_EQ(capture.answer.bytes(), 2'000 * piece.size());
  EXPECT_THAT(capture.document(), HasSubstr(R"("answer":null)"));
}

}  // namespace
}  // namespace corral::api
