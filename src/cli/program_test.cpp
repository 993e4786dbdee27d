#include "cli/program.h"

#include <iterator>
#include <sstream>

#include <CLI/App.hpp>
#include <gmock/gmock.h>

#include "cli/docs.h"
#include "cli/fakes_for_tests.h"

namespace corral::cli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kEmptyHealth = R"({"version":"0.1.0","all_models_loaded":[],"loading":null,"load_queue":[]})";

TEST_F(ProgramTest, WithoutACommandItPrintsTheHelp) {
  surroundings_.terminal.width = 100;
  EXPECT_EQ(run({}), kExitOk);
  EXPECT_EQ(out(), help_text(""));
  EXPECT_THAT(out(), HasSubstr("Usage: corral [OPTIONS] [SUBCOMMAND]"));
}

TEST_F(ProgramTest, EveryCommandHasTheHelpOfThePage) {
  surroundings_.terminal.width = 100;
  for (const std::string& command : command_names()) {
    std::istringstream name(command);
    std::vector<std::string> words{std::istream_iterator<std::string>(name), {}};
    words.emplace_back("--help");
    EXPECT_EQ(run(words), kExitOk);
    EXPECT_EQ(out(), help_text(command));
    EXPECT_THAT(out(), HasSubstr("Usage: corral " + command));
    EXPECT_THAT(out(), Not(HasSubstr("{false}")));
    EXPECT_EQ(err(), "");
  }
}

// CLI11 2.4 ends the program at such a name: KEY=VALUE was one.
TEST(CommandLine, NamesOfPositionalsAreValidInAllVersionsOfTheParser) {
  const auto check = [](const auto& self, const CLI::App& command) -> void {
    for (const CLI::Option* option : command.get_options()) {
      if (!option->get_positional()) continue;
      const auto name = option->get_name(true);
      EXPECT_FALSE(name.empty() || name.front() == '-' || name.front() == '!') << name;
      EXPECT_EQ(name.find_first_of("=:{ "), name.npos) << name;
    }
    for (const CLI::App* sub : command.get_subcommands(nullptr)) self(self, *sub);
  };
  with_command_line([&check](const CLI::App& app) { check(check, app); });
}

// The page lacked the flags of sub-commands.
TEST(CliPage, DescendsIntoSubCommands) {
  const auto page = cli_page();
  for (const char* part : {"\n## corral key create\n", "--max-in-flight N", "\n## corral mesh token list\n",
                           "Usage: corral mesh token withdraw [OPTIONS] ID\n", "\n## corral config set\n"})
    EXPECT_THAT(page, HasSubstr(part));
}

TEST_F(ProgramTest, HelpLinesFitAHundredColumns) {
  for (const std::string& command : command_names()) {
    std::istringstream lines(help_text(command));
    for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 100u) << line;
  }
}

TEST_F(ProgramTest, TheHelpOfUnload) {
  EXPECT_EQ(help_text("unload"), R"(Unload a model, or all models

Usage: corral unload [OPTIONS] [MODEL]

Positionals:
  MODEL                       Name of the model; without it, all are unloaded

Options:
  -h, --help                  Print this help message and exit
  --json                      Print JSON, for scripts

Server:
  --url URL                   Address of the server, instead of host and port
  --host ADDRESS              Host of the server [127.0.0.1]
  --port N                    Port of the server [8000]
  --api-key KEY               API key; CORRAL_API_KEY is safer, because other users cannot read it
  --config FILE               Read host, port and key from FILE
)");
}

TEST_F(ProgramTest, ServeGetsTheSettings) {
  variables_["CORRAL_LOG_LEVEL"] = "debug";
  EXPECT_EQ(run({"serve", "--port", "9001", "--models-dir", "/a", "--models-dir", "/b"}), 0);
  ASSERT_TRUE(served_);
  EXPECT_EQ(served_->port, 9001);
  EXPECT_EQ(served_->models_dir.size(), 2u);
  EXPECT_EQ(served_->log_level, log::Level::debug);
}

TEST_F(ProgramTest, ServeTakesFlagsOfLlamaServer) {
  EXPECT_EQ(run({"serve", "-m", "/x/a.gguf", "-c", "512", "-ngl", "3", "--temp", "0", "--jinja", "-ub", "64"}), 0);
  ASSERT_TRUE(served_);
  EXPECT_EQ(served_->model_file, "/x/a.gguf");
  EXPECT_EQ(served_->ctx_size, 512);
  EXPECT_EQ(served_->llamacpp_args, "-ngl \"3\"");
  EXPECT_EQ(served_->request_defaults, R"({"temperature":0})");
  EXPECT_THAT(err(), HasSubstr("without effect here: --jinja, -ub\n"));
}

TEST_F(ProgramTest, ServeReturnsTheExitCodeOfTheServer) {
  hooks_.serve = [](config::LiveSettings&) { return 7; };
  EXPECT_EQ(run({"serve"}), 7);
}

TEST_F(ProgramTest, AWrongSettingStopsServe) {
  EXPECT_EQ(run({"serve", "--port", "x"}), kExitUsage);
  EXPECT_EQ(err(), "corral: --port: 'x' is not a whole number from 0 to 65535\n");
  EXPECT_FALSE(served_);
  EXPECT_EQ(run({"serve", "--host", "0.0.0.0"}), kExitUsage);
  EXPECT_THAT(err(), HasSubstr("--allow-open"));
}

TEST_F(ProgramTest, TheServerIsFoundByFlagVariableOrDefault) {
  server_.on("GET /api/v1/health", kEmptyHealth);
  run({"status"});
  EXPECT_EQ(server_.address->url(), "http://127.0.0.1:8000");
  variables_["CORRAL_HOST"] = "other";
  variables_["CORRAL_PORT"] = "9000";
  variables_["CORRAL_API_KEY"] = "k";
  run({"status"});
  EXPECT_EQ(server_.address->url(), "http://other:9000");
  EXPECT_EQ(server_.address->api_key, "k");
  variables_["CORRAL_URL"] = "http://[::1]:9002/v1";
  run({"status"});
  EXPECT_EQ(server_.address->url(), "http://[::1]:9002");
  EXPECT_EQ(server_.address->api_key, "k");
  run({"status", "--port", "1234"});
  EXPECT_EQ(server_.address->url(), "http://other:1234");
  run({"status", "--url", "http://x/"});
  EXPECT_EQ(server_.address->url(), "http://x:80");
  EXPECT_EQ(run({"status", "--url", "https://x/"}), kExitUsage);
  EXPECT_EQ(run({"status", "--port", "70000"}), kExitUsage);
}

TEST_F(ProgramTest, NobodyAnswering) {
  const Error error{errc::no_server,
                    "no corral server responds at http://127.0.0.1:8000; start one with: corral serve"};
  for (const char* what :
       {"GET /api/v1/models?rescan=true", "GET /api/v1/health", "POST /api/v1/load", "POST /api/v1/unload"}) {
    server_.on(what, Scripted{.error = error});
  }
  const std::vector<std::vector<std::string>> commands = {{"list"},      {"ps"},     {"status"},
                                                          {"load", "m"}, {"unload"}, {"run", "m", "p"}};
  for (const auto& command : commands) {
    EXPECT_EQ(run(command), kExitNoServer) << command.front();
    EXPECT_THAT(err(), HasSubstr("start one with: corral serve\n"));
    EXPECT_EQ(out(), "");
  }
}

TEST_F(ProgramTest, CtrlCEndsWithItsOwnCode) {
  server_.on("GET /api/v1/models?rescan=true", Scripted{.error = Error{errc::interrupted, "interrupted"}});
  EXPECT_EQ(run({"list"}), kExitInterrupted);
  EXPECT_EQ(err(), "\n");
}

TEST_F(ProgramTest, ARefusalIsPrintedInTheServersWords) {
  server_.on("GET /api/v1/models?rescan=true",
             Scripted{.status = 401, .body = R"({"error":{"message":"a key is needed"}})"});
  EXPECT_EQ(run({"list"}), kExitFailed);
  EXPECT_EQ(err(), "corral: a key is needed\n");
  server_.answers.clear();
  server_.on("GET /api/v1/models?rescan=true", Scripted{.status = 502, .body = "<html>"});
  EXPECT_EQ(run({"list"}), kExitFailed);
  EXPECT_THAT(err(), HasSubstr("status 502"));
  // A script reads what the command prints.
  EXPECT_EQ(run({"list", "--json"}), kExitFailed);
  EXPECT_THAT(out(), AllOf(HasSubstr(R"({"error":{"message":")"), HasSubstr("status 502"), HasSubstr(R"("code":")")));
  EXPECT_EQ(err(), "");
  EXPECT_EQ(run({"list", "--json", "a", "b"}), kExitUsage);
  EXPECT_THAT(out(), HasSubstr(R"("message":"unexpected: b)"));
}

TEST_F(ProgramTest, SomethingElseOnThePort) {
  server_.on("GET /api/v1/models?rescan=true", "<html>hello</html>");
  server_.on("GET /api/v1/health", "[]");
  EXPECT_EQ(run({"list"}), kExitFailed);
  EXPECT_THAT(err(), HasSubstr("not JSON"));
  EXPECT_EQ(run({"ps"}), kExitOk);
}

TEST_F(ProgramTest, ListShowsWhatIsKnown) {
  server_.on("GET /api/v1/models?rescan=true", R"({"data":[
    {"id":"tiny-llama","type":"llm","recipe":"llamacpp","size":0.00075,"size_bytes":750000,"context_length":2048,"quantization":"F16","status":{"value":"loaded"}},
    {"id":"org/repo:Q4_K_M","type":"llm","size":4.1,"context_length":32768,"max_context_length":131072,"status":{"value":"unloaded"}},
    {"id":"odd"}]})");
  EXPECT_EQ(run({"list"}), kExitOk);
  EXPECT_EQ(out(),
            "NAME             TYPE  RECIPE       SIZE       CONTEXT  QUANT   STATE\n"
            "tiny-llama       llm   llamacpp  732 KiB          2048  F16     loaded\n"
            "org/repo:Q4_K_M  llm   -         3.8 GiB  32768/131072  Q4_K_M  unloaded\n"
            "odd              -     -               -             -  -       -\n");
  EXPECT_EQ(run({"list", "Repo"}), kExitOk);
  EXPECT_THAT(out(), AllOf(HasSubstr("org/repo:Q4_K_M"), Not(HasSubstr("tiny-llama"))));
  EXPECT_EQ(run({"list", "nope"}), kExitOk);
  EXPECT_EQ(out(), "");
  EXPECT_EQ(err(), "No model's name contains 'nope'.\n");
}

TEST_F(ProgramTest, ListFiltersJsonToo) {
  server_.on("GET /api/v1/models?rescan=true",
             R"({"object":"list","data":[{"id":"tiny-llama"},{"id":"org/Repo:Q4","size_bytes":7}]})");
  EXPECT_EQ(run({"list", "repo", "--json"}), kExitOk);
  EXPECT_EQ(out(), "{\"object\":\"list\",\"data\":[{\"id\":\"org/Repo:Q4\",\"size_bytes\":7}]}\n");
  EXPECT_EQ(run({"list", "nope", "--json"}), kExitOk);
  EXPECT_EQ(out(), "{\"object\":\"list\",\"data\":[]}\n");
}

// The name was cut, which is what the next command needs.
TEST_F(ProgramTest, ListFitsTheTerminalAndNotAPipe) {
  const std::string name(60, 'n');
  server_.on("GET /api/v1/models?rescan=true", R"({"data":[{"id":")" + name + R"(","type":"llm"}]})");
  surroundings_.terminal.width = 50;
  run({"list"});
  EXPECT_THAT(out(), AllOf(HasSubstr("\n" + name + "\n"), Not(HasSubstr("RECIPE"))));
  EXPECT_EQ(err(), "Not shown: RECIPE, QUANT, CONTEXT, TYPE, SIZE (--wide shows all)\n");
  run({"list", "--wide"});
  const std::string whole = out();
  EXPECT_THAT(whole, HasSubstr(name + "  llm   -"));
  EXPECT_EQ(err(), "");
  run({"list", "--columns", "type,name"});
  EXPECT_EQ(out(), "TYPE  NAME\nllm   " + name + "\n");
  pipe_everything();
  run({"list"});
  EXPECT_EQ(out(), whole);
}

TEST_F(ProgramTest, ListOfNothingSaysHowToGetSomething) {
  server_.on("GET /api/v1/models?rescan=true", R"({"data":[]})");
  EXPECT_EQ(run({"list"}), kExitOk);
  EXPECT_EQ(out(), "");
  EXPECT_THAT(err(), HasSubstr("--models-dir"));
}

TEST_F(ProgramTest, JsonIsWhatTheServerSaid) {
  server_.on("GET /api/v1/models?rescan=true", "{\"data\":[]}\n");
  server_.on("GET /api/v1/health", kEmptyHealth);
  server_.on("POST /api/v1/unload", R"({"status":"success"})");
  EXPECT_EQ(run({"list", "--json"}), kExitOk);
  EXPECT_EQ(out(), "{\"data\":[]}\n");
  for (const char* command : {"ps", "status"}) {
    EXPECT_EQ(run({command, "--json"}), kExitOk);
    EXPECT_EQ(out(), std::string(kEmptyHealth) + "\n");
  }
  EXPECT_EQ(run({"unload", "--json"}), kExitOk);
  EXPECT_EQ(out(), "{\"status\":\"success\"}\n");
}

TEST_F(ProgramTest, PsShowsLoadedLoadingAndQueued) {
  surroundings_.terminal.width = 120;
  const auto last_use = std::to_string(epoch_millis(clock_.wall_now()) - 90'000);
  server_.on("GET /api/v1/health", R"({"all_models_loaded":[
    {"model_name":"a","type":"llm","status":"in_use","device":"cpu","memory_bytes":1610612736,"max_context_window":4096,
     "active_requests":2,"last_use":1,"pinned":true},
    {"model_name":"e","type":"embedding","status":"ready","device":"cpu","last_use":)" +
                                       last_use + R"(},
    {"model_name":"f","type":"llm","status":"draining","leaving":"room","device":"cpu","active_requests":1,"last_use":1}],
    "stopping":[{"model_name":"g","type":"llm","status":"evicting","leaving":"room","device":"cpu","active_requests":0}],
    "loading":{"model":"b","type":"llm","progress":0.42},
    "load_queue":[{"model":"c","type":"llm","position":1,"waiting_ms":2500,"waiters":3,"waiting_for":["a"]}]})");
  EXPECT_EQ(run({"ps"}), kExitOk);
  EXPECT_EQ(out(),
            "NAME  TYPE       STATUS                 DEVICE   MEMORY  CONTEXT  REQUESTS  IDLE  PINNED\n"
            "a     llm        in_use                 cpu     1.5 GiB     4096         2     -  yes\n"
            "e     embedding  ready                  cpu           -        -         0  90 s\n"
            "f     llm        draining (room)        cpu           -        -         1     -\n"
            "g     llm        evicting (room)        cpu           -        -         0     -\n"
            "b     llm        loading 42 %\n"
            "c     llm        queued 1, 2.5 s for a                                   3\n");
}

// Of a model on a GPU the process's own memory is the smaller part. What it was foretold to take there isn't shown of
// one that came to be on the CPU.
TEST_F(ProgramTest, PsShowsMemoryOfGpus) {
  surroundings_.terminal.width = 120;
  constexpr auto kMemory = R"("memory_bytes":1019215872,"memory":{"devices":[{"device":"cpu","total":620493440},
    {"device":"cuda0","total":8129597568}]})";
  server_.on("GET /api/v1/health", fmt::format(R"({{"all_models_loaded":[
    {{"model_name":"a","type":"llm","status":"ready","device":"gpu",{0}}},
    {{"model_name":"b","type":"llm","status":"ready","device":"cpu",{0}}}],
    "loading":{{"model":"c","type":"llm","progress":0.42}},
    "load_queue":[{{"model":"d","type":"llm","position":1,"waiting_ms":2500,"waiters":3}}]}})",
                                               kMemory));
  EXPECT_EQ(run({"ps"}), kExitOk);
  EXPECT_EQ(out(),
            "NAME  TYPE  STATUS           DEVICE   MEMORY      GPU  CONTEXT  REQUESTS  IDLE  PINNED\n"
            "a     llm   ready            gpu     972 MiB  7.6 GiB        -         0     -\n"
            "b     llm   ready            cpu     972 MiB                 -         0     -\n"
            "c     llm   loading 42 %\n"
            "d     llm   queued 1, 2.5 s                                            3\n");
}

TEST_F(ProgramTest, PsShowsPartsOfOtherNodesModels) {
  surroundings_.terminal.width = 120;
  server_.on("GET /api/v1/health", R"({"all_models_loaded":[],"loading":null,"load_queue":[],"shares":[
    {"model":"big","host":"laptop","status":"draining","leaving":"recall","device":"cpu","booked_bytes":1610612736}]})");
  EXPECT_EQ(run({"ps"}), kExitOk);
  EXPECT_EQ(out(),
            "NAME  TYPE   STATUS               DEVICE   MEMORY  CONTEXT  REQUESTS  IDLE  PINNED\n"
            "big   share  for laptop (recall)  cpu     1.5 GiB\n");
}

TEST_F(ProgramTest, PsWatchShowsEverySnapshot) {
  Scripted stream;
  stream.events = {{"snapshot", R"({"all_models_loaded":[{"model_name":"a","type":"llm","status":"ready"}]})"},
                   {"snapshot", R"({"all_models_loaded":[{"model_name":"b","type":"llm","status":"in_use"}]})"},
                   {"other", "{}"}};
  server_.on("GET /api/v1/events?view=snapshots", stream);
  EXPECT_EQ(run({"ps", "--watch"}), kExitOk);
  EXPECT_THAT(out(), ::testing::StartsWith("\x1b[H\x1b[JNAME  TYPE  STATUS"));
  EXPECT_THAT(out(), HasSubstr("\na     llm   ready"));
  EXPECT_THAT(out(), HasSubstr("\x1b[H\x1b[JNAME  TYPE  STATUS"));
  EXPECT_THAT(out(), HasSubstr("\nb     llm   in_use"));
  pipe_everything();
  EXPECT_EQ(run({"ps", "--watch", "--json"}), kExitOk);
  EXPECT_EQ(out(), stream.events[0].data + "\n" + stream.events[1].data + "\n");
}

TEST_F(ProgramTest, EventsAsLinesForPeopleAndPrograms) {
  Scripted stream;
  stream.events = {
      {"snapshot", R"({"time":1000,"all_models_loaded":[{"model_name":"a","status":"ready"}],"loading":null,
                       "load_queue":[{"model":"q","position":1,"waiting_for":["a"]}]})"},
      {"server", R"({"time":2000,"model":"b","from":"queued","status":"loading"})"},
      {"load", R"({"time":2001,"model":"b","stage":"started","progress":0})"},
      {"load", R"({"time":2010,"model":"b","stage":"progress","progress":0.4})"},
      {"load", R"({"time":3000,"model":"b","stage":"finished","load_duration_ms":1000})"},
      {"server", R"({"time":3000,"model":"b","from":"loading","status":"in_use","active_requests":1})"},
      {"load", R"({"time":4000,"model":"c","stage":"failed","cause":"no\u001b[2Jsuch file"})"},
      {"load", R"({"time":4000,"model":"d","stage":"aborted","reason":"cancelled"})"},
      {"server", R"({"time":5000,"model":"a","from":"ready","status":"evicting","reason":"room"})"},
      {"queue", R"({"time":5000,"load_queue":[]})"},
      {"pin", R"({"time":6000,"model":"b","pinned":true})"},
      {"settings", R"({"time":7000,"max_models":{"llm":2}})"},
      {"shutdown", R"({"time":8000})"}};
  server_.on("GET /api/v1/events", stream);
  EXPECT_EQ(run({"events"}), kExitOk);
  std::istringstream lines(out());
  std::vector<std::string> words;
  for (std::string line; std::getline(lines, line);) {
    ASSERT_GT(line.size(), 14u);
    EXPECT_EQ(line.substr(5, 3).front(), ':');  // hh:mm:ss.mmm in local time
    words.push_back(line.substr(14));
  }
  EXPECT_THAT(
      words, ::testing::ElementsAre("in memory: a (ready); load queue: q (for a)", "b: load started", "b: loading 40 %",
                                    "b: loaded in 1.0 s", "b: in_use, 1 request", "c: load failed: no[2Jsuch file",
                                    "d: load aborted (cancelled)", "a: evicting (room)", "the load queue is empty",
                                    "b: pinned", "limits: llm 2", "the server shuts down"));
  EXPECT_EQ(run({"events", "--json"}), kExitOk);
  EXPECT_THAT(out(), HasSubstr("{\"event\":\"shutdown\",\"data\":{\"time\":8000}}\n"));
}

TEST_F(ProgramTest, StatsOfTheLastRequestAndOfAll) {
  server_.on("GET /api/v1/stats", R"({"request_count_total":0})");
  EXPECT_EQ(run({"stats"}), kExitOk);
  EXPECT_EQ(out(), "");
  EXPECT_THAT(err(), HasSubstr("No request"));
  server_.answers.clear();
  server_.on("GET /api/v1/stats",
             R"({"input_tokens":60,"output_tokens":10,"time_to_first_token":0.25,"tokens_per_second":80.04,
    "prompt_tokens":100,"cache_tokens":40,"model_name":"a","request_count_total":3,"prompt_tokens_total":120,
    "cache_tokens_total":44,"output_tokens_total":15})");
  EXPECT_EQ(run({"stats"}), kExitOk);
  EXPECT_EQ(out(),
            "last request  a: 100 tokens in (40 cached), 10 out, first after 250 ms, 80.0 tokens/s\n"
            "all 3 requests  120 tokens in (44 cached), 15 out\n");
}

TEST_F(ProgramTest, PinAndUnpin) {
  server_.on("POST /internal/pin", R"({"status":"success"})");
  EXPECT_EQ(run({"pin", "a"}), kExitOk);
  EXPECT_EQ(out(), "a is pinned\n");
  EXPECT_EQ(run({"unpin", "a"}), kExitOk);
  EXPECT_EQ(out(), "a is unpinned\n");
  EXPECT_THAT(server_.bodies("POST /internal/pin"),
              ::testing::ElementsAre(R"({"model_name":"a","pinned":true})", R"({"model_name":"a","pinned":false})"));
  EXPECT_EQ(run({"pin"}), kExitUsage);
  server_.answers.clear();
  server_.on("POST /internal/pin",
             Scripted{.status = 409, .body = R"({"error":{"message":"'a' is not loaded","code":"model_not_loaded"}})"});
  EXPECT_EQ(run({"pin", "a"}), kExitFailed);
  EXPECT_EQ(err(), "corral: 'a' is not loaded; load it with: corral load a --pinned\n");
  EXPECT_EQ(run({"unpin", "a"}), kExitFailed);
  EXPECT_EQ(err(), "corral: 'a' is not loaded\n");
}

TEST_F(ProgramTest, PsOfAnEmptyHouse) {
  server_.on("GET /api/v1/health", kEmptyHealth);
  EXPECT_EQ(run({"ps"}), kExitOk);
  EXPECT_EQ(out(), "");
  EXPECT_THAT(err(), HasSubstr("No model is in memory"));
}

TEST_F(ProgramTest, StatusSumsUp) {
  server_.on("GET /api/v1/health", R"({"version":"0.2.0","all_models_loaded":[{"model_name":"a","type":"llm"},
    {"model_name":"e","type":"embedding"}],"max_models":{"llm":2,"embedding":-1},
    "loading":{"model":"b","progress":0.5},"load_queue":[{"model":"c"}]})");
  EXPECT_EQ(run({"status"}), kExitOk);
  EXPECT_EQ(out(),
            "corral 0.2.0 responds at http://127.0.0.1:8000\n"
            "in memory  2 (embedding 1, llm 1/2)\n"
            "loading    b 50 %\n"
            "waiting    1 loads\n");
}

TEST_F(ProgramTest, StatusNamesFilesThatGiveNoModel) {
  server_.on("GET /api/v1/health", R"({"version":"0.2.0","all_models_loaded":[],"models_known":1,
    "model_problem_count":22,"model_problems":[{"path":"/m","message":"'/m' cannot be read: run chmod o+x /m"},
    {"path":"/x.gguf","message":"'/x.gguf' is not a GGUF file"}]})");
  EXPECT_EQ(run({"status"}), kExitOk);
  EXPECT_EQ(err(),
            "warning: '/m' cannot be read: run chmod o+x /m\n"
            "warning: '/x.gguf' is not a GGUF file\n"
            "warning: 20 more files or folders give no model\n");
}

TEST_F(ProgramTest, UnloadOneOrAll) {
  server_.on("POST /api/v1/unload", R"({"status":"success","unloaded":["a"],"draining":["b"]})");
  EXPECT_EQ(run({"unload", "a"}), kExitOk);
  EXPECT_EQ(out(), "a is unloaded\n");
  EXPECT_EQ(run({"unload"}), kExitOk);
  EXPECT_EQ(out(), "a is unloaded\nb finishes its running requests first\n");
  EXPECT_THAT(server_.bodies("POST /api/v1/unload"), ::testing::ElementsAre(R"({"model_name":"a"})", "{}"));
}

TEST_F(ProgramTest, VersionWithAndWithoutAServer) {
  EXPECT_EQ(run({"version"}), kExitOk);
  EXPECT_EQ(out(), "corral 0.1.0\nllama.cpp 0.5.0\n");
  server_.on("GET /api/v1/health", R"({"version":"0.0.9"})");
  run({"version"});
  EXPECT_THAT(out(), HasSubstr("server 0.0.9 at http://127.0.0.1:8000\n"));
  run({"version", "--json"});
  EXPECT_EQ(out(), "{\"version\":\"0.1.0\",\"llama.cpp\":\"0.5.0\",\"server\":\"0.0.9\"}\n");
  for (const char* flag : {"--version", "-v", "-V"}) {
    EXPECT_EQ(run({flag}), kExitOk);
    EXPECT_EQ(out(), "corral 0.1.0\n");
  }
}

TEST_F(ProgramTest, ColoursOnlyWhereWanted) {
  server_.on("GET /api/v1/models?rescan=true", R"({"data":[{"id":"a"}]})");
  run({"list"});
  EXPECT_THAT(out(), Not(HasSubstr("\x1b[")));
  surroundings_.terminal.colour = true;
  run({"list"});
  EXPECT_THAT(out(), HasSubstr("\x1b[1mNAME"));
}

}  // namespace
}  // namespace corral::cli
