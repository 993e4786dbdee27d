#include "cli/program.h"

#include <gmock/gmock.h>

#include "cli/fakes_for_tests.h"

namespace corral::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kEmptyHealth = R"({"version":"0.1.0","all_models_loaded":[],"loading":null,"load_queue":[]})";

TEST_F(ProgramTest, WithoutACommandItPrintsTheHelp) {
  EXPECT_EQ(run({}), kExitOk);
  EXPECT_EQ(out(), help_text(""));
  EXPECT_THAT(out(), HasSubstr("Usage: corral [OPTIONS] [SUBCOMMAND]"));
}

TEST_F(ProgramTest, EveryCommandHasTheHelpOfThePage) {
  for (const std::string& command : command_names()) {
    EXPECT_EQ(run({command, "--help"}), kExitOk);
    EXPECT_EQ(out(), help_text(command));
    EXPECT_THAT(out(), HasSubstr("Usage: corral " + command));
    EXPECT_THAT(out(), Not(HasSubstr("{false}")));
    EXPECT_EQ(err(), "");
  }
}

TEST_F(ProgramTest, HelpLinesFitAHundredColumns) {
  for (const std::string& command : command_names()) {
    std::istringstream lines(help_text(command));
    for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 100u) << line;
  }
}

TEST_F(ProgramTest, TheHelpOfUnload) {
  EXPECT_EQ(help_text("unload"), R"(Take a model, or all of them, out of memory

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
  --api-key KEY               Key to send; better in CORRAL_API_KEY, where other users can't read it
  --config FILE               Read host, port and key from FILE
)");
}

TEST_F(ProgramTest, AWrongCommandLineIsAUsageError) {
  const std::vector<std::vector<std::string>> wrong = {
      {"lost"}, {"list", "--nope"}, {"load"}, {"load", "m", "--ctx-size", "big"}, {"serve", "--port"}};
  for (const auto& arguments : wrong) {
    EXPECT_EQ(run(arguments), kExitUsage) << arguments.front();
    EXPECT_THAT(err(), ::testing::StartsWith("corral: "));
    EXPECT_EQ(out(), "");
  }
}

TEST_F(ProgramTest, ServeGetsTheSettings) {
  variables_["CORRAL_LOG_LEVEL"] = "debug";
  EXPECT_EQ(run({"serve", "--port", "9001", "--models-dir", "/a", "--models-dir", "/b"}), 0);
  ASSERT_TRUE(served_);
  EXPECT_EQ(served_->port, 9001);
  EXPECT_EQ(served_->models_dir.size(), 2u);
  EXPECT_EQ(served_->log_level, log::Level::debug);
}

TEST_F(ProgramTest, ServeReturnsTheExitCodeOfTheServer) {
  hooks_.serve = [](const config::ServeSettings&) { return 7; };
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
  const Error error{errc::no_server, "no corral server answers at http://127.0.0.1:8000; start one with: corral serve"};
  for (const char* what : {"GET /api/v1/models", "GET /api/v1/health", "POST /api/v1/load", "POST /api/v1/unload"}) {
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
  server_.on("GET /api/v1/models", Scripted{.error = Error{errc::interrupted, "interrupted"}});
  EXPECT_EQ(run({"list"}), kExitInterrupted);
  EXPECT_EQ(err(), "\n");
}

TEST_F(ProgramTest, ARefusalIsPrintedInTheServersWords) {
  server_.on("GET /api/v1/models", Scripted{.status = 401, .body = R"({"error":{"message":"a key is needed"}})"});
  EXPECT_EQ(run({"list"}), kExitFailed);
  EXPECT_EQ(err(), "corral: a key is needed\n");
  server_.answers.clear();
  server_.on("GET /api/v1/models", Scripted{.status = 502, .body = "<html>"});
  EXPECT_EQ(run({"list", "--json"}), kExitFailed);
  EXPECT_THAT(err(), HasSubstr("status 502"));
}

TEST_F(ProgramTest, SomethingElseOnThePort) {
  server_.on("GET /api/v1/models", "<html>hello</html>");
  server_.on("GET /api/v1/health", "[]");
  EXPECT_EQ(run({"list"}), kExitFailed);
  EXPECT_THAT(err(), HasSubstr("not JSON"));
  EXPECT_EQ(run({"ps"}), kExitOk);
}

TEST_F(ProgramTest, ListShowsWhatIsKnown) {
  server_.on("GET /api/v1/models", R"({"data":[
    {"id":"tiny-llama","type":"llm","size":0.00075,"size_bytes":750000,"context_length":2048,"quantization":"F16","status":{"value":"loaded"}},
    {"id":"org/repo:Q4_K_M","type":"llm","size":4.1,"context_length":131072,"status":{"value":"unloaded"}},
    {"id":"odd"}]})");
  EXPECT_EQ(run({"list"}), kExitOk);
  EXPECT_EQ(out(),
            "NAME             TYPE     SIZE  CONTEXT  QUANT   STATE\n"
            "tiny-llama       llm   732 KiB     2048  F16     loaded\n"
            "org/repo:Q4_K_M  llm   3.8 GiB   131072  Q4_K_M  unloaded\n"
            "odd              -           -        -  -       -\n");
  EXPECT_EQ(run({"list", "repo"}), kExitOk);
  EXPECT_THAT(out(), Not(HasSubstr("tiny-llama")));
}

TEST_F(ProgramTest, ListFitsTheTerminalAndNotAPipe) {
  const std::string name(60, 'n');
  server_.on("GET /api/v1/models", R"({"data":[{"id":")" + name + R"(","type":"llm"}]})");
  surroundings_.terminal.width = 50;
  run({"list"});
  EXPECT_THAT(out(), HasSubstr("n…  llm"));
  EXPECT_THAT(out(), Not(HasSubstr(name)));
  pipe_everything();
  run({"list"});
  EXPECT_THAT(out(), HasSubstr(name));
}

TEST_F(ProgramTest, ListOfNothingSaysHowToGetSomething) {
  server_.on("GET /api/v1/models", R"({"data":[]})");
  EXPECT_EQ(run({"list"}), kExitOk);
  EXPECT_EQ(out(), "");
  EXPECT_THAT(err(), HasSubstr("--models-dir"));
}

TEST_F(ProgramTest, JsonIsWhatTheServerSaid) {
  server_.on("GET /api/v1/models", "{\"data\":[]}\n");
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
  const auto last_use = std::to_string(epoch_millis(clock_.wall_now()) - 90'000);
  server_.on("GET /api/v1/health", R"({"all_models_loaded":[
    {"model_name":"a","type":"llm","status":"in_use","device":"cpu","memory_bytes":1610612736,"max_context_window":4096,
     "active_requests":2,"last_use":)" +
                                       last_use + R"(,"pinned":true},
    {"model_name":"b","type":"llm","status":"loading","device":"cpu"}],
    "loading":{"model":"b","progress":0.42},
    "load_queue":[{"model":"c","position":1,"waiting_ms":2500,"waiters":1,"waiting_for":["a"]}]})");
  EXPECT_EQ(run({"ps"}), kExitOk);
  EXPECT_EQ(out(),
            "NAME  TYPE  STATUS              DEVICE   MEMORY  CONTEXT  REQUESTS  LAST USED  PINNED\n"
            "a     llm   in_use              cpu     1.5 GiB     4096         2  90 s ago   yes\n"
            "b     llm   loading 42 %        cpu           -        -         0  -\n"
            "c           queued 2.5 s for a\n");
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
            "corral 0.2.0 answers at http://127.0.0.1:8000\n"
            "in memory  2 (embedding 1, llm 1/2)\n"
            "loading    b 50 %\n"
            "waiting    1 to be loaded\n");
}

TEST_F(ProgramTest, UnloadOneOrAll) {
  server_.on("POST /api/v1/unload", R"({"status":"success","unloaded":["a"],"draining":["b"]})");
  EXPECT_EQ(run({"unload", "a"}), kExitOk);
  EXPECT_EQ(out(), "a is unloaded\n");
  EXPECT_EQ(run({"unload"}), kExitOk);
  EXPECT_EQ(out(), "a is unloaded\nb finishes its requests first\n");
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
  EXPECT_EQ(run({"--version"}), kExitOk);
  EXPECT_EQ(out(), "corral 0.1.0\n");
}

TEST_F(ProgramTest, ColoursOnlyWhereWanted) {
  server_.on("GET /api/v1/models", R"({"data":[{"id":"a"}]})");
  run({"list"});
  EXPECT_THAT(out(), Not(HasSubstr("\x1b[")));
  surroundings_.terminal.colour = true;
  run({"list"});
  EXPECT_THAT(out(), HasSubstr("\x1b[1mNAME"));
}

}  // namespace
}  // namespace corral::cli
