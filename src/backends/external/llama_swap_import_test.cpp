// Configurations of llama-swap as models.toml, and the YAML that they are written in.
#include "backends/external/llama_swap_import.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backends/external/known_backends.h"
#include "backends/external/yaml_reader.h"

namespace corral::backends {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::string yaml(std::string_view text) {
  const auto value = read_yaml(text, "x.yaml");
  return value ? json::serialize(*value) : value.error().message;
}

TEST(Yaml, IsReadAsJson) {
  EXPECT_EQ(yaml("a: 1\nb: [true, ~, x, '1', 1.5, 0x10]\nc:\n  d: |\n    l1\n    l2\n  on: yes\n"),
            R"({"a":1,"b":[true,null,"x","1",1.5,16],"c":{"d":"l1\nl2\n","on":"yes"}})");
  EXPECT_EQ(yaml("base: &b {x: 1, y: 2}\nuse:\n  <<: *b\n  y: 3\nsame: *b\n"),
            R"({"base":{"x":1,"y":2},"use":{"y":3,"x":1},"same":{"x":1,"y":2}})");
  EXPECT_EQ(yaml(""), "null");
}

TEST(Yaml, ErrorsHaveTheirPlace) {
  EXPECT_THAT(yaml("a: [1\n"), HasSubstr(": not valid YAML: "));
  EXPECT_EQ(yaml("a: 1\na: 2\n"), "x.yaml:2:1: not valid YAML: the key 'a' is there twice");
  EXPECT_EQ(yaml("a: *b\n"), "x.yaml:1:4: not valid YAML: unknown alias");
  EXPECT_EQ(yaml("[a]: 1\n"), "x.yaml:1:1: not valid YAML: a key must be a text");
}

TEST(Yaml, DepthAndAliasesAreLimited) {
  EXPECT_THAT(yaml(std::string(200, '[')), HasSubstr("it is deeper than 64 levels"));
  std::string bomb = "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n";
  for (int i = 1; i < 12; ++i) {
    const auto before = "*a" + std::to_string(i - 1);
    bomb += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [";
    for (int j = 0; j < 10; ++j) bomb += (j > 0 ? "," : "") + before;
    bomb += "]\n";
  }
  EXPECT_THAT(yaml(bomb), HasSubstr("it has more than 100000 values"));
  EXPECT_EQ(yaml(std::string((1 << 20) + 1, ' ')), "x.yaml: it is larger than 1 MiB");
  std::string texts = "a: &x \"" + std::string(500'000, 'a') + "\"\nb:\n";
  for (int copy = 0; copy < 40; ++copy) texts += "- *x\n";
  EXPECT_THAT(yaml(texts), HasSubstr("the texts of its aliases have more than 16 MiB"));
}

TEST(LlamaSwapImport, WritesModelsThatAreRead) {
  const auto imported = import_llama_swap(R"(
healthCheckTimeout: 500
startPort: 10001
odd: 1
macros:
  "z_first": "server --port ${PORT}"
  "a_second": "${z_first} --ctx 4096"
hooks:
  on_startup:
    preload: ["qwen:7b"]
groups:
  g: {swap: true, members: ["qwen:7b"]}
models:
  "qwen:7b":
    macros:
      z: "--one"
      b: "${z} --two"
    cmd: |
      # a comment
      ${a_second} ${b}
      -m "/srv/my models/q.gguf"
    proxy: "http://127.0.0.1:${PORT}"
    description: "say \"hi\"\x7f"
    env: ["A=1"]
    ttl: 60
    filters:
      stripParams: "top_k"
      setParamsByID: {x: {y: 1}}
    metadata: {n: 1.0, none: ~}
    sendLoadingState: true
  broken:
    proxy: "http://127.0.0.1:9"
)",
                                          "config.yaml");
  ASSERT_TRUE(imported) << imported.error().message;
  EXPECT_EQ(imported->models, 1u);
  EXPECT_THAT(imported->warnings,
              ElementsAre("startPort is left out: corral uses free ports", "odd is left out: corral does not know it",
                          HasSubstr("groups is left out: "),
                          "models.qwen:7b: filters.setParamsByID is left out: corral does not know it",
                          "models.qwen:7b: sendLoadingState is left out: streams get comments while a model loads",
                          HasSubstr("a command is missing")));
  KnownBackends known = read_backends({});
  parse_models(imported->toml, "models.toml", known);
  ASSERT_EQ(known.models.size(), 1u);
  EXPECT_THAT(known.warnings, IsEmpty());
  EXPECT_THAT(known.preload, ElementsAre("qwen:7b"));
  const auto& model = known.models[0];
  EXPECT_EQ(model.declared.description, "say \"hi\"\x7f");
  EXPECT_EQ(model.declared.metadata, R"({"n":1})");
  EXPECT_EQ(model.ttl, Millis(60'000));
  std::vector<std::string> words;
  for (const auto& part : model.descriptor->command) words.insert(words.end(), part.words.begin(), part.words.end());
  EXPECT_THAT(words, ElementsAre("server", "--port", "${PORT}", "--ctx", "4096", "--one", "--two", "-m",
                                 "/srv/my models/q.gguf"));
}

TEST(LlamaSwapImport, OtherFilesAreRefused) {
  EXPECT_EQ(import_llama_swap("a: 1\n", "x.yaml").error().message,
            "x.yaml: it has no 'models', so it is no configuration of llama-swap");
}

}  // namespace
}  // namespace corral::backends
