// Entries of models.toml: keys of llama-swap, unknown ones, own commands, corral's own engine.
#include "backends/external/model_entries.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backends/external/placeholders.h"

namespace corral::backends {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

KnownBackends entries(std::string_view text) {
  KnownBackends known = read_backends({});
  parse_models(text, "models.toml", known);
  return known;
}

std::vector<std::string> texts(const std::vector<Error>& errors) {
  std::vector<std::string> all;
  for (const auto& error : errors) all.push_back(error.message);
  return all;
}

TEST(ModelEntries, UsualKeysOfLlamaSwapWork) {
  const auto known = entries(R"(
globalTTL = 300
healthCheckTimeout = 500
hooks.on_startup.preload = ["a", "b"]
[models.a]
proxy = "http://127.0.0.1:${PORT}/base"
cmd = """
# the usual one
server --port ${PORT} \
  -m /srv/a.gguf
"""
name = "Model A"
description = "It answers."
unlisted = true
metadata = { owner = "me", sizes = [1, 2] }
aliases = [{ id = "gpt-a", name = "A" }, "gpt-b"]
ttl = -1
[models.b]
cmd = "server --port ${PORT}"
ttl = 0
ready = { path = "/up", deadline = "1m" }
)");
  EXPECT_THAT(texts(known.problems), IsEmpty());
  EXPECT_THAT(texts(known.warnings), IsEmpty());
  EXPECT_THAT(known.preload, ElementsAre("a", "b"));
  ASSERT_EQ(known.models.size(), 2u);
  const auto& a = known.models[0];
  EXPECT_EQ(a.declared.title, "Model A");
  EXPECT_EQ(a.declared.description, "It answers.");
  EXPECT_EQ(a.declared.metadata, R"({"owner":"me","sizes":[1,2]})");
  EXPECT_TRUE(a.declared.unlisted);
  EXPECT_THAT(a.aliases, ElementsAre("gpt-a", "gpt-b"));
  EXPECT_EQ(a.ttl, Millis(300'000));
  EXPECT_EQ(a.descriptor->ready.deadline, Millis(500'000));
  EXPECT_TRUE(chooses_port(*a.descriptor));
  EXPECT_EQ(url_at(*a.descriptor, 81), "http://127.0.0.1:81/base");
  PlaceholderValues values;
  values.texts["port"] = "81";
  EXPECT_THAT(*expand(a.descriptor->command, values), ElementsAre("server", "--port", "81", "-m", "/srv/a.gguf"));
  EXPECT_EQ(known.models[1].ttl, Millis(0));
  EXPECT_EQ(known.models[1].descriptor->ready.deadline, Millis(60'000));
}

TEST(ModelEntries, KeysWithoutEffectCostNoModelAndAreNamed) {
  const auto known = entries(R"(
startPort = 5800
nobody = 1
globalTTL = "soon"
[groups.g]
members = ["a"]
[models.a]
cmd = "server --port ${PORT}"
descripton = "misspelt"
timeouts = { connect = 30 }
filters = { stripParams = "top_k", setParamsByID = { x = 1 } }
)");
  EXPECT_THAT(texts(known.problems), IsEmpty());
  ASSERT_EQ(known.models.size(), 1u);
  EXPECT_THAT(known.models[0].descriptor->strip, ElementsAre("top_k"));
  EXPECT_THAT(
      texts(known.warnings),
      testing::UnorderedElementsAre(
          "models.toml:2: startPort has no effect: corral uses free ports",
          "models.toml:3: unknown key 'nobody' is ignored; models are in tables [models.NAME]",
          "models.toml:4: globalTTL is ignored: it is not a time such as 600 (seconds) or 10m",
          "models.toml:5: groups has no effect: corral loads as many models as max_loaded_models and the memory "
          "allow; pin those that must stay",
          "models.toml:9: models.a: unknown key 'descripton' is ignored; did you mean 'description'?",
          "models.toml:10: models.a: timeouts has no effect: use request_timeout",
          "models.toml:11: models.a: filters.setParamsByID is ignored; known: strip, set"));
}

TEST(ModelEntries, AnOwnCommandNeedsNoProgramOfItsRecipe) {
  const auto known = entries(R"(
[models.own]
recipe = "llama-server"
cmd = "other-server --port {port}"
[models.wrapped]
recipe = "whispercpp"
cmd = ["nice", "{program}", "-m", "{model}", "--port", "{port}"]
[models.named]
recipe = "llama-server"
bin = "/opt/llama-server"
cmd = "nice {program} --host {socket}"
)");
  ASSERT_THAT(texts(known.problems), IsEmpty());
  EXPECT_EQ(known.models[0].name, "named");
  EXPECT_EQ(known.models[0].descriptor->program, "/opt/llama-server");
  EXPECT_EQ(known.models[0].descriptor->listen, Listen::socket);
  EXPECT_EQ(known.models[1].descriptor->program, "");
  EXPECT_EQ(known.models[1].descriptor->listen, Listen::port);
  EXPECT_EQ(known.models[2].descriptor->program, "whisper-server");
}

TEST(ModelEntries, OfTheOwnEngineAndWithDeclaredAbilities) {
  const auto known = entries(R"(
[models.engine]
recipe = "llamacpp"
checkpoint = "tiny-llama"
ttl = 60
[models.flags]
recipe = "llamacpp"
checkpoint = "tiny-llama"
args = ["--jinja"]
context = 32768
tools = true
vision = false
[models.none]
recipe = "llamacpp"
[models.wrong]
cmd = "server {port}"
context = 0
)");
  ASSERT_EQ(known.models.size(), 2u);
  EXPECT_EQ(known.models[0].recipe(), "llamacpp");
  EXPECT_EQ(known.models[0].descriptor, nullptr);
  EXPECT_EQ(known.models[1].recipe(), "llama-server");
  EXPECT_EQ(known.models[1].declared.context, 32768u);
  EXPECT_EQ(known.models[1].declared.tools, true);
  EXPECT_EQ(known.models[1].declared.vision, false);
  EXPECT_THAT(texts(known.problems),
              ElementsAre("models.toml:13: checkpoint: it needs a GGUF file or the name of a model",
                          "models.toml:17: context: it is not a whole number from 1 to 1000000000"));
}

TEST(ModelEntries, AServerThatRunsHasAFixedPort) {
  const auto known = entries("[models.a]\nrecipe = \"ollama\"\nproxy = \"http://127.0.0.1:${PORT}\"\n");
  ASSERT_EQ(known.problems.size(), 1u);
  EXPECT_EQ(known.problems[0].message, "models.toml:1: url: a server that already runs has a fixed port");
}

}  // namespace
}  // namespace corral::backends
