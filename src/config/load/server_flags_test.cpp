#include "config/load/server_flags.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/load/request_defaults.h"

namespace corral::config {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

ServeArguments translated(const std::vector<std::string>& words, const std::string& text = "") {
  const auto all =
      translate_server_flags(words, [&](const std::filesystem::path&) { return Result<std::string>(text); });
  EXPECT_TRUE(all) << (all ? "" : all.error().message);
  return all.value_or(ServeArguments());
}
std::string refused(const std::vector<std::string>& words) {
  const auto all =
      translate_server_flags(words, [](const std::filesystem::path&) { return Result<std::string>("a\nb\n"); });
  return all ? "" : all.error().message;
}

TEST(ServerFlags, BecomeSettings) {
  EXPECT_THAT(translated({"-m", "a.gguf", "-a", "x", "-c", "512", "-np", "2", "-t", "-1", "--embedding"}).words,
              ElementsAre("--model-file=a.gguf", "--alias=x", "--ctx-size=512", "--parallel=2", "--threads=auto",
                          "--model-type=embedding", "--llamacpp-args=--no-kv-unified"));
  EXPECT_THAT(translated({"--model", "A.GGUF", "--model", "wanted", "-np", "-1"}).words,
              ElementsAre("--model-file=A.GGUF", "--model=wanted"));
  EXPECT_THAT(translated({"--sleep-idle-seconds", "5", "-lv", "1", "--models-max", "0"}).words,
              ElementsAre("--auto-evict", "--evict-idle-timeout=5s", "--log-level=error", "--max-loaded-models=-1"));
}

// A request had the whole context of -c.
TEST(ServerFlags, RequestsDivideTheContextAsTheyDoThere) {
  const auto divided = Contains("--llamacpp-args=--no-kv-unified");
  EXPECT_THAT(translated({"-c", "512", "-np", "2"}).words, divided);
  EXPECT_THAT(translated({"-m", "a.gguf", "--ctx-size", "512", "--parallel=2"}).words, divided);
  EXPECT_THAT(translated({"--model", "a.gguf", "--parallel", "2", "--ctx-size=512"}).words, divided);
  EXPECT_THAT(translated({"-c", "512", "-np", "2", "-kvu", "-no-kvu"}).words, divided);
  EXPECT_THAT(translated({"-hf", "org/repo", "--ctx-size", "512", "--parallel", "2"}).words, divided);
  EXPECT_THAT(translated({"-c", "512", "-np", "2", "--mlock"}).words,
              Contains("--llamacpp-args=--mlock --no-kv-unified"));
  for (const std::vector<std::string>& whole :
       std::vector<std::vector<std::string>>{{"-m", "a.gguf", "-c", "512", "-np", "2", "-kvu"},
                                             {"-m", "a.gguf", "-c", "512"},
                                             {"-m", "a.gguf", "-np", "2", "-no-kvu"},
                                             {"-m", "a.gguf", "-c", "512", "-np", "1"},
                                             {"-m", "a.gguf", "-c", "512", "-np", "-1"},
                                             {"--ctx-size", "512", "--parallel", "2"},
                                             {"--model-file", "a.gguf", "--ctx-size", "512", "--parallel", "2"},
                                             {"--hub-model", "org/repo", "--ctx-size", "512", "--parallel", "2"},
                                             {"--model", "wanted", "--ctx-size", "512", "--parallel", "2"}})
    EXPECT_THAT(translated(whole).words, Not(divided)) << ::testing::PrintToString(whole);
  EXPECT_THAT(translated({"-c", "512", "-np", "2", "--llamacpp-args", "-fa on"}).words,
              ElementsAre("--ctx-size=512", "--parallel=2", "--llamacpp-args", "-fa on"));
}

TEST(ServerFlags, OfTheHubNameItsModel) {
  EXPECT_THAT(translated({"-hf", "org/repo:Q8_0"}).words, ElementsAre("--hub-model=org/repo:Q8_0"));
  EXPECT_THAT(translated({"--hf-repo", "org/repo:Q8_0", "-hff", "sub/x.gguf"}).words,
              ElementsAre("--hub-model=org/repo:sub/x.gguf"));
  EXPECT_THAT(translated({"-hf", "org/repo", "--api-key", "k"}).words, Contains("--allowed-origins=*"));
  EXPECT_EQ(refused({"-hff", "x.gguf"}), "'--hf-file': needs the repository, with -hf");
  EXPECT_EQ(refused({"-hft", "hf_x"}),
            "'-hft': no equivalent here: set the variable HF_TOKEN: other users of the machine can read flags");
}

TEST(ServerFlags, PagesAsTheyMayThere) {
  EXPECT_THAT(translated({"--cors-origins", "localhost"}).words, ElementsAre("--allowed-origins=localhost"));
  EXPECT_THAT(translated({"-m", "a.gguf", "--api-key", "k"}).words, Contains("--allowed-origins=*"));
  EXPECT_THAT(translated({"-m", "a.gguf", "--api-key", "k", "--cors-origins", "http://a.b"}).words,
              Not(Contains("--allowed-origins=*")));
  EXPECT_THAT(translated({"--models-dir", "x", "--api-key", "k"}).words, Not(Contains("--allowed-origins=*")));
}

TEST(ServerFlags, MayHaveUnderscoresInTheirNames) {
  EXPECT_THAT(translated({"--ctx_size=4", "--chat_template=a_b", "--models_dir", "c_d"}).words,
              ElementsAre("--ctx-size=4", "--chat-template=a_b", "--models-dir", "c_d"));
  EXPECT_THAT(translated({"--backend_sampling", "--top_k", "3"}).without_effect, ElementsAre("--backend-sampling"));
  EXPECT_THAT(refused({"--n_gpu_layer", "1"}), HasSubstr("did you mean --n-gpu-layers?"));
}

TEST(ServerFlags, BecomeFlagsOfTheEngine) {
  EXPECT_THAT(translated({"-ngl", "7", "-fa", "on", "--no-mmap", "--lora", "/x y.gguf,/z.gguf"}).words,
              ElementsAre(R"(--llamacpp-args=-ngl "7" -fa "on" --no-mmap --lora "/x y.gguf,/z.gguf")"));
  EXPECT_THAT(translated({"--batch-size", "64"}).words, ElementsAre(R"(--llamacpp-args=-b "64")"));
  EXPECT_THAT(translated({"--pooling", "last"}).words,
              ElementsAre("--model-type=embedding", R"(--llamacpp-args=--pooling "last")"));
  EXPECT_THAT(translated({"--pooling", "none"}).words,
              ElementsAre("--model-type=embedding", R"(--llamacpp-args=--pooling "none")"));
  EXPECT_THAT(refused({"-ngl", "7", "--llamacpp-args", "-fa on"}), HasSubstr("'--llamacpp-args' conflicts with flags"));
}

TEST(ServerFlags, OfRequestsTheLastOneCounts) {
  EXPECT_THAT(translated({"--temp", "0.5", "-n", "8", "--temp=0", "--reasoning", "off", "--no-cache-prompt"}).words,
              ElementsAre(R"(--request-defaults={"cache_prompt":false,"enable_thinking":false,"n_predict":8,)"
                          R"("temperature":0})"));
  EXPECT_THAT(translated({"--samplers", "top_k;min_p", "--grammar-file", "g"}, "root ::= \"a\"").words,
              ElementsAre(R"(--request-defaults={"grammar":"root ::= \"a\"","samplers":["top_k","min_p"]})"));
  EXPECT_THAT(refused({"--temp", "warm"}), HasSubstr("'--temp': invalid value 'warm'"));
}

TEST(ServerFlags, FilesAreRead) {
  EXPECT_THAT(translated({"--api-key-file", "k"}, "# mine\n\nsecret\n").words, ElementsAre("--api-key=secret"));
  EXPECT_THAT(refused({"--api-key-file", "k"}), HasSubstr("the file has 2 keys, but only one is supported"));
  EXPECT_THAT(translated({"--chat-template-file", "t"}, "{{ x }}\n").words, ElementsAre("--chat-template={{ x }}\n"));
}

TEST(ServerFlags, AProjectorIsAFileOrNone) {
  EXPECT_THAT(translated({"--mmproj", "/m/p.gguf", "--no-mmproj-offload"}).words,
              ElementsAre(R"(--llamacpp-args=--mmproj "/m/p.gguf" --no-mmproj-offload)"));
  EXPECT_THAT(translated({"--no-mmproj"}).words, ElementsAre("--llamacpp-args=--no-mmproj"));
  EXPECT_THAT(translated({"--mmproj-auto", "--mmproj-offload"}).words,
              ElementsAre("--llamacpp-args=--mmproj-auto --mmproj-offload"));
}

TEST(ServerFlags, WhatHasNoEffectIsNamed) {
  const auto all = translated({"--jinja", "-ub", "512", "--no-webui", "--port", "0"});
  EXPECT_THAT(all.words, ElementsAre("--port", "0"));
  EXPECT_THAT(all.without_effect, ElementsAre("--jinja", "-ub", "--no-webui"));
}

TEST(ServerFlags, WhatHasNoEqualIsRefusedWithTheReason) {
  EXPECT_THAT(refused({"--mmproj-url", "x"}), HasSubstr("'--mmproj-url': no equivalent here: only a model of -hf"));
  EXPECT_THAT(refused({"-mmdev", "none"}), HasSubstr("--no-mmproj-offload keeps the projector off the GPU"));
  EXPECT_THAT(refused({"--video-fps", "4"}), HasSubstr("videos are not supported"));
  EXPECT_THAT(refused({"--tools", "all"}), HasSubstr("no built-in tools and no MCP servers"));
}

TEST(ServerFlags, UnknownOnesNameACloseOne) {
  EXPECT_THAT(refused({"--n-gpu-layer", "1"}), HasSubstr("not a flag of serve; did you mean --n-gpu-layers?"));
  EXPECT_THAT(refused({"--prot", "1"}), HasSubstr("did you mean --port?"));
  EXPECT_THAT(refused({"-c"}), HasSubstr("'-c': needs a value"));
  EXPECT_THAT(refused({"--jinja=1"}), HasSubstr("takes no value"));
}

// Also where a value looks like a flag of there.
TEST(ServerFlags, OnesOwnPassAsTheyAre) {
  const std::vector<std::string> own{"--slots", "--no-slots",      "--no-models-autoload", "--tags", "-a", "--api-key",
                                     "-c",      "--no-warm-spare", "--max-loaded-models",  "2",      "-1", "--help"};
  EXPECT_EQ(translated(own).words, own);
}

// Once it was a flag of there that has no effect, and the server went out.
TEST(ServerFlags, OfflineIsOnesOwn) { EXPECT_THAT(translated({"--offline"}).words, ElementsAre("--offline")); }

TEST(RequestDefaults, AreFieldsWithRightValues) {
  EXPECT_TRUE(check_request_defaults(""));
  EXPECT_TRUE(check_request_defaults(R"({"temperature":0.5,"n_predict":-1,"embd_normalize":0})"));
  const auto why = [](const std::string& text) {
    const auto fine = check_request_defaults(text);
    return fine ? "" : fine.error().message;
  };
  EXPECT_THAT(why(R"({"temperature":"hot"})"), HasSubstr("temperature"));
  EXPECT_THAT(why(R"({"heat":1})"), HasSubstr("requests have no field 'heat'"));
  EXPECT_THAT(why(R"({"stream":true})"), HasSubstr("must be set in each request"));
  EXPECT_THAT(why("[]"), HasSubstr("not a JSON object"));
}

TEST(RequestDefaults, NamesStandBetweenCommas) {
  EXPECT_THAT(names_in("a, b,,c"), ElementsAre("a", "b", "c"));
  EXPECT_THAT(names_in(" , "), IsEmpty());
}

}  // namespace
}  // namespace corral::config
