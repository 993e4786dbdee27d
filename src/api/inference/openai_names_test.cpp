// OpenAI's names of models mean the best model of their type.
#include "api/inference/openai_names.h"

#include <utility>

#include "api/api_fixture_for_tests.h"

namespace corral::api {
namespace {

models::ModelInfo model(std::string name, ModelType type, std::string recipe, std::uint64_t size = 0) {
  models::ModelInfo info;
  info.name = ModelName(std::move(name));
  info.type = type;
  info.recipe = std::move(recipe);
  info.size = Bytes(size);
  return info;
}

std::string best(const router::Report& report, const models::Catalog& catalog, ModelType type) {
  const auto found = best_model(report, catalog, type);
  return found != nullptr ? found->name.value() : "none";
}

TEST(OpenaiNames, AreThoseOfSpeechTranscriptionAndImages) {
  EXPECT_EQ(type_of_openai_name("tts-1-hd"), ModelType::tts);
  EXPECT_EQ(type_of_openai_name("gpt-4o-mini-transcribe"), ModelType::transcription);
  EXPECT_EQ(type_of_openai_name("gpt-image-1"), ModelType::image);
  EXPECT_EQ(type_of_openai_name("gpt-4o"), std::nullopt);
}

TEST(OpenaiNames, TheBestModelIsLoadedThenNeuralThenLarge) {
  const models::Catalog catalog(
      {model("espeak-ng", ModelType::tts, "espeak-ng"), model("voice", ModelType::tts, "kokoro", 100),
       model("tiny", ModelType::transcription, "whispercpp", 10),
       model("base", ModelType::transcription, "whispercpp", 20), model("chat", ModelType::llm, "llamacpp", 30)},
      {}, {});
  EXPECT_EQ(best({}, catalog, ModelType::tts), "voice");
  EXPECT_EQ(best({}, catalog, ModelType::transcription), "base");
  EXPECT_EQ(best({}, catalog, ModelType::image), "none");
  router::Report report;
  report.instances.emplace_back().model = *catalog.find("espeak-ng");
  report.instances.emplace_back().model = *catalog.find("tiny");
  EXPECT_EQ(best(report, catalog, ModelType::tts), "espeak-ng");
  EXPECT_EQ(best(report, catalog, ModelType::transcription), "tiny");
  report.instances.back().view.leaving = residency::StopReason::unload;
  EXPECT_EQ(best(report, catalog, ModelType::transcription), "base");
}

class Whole final : public http::BodySource {
 public:
  explicit Whole(std::string text) : text_(std::move(text)) {}
  async::Task<Result<std::string_view>> read() override {
    given_ = std::exchange(text_, {});
    co_return std::string_view(given_);
  }

 private:
  std::string text_, given_;
};

class OpenaiNamesTest : public ApiTest {
 protected:
  Answer transcribe(const std::string& model) {
    http::Request request;
    request.head = {"POST", "/v1/audio/transcriptions", {}};
    request.head.headers.add("Content-Type", "multipart/form-data; boundary=x");
    auto form =
        "--x\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a\"\r\n\r\nID3 sound\r\n"
        "--x\r\nContent-Disposition: form-data; name=\"model\"\r\n\r\n" +
        model + "\r\n--x--\r\n";
    request.body = http::Body(std::make_unique<Whole>(std::move(form)));
    return finish(*start(std::move(request)));
  }
};

TEST_F(OpenaiNamesTest, WithoutAModelTheErrorHasTheCommandThatGetsOne) {
  const auto speech = post("/v1/audio/speech", R"({"model":"tts-1","input":"hi"})");
  EXPECT_EQ(speech.status, 404u);
  EXPECT_EQ(
      speech.error("message"),
      "'tts-1' means the best model of type tts on this server, and there is none: run apt-get install espeak-ng");
  const auto transcript = transcribe("whisper-1");
  EXPECT_EQ(transcript.status, 404u);
  EXPECT_EQ(transcript.error("message"),
            "'whisper-1' means the best model of type transcription on this server, and there is none: run curl -L "
            "--create-dirs -o MODELS_DIR/ggml-base.bin "
            "https://huggingface.co/ggerganov/whisper.cpp/resolve/main/ggml-base.bin");
  EXPECT_THAT(transcribe("tts-1").error("message"), HasSubstr("no model 'tts-1'")) << "a name of the other type";
  expect_untouched();
}

TEST_F(OpenaiNamesTest, TheAnswerNamesTheModel) {
  models::InstalledModel espeak{
      {.name = "espeak-ng", .checkpoint = {}, .recipe = "espeak-ng", .labels = {"tts"}, .configured = true},
      [] { return true; }};
  registry.look_at({.models_dirs = {dir.path()}, .hub_cache = {}, .installed = {espeak}});
  registry.rescan();
  const auto speech = post("/v1/audio/speech", R"({"model":"tts-1","input":"hi"})");
  EXPECT_EQ(speech.headers.get("X-Corral-Model"), "espeak-ng");
  EXPECT_FALSE(post("/v1/audio/speech", R"({"model":"espeak-ng","input":"hi"})").headers.has("X-Corral-Model"));
  // A model of that name has its own meaning.
  espeak.model.name = "tts-1";
  registry.look_at({.models_dirs = {dir.path()}, .hub_cache = {}, .installed = {espeak}});
  registry.rescan();
  EXPECT_FALSE(post("/v1/audio/speech", R"({"model":"tts-1","input":"hi"})").headers.has("X-Corral-Model"));
}

}  // namespace
}  // namespace corral::api
