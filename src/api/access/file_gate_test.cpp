// Files that requests name, over the real handlers.
#include "api/access/file_gate.h"

#include <fstream>

#include "api/access/access_filter.h"
#include "api/access/rights.h"
#include "api/api_fixture_for_tests.h"

namespace corral::api {
namespace {

class FileGateTest : public ApiTest {
 protected:
  FileGateTest() {
    std::filesystem::create_directory(models_);
    std::ofstream(models_ / "adapter.gguf") << "GGUF";
    std::ofstream(outside_) << "GGUF";
    inputs_.environment = [this](std::string_view name) {
      return name == "HOME" ? std::optional(dir.path().string()) : std::nullopt;
    };
    live_ = std::move(*config::LiveSettings::open(inputs_));
    context.core.settings = live_.get();
    context.access.gate = &gate_;
    inner_ = make_api(context);
    handler = std::make_unique<AccessFilter>(*inner_, timers, AccessOptions());
  }

  const std::filesystem::path models_ = dir / "models", outside_ = dir / "outside.gguf";
  config::Inputs inputs_;
  std::unique_ptr<config::LiveSettings> live_;
  FileGate gate_{
      loop.executor(), timers, {.offload = [](auto work) { work(); }}, [this] { return std::vector{models_}; }};
  std::unique_ptr<http::Handler> inner_;
};

TEST_F(FileGateTest, RequestsNameNoFilesElsewhereHoweverTheySayIt) {
  const auto bodies = [](const std::filesystem::path& file) {
    const auto path = file.native();
    return std::vector<std::string>{R"("lora":[")" + path + R"("])", R"("lora":[")" + path + R"(:0.5"])",
                                    R"("draft_model":")" + path + R"(")", R"("llamacpp_args":"--lora )" + path + R"(")",
                                    R"("lora":[],"llamacpp_args":"--lora )" + path + R"(")"};
  };
  for (const auto& member : bodies(outside_)) {
    for (const auto& [path, name] :
         {std::pair("/v1/load", R"("model_name":"tiny-llama",)"),
          std::pair("/v1/estimate", R"("model_name":"tiny-llama",)"), std::pair("/v1/models/tiny-llama/options", "")}) {
      const auto refused = post(path, std::string("{") + name + member + "}");
      EXPECT_EQ(refused.status, 400u) << path << member << refused.text;
      EXPECT_EQ(refused.error("code"), "invalid_option");
      EXPECT_THAT(refused.error("message"), HasSubstr("in a models folder"));
    }
  }
  expect_untouched();
  for (const auto& member : bodies(models_ / "adapter.gguf")) {
    const auto taken = post("/v1/models/tiny-llama/options", R"({"dry_run":true,)" + member + "}");
    EXPECT_EQ(taken.status, 200u) << member << taken.text;
  }
}

TEST_F(FileGateTest, NorDoSettings) {
  for (const auto* key : {"llamacpp_args", "llamacpp.args"}) {
    const auto refused =
        post("/internal/set", std::string(R"({")") + key + R"(":"--lora )" + outside_.native() + R"("})");
    EXPECT_EQ(refused.status, 400u) << refused.text;
    EXPECT_EQ(post("/internal/set",
                   std::string(R"({")") + key + R"(":"--lora )" + (models_ / "adapter.gguf").native() + R"("})")
                  .status,
              200u);
  }
}

}  // namespace
}  // namespace corral::api
