// downloads, rm, search, show, list --all, alias, import.
#include <filesystem>
#include <fstream>
#include <iterator>

#include <gmock/gmock.h>

#include "cli/fakes_for_tests.h"
#include "cli/known_for_tests.h"

namespace corral::cli {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

class SupplyCommandTest : public ProgramTest {};

constexpr const char* kDownloads = "GET /api/v1/downloads";
constexpr const char* kControl = "POST /api/v1/downloads/control";
constexpr const char* kDelete = "POST /api/v1/delete";

TEST_F(SupplyCommandTest, downloads_are_listed_with_why_one_failed) {
  server_.on(kDownloads,
             R"([{"id":"model:a/b","model_name":"a/b","status":"downloading","overall_bytes_downloaded":524288,)"
             R"("total_download_size":1048576,"bytes_per_second":1024,"seconds_left":512},)"
             R"({"id":"model:c/d","model_name":"c/d","status":"error","error":"the disk is full"},)"
             R"({"id":"model:e/f","model_name":"e/f","status":"queued"}])");
  EXPECT_EQ(run({"downloads"}), kExitOk);
  EXPECT_EQ(out(),
            "NAME  STATUS       DONE     SIZE       RATE   LEFT\n"
            "a/b   downloading  50 %  1.0 MiB  1.0 KiB/s  8 min\n"
            "c/d   error           -        -\n"
            "e/f   queued          -        -\n");
  EXPECT_EQ(err(), "c/d: the disk is full\n");
}

TEST_F(SupplyCommandTest, downloads_are_paused_resumed_cancelled_and_removed) {
  server_.on(kControl, R"({"model_name":"a/b","status":"paused","overall_bytes_downloaded":1024,)"
                       R"("total_download_size":2048})");
  EXPECT_EQ(run({"downloads", "pause", "a/b"}), kExitOk);
  EXPECT_EQ(out(), "a/b is paused, 1.0 KiB of 2.0 KiB downloaded; resume with: corral downloads resume a/b\n");
  EXPECT_EQ(run({"downloads", "resume", "model:a/b"}), kExitOk);
  EXPECT_EQ(run({"downloads", "cancel", "a/b"}), kExitOk);
  EXPECT_THAT(out(), HasSubstr("its partial files are removed"));
  EXPECT_EQ(run({"downloads", "remove", "a/b", "--json"}), kExitOk);
  EXPECT_THAT(server_.bodies(kControl),
              ElementsAre(R"({"model_name":"a/b","action":"pause"})", R"({"id":"model:a/b","action":"resume"})",
                          R"({"model_name":"a/b","action":"cancel"})", R"({"model_name":"a/b","action":"remove"})"));
  server_.answers.clear();
  server_.on(kControl, Scripted{.status = 404, .body = R"({"error":{"message":"no download 'x'"}})"});
  EXPECT_EQ(run({"downloads", "pause", "x"}), kExitFailed);
  EXPECT_THAT(err(), HasSubstr("no download 'x'"));
}

TEST_F(SupplyCommandTest, rm_says_what_it_frees_and_what_stays) {
  server_.on(kDelete, R"({"status":"success","freed_bytes":1048576,"files":["/a.gguf"],)"
                      R"("kept":[{"path":"/mmproj.gguf","needed_by":["x","y"]}]})");
  EXPECT_EQ(run({"rm", "m"}), kExitOk);
  EXPECT_EQ(out(), "m is removed; 1.0 MiB are free again\n");
  EXPECT_EQ(err(), "/mmproj.gguf stays: x, y need it\n");
  EXPECT_EQ(run({"rm", "m", "--dry-run", "--models-dir"}), kExitOk);
  EXPECT_EQ(out(), "Removing m would free 1.0 MiB\n  /a.gguf\n");
  EXPECT_THAT(server_.bodies(kDelete),
              ElementsAre(R"({"model_name":"m"})", R"({"model_name":"m","dry_run":true,"models_dir":true})"));
  server_.answers.clear();
  server_.on(kDelete, Scripted{.status = 409, .body = R"({"error":{"message":"'m' works on requests"}})"});
  EXPECT_EQ(run({"rm", "m"}), kExitFailed);
  EXPECT_THAT(err(), HasSubstr("works on requests"));
}

TEST_F(SupplyCommandTest, search_has_known_models_first_and_does_without_a_hub) {
  constexpr const char* kSearch = "GET /api/v1/registry/search?query=QWEN%20coder&limit=20";
  const KnownForTests known(KnownForTests::row("qwen-coder", "Qwen/Coder", "Q8_0", "1") +
                            KnownForTests::row("other", "a/b", "Q8_0", "1"));
  variables_["XDG_CONFIG_HOME"] = known.home();
  server_.on(kSearch, R"({"models":[{"checkpoint":"x/qwen-coder-GGUF","downloads":10,"likes":2,"gated":true}]})");
  EXPECT_EQ(run({"search", "QWEN", "coder"}), kExitOk);
  EXPECT_EQ(out(),
            "NAME               DOWNLOADS  LIKES  NOTE\n"
            "qwen-coder                           known: Qwen/Coder:Q8_0\n"
            "x/qwen-coder-GGUF         10      2  you must accept its conditions first\n");
  server_.answers.erase(kSearch);
  server_.on(kSearch, Scripted{.status = 503, .body = R"({"error":{"message":"the hub can't be reached"}})"});
  EXPECT_EQ(run({"search", "QWEN", "coder"}), kExitOk);
  EXPECT_THAT(out(), HasSubstr("qwen-coder"));
  EXPECT_THAT(err(), HasSubstr("warning: the hub can't be reached"));
  server_.on("GET /api/v1/registry/search?query=zzz&limit=20",
             Scripted{.status = 503, .body = R"({"error":{"message":"the hub can't be reached"}})"});
  EXPECT_EQ(run({"search", "zzz"}), kExitFailed);
}

TEST_F(SupplyCommandTest, list_all_has_what_is_known_and_what_is_coming) {
  const KnownForTests known(KnownForTests::row("k", "a/b", "Q4_K_M", "0.001") +
                            KnownForTests::row("big", "a/c", "Q8_0", "9000") +
                            KnownForTests::row("had", "a/d", "Q8_0", "1"));
  variables_["XDG_CONFIG_HOME"] = known.home();
  server_.on("GET /api/v1/models?rescan=true", R"({"data":[{"id":"a/d:Q8_0","type":"llm"}]})");
  server_.on(kDownloads, R"([{"model_name":"c/d","status":"paused","overall_bytes_downloaded":1,)"
                         R"("total_download_size":4},{"model_name":"e","status":"completed"}])");
  EXPECT_EQ(run({"list", "--all"}), kExitOk);
  EXPECT_EQ(out(),
            "NAME      TYPE  RECIPE      SIZE  CONTEXT  QUANT   STATE\n"
            "a/d:Q8_0  llm   -              -        -  Q8_0    -\n"
            "k         llm   -       ~598 KiB        -  Q4_K_M  not downloaded\n"
            "big       llm   -       ~8.7 TiB        -  Q8_0    not downloaded, too large\n"
            "c/d       -     -            4 B        -  -       paused, 25 %\n");
  EXPECT_EQ(run({"list"}), kExitOk);
  EXPECT_THAT(out(), Not(HasSubstr("not downloaded")));
}

TEST_F(SupplyCommandTest, a_server_without_models_says_where_they_come_from) {
  server_.on("GET /api/v1/models?rescan=true", R"({"data":[]})");
  EXPECT_EQ(run({"list"}), kExitOk);
  EXPECT_THAT(err(), HasSubstr("corral run lists models"));
}

TEST_F(SupplyCommandTest, show_has_what_is_known_and_the_memory_at_several_contexts) {
  server_.on("GET /api/v1/models/m?details=true",
             R"({"id":"m","checkpoint":"org/m:Q8_0","type":"llm","recipe":"llamacpp","architecture":"llama",)"
             R"("parameters":1500000000,"quantization":"Q8_0","labels":["chat","tool-calling"],"size_bytes":1048576,)"
             R"("context_length":8192,"max_context_length":16384,"status":{"value":"unloaded"},"aliases":["mine","x"],)"
             R"("licence":"apache-2.0","chat_template":"{%- for m in messages %}\n{{ m }}","files":[)"
             R"({"name":"m-Q8_0.gguf","size_bytes":1048576,"sha256":"ab12"},{"name":"mmproj.gguf","size_bytes":1024,)"
             R"("sha256":null}]})");
  server_.on("POST /api/v1/estimate", R"({"memory":{"total":1073741824}})");
  server_.on("POST /api/v1/estimate", R"({"memory":{"total":2147483648}})");
  EXPECT_EQ(run({"show", "m"}), kExitOk);
  EXPECT_EQ(out(),
            "name          m\n"
            "other names   mine, x\n"
            "from          org/m:Q8_0\n"
            "type          llm (llamacpp)\n"
            "architecture  llama\n"
            "parameters    1.5 billion\n"
            "quantisation  Q8_0\n"
            "labels        chat, tool-calling\n"
            "context       8192 tokens, trained with 16384\n"
            "size          1.0 MiB\n"
            "licence       apache-2.0\n"
            "template      32 B, starts with {%- for m in messages %} (all of it: --template)\n"
            "state         unloaded\n"
            "\n"
            "FILE            SIZE  SHA-256\n"
            "m-Q8_0.gguf  1.0 MiB  ab12\n"
            "mmproj.gguf  1.0 KiB  -\n"
            "\n"
            "CONTEXT   MEMORY\n"
            "   4096  1.0 GiB\n"
            "   8192  2.0 GiB\n"
            "  16384  2.0 GiB\n");
  EXPECT_THAT(server_.bodies("POST /api/v1/estimate"),
              ElementsAre(HasSubstr("4096"), HasSubstr("8192"), HasSubstr("16384")));
  EXPECT_EQ(run({"show", "m", "--template"}), kExitOk);
  EXPECT_EQ(out(), "{%- for m in messages %}\n{{ m }}\n");
}

TEST_F(SupplyCommandTest, a_known_model_that_came_by_its_full_name_is_shown_by_its_short_one) {
  const KnownForTests known(KnownForTests::row("small", "org/small", "Q8_0", "1"));
  variables_["XDG_CONFIG_HOME"] = known.home();
  server_.on("GET /api/v1/models/org/small%3AQ8_0", R"({"id":"org/small:Q8_0"})");
  server_.on("GET /api/v1/models/org/small%3AQ8_0?details=true", R"({"id":"org/small:Q8_0","type":"llm"})");
  server_.on("POST /api/v1/estimate", R"({"memory":{}})");
  EXPECT_EQ(run({"show", "small"}), kExitOk) << err();
  EXPECT_THAT(out(), HasSubstr("name          org/small:Q8_0"));
  EXPECT_EQ(run({"show", "smal"}), kExitFailed);
  EXPECT_THAT(err(), HasSubstr("Known models with similar names: 'small'. Search for others with: corral search smal"));
}

TEST_F(SupplyCommandTest, rm_of_a_name_says_that_the_model_stays) {
  server_.on(kDelete, R"({"status":"success","freed_bytes":0,"name_of":"org/tiny:Q8_0","files":[],"kept":[]})");
  EXPECT_EQ(run({"rm", "mine"}), kExitOk);
  EXPECT_EQ(out(),
            "'mine' is a name of 'org/tiny:Q8_0'. Only the name is gone; 'org/tiny:Q8_0' stays. Remove it with: "
            "corral rm org/tiny:Q8_0\n");
}

TEST_F(SupplyCommandTest, rm_by_another_name_says_which_model_is_removed) {
  server_.on(kDelete, R"({"status":"success","model_name":"org/tiny:Q8_0","freed_bytes":1024,"files":["/x"]})");
  EXPECT_EQ(run({"rm", "tiny"}), kExitOk);
  EXPECT_EQ(out(), "org/tiny:Q8_0 is removed; 1.0 KiB are free again\n");
}

TEST_F(SupplyCommandTest, an_alias_of_nothing_is_told) {
  server_.on("POST /internal/aliases", R"({"status":"ok","warning":"no model 'x'"})");
  EXPECT_EQ(run({"alias", "chat", "x"}), kExitOk);
  EXPECT_EQ(err(), "warning: no model 'x'\n");
}

TEST_F(SupplyCommandTest, show_of_one_that_is_not_here_has_what_there_is_to_choose_from) {
  server_.on("GET /api/v1/pull/variants?checkpoint=org/repo",
             R"({"checkpoint":"org/repo","licence":"mit","suggested":"Q8_0","usual":"Q4_K_M","variants":[)"
             R"({"name":"Q4_K_M","size_bytes":1048576,"memory_bytes":2097152,"here":true},)"
             R"({"name":"Q8_0","size_bytes":2097152},{"name":"F16","size_bytes":4194304,"fits":false}]})");
  EXPECT_EQ(run({"show", "org/repo:Q8_0"}), kExitOk);
  EXPECT_EQ(out(),
            "name     org/repo:Q8_0\n"
            "from     org/repo\n"
            "licence  mit\n"
            "state    not downloaded\n"
            "\n"
            "QUANT      SIZE   MEMORY  NOTE\n"
            "Q4_K_M  1.0 MiB  2.0 MiB  downloaded, the default of the name\n"
            "Q8_0    2.0 MiB        -  the largest that fits\n"
            "F16     4.0 MiB        -  too large for this machine\n");
  EXPECT_EQ(run({"show", "nothing"}), kExitFailed);
  EXPECT_THAT(err(), HasSubstr("not scripted"));
}

TEST_F(SupplyCommandTest, aliases_are_listed_set_and_removed) {
  server_.on("GET /internal/aliases", R"({"aliases":[{"alias":"chat","target":"a/b:Q8_0","downloaded":true}]})");
  server_.on("POST /internal/aliases", R"({"status":"ok"})");
  server_.on("DELETE /internal/aliases/a%2Fc", R"({"status":"deleted"})");
  EXPECT_EQ(run({"alias"}), kExitOk);
  EXPECT_EQ(out(), "ALIAS  MODEL     HERE  DEFAULTS\nchat   a/b:Q8_0  yes\n");
  EXPECT_EQ(run({"alias", "chat", "x"}), kExitOk);
  EXPECT_THAT(server_.bodies("POST /internal/aliases"), ElementsAre(R"({"alias":"chat","target":"x"})"));
  EXPECT_EQ(run({"alias", "coder", "x", "--set", "temperature=0.2", "--set", "reasoning_effort=low", "--system",
                 "Be brief."}),
            kExitOk);
  EXPECT_THAT(server_.bodies("POST /internal/aliases").back(),
              HasSubstr(R"("defaults":{"temperature":0.2,"reasoning_effort":"low","system":"Be brief."})"));
  EXPECT_EQ(run({"alias", "coder", "x", "--set", "temperature"}), kExitUsage);
  EXPECT_EQ(run({"alias", "coder", "--system", "x"}), kExitUsage);
  EXPECT_EQ(run({"alias", "a/c", "--remove"}), kExitOk);
  EXPECT_EQ(run({"alias", "a/c", "x", "--remove"}), kExitUsage);
  EXPECT_EQ(run({"alias", "a/c"}), kExitUsage);
}

TEST_F(SupplyCommandTest, a_file_is_imported_by_its_whole_path) {
  server_.on("POST /api/v1/import", R"({"model_name":"x","how":"link","bytes":1048576})");
  EXPECT_EQ(run({"import", "some/../x.gguf", "--name", "x", "--copy"}), kExitOk);
  EXPECT_EQ(out(), "x is imported (1.0 MiB, linked, uses no extra space)\n");
  EXPECT_THAT(
      server_.bodies("POST /api/v1/import"),
      ElementsAre(R"({"path":")" + (fs::current_path() / "x.gguf").native() + R"(","model_name":"x","copy":true})"));
  EXPECT_EQ(run({"import", "ollama", "--copy"}), kExitUsage);
  EXPECT_EQ(run({"import", "x.gguf", "--dir", "/"}), kExitUsage);
}

TEST_F(SupplyCommandTest, folders_of_other_programs_are_added_to_the_setting) {
  server_.on("GET /internal/config", R"({"settings":{"import_folders":{"value":""}}})");
  server_.on("GET /internal/config", R"({"settings":{"import_folders":{"value":"ollama,lmstudio=/x"}}})");
  server_.on("POST /internal/set", R"({"updated":{}})");
  EXPECT_EQ(run({"import", "ollama"}), kExitOk);
  EXPECT_EQ(out(), "the server lists models of ollama in place from now on; see corral list\n");
  EXPECT_EQ(run({"import", "ollama"}), kExitOk);
  EXPECT_EQ(out(), "the server lists models of ollama in place already; see corral list\n");
  EXPECT_EQ(run({"import", "lmstudio", "--dir", "/usr/bin/../share"}), kExitOk);
  EXPECT_THAT(
      server_.bodies("POST /internal/set"),
      ElementsAre(R"({"import_folders":"ollama"})", R"({"import_folders":"ollama,lmstudio=/x lmstudio=/usr/share"})"));
  server_.url = "http://10.0.0.7:8000";
  EXPECT_EQ(run({"import", "lmstudio", "--dir", "/srv/a b"}), kExitUsage);
}

// The answer was that its models are listed.
TEST_F(SupplyCommandTest, a_configuration_of_llama_swap_becomes_models_toml) {
  const auto folder = std::filesystem::path(::testing::TempDir()) / "corral-import-swap";
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  const auto config = (folder / "config.toml").native();
  std::ofstream(config) << "";
  const auto yaml = (folder / "swap.yaml").native();
  std::ofstream(yaml) << "groups: {}\nmodels:\n  m:\n    cmd: server --port ${PORT}\n";
  const auto target = (folder / "models.toml").native();
  EXPECT_EQ(run({"import", "llama-swap", yaml, "--config", config}), kExitOk) << err();
  EXPECT_EQ(out(), target + " has 1 models now; see corral list\n");
  EXPECT_THAT(err(), HasSubstr("warning: groups is left out: "));
  std::ifstream in(target);
  EXPECT_THAT(std::string(std::istreambuf_iterator<char>(in), {}),
              HasSubstr("[models.\"m\"]\n\"cmd\" = \"server --port ${PORT}\"\n"));
  EXPECT_EQ(run({"import", "llama-swap", yaml, "--config", config}), kExitUsage);
  EXPECT_THAT(err(), HasSubstr(target + " exists: repeat the command with --replace to replace it"));
  EXPECT_EQ(run({"import", "llama-swap", yaml, "--replace", "--config", config}), kExitOk) << err();
  EXPECT_EQ(run({"import", "llama-swap", "/nope.yaml", "--config", config}), kExitUsage);
  EXPECT_EQ(run({"import", "llama-swap", folder.native(), "--config", config}), kExitUsage);
  EXPECT_EQ(err(), "corral: '" + folder.native() + "' cannot be read\n");
  EXPECT_EQ(run({"import", "x.gguf", yaml}), kExitUsage);
  std::filesystem::remove_all(folder);
}

TEST_F(SupplyCommandTest, unimport_removes_folders_of_a_program) {
  server_.on("GET /internal/config", R"({"settings":{"import_folders":{"value":"ollama,lmstudio=/x lmstudio=/y"}}})");
  server_.on("POST /internal/set", R"({"status":"success"})");
  EXPECT_EQ(run({"unimport", "ollama"}), kExitOk);
  EXPECT_EQ(out(), "the server no longer lists models of ollama; their files stay\n");
  EXPECT_EQ(run({"unimport", "lmstudio", "--dir", "/x/../y"}), kExitOk);
  EXPECT_EQ(run({"unimport", "lmstudio", "--json"}), kExitOk);
  EXPECT_EQ(out(), "{\"status\":\"success\"}\n");
  EXPECT_THAT(server_.bodies("POST /internal/set"),
              ElementsAre(R"({"import_folders":"lmstudio=/x lmstudio=/y"})",
                          R"({"import_folders":"ollama lmstudio=/x"})", R"({"import_folders":"ollama"})"));
  EXPECT_EQ(run({"unimport", "lmstudio", "--dir", "/z"}), kExitUsage);
  EXPECT_EQ(run({"unimport", "my-model"}), kExitUsage);
  EXPECT_THAT(err(), HasSubstr("corral rm my-model"));
}

TEST_F(SupplyCommandTest, a_folder_that_is_not_there_is_not_imported) {
  server_.on("GET /internal/config", R"({"settings":{"import_folders":{"value":""}}})");
  server_.on("POST /internal/set", R"({"updated":{}})");
  EXPECT_EQ(run({"import", "ollama", "--dir", "/nope"}), kExitUsage);
  EXPECT_EQ(err(), "corral: --dir: '/nope' is not a folder; name the folder with the models of ollama\n");
  EXPECT_TRUE(server_.requests.empty());
  // Another machine may have it.
  server_.url = "http://10.0.0.7:8000";
  EXPECT_EQ(run({"import", "ollama", "--dir", "/nope"}), kExitOk);
  EXPECT_THAT(server_.bodies("POST /internal/set"), ElementsAre(R"({"import_folders":"ollama=/nope"})"));
}

constexpr const char* kNeedsAKey = R"({"error":{"message":"only with a key","code":"admin_key_needed"}})";

std::string folders_setting(const fs::path& file, const std::string& value, const std::string& source) {
  return R"({"file":")" + file.native() + R"(","settings":{"import_folders":{"value":")" + value +
         R"(","where":"the origin","source":")" + source + R"("}}})";
}

TEST_F(SupplyCommandTest, without_a_key_the_owner_of_the_server_sets_folders_in_its_file) {
  const KnownForTests home("");
  variables_["XDG_CONFIG_HOME"] = home.home();
  const auto file = fs::path(home.home()) / "corral/config.toml";
  server_.on("GET /internal/config", folders_setting(file, "", "default"));
  server_.on("GET /internal/config", folders_setting(file, "ollama", "file"));
  server_.on("POST /internal/set", Scripted{.status = 403, .body = kNeedsAKey});
  EXPECT_EQ(run({"import", "ollama"}), kExitOk) << err();
  EXPECT_EQ(out(), "the server lists models of ollama in place from now on; see corral list\n");
  std::ifstream in(file);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(in), {}), "import_folders = \"ollama\"\n");
}

TEST_F(SupplyCommandTest, a_file_that_only_the_server_names_is_never_written) {
  const KnownForTests home("");
  variables_["XDG_CONFIG_HOME"] = home.home();
  const auto other = fs::path(home.home()) / "other.toml", own = fs::path(home.home()) / "corral/config.toml";
  server_.on("POST /internal/set", Scripted{.status = 403, .body = kNeedsAKey});
  const auto refused = [&](const std::string& settings) {
    server_.answers.erase("GET /internal/config");
    server_.on("GET /internal/config", settings);
    EXPECT_EQ(run({"import", "lmstudio"}), kExitFailed);
    EXPECT_THAT(err(), HasSubstr("needs a key with the scope admin"));
    EXPECT_THAT(err(), HasSubstr("start the server with: corral serve --import "));
    EXPECT_FALSE(fs::exists(other) || fs::exists(own));
  };
  refused(folders_setting(other, "", "default"));
  refused(folders_setting(own, "ollama", "environment"));
  refused(folders_setting(own, "ollama=/of/another/user", "file"));  // the file has no such value
  for (const char* url : {"http://10.0.0.7:8000", "http://127.0.0.1.example.com:8000"}) {
    server_.url = url;
    refused(folders_setting(own, "", "default"));
  }
}

TEST_F(SupplyCommandTest, show_of_an_address_with_a_port_asks_for_the_whole_address) {
  server_.on("POST /api/v1/pull", R"({"model_name":"http://127.0.0.1:81/x/y.gguf","bytes_total":1048576,)"
                                  R"("files":[{"path":"y.gguf","size":1048576}],"memory":{"bytes":2097152}})");
  EXPECT_EQ(run({"show", "http://127.0.0.1:81/x/y.gguf"}), kExitOk) << err();
  EXPECT_EQ(out(),
            "name    http://127.0.0.1:81/x/y.gguf\n"
            "size    1.0 MiB\n"
            "memory  about 2.0 MiB\n"
            "state   not downloaded\n");
  EXPECT_THAT(server_.bodies("POST /api/v1/pull"),
              ElementsAre(R"({"model_name":"http://127.0.0.1:81/x/y.gguf","dry_run":true})"));
}

}  // namespace
}  // namespace corral::cli
