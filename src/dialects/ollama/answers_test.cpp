// Canonical answers in Ollama's words, through told(), which runs translators: whole, streamed, cut anywhere, broken
// off.
#include "dialects/ollama/answers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "dialects/dialect_fixture_for_tests.h"
#include "dialects/ollama/conversation.h"
#include "dialects/ollama/requests.h"
#include "http/sse.h"
#include "json/value.h"
#include "protocol/errors.h"
#include "protocol/http_error.h"

namespace corral::dialects::ollama {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;

Canonical request(std::string note = {}) {
  Canonical asked;
  asked.about.model = "m";
  asked.received = WallTime(1700000000123ms);
  if (!note.empty()) asked.facts = std::make_shared<const std::string>(std::move(note));
  return asked;
}

std::string streamed(std::unique_ptr<ResponseTranslator> translator, std::vector<std::string> pieces) {
  EXPECT_EQ(translator->stream_type(), "application/x-ndjson");
  return translated_text(std::move(pieces), std::move(translator), [] { return std::chrono::nanoseconds(10s); });
}
std::string whole(std::unique_ptr<ResponseTranslator> translator, std::string body) {
  auto response = translated(http::Response::json(200, std::move(body)), std::move(translator),
                             [] { return std::chrono::nanoseconds(10s); });
  EXPECT_EQ(response.head.status, 200u) << response.body.text();
  return std::string(response.body.text());
}
std::string delta(const std::string& members) {
  return http::sse_data(R"({"choices":[{"index":0,"delta":{)" + members + R"(},"finish_reason":null}]})");
}
std::string finish(const std::string& reason) {
  return http::sse_data(R"({"choices":[{"index":0,"delta":{},"finish_reason":")" + reason + R"("}]})");
}
const std::string kUsage = http::sse_data(
    R"({"choices":[],"usage":{"completion_tokens":3,"prompt_tokens":11},"timings":{"prompt_ms":1000,"predicted_ms":2500.5}})");
constexpr std::string_view kHead = R"({"model":"m","created_at":"2023-11-14T22:13:20.123Z",)";
constexpr std::string_view kCounts =
    R"("total_duration":10000000000,"load_duration":6499500000,"prompt_eval_count":11,)"
    R"("prompt_eval_duration":1000000000,"eval_count":3,"eval_duration":2500500000})";

std::string line(std::string_view rest) { return std::string(kHead).append(rest); }

TEST(OllamaAnswers, AChatStreamsAsLines) {
  const auto text =
      streamed(make_chat_translator(request()),
               {": ping\n\n", delta(R"("role":"assistant","content":"")"), delta(R"("reasoning_content":"hm")"),
                delta(R"("content":"a\n\"b")"), finish("length"), kUsage, "data: [DONE]\n\n"});
  EXPECT_EQ(text, line(R"("message":{"role":"assistant","content":""},"done":false})") + "\n" +
                      line(R"("message":{"role":"assistant","content":"","thinking":"hm"},"done":false})") + "\n" +
                      line(R"("message":{"role":"assistant","content":"a\n\"b"},"done":false})") + "\n" +
                      line(R"("message":{"role":"assistant","content":""},"done":true,"done_reason":"length",)") +
                      std::string(kCounts) + "\n");
}

TEST(OllamaAnswers, AStreamIsTheSameWhereverItIsCut) {
  const auto all =
      delta(R"("content":"one")") + delta(R"("content":"two")") + finish("stop") + kUsage + "data: [DONE]\n\n";
  const auto expected = streamed(make_chat_translator(request()), {all});
  for (std::size_t cut = 1; cut < all.size(); ++cut) {
    EXPECT_EQ(streamed(make_chat_translator(request()), {all.substr(0, cut), all.substr(cut)}), expected) << cut;
  }
}

TEST(OllamaAnswers, CallsComeWholeWithObjectsAsArguments) {
  const auto call = [](const std::string& index, const std::string& function) {
    return delta(R"("tool_calls":[{"index":)" + index + R"(,"function":)" + function + "}]");
  };
  const auto text = streamed(make_chat_translator(request()),
                             {call("0", R"({"name":"f","arguments":"{\"a\""})"), call("0", R"({"arguments":": 1}"})"),
                              call("1", R"({"name":"g","arguments":""})"), finish("tool_calls")});
  EXPECT_THAT(text, HasSubstr(R"("message":{"role":"assistant","content":"","tool_calls":[)"
                              R"({"function":{"index":0,"name":"f","arguments":{"a":1}}},)"
                              R"({"function":{"index":1,"name":"g","arguments":{}}}]},"done":false})"));
  EXPECT_THAT(text, HasSubstr(R"("done":true,"done_reason":"stop")"));
}

TEST(OllamaAnswers, WhileACallIsCollectedTheConnectionIsKeptOpen) {
  const auto piece = delta(R"("tool_calls":[{"index":0,"function":{"arguments":"1"}}])");
  std::vector<std::string> pieces(100, piece);
  pieces.push_back(finish("tool_calls"));
  const auto text = streamed(make_chat_translator(request()), std::move(pieces));
  EXPECT_EQ(std::ranges::count(text, '\n'), 3) << "one line without a word, the call, the end:\n" << text;
}

TEST(OllamaAnswers, ACallThatWasCutOffIsText) {
  const auto text = whole(make_chat_translator(request()),
                          R"({"choices":[{"index":0,"message":{"content":"so: ","tool_calls":[)"
                          R"({"id":"i","function":{"name":"f","arguments":"{\"a\":"}}]},"finish_reason":"length"}]})");
  EXPECT_THAT(text, HasSubstr(R"("content":"so: f{\"a\":"})"));
  EXPECT_TRUE(json::parse(text));
}

TEST(OllamaAnswers, WholeChats) {
  EXPECT_EQ(
      whole(make_chat_translator(request()),
            R"({"choices":[{"index":0,"message":{"role":"assistant","content":"hello","reasoning_content":"t"},)"
            R"("finish_reason":"stop"}],"usage":{"completion_tokens":3,"prompt_tokens":11},)"
            R"("timings":{"prompt_ms":1000,"predicted_ms":2500.5}})"),
      line(R"("message":{"role":"assistant","content":"hello","thinking":"t"},"done":true,"done_reason":"stop",)") +
          std::string(kCounts));
}

TEST(OllamaAnswers, LogProbabilitiesStandBesideTheirText) {
  const auto piece = [](const std::string& members, const std::string& logprobs) {
    return http::sse_data(R"({"choices":[{"index":0,"delta":{)" + members + R"(},"logprobs":)" + logprobs + "}]}");
  };
  const auto lines = streamed(
      make_chat_translator(request()),
      {piece(R"("content":"a")", R"({"content":[{"token":"a","logprob":-1}]})"),
       piece("", R"({"content":[{"token":"b","logprob":-2,"top_logprobs":[]}]})"),
       piece(R"("content":"bc")", R"({"content":[{"token":"c","logprob":-3}]})"), piece(R"("content":"d")", "null"),
       piece("", R"({"content":[{"token":"e","logprob":-4}]})"), finish("stop"), std::string(http::kSseDone)});
  EXPECT_THAT(lines, HasSubstr(R"("content":"a"},"logprobs":[{"token":"a","logprob":-1}],"done":false})"));
  EXPECT_THAT(lines, HasSubstr(R"("content":"bc"},"logprobs":[{"token":"b","logprob":-2,"top_logprobs":[]},)"
                               R"({"token":"c","logprob":-3}],"done":false})"));
  EXPECT_THAT(lines, HasSubstr(R"("content":"d"},"done":false})"));
  EXPECT_THAT(lines, HasSubstr(R"("content":""},"logprobs":[{"token":"e","logprob":-4}],"done":true,)"));
  const auto all = whole(
      make_chat_translator(request()),
      R"({"choices":[{"index":0,"message":{"content":"a"},"logprobs":{"content":[{"token":"a"}]},"finish_reason":"stop"}]})");
  EXPECT_THAT(all, HasSubstr(R"("logprobs":[{"token":"a"}],"done":true)"));
}

TEST(OllamaAnswers, AnErrorEndsTheStream) {
  const Error error(make_error_code(protocol::errc::remote_upstream), "it died");
  const auto text =
      streamed(make_chat_translator(request()), {delta(R"("content":"a")"), protocol::sse_error_event(error)});
  EXPECT_EQ(text,
            line(R"("message":{"role":"assistant","content":"a"},"done":false})") + "\n{\"error\":\"it died\"}\n");
}

TEST(OllamaAnswers, APromptsAnswerHasAContextToGoOnWith) {
  const auto text =
      streamed(make_generate_translator(request(message("user", "hi"))),
               {http::sse_data(R"({"choices":[{"index":0,"delta":{"content":"he"}}]})"),
                http::sse_data(R"({"choices":[{"index":0,"delta":{"content":"llo"}}]})"), finish("stop"), kUsage});
  EXPECT_THAT(text, testing::StartsWith(line(R"("response":"he","done":false})")));
  const auto last = json::parse(text.substr(text.rfind('\n', text.size() - 2) + 1));
  ASSERT_TRUE(last);
  const auto context = json::serialize(*json::find(*last, "context"));
  const auto again = read_generate(R"({"prompt":"and?","context":)" + context + "}");
  ASSERT_TRUE(again);
  EXPECT_THAT(again->body, HasSubstr(R"([{"role":"user","content":"hi"},{"role":"assistant","content":"hello"},)"
                                     R"({"role":"user","content":"and?"}])"));
}

TEST(OllamaAnswers, OfRawPromptsThereIsNone) {
  const auto text =
      whole(make_generate_translator(request()), R"({"choices":[{"index":0,"text":"abc","finish_reason":"stop"}]})");
  EXPECT_THAT(text, HasSubstr(R"("response":"abc","done":true,"done_reason":"stop","total_duration")"));
}

TEST(OllamaAnswers, Embeddings) {
  const auto* body =
      R"({"data":[{"index":0,"embedding":[0.5, -1]},{"index":1,"embedding":[2]}],"usage":{"prompt_tokens":7}})";
  EXPECT_EQ(
      whole(make_embed_translator(request()), body),
      R"({"model":"m","embeddings":[[0.5,-1],[2]],"total_duration":10000000000,"load_duration":0,"prompt_eval_count":7})");
  EXPECT_EQ(whole(make_old_embedding_translator(request()), body), R"({"embedding":[0.5,-1]})");
  EXPECT_EQ(whole(make_old_embedding_translator(request()), "{}"), R"({"embedding":[]})");
}

}  // namespace
}  // namespace corral::dialects::ollama
