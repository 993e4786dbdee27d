#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backends/errors.h"
#include "backends/external/descriptor_fields.h"
#include "backends/external/descriptor_reader.h"
#include "backends/external/errors.h"
#include "backends/external/known_backends.h"
#include "backends/external/placeholders.h"
#include "backends/external/program_path.h"
#include "models/temp_dir_for_tests.h"

namespace corral::backends {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::string_view kSound = R"(
recipe = "mine"
command = ["{program}", "--port", "{port}", ["-c", "{ctx_size}"], "{args}"]
program = "mine-server"
paths = { "chat/completions" = "/v1/chat/completions" }
)";

std::string with(std::string_view line) { return std::string(kSound) + std::string(line) + "\n"; }

std::string problem_of(std::string_view text) {
  const auto read = parse_descriptor(text, "mine.toml");
  return read ? std::string() : read.error().message;
}

TEST(Descriptors, BuiltInOnesAreSoundAndAsTheTableOfRecipesSays) {
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(CORRAL_DESCRIPTORS))
    files += entry.path().extension() == ".toml";
  EXPECT_EQ(builtin_descriptors().size(), files) << "one of them can't be read";
  for (const auto& one : builtin_descriptors()) {
    const Recipe* const row = RecipeTable().find(one->recipe);
    ASSERT_NE(row, nullptr) << one->recipe;
    EXPECT_EQ(row->device, one->device) << one->recipe;
    EXPECT_EQ(row->possible, one->possible) << one->recipe;
    EXPECT_EQ(row->on_npu, one->npu) << one->recipe;
    EXPECT_TRUE(std::ranges::equal(row->types, one->types)) << one->recipe;
    if (!one->program.empty()) {
      EXPECT_EQ(row->program, one->program) << one->recipe;
    }
    EXPECT_FALSE(one->source.empty()) << one->recipe;
    EXPECT_FALSE(one->install.empty()) << one->recipe;
    EXPECT_FALSE(one->title.empty()) << one->recipe;
  }
}

TEST(Descriptors, BuiltInOnesHaveTheNameOfTheirFile) {
  for (const auto& one : builtin_descriptors())
    EXPECT_TRUE(std::filesystem::exists(std::filesystem::path(CORRAL_DESCRIPTORS) / (one->recipe + ".toml")))
        << one->recipe;
}

TEST(Descriptors, AreReadWithTheirDefaults) {
  const auto read = parse_descriptor(kSound, "mine.toml");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->kind, ServerKind::server);
  EXPECT_EQ(read->listen, Listen::port);
  EXPECT_EQ(read->ready.path, "/health");
  EXPECT_EQ(read->ready.status, 200u);
  EXPECT_EQ(read->proved, Proved::contract);
  EXPECT_THAT(read->types, ElementsAre(ModelType::llm));
  ASSERT_EQ(read->command.size(), 5u);
  EXPECT_TRUE(read->command[3].optional);
}

TEST(Descriptors, ErrorsNameFileLineAndKey) {
  EXPECT_THAT(problem_of(with("concurrency = \"many\"")),
              AllOf(HasSubstr("mine.toml:6: concurrency:"), HasSubstr("\"many\" is not a whole number")));
  EXPECT_THAT(problem_of(with("comand = []")), AllOf(HasSubstr("mine.toml:6"), HasSubstr("did you mean 'command'")));
  EXPECT_THAT(problem_of(with("args = [\"{prot}\"]\nstop = [\"kill\", \"{prot}\"]")),
              AllOf(HasSubstr("stop"), HasSubstr("unknown placeholder {prot}"), HasSubstr("{port}")));
  EXPECT_THAT(problem_of(with("kind = \"serve\"")), HasSubstr("one of server, exec and attach"));
  EXPECT_THAT(problem_of(with("ready = { path = \"health\" }")), HasSubstr("must start with '/'"));
  EXPECT_THAT(problem_of(with("memory = \"files*x\"")), HasSubstr("a sum such as"));
  EXPECT_THAT(problem_of(with("reserved = [\"--port\"]\nargs = [\"--port=1\"]")),
              HasSubstr("'--port=1' is set by corral"));
  EXPECT_THAT(problem_of("recipe = \"x\"\ncommand = [\"a\"]\npaths = { \"completions\" = \"/c\" }"),
              HasSubstr("needs {port}"));
  EXPECT_THAT(problem_of("recipe = \n"), HasSubstr("mine.toml:1"));
  EXPECT_EQ(parse_descriptor(with("concurrency = -1"), "f").error().param, "concurrency");
  EXPECT_EQ(parse_descriptor(with("concurrency = -1"), "f").error().code, external::errc::bad_descriptor);
}

TEST(Descriptors, EveryKeyOfTheTableIsDescribed) {
  for (const auto& field : descriptor_fields()) {
    EXPECT_FALSE(field.help.empty()) << field.key;
    EXPECT_FALSE(field.kind.empty()) << field.key;
  }
}

TEST(Descriptors, TheirPageIsCurrent) {
  if (std::getenv("CORRAL_WRITE_PAGES") != nullptr)
    std::ofstream(CORRAL_BACKENDS_PAGE, std::ios::binary) << backends_page();
  std::ifstream page(CORRAL_BACKENDS_PAGE, std::ios::binary);
  const std::string text(std::istreambuf_iterator<char>(page), {});
  EXPECT_EQ(text, backends_page()) << "write it again: CORRAL_WRITE_PAGES=1 backends_test";
}

TEST(Descriptors, AServerThatRunsNeedsItsAddress) {
  EXPECT_THAT(problem_of("recipe = \"x\"\nkind = \"attach\"\npaths = { completions = \"/c\" }"),
              HasSubstr("needs an address"));
  EXPECT_THAT(problem_of("recipe = \"x\"\nkind = \"attach\"\nurl = \"https://a\"\npaths = { completions = \"/c\" }"),
              HasSubstr("url"));
}

TEST(Descriptors, WhatOthersMayWriteIsRefused) {
  const models::TempDir dir;
  std::filesystem::create_directory(dir / "backends.d");
  std::ofstream(dir / "backends.d/mine.toml") << kSound;
  EXPECT_TRUE(read_backends(dir.path()).find("mine"));
  std::filesystem::permissions(dir / "backends.d/mine.toml", std::filesystem::perms::others_write,
                               std::filesystem::perm_options::add);
  const auto known = read_backends(dir.path());
  EXPECT_FALSE(known.find("mine"));
  ASSERT_EQ(known.problems.size(), 1u);
  EXPECT_THAT(known.problems[0].message, HasSubstr("chmod go-w"));
}

TEST(Descriptors, OneOfTheUsersTakesThePlaceOfABuiltInOne) {
  const models::TempDir dir;
  std::filesystem::create_directory(dir / "backends.d");
  std::ofstream(dir / "backends.d/vllm.toml") << R"(
recipe = "vllm"
command = ["/opt/vllm", "{port}"]
paths = { "chat/completions" = "/v1/chat/completions" }
)";
  const auto known = read_backends(dir.path());
  EXPECT_THAT(known.problems, IsEmpty());
  EXPECT_EQ(known.find("vllm")->file, dir / "backends.d/vllm.toml");
  EXPECT_EQ(known.descriptors.size(), builtin_descriptors().size());
  EXPECT_EQ(known.recipes.find("vllm")->program, "a command");
}

TEST(Descriptors, TheirRecipesStayWhenTheirFileGoes) {
  const models::TempDir dir;
  std::filesystem::create_directory(dir / "backends.d");
  EXPECT_EQ(read_backends(dir.path()).recipes, RecipeTable());
  std::ofstream(dir / "backends.d/mine.toml") << kSound;
  const auto known = read_backends(dir.path());
  const std::string recipe = known.find("mine")->recipe;
  ASSERT_NE(known.recipes.find(recipe), nullptr);
  EXPECT_EQ(read_backends(dir.path(), &known).recipes, known.recipes);
  std::filesystem::remove(dir / "backends.d/mine.toml");
  const auto later = read_backends(dir.path(), &known);
  EXPECT_FALSE(later.find("mine"));
  EXPECT_NE(later.recipes.find(recipe), nullptr);
}

TEST(Descriptors, CorralsOwnEngineIsNobodyElse) {
  const models::TempDir dir;
  std::filesystem::create_directory(dir / "backends.d");
  std::ofstream(dir / "backends.d/x.toml")
      << "recipe = \"llamacpp\"\ncommand = [\"x\", \"{port}\"]\npaths = { completions = \"/c\" }\n";
  EXPECT_THAT(read_backends(dir.path()).problems.at(0).message, HasSubstr("corral's own engine"));
}

KnownBackends models_of(std::string_view text) {
  KnownBackends known = read_backends({});
  parse_models(text, "models.toml", known);
  return known;
}

TEST(Models, HaveTheWordsOfLlamaSwap) {
  const auto known = models_of(R"(
[macros]
server = "llama-server --port ${PORT} --host 127.0.0.1"
[models."qwen:7b"]
cmd = """
${server}
  -m '/srv/my models/qwen.gguf' \
  -c 8192
"""
aliases = ["gpt-4o-mini"]
ttl = 600
env = ["CUDA_VISIBLE_DEVICES=0"]
concurrencyLimit = 2
useModelName = "qwen"
checkEndpoint = "/v1/health"
proxy = "http://127.0.0.1:9001"
filters = { stripParams = "temperature, top_p", setParams = { seed = 7 } }
)");
  ASSERT_THAT(known.problems, IsEmpty()) << known.problems[0].message;
  ASSERT_EQ(known.models.size(), 1u);
  const auto& model = known.models[0];
  EXPECT_EQ(model.name, "qwen:7b");
  EXPECT_THAT(model.aliases, ElementsAre("gpt-4o-mini"));
  EXPECT_EQ(model.ttl, Millis(600'000));
  const auto& own = *model.descriptor;
  EXPECT_EQ(own.recipe, "command");
  EXPECT_EQ(own.concurrency, 2u);
  EXPECT_EQ(own.env.at("CUDA_VISIBLE_DEVICES"), "0");
  EXPECT_EQ(own.model_name, "qwen");
  EXPECT_EQ(own.ready.path, "/v1/health");
  EXPECT_THAT(own.strip, ElementsAre("temperature", "top_p"));
  EXPECT_EQ(own.set.at("seed"), "7");
  PlaceholderValues values;
  values.texts["port"] = "9001";
  const auto argv = expand(own.command, values);
  ASSERT_TRUE(argv);
  EXPECT_THAT(*argv, ElementsAre("llama-server", "--port", "9001", "--host", "127.0.0.1", "-m",
                                 "/srv/my models/qwen.gguf", "-c", "8192"));
}

TEST(Models, OfARecipeSayWhatIsOtherwise) {
  const auto known = models_of(R"(
[models.big]
recipe = "vllm"
checkpoint = "org/big"
args = ["--dtype", "half"]
[models.hears]
recipe = "flm"
checkpoint = "whisper-v3:turbo"
labels = ["transcription"]
)");
  ASSERT_THAT(known.problems, IsEmpty()) << known.problems[0].message;
  EXPECT_THAT(known.models[0].descriptor->args, ElementsAre("--dtype", "half"));
  EXPECT_EQ(known.models[0].descriptor->ready.path, "/health");
  EXPECT_EQ(known.models[1].descriptor->npu, NpuUse::coexist);
}

TEST(Models, WithAMistakeDontCountAndSayWhy) {
  const auto known = models_of(R"(
[models.a]
recipe = "nobody"
[models.b]
cmd = "server --port {port}"
ttl = "soon"
[models.c]
cmd = "server"
[models.d]
cmd = "server {port}"
kind = "attach"
[models.e]
recipe = "flm"
checkpoint = "x"
labels = ["image"]
[models.f]
recipe = "vllm"
checkpoint = "x"
args = ["--port", "1"]
[models.good]
cmd = "server {port}"
)");
  ASSERT_EQ(known.models.size(), 1u);
  ASSERT_EQ(known.problems.size(), 6u);
  EXPECT_THAT(known.problems[0].message, AllOf(HasSubstr("models.toml:2"), HasSubstr("unknown backend 'nobody'")));
  EXPECT_THAT(known.problems[1].message, AllOf(HasSubstr("models.toml:6: ttl"), HasSubstr("a time")));
  EXPECT_THAT(known.problems[2].message, HasSubstr("the address to listen on"));
  EXPECT_THAT(known.problems[3].message, HasSubstr("only a descriptor can set that"));
  EXPECT_THAT(known.problems[4].message, HasSubstr("serves no models of type image"));
  EXPECT_THAT(known.problems[5].message, HasSubstr("'--port' is set by corral"));
}

TEST(Placeholders, ArePutInAndNeverSplit) {
  PlaceholderValues values;
  values.texts = {{"model", "/a b/{port}.gguf"}, {"port", "1"}};
  values.lists["args"] = {"-x", "a b"};
  values.environment = [](std::string_view name) {
    return name == "HOME" ? std::optional<std::string>("/h") : std::nullopt;
  };
  const Command command{
      {{"{model}"}, false}, {{"-c", "{ctx_size}"}, true}, {{"{args}"}, false}, {{"--x={env.HOME}/${PORT}"}, false}};
  const auto argv = expand(command, values);
  ASSERT_TRUE(argv);
  EXPECT_THAT(*argv, ElementsAre("/a b/{port}.gguf", "-x", "a b", "--x=/h/1"));
  EXPECT_EQ(expand("{env.NOBODY}", values), std::nullopt);
  EXPECT_EQ(expand(R"({"enable_thinking": false})", values), R"({"enable_thinking": false})");
  EXPECT_FALSE(expand(Command{{{"{ctx_size}"}, false}}, values));
}

TEST(Placeholders, UnknownOnesAreNamed) {
  EXPECT_EQ(unknown_placeholder("a{b}c"), "b");
  EXPECT_EQ(unknown_placeholder("{port}{env.X}${MODEL_ID}{checkpoints.vae}"), "");
  EXPECT_EQ(unknown_placeholder("{} { } {\"a\":1}"), "");
}

TEST(Words, AreCutAsAShellWould) {
  EXPECT_THAT(*split_words(R"(a  'b c' "d \"e" f\ g)"), ElementsAre("a", "b c", "d \"e", "f g"));
  EXPECT_THAT(*split_words("a \\\n b"), ElementsAre("a", "b"));
  EXPECT_THAT(*split_words("'' x"), ElementsAre("", "x"));
  EXPECT_THAT(*split_words("$(rm) `x` ; && |"), ElementsAre("$(rm)", "`x`", ";", "&&", "|"));
  EXPECT_THAT(*split_words("# no\n a #b\n  # no 'quote\n c"), ElementsAre("a", "#b", "c"));
  EXPECT_THAT(*split_words("# no"), IsEmpty());
  EXPECT_FALSE(split_words("a 'b"));
}

TEST(Programs, AreFoundInFoldersAndPath) {
  const models::TempDir dir;
  std::ofstream(dir / "tool") << "x";
  EXPECT_FALSE(find_program("tool", {dir.path()}, ""));
  std::filesystem::permissions(dir / "tool", std::filesystem::perms::owner_all);
  EXPECT_EQ(find_program("tool", {dir.path()}, ""), dir / "tool");
  EXPECT_EQ(find_program("tool", {}, "relative:" + dir.path().native()), dir / "tool");
  EXPECT_EQ(find_program((dir / "tool").native(), {}, ""), dir / "tool");
  EXPECT_FALSE(find_program("nobody", {dir.path()}, dir.path().native()));
  EXPECT_FALSE(find_program("", {dir.path()}, dir.path().native()));
}

}  // namespace
}  // namespace corral::backends
