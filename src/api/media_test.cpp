// Pictures and sound of requests: what the backend gets in each dialect, and what is refused before a load.
#include "api/api_fixture_for_tests.h"
#include "downloads/errors.h"

namespace corral::api {
namespace {

constexpr std::string_view kPng = "iVBORw0KGgo=";
constexpr std::string_view kPart = R"({"type":"image_url","image_url":{"url":"data:image/png;base64,iVBORw0KGgo="}})";
const std::string kSound = R"({"type":"input_audio","input_audio":{"data":"UklGRg==","format":"wav"}})";

async::Task<Result<std::string>> given(Result<std::string> bytes) { co_return bytes; }

class MediaTest : public ApiTest {
 protected:
  MediaTest() {
    using models::GgufWriter;
    GgufWriter::model("llama").text("tokenizer.chat_template", "x").save(dir / "see/see.gguf");
    GgufWriter::model("clip").flag("clip.has_vision_encoder", true).save(dir / "see/mmproj-see-f16.gguf");
    registry.rescan();
    context.bodies.threads = nullptr;
  }

  static std::string chat(std::string_view model, std::string_view parts) {
    return R"({"model":")" + std::string(model) + R"(","messages":[{"role":"user","content":[)" + std::string(parts) +
           "]}]}";
  }
  static std::string at_url(std::string_view url) {
    return R"({"type":"image_url","image_url":{"url":")" + std::string(url) + R"("}})";
  }
  std::string refusal(std::string body) {
    const auto answer = post("/v1/chat/completions", std::move(body));
    EXPECT_EQ(answer.status, 400u) << answer.text;
    return answer.error("message");
  }
  // What the backend gets.
  std::string forwarded(const std::string& path, std::string body) {
    const auto before = backend.server("see").requests().size();
    const auto asking = send("POST", path, std::move(body));
    if (backend.server("see").requests().size() == before) return got(*asking).value_or(Answer()).text;
    return backend.server("see").request().body();
  }
  // The object of a list, or of one model, as text.
  std::string capabilities(const std::string& model) {
    return json::serialize(*json::find(get("/v1/models/" + model).json(), "capabilities"));
  }
};

TEST_F(MediaTest, ThePictureOfEachDialectIsTheSameForTheBackend) {
  have("see");
  const std::string png(kPng), url = "data:image/png;base64," + png;
  const std::pair<const char*, std::string> requests[] = {
      {"/v1/chat/completions", chat("see", R"({"type":"text","text":"What?"},)" + std::string(kPart))},
      {"/v1/messages",
       R"({"model":"see","max_tokens":9,"messages":[{"role":"user","content":[{"type":"text","text":"What?"},)"
       R"({"type":"image","source":{"type":"base64","media_type":"image/png","data":")" +
           png + R"("}}]}]})"},
      {"/v1/responses", R"({"model":"see","input":[{"role":"user","content":[{"type":"input_text","text":"What?"},)"
                        R"({"type":"input_image","detail":"low","image_url":")" +
                            url + R"("}]}]})"},
      {"/api/chat", R"({"model":"see","messages":[{"role":"user","content":"What?","images":[")" + png + R"("]}]})"},
      {"/api/generate", R"({"model":"see","prompt":"What?","images":[")" + png + R"("]})"},
  };
  for (const auto& [path, body] : requests) {
    EXPECT_THAT(forwarded(path, body),
                HasSubstr(R"("messages":[{"role":"user","content":[{"type":"text","text":"What?"},)" +
                          std::string(kPart) + "]}]"))
        << path;
  }
}

TEST_F(MediaTest, PicturesInResultsOfToolsReachTheBackend) {
  have("see");
  EXPECT_THAT(
      forwarded("/v1/messages",
                R"({"model":"see","max_tokens":9,"messages":[{"role":"user","content":"Look"},)"
                R"({"role":"assistant","content":[{"type":"tool_use","id":"t","name":"f","input":{}}]},)"
                R"({"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":[)"
                R"({"type":"image","source":{"type":"base64","media_type":"image/png","data":"iVBORw0KGgo="}}]}]}]})"),
      HasSubstr(R"({"role":"tool","tool_call_id":"t","content":[)" + std::string(kPart) + "]}"));
}

TEST_F(MediaTest, AModelWithoutVisionRefusesPicturesBeforeALoad) {
  const std::string text =
      "'messages' has pictures, but 'tiny-llama' reads only text: use 'see', or remove the pictures";
  EXPECT_EQ(refusal(chat("tiny-llama", kPart)), text);
  const auto answer = post("/v1/chat/completions", chat("tiny-llama", kPart));
  EXPECT_EQ(answer.error("code"), "media_not_supported");
  EXPECT_EQ(answer.error("param"), "messages");
  EXPECT_THAT(post("/api/chat", R"({"model":"tiny-llama","messages":[{"role":"user","content":"a","images":[")" +
                                    std::string(kPng) + R"("]}]})")
                  .text,
              HasSubstr("'messages' has pictures, but 'tiny-llama' reads only text"));
  EXPECT_EQ(refusal(chat("see", kSound)),
            "'messages' has sound, but 'see' reads only text and pictures: no model here does, so download one with "
            "its projector (mmproj), or remove the sound");
  EXPECT_EQ(refusal(chat("see", R"({"type":"video_url","video_url":{"url":"x"}})")),
            "'messages' has videos, but 'see' reads none: send some pictures of them");
  expect_untouched();
}

TEST_F(MediaTest, AModelThatIsLoadedWithoutItsProjectorReadsText) {
  auto loading = send("POST", "/v1/load", R"({"model_name":"see","mmproj":"none"})");
  backend.server("see").finish_load();
  settle();
  ASSERT_EQ(got(*loading)->status, 200u);
  EXPECT_EQ(refusal(chat("see", kPart)),
            "'messages' has pictures, but 'see' reads only text: its option 'mmproj' is \"none\", so load it with its "
            "projector, or remove the pictures");
  EXPECT_THAT(capabilities("see"), HasSubstr(R"("vision":false,"audio":false,"multimodal":false)"));
}

TEST_F(MediaTest, ListsSayWhichModelsSee) {
  EXPECT_THAT(capabilities("see"), HasSubstr(R"("vision":true,"audio":false,"multimodal":true)"));
  EXPECT_THAT(capabilities("tiny-llama"), HasSubstr(R"("vision":false,"audio":false,"multimodal":false)"));
  EXPECT_THAT(strings(json::find(get("/v1/models/see").json(), "labels")), ElementsAre("chat", "vision"));
  EXPECT_THAT(get("/v1/models").text, testing::Not(HasSubstr("mmproj-see")));
  EXPECT_EQ(json::text_or(get("/api/v0/models/see").json(), "type", ""), "vlm");
  EXPECT_THAT(strings(json::find(post("/api/show", R"({"model":"see"})").json(), "capabilities")),
              testing::Contains("vision"));
}

TEST_F(MediaTest, UrlsOfTheWebAreRefusedUnlessTheSettingAllowsThem) {
  EXPECT_EQ(refusal(chat("see", at_url("http://example.com/a.png"))),
            "'messages[0].content[0].image_url.url' is the URL \"http://example.com/a.png\", but this server fetches "
            "no pictures: send a data URL (\"data:image/png;base64,...\"), or turn the setting fetch_images on");
  EXPECT_THAT(post("/v1/messages", R"({"model":"see","max_tokens":9,"messages":[{"role":"user","content":[)"
                                   R"({"type":"image","source":{"type":"url","url":"https://example.com/a.png"}}]}]})")
                  .text,
              HasSubstr("'messages' is the URL"));
  expect_untouched();
}

TEST_F(MediaTest, FetchedPicturesReplaceTheirUrls) {
  std::vector<std::string> asked;
  context.filters.fetch_picture = [&asked](std::string url, std::uint64_t max_bytes) {
    EXPECT_EQ(max_bytes, 20u << 20);
    asked.push_back(std::move(url));
    return given(std::string("\x89PNG\r\n\x1a\n", 8));
  };
  have("see");
  EXPECT_EQ(forwarded("/v1/chat/completions", chat("see", at_url("http://example.com/a.png"))), chat("see", kPart));
  EXPECT_EQ(
      forwarded("/v1/chat/completions", chat("see", R"({"type":"image_url","image_url":"https://example.com/b.png"})")),
      chat("see", kPart));
  EXPECT_THAT(asked, ElementsAre("http://example.com/a.png", "https://example.com/b.png"));
}

TEST_F(MediaTest, APictureThatCannotBeFetchedIsAnError) {
  Result<std::string> answer =
      fail(downloads::errc::unreachable, "its host has no public address outside of this server's networks");
  context.filters.fetch_picture = [&answer](std::string, std::uint64_t) { return given(answer); };
  const std::string place = "'messages[0].content[0].image_url.url' cannot be fetched: ";
  const std::string advice = " (\"http://inside/a\"): send the picture as a data URL";
  EXPECT_EQ(refusal(chat("see", at_url("http://inside/a"))),
            place + "its host has no public address outside of this server's networks" + advice);
  answer = std::string("<html>");
  EXPECT_EQ(refusal(chat("see", at_url("http://inside/a"))), place + "it is no PNG, JPEG, WebP or GIF" + advice);
  EXPECT_EQ(post("/v1/chat/completions", chat("see", at_url("http://inside/a"))).error("code"), "picture_not_fetched");
  expect_untouched();
}

TEST_F(MediaTest, FetchedPicturesHaveALimitInAll) {
  context.filters.fetch_picture = [](std::string, std::uint64_t) {
    std::string file("\x89PNG\r\n\x1a\n", 8);
    file.resize(13u << 20);
    return given(std::move(file));
  };
  EXPECT_EQ(refusal(chat("see", at_url("http://example.com/a") + "," + at_url("http://example.com/b"))),
            "'messages[0].content[1].image_url.url' cannot be fetched: the fetched pictures of a request may have "
            "25165824 bytes in all, and it has 13631488 (\"http://example.com/b\"): send the picture as a data URL");
}

TEST_F(MediaTest, AUrlInATextBecomesAnObject) {
  have("see");
  EXPECT_EQ(forwarded("/v1/chat/completions",
                      chat("see", R"({"type":"image_url","image_url":"data:image/png;base64,iVBORw0KGgo="})")),
            chat("see", kPart));
}

}  // namespace
}  // namespace corral::api
