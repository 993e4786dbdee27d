// Deleting models and giving them names.
#include <fstream>

#include "api/access/rights.h"
#include "api/supply/supply_fixture_for_tests.h"

namespace corral::api {
namespace {

namespace fs = std::filesystem;

class NamesTest : public SupplyTest {
 protected:
  std::size_t blobs() const {
    std::error_code failure;
    return static_cast<std::size_t>(
        std::distance(fs::directory_iterator(cache / "models--org--repo/blobs", failure), fs::directory_iterator()));
  }
};

TEST_F(NamesTest, AModelOfOllamasRegistryGoesWithWhatCameWithIt) {
  const auto root = cache / "models--ollama.com--library--x";
  for (const auto* folder : {"blobs", "snapshots/one", "snapshots/two"})
    std::filesystem::create_directories(root / folder);
  const auto put = [&](const char* commit, const std::string& path, const std::string& blob, const std::string& text) {
    std::ofstream(root / "blobs" / blob, std::ios::binary) << text;
    std::filesystem::create_symlink("../../blobs/" + blob, root / "snapshots" / commit / path);
  };
  put("one", "x-1b.gguf", "a", gguf("llama", 'a'));
  put("one", "x-1b.params.json", "p", R"({"num_ctx":512})");
  put("one", "x-1b.license.txt", "l", "free");
  put("one", "x-1b-2.license.txt", "m", "as in beer");
  put("two", "x-2b.gguf", "b", gguf("llama", 'b'));
  put("two", "x-2b.license.txt", "l", "free");
  ASSERT_EQ(get("/v1/models?rescan=true").status, 200u);
  const auto gone = post("/v1/delete", R"({"model_name":"x:1b"})");
  ASSERT_EQ(gone.status, 200u) << gone.text;
  EXPECT_FALSE(std::filesystem::exists(root / "snapshots/one"));
  const auto has = [&](const char* blob) { return std::filesystem::exists(root / "blobs" / blob); };
  for (const auto* blob : {"a", "p", "m"}) EXPECT_FALSE(has(blob)) << blob;
  for (const auto* blob : {"b", "l"}) EXPECT_TRUE(has(blob)) << blob;
}

TEST_F(NamesTest, AModelOfTheHubIsDeletedWithItsFiles) {
  ASSERT_EQ(post("/v1/pull", R"({"model_name":"org/repo:Q4_K_M"})").status, 200u);
  ASSERT_EQ(post("/v1/pull", R"({"model_name":"org/repo:Q8_0"})").status, 200u);
  const auto dry = post("/v1/delete", R"({"model_name":"org/repo:Q8_0","dry_run":true})");
  ASSERT_EQ(dry.status, 200u) << dry.text;
  EXPECT_EQ(blobs(), 2u);
  const auto gone = post("/v1/delete", R"({"model":"org/repo:Q8_0"})");
  ASSERT_EQ(gone.status, 200u) << gone.text;
  EXPECT_EQ(gone.json().at("freed_bytes"), dry.json().at("freed_bytes"));
  EXPECT_GT(gone.json().at("freed_bytes").to_number<std::uint64_t>(), 100'000u);
  EXPECT_EQ(blobs(), 1u);
  EXPECT_EQ(get("/v1/models/org/repo:Q8_0").status, 404u);
  EXPECT_EQ(get("/v1/models/org/repo:Q4_K_M").status, 200u);
}

// llama-server's form.
TEST_F(NamesTest, AModelIsDeletedByItsNameInTheQuery) {
  ASSERT_EQ(post("/v1/pull", R"({"model_name":"org/repo:Q8_0"})").status, 200u);
  const auto gone = ask("DELETE", "/models?model=org/repo:Q8_0");
  ASSERT_EQ(gone.status, 200u) << gone.text;
  EXPECT_EQ(gone.text, R"({"success":true})");
  EXPECT_EQ(blobs(), 0u);
  EXPECT_THAT(get("/models").text, testing::Not(HasSubstr("org/repo:Q8_0")));
  EXPECT_EQ(ask("DELETE", "/models?model=org/repo:Q8_0").error("code"), "unknown_model");
  EXPECT_EQ(ask("DELETE", "/models").error("message"),
            "'model' is required: DELETE /models?model=NAME, see /v1/models");
}

// One name went, nothing was free, and the model came back under the other one.
TEST_F(NamesTest, EqualFilesOfARepositoryAreDeletedTogether) {
  hub.add("z-Q6_K.gguf", gguf("llama", 'y'));
  ASSERT_EQ(post("/v1/pull", R"({"model_name":"org/repo:Q8_0"})").status, 200u);
  ASSERT_EQ(post("/v1/pull", R"({"model_name":"org/repo:Q6_K"})").status, 200u);
  EXPECT_EQ(blobs(), 1u);
  const auto gone = post("/v1/delete", R"({"model_name":"org/repo:Q6_K"})");
  ASSERT_EQ(gone.status, 200u) << gone.text;
  EXPECT_GT(gone.json().at("freed_bytes").to_number<std::uint64_t>(), 100'000u);
  EXPECT_EQ(blobs(), 0u);
  for (const auto* name : {"org/repo:Q6_K", "org/repo:Q8_0"})
    EXPECT_EQ(get(std::string("/v1/models/") + name).status, 404u) << name;
}

TEST_F(NamesTest, WhatIsntKnownOrNotOursIsRefused) {
  const auto unknown = post("/v1/delete", R"({"model_name":"nothing"})");
  EXPECT_EQ(unknown.status, 422u);
  EXPECT_EQ(unknown.error("code"), "unknown_model");
  const auto foreign = post("/v1/delete", R"({"model_name":"tiny-llama"})");
  EXPECT_EQ(foreign.status, 409u);
  EXPECT_EQ(foreign.error("code"), "file_not_ours");
  EXPECT_TRUE(fs::exists(dir / "tiny-llama.gguf"));
  EXPECT_EQ(post("/v1/delete", R"({"model_name":"tiny-llama","models_dir":true})").status, 200u);
  EXPECT_FALSE(fs::exists(dir / "tiny-llama.gguf"));
}

TEST_F(NamesTest, AModelThatIsListedBecauseItsProgramIsInstalledIsNotDeleted) {
  const models::InstalledModel espeak{
      {.name = "espeak-ng", .checkpoint = {}, .recipe = "espeak-ng", .labels = {"tts"}, .configured = true},
      [] { return true; }};
  registry.look_at({.models_dirs = {dir.path()}, .hub_cache = {}, .installed = {espeak}});
  registry.rescan();
  const auto refused = post("/v1/delete", R"({"model_name":"espeak-ng"})");
  EXPECT_EQ(refused.status, 409u);
  EXPECT_EQ(refused.error("code"), "file_not_ours");
  EXPECT_EQ(refused.error("message"),
            "'espeak-ng' cannot be deleted: it is listed because its program is installed; to hide it, set "
            "espeak_model to false");
}

TEST_F(NamesTest, AModelInMemoryIsUnloadedFirstUnlessItWorks) {
  have("tiny-llama");
  auto asking =
      send("POST", "/v1/chat/completions", R"({"model":"tiny-llama","messages":[{"role":"user","content":"hi"}]})");
  const char* wanted = R"({"model_name":"tiny-llama","models_dir":true})";
  EXPECT_EQ(post("/v1/delete", wanted).error("code"), "model_busy");
  backend.server("tiny-llama").request().answer(200, R"({"choices":[]})");
  settle();
  EXPECT_EQ(got(*asking)->status, 200u);
  EXPECT_EQ(post("/v1/delete", wanted).status, 200u);
  EXPECT_FALSE(backend.server("tiny-llama").alive());
  EXPECT_FALSE(fs::exists(dir / "tiny-llama.gguf"));
}

TEST_F(NamesTest, FilesThatAnotherModelNeedsStay) {
  const auto file = (dir / "tiny-llama.gguf").native();
  const auto entered = [&](const char* name) {
    return post("/v1/models/register", fmt::format(R"({{"model_name":"{}","checkpoint":"{}"}})", name, file));
  };
  ASSERT_EQ(entered("one").status, 200u);
  ASSERT_EQ(entered("two").status, 200u);
  const auto gone = post("/v1/delete", R"({"model_name":"one","models_dir":true})");
  ASSERT_EQ(gone.status, 200u) << gone.text;
  EXPECT_EQ(gone.json().at("kept").at(0).at("needed_by").at(0).as_string(), "two");
  EXPECT_TRUE(fs::exists(file));
  EXPECT_EQ(get("/v1/models/one").status, 404u);
  EXPECT_EQ(get("/v1/models/two").status, 200u);
}

TEST_F(NamesTest, AModelGetsANameOfTheUsers) {
  const auto answer =
      post("/v1/models/register", R"({"model_name":"user.chat","checkpoint":"tiny-llama","labels":["coding"]})");
  ASSERT_EQ(answer.status, 200u) << answer.text;
  EXPECT_EQ(json::text_or(answer.json(), "canonical_model_name", ""), "user.chat");
  EXPECT_THAT(get("/v1/models/chat").text, HasSubstr("coding"));
  for (const auto& [body, status, field] : {
           std::tuple(R"({"checkpoint":"tiny-llama"})", 400u, "model_name"),
           std::tuple(R"({"model_name":"x"})", 400u, "checkpoint"),
           std::tuple(R"({"model_name":"x","checkpoint":"tiny-llama","recipe":"no"})", 400u, "recipe"),
           std::tuple(R"({"model_name":"x\n","checkpoint":"tiny-llama"})", 400u, "model_name"),
           std::tuple(R"({"model_name":"x","checkpoint":"nothing"})", 404u, "checkpoint"),
           std::tuple(R"({"model_name":"tiny-embed","checkpoint":"tiny-qwen3"})", 409u, "model_name"),
       }) {
    const auto refused = post("/v1/models/register", body);
    EXPECT_EQ(refused.status, status) << body << refused.text;
    EXPECT_EQ(refused.error("param"), field) << body;
  }
}

TEST_F(NamesTest, ARegisteredNameGoesWithoutTheModel) {
  ASSERT_EQ(post("/v1/pull", R"({"model_name":"org/repo:Q8_0"})").status, 200u);
  ASSERT_EQ(post("/v1/models/register", R"({"model_name":"mine","checkpoint":"org/repo:Q8_0"})").status, 200u);
  const auto aliases = get("/v1/models/mine?details=true").json().at("aliases");
  EXPECT_THAT(json::serialize(aliases), HasSubstr(R"("org/repo:Q8_0")"));
  const auto dry = post("/v1/delete", R"({"model_name":"mine","dry_run":true})");
  EXPECT_EQ(json::text_or(dry.json(), "name_of", ""), "org/repo:Q8_0") << dry.text;
  EXPECT_EQ(dry.json().at("freed_bytes").to_number<int>(), 0);
  const auto gone = post("/v1/delete", R"({"model_name":"mine"})");
  ASSERT_EQ(gone.status, 200u) << gone.text;
  EXPECT_EQ(json::text_or(gone.json(), "message", ""),
            "'mine' is a name of 'org/repo:Q8_0': only the name is gone, and 'org/repo:Q8_0' stays");
  EXPECT_EQ(blobs(), 1u);
  EXPECT_EQ(get("/v1/models/mine").status, 404u);
  EXPECT_EQ(get("/v1/models/org/repo:Q8_0").status, 200u);
}

TEST_F(NamesTest, ANameThatAPullGaveGoesWithTheModel) {
  ASSERT_EQ(post("/v1/pull", R"({"model_name":"mine","checkpoint":"org/repo:Q8_0"})").status, 200u);
  ASSERT_EQ(post("/v1/delete", R"({"model_name":"mine"})").status, 200u);
  EXPECT_EQ(blobs(), 0u);
}

TEST_F(NamesTest, AnAliasOfNothingIsToldAndItsRemovalNamesTheModel) {
  EXPECT_THAT(post("/internal/aliases", R"({"alias":"a","target":"org/missing"})").text,
              HasSubstr(R"("warning":"no model 'org/missing')"));
  EXPECT_THAT(post("/internal/aliases", R"({"alias":"b","target":"tiny-llama"})").text,
              testing::Not(HasSubstr("warning")));
  EXPECT_EQ(json::text_or(post("/v1/delete", R"({"model_name":"b"})").json(), "name_of", ""), "tiny-llama");
  EXPECT_EQ(get("/v1/models/tiny-llama").status, 200u);
}

TEST_F(NamesTest, OneModelsDetailsAreWhatItsFilesSay) {
  ASSERT_EQ(post("/v1/pull", R"({"model_name":"org/repo:Q8_0"})").status, 200u);
  const auto model = get("/v1/models/org/repo:Q8_0?details=true").json();
  const auto& file = model.at("files").at(0);
  EXPECT_EQ(json::text_or(file, "name", ""), "x-Q8_0.gguf");
  EXPECT_EQ(json::text_or(file, "sha256", "").size(), 64u);
  EXPECT_EQ(file.at("size_bytes"), model.at("size_bytes"));
  models::GgufWriter::model("llama")
      .text("general.license", "apache-2.0")
      .text("tokenizer.chat_template", "{{ messages }}")
      .save(dir / "licensed.gguf");
  ASSERT_EQ(post("/internal/aliases", R"({"alias":"looks-again","target":"licensed"})").status, 200u);
  const auto licensed = get("/v1/models/licensed?details=true").json();
  EXPECT_EQ(json::text_or(licensed, "licence", ""), "apache-2.0");
  EXPECT_EQ(json::text_or(licensed, "chat_template", ""), "{{ messages }}");
  EXPECT_TRUE(licensed.at("files").at(0).at("sha256").is_null());
  EXPECT_THAT(get("/v1/models/licensed").text, testing::Not(HasSubstr("chat_template")));
}

TEST_F(NamesTest, AnImportTakesNoNameOfAnotherModel) {
  const auto from = cache / "downloads/mine.gguf";
  models::GgufWriter::model("llama").save(from);
  const auto taken = post("/v1/import", fmt::format(R"({{"path":"{}","model_name":"tiny-llama"}})", from.native()));
  EXPECT_EQ(taken.status, 409u);
  EXPECT_EQ(taken.error("code"), "name_taken");
}

// The other spelling was a name of its model, whose files were deleted.
TEST_F(NamesTest, AnAliasInAnotherSpellingIsDeletedWithoutTheModel) {
  ASSERT_EQ(post("/v1/pull", R"({"model_name":"org/repo:Q8_0"})").status, 200u);
  for (const std::string spelling : {"CHAT", "chat:latest", "Chat:LATEST", "user.chat", "chat.gguf"}) {
    SCOPED_TRACE(spelling);
    ASSERT_EQ(post("/internal/aliases", R"({"alias":"chat","target":"org/repo:Q8_0"})").status, 200u);
    ASSERT_EQ(get("/v1/models/" + spelling).status, 200u) << "else this spelling is of no use";
    const auto dry = post("/v1/delete", fmt::format(R"({{"model_name":"{}","dry_run":true}})", spelling));
    EXPECT_EQ(json::text_or(dry.json(), "message", ""),
              "'chat' is a name of 'org/repo:Q8_0': only the name would go, and 'org/repo:Q8_0' stays");
    const auto gone = post("/v1/delete", fmt::format(R"({{"model_name":"{}"}})", spelling));
    EXPECT_EQ(json::text_or(gone.json(), "message", ""),
              "'chat' is a name of 'org/repo:Q8_0': only the name is gone, and 'org/repo:Q8_0' stays");
    EXPECT_EQ(get("/v1/models/chat").status, 404u);
    EXPECT_EQ(blobs(), 1u);

    ASSERT_EQ(post("/internal/aliases", R"({"alias":"chat","target":"org/repo:Q8_0"})").status, 200u);
    EXPECT_EQ(ask("DELETE", "/api/delete", fmt::format(R"({{"model":"{}"}})", spelling)).status, 200u);
    EXPECT_EQ(get("/v1/models/chat").status, 404u);
    EXPECT_EQ(blobs(), 1u);
  }
  EXPECT_EQ(get("/v1/models/org/repo:Q8_0").status, 200u);
}

TEST_F(NamesTest, AliasesAreKept) {
  EXPECT_EQ(get("/internal/aliases").text, R"({"aliases":[]})");
  ASSERT_EQ(post("/internal/aliases", R"({"alias":"chat","target":"tiny-llama"})").status, 200u);
  EXPECT_EQ(json::text_or(get("/v1/models/chat").json(), "alias_of", ""), "tiny-llama");
  EXPECT_THAT(get("/internal/aliases").text, HasSubstr(R"("target":"tiny-llama","downloaded":true)"));
  EXPECT_EQ(post("/internal/aliases", R"({"alias":"tiny-llama","target":"tiny-qwen3"})").error("code"), "name_taken");
  ASSERT_EQ(post("/internal/aliases", R"({"alias":"chat","model":"tiny-qwen3"})").status, 200u);
  EXPECT_EQ(json::text_or(get("/v1/models/chat").json(), "id", ""), "chat");
  EXPECT_EQ(json::text_or(get("/v1/models/chat").json(), "alias_of", ""), "tiny-qwen3");
  EXPECT_EQ(ask("DELETE", "/internal/aliases/chat").status, 200u);
  EXPECT_EQ(ask("DELETE", "/internal/aliases/chat").error("code"), "alias_not_found");
  EXPECT_EQ(get("/v1/models/chat").status, 404u);
}

// Clients choose from lists: an alias that is in none can't be chosen.
TEST_F(NamesTest, EveryListHasTheAliases) {
  ASSERT_EQ(post("/internal/aliases", R"({"alias":"chat","target":"tiny-llama"})").status, 200u);
  ASSERT_EQ(post("/api/copy", R"({"source":"tiny-embed","destination":"vectors:latest"})").status, 200u);
  const auto entry = [this](std::string_view path, std::string_view list, std::string_view key, std::string_view name) {
    const auto answer = get(std::string(path)).json();
    for (const auto& item : answer.at(std::string(list)).as_array())
      if (json::text_or(item, key, "") == name) return item;
    return json::Value();
  };
  for (const auto* path : {"/v1/models", "/models", "/api/v0/models", "/api/v1/models"}) {
    for (const auto& [alias, model] : {std::pair("chat", "tiny-llama"), std::pair("vectors", "tiny-embed")}) {
      const auto listed = entry(path, "data", "id", alias);
      ASSERT_TRUE(listed.is_object()) << path << alias;
      EXPECT_EQ(json::text_or(listed, "alias_of", ""), model);
      EXPECT_EQ(json::text_or(listed, "type", ""), json::text_or(entry(path, "data", "id", model), "type", ""));
    }
  }
  EXPECT_TRUE(entry("/api/tags", "models", "name", "chat").is_object());
  EXPECT_TRUE(entry("/api/tags", "models", "model", "vectors").is_object());
  EXPECT_EQ(json::text_or(get("/v1/models/CHAT:latest").json(), "id", ""), "chat");
  EXPECT_EQ(json::find(get("/v1/models/tiny-llama").json(), "alias_of"), nullptr);
  ASSERT_EQ(ask("DELETE", "/internal/aliases/chat").status, 200u);
  EXPECT_TRUE(entry("/v1/models", "data", "id", "chat").is_null());
}

TEST_F(NamesTest, AnAliasMayHaveDefaultsOfRequests) {
  const auto put = [this](std::string_view defaults) {
    return post("/internal/aliases",
                fmt::format(R"({{"alias":"coder","target":"tiny-llama","defaults":{}}})", defaults));
  };
  for (const auto* wrong :
       {R"({"temperature":"hot"})", R"({"nothing":1})", R"({"messages":[]})", R"({"system":7})", "[]"})
    EXPECT_EQ(put(wrong).status, 400u) << wrong;
  EXPECT_EQ(put(R"({"system":7})").error("message"), "'system' must be a string, not 7");
  EXPECT_EQ(put(R"({"system":7})").error("param"), "defaults");
  ASSERT_EQ(put(R"({"temperature":0.2,"system":"Answer in code."})").status, 200u);
  EXPECT_THAT(get("/internal/aliases").text, HasSubstr(R"("defaults":{"temperature":0.2,"system":"Answer in code."})"));
  EXPECT_THAT(get("/v1/models/coder").text, HasSubstr(R"("request_defaults":{"temperature":0.2,)"));
  const auto create = post("/api/create", R"({"model":"poet","from":"tiny-llama","system":"Rhyme.","stream":false,
      "parameters":{"temperature":1.5,"num_predict":20,"stop":["END"]}})");
  ASSERT_EQ(create.status, 200u) << create.text;
  EXPECT_THAT(get("/v1/models/poet").text,
              HasSubstr(R"("request_defaults":{"max_tokens":20,"temperature":1.5,"stop":["END"],"system":"Rhyme."})"));
  ASSERT_EQ(post("/api/copy", R"({"source":"poet","destination":"bard"})").status, 200u);
  EXPECT_THAT(get("/v1/models/bard").text, HasSubstr(R"("system":"Rhyme.")"));
  EXPECT_EQ(post("/api/create", R"({"model":"x","from":"tiny-llama","files":{"a":"b"}})").status, 400u);
  EXPECT_EQ(post("/api/create", R"({"model":"x"})").status, 400u);
}

// The defaults of the preset were lost.
TEST_F(NamesTest, APresetOfAPresetHasItsDefaults) {
  ASSERT_EQ(post("/internal/aliases", R"({"alias":"poet","target":"tiny-llama",
      "defaults":{"max_tokens":20,"temperature":1.5,"system":"Rhyme."}})")
                .status,
            200u);
  const auto defaults_of = [this](const std::string& name) {
    const auto model = get("/v1/models/" + name).json();
    EXPECT_EQ(json::text_or(model, "alias_of", ""), "tiny-llama");
    return json::serialize(model.at("request_defaults"));
  };
  const std::string from = R"("from":"Poet:latest","stream":false)";
  ASSERT_EQ(post("/api/create", R"({"model":"cool","parameters":{"temperature":0.5},)" + from + "}").status, 200u);
  EXPECT_EQ(defaults_of("cool"), R"({"temperature":0.5,"max_tokens":20,"system":"Rhyme."})");
  ASSERT_EQ(post("/api/create", R"({"model":"bard","system":"Sing.",)" + from + "}").status, 200u);
  EXPECT_EQ(defaults_of("bard"), R"({"system":"Sing.","max_tokens":20,"temperature":1.5})");
  ASSERT_EQ(post("/internal/aliases", R"({"alias":"short","target":"bard","defaults":{"n_predict":5}})").status, 200u);
  EXPECT_EQ(defaults_of("short"), R"({"n_predict":5,"system":"Sing.","temperature":1.5})");
  ASSERT_EQ(post("/internal/aliases", R"({"alias":"same","target":"short"})").status, 200u);
  EXPECT_EQ(defaults_of("same"), defaults_of("short"));
  ASSERT_EQ(post("/api/create", R"({"model":"bare","from":"tiny-llama","stream":false})").status, 200u);
  EXPECT_EQ(defaults_of("bare"), "{}");
}

// A text became the number 0.
TEST_F(NamesTest, ParametersOfAPresetAreChecked) {
  const auto create = [this](std::string_view parameters) {
    return post("/api/create", fmt::format(R"({{"model":"x","from":"tiny-llama","parameters":{}}})", parameters));
  };
  EXPECT_EQ(create(R"({"temperature":"hot"})").error("message"),
            "'parameters.temperature' must be a number, not \"hot\"");
  EXPECT_EQ(create(R"({"stop":[7]})").status, 400u);
  EXPECT_EQ(create(R"([])").error("param"), "parameters");
  EXPECT_EQ(get("/v1/models/x").status, 404u);
}

TEST_F(NamesTest, DefaultsOfAnAliasHaveALimit) {
  const auto put = [this](std::size_t bytes) {
    const std::string text(bytes - std::string_view(R"({"system":""})").size(), 'x');
    return post("/internal/aliases",
                fmt::format(R"({{"alias":"a","target":"tiny-llama","defaults":{{"system":"{}"}}}})", text));
  };
  EXPECT_EQ(put(8192).status, 200u);
  EXPECT_EQ(put(8193).error("message"), "'defaults' has 8193 bytes: at most 8192 are allowed");
}

TEST_F(NamesTest, AFileIsImportedByALink) {
  const auto from = cache / "downloads/mine.gguf";
  models::GgufWriter::model("llama").save(from);
  const auto answer = post("/v1/import", fmt::format(R"({{"path":"{}","model_name":"own"}})", from.native()));
  ASSERT_EQ(answer.status, 200u) << answer.text;
  EXPECT_EQ(json::text_or(answer.json(), "how", ""), "link");
  EXPECT_EQ(get("/v1/models/own").status, 200u);
  EXPECT_EQ(post("/v1/delete", R"({"model_name":"own"})").status, 200u);
  EXPECT_TRUE(fs::exists(from));
  EXPECT_EQ(post("/v1/import", R"({"path":"mine.gguf"})").error("param"), "path");
  EXPECT_EQ(post("/v1/import", R"({"path":"/etc/passwd"})").status, 422u);  // who may name files is told what is wrong
  http::Request request;
  request.head = {"POST", "/v1/import", {}};
  request.body = http::Body(std::string(R"({"path":"/etc/passwd"})"));
  request.id = RequestId("req-9");
  request.caller = {.rights = kOpenRights, .key = {}};
  EXPECT_EQ(finish(*start(std::move(request))).status, 404u);
}

}  // namespace
}  // namespace corral::api
