#include "downloads/ollama_registry.h"

#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "downloads/cache_layout.h"
#include "downloads/errors.h"
#include "models/temp_dir_for_tests.h"

namespace corral::downloads {
namespace {

std::string layer(std::string_view kind, char digit, int size = 10) {
  return fmt::format(R"({{"mediaType":"application/vnd.ollama.image.{}","digest":"sha256:{}","size":{}}})", kind,
                     std::string(64, digit), size);
}
std::string manifest(const std::vector<std::string>& layers) {
  std::string text = R"({"schemaVersion":2,"config":{},"layers":[)";
  for (const std::string& one : layers) text += (text.ends_with('[') ? "" : ",") + one;
  return text + "]}";
}

TEST(OllamaManifests, BecomeFilesTheModelLast) {
  const auto files = read_manifest(
      manifest({layer("model", 'a', 1000), layer("license", 'b'), layer("license", 'c'), layer("template", 'd'),
                layer("projector", 'e', 500), layer("params", 'f'), layer("novelty", '0'),
                R"({"mediaType":"application/vnd.docker.container.image.v1+json","digest":"?"})"}),
      "library/x.y", "1b-q8_0");
  ASSERT_TRUE(files) << files.error().message;
  std::vector<std::string> paths;
  for (const TreeFile& file : *files) paths.push_back(file.path);
  EXPECT_THAT(paths,
              testing::ElementsAre("x.y-1b-q8_0.license.txt", "x.y-1b-q8_0-2.license.txt", "x.y-1b-q8_0.template.txt",
                                   "mmproj-x.y-1b-q8_0.gguf", "x.y-1b-q8_0.params.json", "x.y-1b-q8_0.gguf"));
  EXPECT_EQ(files->back().size, 1000u);
  EXPECT_EQ(files->back().oid, std::string(64, 'a'));
}

TEST(OllamaManifests, ThatAreHostileOrHaveNoModelAreRefused) {
  const auto code = [](const std::string& text) {
    const auto files = read_manifest(text, "library/x", "latest");
    return files ? std::error_code() : files.error().code;
  };
  EXPECT_EQ(code("nonsense"), errc::upstream_malformed);
  EXPECT_EQ(code("{}"), errc::upstream_malformed);
  EXPECT_EQ(code(manifest({})), errc::file_not_found);
  EXPECT_EQ(code(manifest({layer("tensor", 'a'), layer("tensor", 'b')})), errc::file_not_found);
  EXPECT_EQ(code(manifest({layer("model", 'a'), layer("model", 'b')})), errc::file_not_found);
  EXPECT_EQ(code(manifest({layer("model", 'A')})), errc::upstream_malformed);
  EXPECT_EQ(code(manifest({layer("model", '/')})), errc::upstream_malformed);
  EXPECT_EQ(code(manifest({layer("model", 'a', -1)})), errc::upstream_malformed);
  EXPECT_EQ(code(manifest({R"({"mediaType":"application/vnd.ollama.image.model"})"})), errc::upstream_malformed);
  EXPECT_EQ(code(R"({"layers":[1,null,"x",[]]})"), errc::file_not_found);
}

TEST(OllamaParameters, ThatAreOptionsOfALoadAreTaken) {
  const auto options = options_of_params(
      R"({"num_ctx":4096,"num_gpu":0,"use_mmap":true,"stop":["a"],"temperature":0.6,"num_thread":"x"})");
  EXPECT_EQ(options.ctx_size, 4096);
  EXPECT_EQ(options.gpu_layers, 0);
  EXPECT_EQ(options.mmap, true);
  EXPECT_FALSE(options.threads);
  EXPECT_FALSE(options_of_params(R"({"num_ctx":-7})").ctx_size);
  EXPECT_EQ(options_of_params("[]"), config::LoadOptions());
  EXPECT_EQ(options_of_params("{"), config::LoadOptions());
}

TEST(OllamaParameters, AreFoundBesideTheModel) {
  models::TempDir cache;
  const std::string commit(40, '1');
  const auto snapshot = RepoFolder(cache.path(), "ollama.com/library/x").snapshot(commit);
  std::filesystem::create_directories(snapshot);
  for (const char* name : {"x-1.5b.gguf", "x-1.5b-lora.gguf"}) std::ofstream(snapshot / name) << "GGUF";
  std::ofstream(snapshot / "x-1.5b.params.json") << R"({"num_ctx": 2048})";
  const auto options = options_of(snapshot / "x-1.5b.gguf");
  EXPECT_EQ(options.ctx_size, 2048);
  EXPECT_THAT(options.lora.value(), testing::ElementsAre((snapshot / "x-1.5b-lora.gguf").native()));
  EXPECT_EQ(options_of(snapshot / "other.gguf"), config::LoadOptions());
  EXPECT_EQ(options_of("/x.gguf"), config::LoadOptions());

  const auto foreign = RepoFolder(cache.path(), "org/repo").snapshot(commit);
  std::filesystem::create_directories(foreign);
  std::ofstream(foreign / "x.params.json") << R"({"num_ctx": 2048})";
  EXPECT_EQ(options_of(foreign / "x.gguf"), config::LoadOptions());
}

}  // namespace
}  // namespace corral::downloads
