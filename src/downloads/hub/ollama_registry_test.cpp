#include "downloads/hub/ollama_registry.h"

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

TEST(OllamaRegistry, TheFilesBesideAModelHaveNamesOfTheirOwn) {
  EXPECT_THAT(names_beside("x-1b", 1),
              testing::ElementsAre("x-1b-lora.gguf", "x-1b.params.json", "x-1b.template.txt", "x-1b.system.txt",
                                   "x-1b.messages.json", "x-1b.license.txt"));
  EXPECT_THAT(names_beside("x-1b", 2), testing::Contains("x-1b-2.license.txt"));
}

}  // namespace
}  // namespace corral::downloads
