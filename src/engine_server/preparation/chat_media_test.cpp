// Pictures and sounds of chats.
#include "engine_server/preparation/chat_media.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/test_pictures.h"
#include "engine_server/errors.h"
#include "engine_server/test_support.h"
#include "protocol/answers/answers.h"
#include "protocol/errors.h"
#include "protocol/media.h"

namespace corral::engine_server {
namespace {

using engine::test::picture;
using test::Answer;
using test::Fixture;
using testing::HasSubstr;

std::string picture_part(const std::vector<std::uint8_t>& file) {
  return R"({"type":"image_url","image_url":{"url":"data:image/png;base64,)" +
         protocol::base64(std::string(file.begin(), file.end())) + R"("}})";
}
std::string text_part(const std::string& text) { return R"({"type":"text","text":")" + text + R"("})"; }
std::string body_of(const std::string& parts, const std::string& more = {}) {
  return R"({"messages":[{"role":"user","content":[)" + parts + R"(]}],"temperature":0,"max_tokens":8)" + more + "}";
}

// --- out of the messages ---

struct Taken {
  protocol::ChatRequest request;
  Result<std::vector<MediaFile>> files;
};
Taken taken(const std::string& messages, const engine::ModelFacts& facts) {
  auto request = protocol::parse_chat_request(R"({"messages":)" + messages + "}");
  EXPECT_TRUE(request);
  Taken made{std::move(*request), {}};
  made.files = take_media(made.request, facts, "MARK");
  return made;
}
engine::ModelFacts for_pictures() {
  engine::ModelFacts facts;
  facts.vision = true;
  return facts;
}
engine::ModelFacts for_sound() {
  engine::ModelFacts facts;
  facts.sound = true;
  return facts;
}
std::string refusal(const std::string& part, const engine::ModelFacts& facts = for_pictures()) {
  const auto made = taken(R"([{"role":"user","content":[{"type":"text","text":"a"},)" + part + "]}]", facts);
  return made.files ? "accepted" : made.files.error().message;
}

TEST(ChatMedia, MarkersTakeTheirPlaces) {
  const auto made = taken(R"([{"role":"system","content":"s"},{"role":"user","content":[{"type":"text","text":"a"},)"
                          R"({"type":"image_url","image_url":{"url":"data:image/png;base64,Zm9v"}},)"
                          R"({"type":"text","text":"b"},{"type":"image_url","image_url":"data:;base64,YmFy"}]}])",
                          for_pictures());
  ASSERT_TRUE(made.files) << made.files.error().message;
  EXPECT_EQ(made.request.messages,
            R"([{"role":"system","content":"s"},{"role":"user","content":[{"type":"text","text":"a"},)"
            R"({"type":"media_marker","text":"MARK"},{"type":"text","text":"b"},)"
            R"({"type":"media_marker","text":"MARK"}]}])");
  EXPECT_FALSE(made.request.has_media);
  ASSERT_EQ(made.files->size(), 2u);
  EXPECT_EQ(made.files->at(0).bytes, "foo");
  EXPECT_EQ(made.files->at(0).param, "messages[1].content[1].image_url");
  EXPECT_EQ(made.files->at(1).bytes, "bar");
  EXPECT_EQ(made.files->at(1).param, "messages[1].content[3].image_url");
}

TEST(ChatMedia, SoundsHaveNoUrl) {
  const auto made =
      taken(R"([{"role":"user","content":[{"type":"input_audio","input_audio":{"data":"Zm9v","format":"wav"}}]}])",
            for_sound());
  ASSERT_TRUE(made.files) << made.files.error().message;
  EXPECT_EQ(made.files->at(0).bytes, "foo");
}

TEST(ChatMedia, RefusalsNameThePart) {
  EXPECT_EQ(refusal(R"({"type":"image_url","image_url":{"url":"https://x/y.png"}})"),
            "'messages[0].content[1].image_url': a picture must be a data URL with base64: data:image/png;base64,...");
  EXPECT_EQ(refusal(R"({"type":"image_url","image_url":{"url":"data:image/png,abc"}})"),
            "'messages[0].content[1].image_url': a data URL must have its data in base64: data:image/png;base64,...");
  EXPECT_EQ(refusal(R"({"type":"image_url","image_url":{"url":"data:image/png;base64,a!"}})"),
            "'messages[0].content[1].image_url': is no valid base64: it has '!' at position 1");
  EXPECT_EQ(refusal(R"({"type":"input_audio","input_audio":{"data":"Zm9v"}})"),
            "'messages[0].content[1].input_audio' is a sound, but this model takes pictures and text only: remove it");
  EXPECT_EQ(refusal(R"({"type":"image_url","image_url":{"url":"data:;base64,Zm9v"}})", for_sound()),
            "'messages[0].content[1].image_url' is a picture, but this model takes sound and text only: remove it");
  EXPECT_EQ(refusal(R"({"type":"video_url","video_url":{"url":"x"}})"),
            "'messages[0].content[1].video_url' is a video, but this model takes pictures and text only: remove it");
  EXPECT_EQ(refusal(R"({"type":"image_url","image_url":{"url":"data:;base64,Zm9v"}})", {}),
            "'messages' must be text for this model: remove images and audio");
  std::string many;
  for (std::size_t i = 0; i <= protocol::kMaxMedia; ++i)
    many += std::string(i == 0 ? "" : ",") + R"({"type":"image_url","image_url":{"url":"data:;base64,Zm9v"}})";
  EXPECT_EQ(refusal(many), "'messages[0].content[33].image_url': a request can have at most 32 pictures and sounds");
}

// --- whole requests ---

std::unique_ptr<engine::InferenceEngine> engine_with_projector() {
  engine::EngineLoadOptions options;
  options.path = test::model_path("tiny-llama");
  options.mmproj = engine::test::projector_path("mlp");
  options.n_ctx = 2048;
  options.n_threads = 1;
  auto engine = engine::InferenceEngine::load(options);
  if (!engine) throw std::runtime_error(engine.error().message);
  return std::move(*engine);
}

TEST(ChatsWithPictures, CountTheirTokens) {
  Fixture server(engine_with_projector());
  const auto plain = server.post("/v1/chat/completions", body_of(text_part("What is it?")));
  ASSERT_EQ(plain.status, 200u) << plain.body;
  const auto seen =
      server.post("/v1/chat/completions", body_of(picture_part(picture(64, 64)) + "," + text_part("What is it?")));
  ASSERT_EQ(seen.status, 200u) << seen.body;
  const auto tokens = [](const Answer& answer) { return answer.json().at("usage").at("prompt_tokens").as_int64(); };
  EXPECT_EQ(tokens(seen), tokens(plain) + test_models::kPictureTokens);
  EXPECT_NE(seen.choice().at("message").at("content"), plain.choice().at("message").at("content"));
  const auto counted = server.post("/v1/chat/completions/input_tokens",
                                   body_of(picture_part(picture(64, 64)) + "," + text_part("What is it?")));
  EXPECT_EQ(counted.json().at("input_tokens").as_int64(), tokens(seen));
}

TEST(ChatsWithPictures, HaveSeveralInTheirOrder) {
  Fixture server(engine_with_projector());
  const auto one = picture_part(picture(64, 64, 1)), other = picture_part(picture(64, 64, 2));
  const auto ask = [&](const std::string& parts) {
    const auto answer = server.post("/v1/chat/completions", body_of(parts));
    EXPECT_EQ(answer.status, 200u) << answer.body;
    return answer.choice().at("message").at("content");
  };
  const auto between = "," + text_part("and") + ",";
  const auto answer = ask(one + between + other);
  EXPECT_NE(answer, ask(other + between + one));
  EXPECT_EQ(answer, ask(one + between + other));
  EXPECT_EQ(server.service->stats().media->encoded, 2u);
}

TEST(ChatsWithPictures, StreamTheSameText) {
  Fixture server(engine_with_projector());
  const auto parts = picture_part(picture(64, 64)) + "," + text_part("What is it?");
  const auto whole = server.post("/v1/chat/completions", body_of(parts));
  const auto streamed = server.post("/v1/chat/completions", body_of(parts, R"(,"stream":true)"));
  EXPECT_EQ(streamed.streamed(), std::string(whole.choice().at("message").at("content").as_string()));
}

TEST(ChatsWithPictures, AreRefusedWithTheReason) {
  Fixture server(engine_with_projector());
  const auto ask = [&](const std::vector<std::uint8_t>& file) {
    return server.post("/v1/chat/completions", body_of(picture_part(file)));
  };
  auto huge = picture(8, 8);
  for (const std::size_t at : {16u, 20u}) {  // 50,000 x 50,000 pixels
    huge[at + 2] = 0xC3;
    huge[at + 3] = 0x50;
  }
  const auto refused = ask(huge);
  EXPECT_EQ(refused.status, 400u);
  EXPECT_EQ(json::text_or(refused.json().at("error"), "message", ""),
            "'messages[0].content[0].image_url': a 50000 x 50000 picture has 2500000000 pixels: at most 33177600 are "
            "allowed");
  EXPECT_EQ(json::text_or(refused.json().at("error"), "code", ""), "invalid_value");
  EXPECT_EQ(json::text_or(refused.json().at("error"), "param", ""), "messages[0].content[0].image_url");
  EXPECT_EQ(ask({1, 2, 3}).status, 400u);
}

TEST(ChatsWithPictures, TooManyForTheContext) {
  engine::EngineLoadOptions options;
  options.path = test::model_path("tiny-llama");
  options.mmproj = engine::test::projector_path("mlp");
  options.n_ctx = 256;
  options.n_threads = 1;
  Fixture server(std::move(*engine::InferenceEngine::load(options)));
  std::string parts = text_part("x");
  for (std::uint32_t i = 0; i < 20; ++i) parts += "," + picture_part(picture(16, 16, i));
  const auto answer = server.post("/v1/chat/completions", body_of(parts));
  EXPECT_EQ(answer.status, 400u);
  EXPECT_THAT(answer.body, HasSubstr("context_length_exceeded"));
}

TEST(ChatsWithPictures, ShareTheMemoryOfPicturesBetweenClients) {
  EngineServerOptions options;
  options.max_media_bytes = 1;  // each request exceeds it
  Fixture server(engine_with_projector(), "model", std::move(options));
  const auto body = body_of(picture_part(picture(64, 64)) + "," + text_part("What?"), R"(,"stream":true)");
  const auto ask = [&](const std::string& client) { return server.ask("POST", "/v1/chat/completions", body, client); };
  http::Request request;
  request.head = {"POST", "/v1/chat/completions", {}};
  request.head.headers.add(protocol::kClientTag, "one");
  request.body = http::Body(body);
  {
    const auto under_way = async::run_blocking(server.loop, server.server->handle(std::move(request)));
    ASSERT_EQ(under_way.head.status, 200u);
    const auto refused = ask("another");
    EXPECT_EQ(refused.status, 503u);
    EXPECT_EQ(
        json::text_or(refused.json().at("error"), "message", ""),
        "the pictures and sounds of this client's requests take 0 MiB and this one's 0 more (limit 0 in all), but "
        "other clients wait too: send fewer at a time, or retry");
  }
  EXPECT_EQ(ask("another").status, 200u);
}

TEST(ChatsWithPictures, PropsAndTemplatesKnowThem) {
  Fixture server(engine_with_projector());
  EXPECT_EQ(server.ask("GET", "/props").json().at("modalities"), json::Value({{"vision", true}, {"audio", false}}));
  const auto shown = server.post("/apply-template", body_of(picture_part(picture(8, 8)) + "," + text_part("a")));
  EXPECT_THAT(json::text_or(shown.json(), "prompt", ""), HasSubstr("<__media__>a"));
  const auto stats = server.ask("GET", "/stats").json();
  EXPECT_EQ(stats.at("media_encoded").as_int64(), 0);
}

}  // namespace
}  // namespace corral::engine_server
