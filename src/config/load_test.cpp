#include "config/load.h"

#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/errors.h"
#include "config/files/key_file.h"
#include "config/files/state_lock.h"
#include "config/home_for_tests.h"
#include "config/options/option.h"
#include "json/value.h"

namespace corral::config {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class LoadTest : public HomeForTests {
 protected:
  ServeSettings load() {
    auto settings = load_serve_settings(inputs_);
    EXPECT_TRUE(settings) << (settings ? "" : settings.error().message);
    return settings ? *settings : ServeSettings{};
  }
  Error load_error() {
    auto settings = load_serve_settings(inputs_);
    EXPECT_FALSE(settings);
    return settings ? Error({}, "no error") : settings.error();
  }
};

TEST(LocalHost, IsOneThatClientsCanCall) {
  EXPECT_EQ(local_host("0.0.0.0"), "127.0.0.1");
  EXPECT_EQ(local_host("::"), "::1");
  EXPECT_EQ(local_host("[::]"), "::1");
  EXPECT_EQ(local_host("192.168.1.2"), "192.168.1.2");
}

TEST_F(LoadTest, DefaultsAreValidAndKnowThatTheyAreDefaults) {
  const ServeSettings settings = load();
  EXPECT_EQ(settings.host, "127.0.0.1");
  EXPECT_EQ(settings.port, 8000);
  EXPECT_EQ(settings.max_loaded_models, "1");
  EXPECT_EQ(settings.swap_patience, Millis(2'000));
  EXPECT_EQ(settings.max_body_bytes, Bytes(32ull << 20));
  EXPECT_TRUE(settings.store_responses);
  EXPECT_EQ(settings.max_stored_bytes, Bytes(256ull << 20));
  EXPECT_EQ(settings.max_stored_age, Millis(30ll * 24 * 3'600 * 1'000));
  EXPECT_FALSE(settings.capture_bodies);
  EXPECT_EQ(settings.ctx_size, 0);
  EXPECT_TRUE(settings.hub_cache);
  EXPECT_TRUE(settings.warm_spare);
  EXPECT_FALSE(settings.allow_open);
  EXPECT_TRUE(settings.models_dir.empty());
  EXPECT_EQ(settings.log_level, log::Level::info);
  EXPECT_EQ(settings.state_dir, home_ / ".local/state/corral");
  EXPECT_EQ(settings.log_dir(), home_ / ".local/state/corral/log");
  EXPECT_EQ(settings.origins.size(), options().size());
  for (const auto& [key, origin] : settings.origins) EXPECT_EQ(origin.source, Source::fallback) << key;
}

TEST_F(LoadTest, HowModelsLeaveMemoryByDefault) {
  const ServeSettings settings = load();
  EXPECT_FALSE(settings.auto_evict);
  EXPECT_DOUBLE_EQ(settings.auto_evict_threshold_pct, 0.9);
  EXPECT_EQ(settings.downsize_idle_timeout, Millis(60'000));
  EXPECT_EQ(settings.evict_idle_timeout, Millis(300'000));
  EXPECT_DOUBLE_EQ(settings.evict_weight_factor, 1);
}

TEST_F(LoadTest, IdleTimeoutsMayBeNoneAndNever) {
  for (const auto& [text, time] : {std::pair("0", Millis(0)), {"0s", Millis(0)}, {"never", kNever}, {"-1", kNever}}) {
    inputs_.flags["downsize_idle_timeout"] = {text};
    inputs_.flags["evict_idle_timeout"] = {text};
    EXPECT_EQ(load().downsize_idle_timeout, time) << text;
    EXPECT_EQ(load().evict_idle_timeout, time) << text;
  }
  EXPECT_THAT(value_texts(*find_option("evict_idle_timeout"), load()), ElementsAre("never"));
  inputs_.flags["evict_idle_timeout"] = {"-2"};
  EXPECT_THAT(load_error().message, HasSubstr("or never"));
}

TEST_F(LoadTest, AnyWeightAboveZeroWill) {
  for (const auto& [text, weight] : {std::pair("0.0000001", 1e-7), {"100000000000", 1e11}}) {
    inputs_.flags["evict_weight_factor"] = {text};
    EXPECT_DOUBLE_EQ(load().evict_weight_factor, weight);
  }
  for (const auto* text : {"0", "-1", "inf"}) {
    inputs_.flags["evict_weight_factor"] = {text};
    EXPECT_EQ(load_error().message, "--evict-weight-factor: '" + std::string(text) + "' is not a number above 0");
  }
}

TEST_F(LoadTest, FlagBeatsVariableBeatsFileBeatsDefault) {
  write_file("# first line\nport = 1001\n");
  EXPECT_EQ(load().port, 1001);
  EXPECT_EQ(load().origins.at("port").where, "~/.config/corral/config.toml:2");
  variables_["CORRAL_PORT"] = "1002";
  EXPECT_EQ(load().port, 1002);
  EXPECT_EQ(load().origins.at("port").where, "CORRAL_PORT");
  inputs_.flags["port"] = {"1003"};
  EXPECT_EQ(load().port, 1003);
  EXPECT_EQ(load().origins.at("port").source, Source::flag);
}

TEST_F(LoadTest, AnEmptyVariableIsNotSet) {
  variables_["CORRAL_PORT"] = "";
  EXPECT_EQ(load().port, 8000);
}

TEST_F(LoadTest, AWrongValueThatIsOverriddenDoesNotMatter) {
  variables_["CORRAL_PORT"] = "nonsense";
  inputs_.flags["port"] = {"1003"};
  EXPECT_EQ(load().port, 1003);
}

TEST_F(LoadTest, EveryKindComesFromTheFile) {
  write_file(R"(
host = "localhost"
hub_cache = false
models_dir = ["~/models", "more", "/srv/models"]
max_loaded_models = [5, 2, 4]
swap_patience = 1.5
load_timeout = "auto"
max_body_bytes = "1MiB"
log_level = "debug"
ctx_size = 4096
speculative = 0
runtime_dir = "$XDG_RUNTIME_DIR/other"
)");
  variables_["XDG_RUNTIME_DIR"] = "/run/user/7";
  const ServeSettings settings = load();
  EXPECT_EQ(settings.host, "localhost");
  EXPECT_FALSE(settings.hub_cache);
  EXPECT_THAT(settings.models_dir,
              ElementsAre(home_ / "models", home_ / ".config/corral/more", fs::path("/srv/models")));
  EXPECT_EQ(settings.max_loaded_models, "5 2 4");
  EXPECT_EQ(settings.swap_patience, Millis(1'500));
  EXPECT_EQ(settings.load_timeout, Millis(0));
  EXPECT_EQ(settings.max_body_bytes, Bytes(1 << 20));
  EXPECT_EQ(settings.log_level, log::Level::debug);
  EXPECT_EQ(settings.ctx_size, 4096);
  EXPECT_EQ(settings.speculative, 0);
  EXPECT_EQ(settings.runtime_dir, "/run/user/7/other");
}

// As users write TOML: tables and arrays instead of texts with JSON and commas.
TEST_F(LoadTest, TablesAndArraysBecomeTexts) {
  write_file(
      "import_folders = [\"ollama\", \"lmstudio=/models/lm\"]\n"
      "[request_defaults]\ntemperature = 0.5\nstop = [\"a\", \"b\"]\nsystem = \"Say \\\"hi\\\".\"\n");
  const auto settings = load();
  EXPECT_EQ(settings.import_folders, "ollama,lmstudio=/models/lm");
  const auto defaults = json::parse(settings.request_defaults);
  ASSERT_TRUE(defaults) << settings.request_defaults;
  EXPECT_EQ(json::serialize(*defaults), R"({"stop":["a","b"],"system":"Say \"hi\".","temperature":0.5})");
  write_file("import_folders = [\"ollama,lmstudio\"]");
  EXPECT_THAT(load_error().message, HasSubstr("import_folders: the value is not ollama, lmstudio, or both"));
  write_file("[request_defaults]\nsystem = \"Be nice 😀, né\"");
  EXPECT_EQ(load().request_defaults, R"({"system":"Be nice 😀, né"})");
  write_file("request_defaults = { temperature = \"hot\" }");
  EXPECT_THAT(load_error().message, HasSubstr("temperature"));
  write_file("port = { number = 1 }");
  EXPECT_THAT(load_error().message, HasSubstr("port: the value is not a whole number"));
}

TEST_F(LoadTest, FoldersInAVariableAreSeparatedByColons) {
  variables_["CORRAL_MODELS_DIR"] = "/a::~/b";
  EXPECT_THAT(load().models_dir, ElementsAre(fs::path("/a"), home_ / "b"));
}

TEST_F(LoadTest, EveryWayToSayAutomaticContext) {
  for (const char* text : {"auto", "0", "-1"}) {
    inputs_.flags["ctx_size"] = {text};
    EXPECT_EQ(load().ctx_size, 0) << text;
  }
}

TEST_F(LoadTest, AWrongFlagNamesFlagValueAndRange) {
  inputs_.flags["port"] = {"70000"};
  const Error error = load_error();
  EXPECT_EQ(error.code, errc::invalid_value);
  EXPECT_EQ(error.param, "port");
  EXPECT_EQ(error.message, "--port: '70000' is not a whole number from 0 to 65535");
}

TEST_F(LoadTest, AWrongVariableNamesItself) {
  variables_["CORRAL_SWAP_PATIENCE"] = "soon";
  EXPECT_EQ(load_error().message,
            "CORRAL_SWAP_PATIENCE: 'soon' is not a duration from 0s to 1h, such as 500ms, 2s or 5m");
  variables_["CORRAL_SWAP_PATIENCE"] = "2h";
  EXPECT_EQ(load_error().code, errc::invalid_value);
}

TEST_F(LoadTest, AWrongValueInTheFileNamesFileLineAndKey) {
  write_file("\n\nlog_level = \"loud\"\n");
  EXPECT_EQ(load_error().message,
            "~/.config/corral/config.toml:3: log_level: 'loud' is not one of trace, debug, info, warning, error, none");
}

TEST_F(LoadTest, TheLimitsOfModelsAreReadAtStart) {
  for (const char* text : {"3", "-1", "5 2 4", "llm=3,embedding=2,*=1"}) {
    inputs_.flags["max_loaded_models"] = {text};
    EXPECT_EQ(load().max_loaded_models, text);
  }
  for (const char* text : {"0", "llm", "llm=0", "many"}) {
    inputs_.flags["max_loaded_models"] = {text};
    const Error error = load_error();
    EXPECT_EQ(error.code, errc::invalid_value) << text;
    EXPECT_EQ(error.message.find("--max-loaded-models: "), 0u) << error.message;
  }
}

TEST_F(LoadTest, AWrongKindInTheFileNamesWhatIsRight) {
  write_file("[port]\nnumber = 1\n");
  EXPECT_THAT(load_error().message, HasSubstr("port: the value is not a whole number from 0 to 65535"));
  write_file("port = [1, 2]\n");
  EXPECT_EQ(load_error().code, errc::invalid_value);
}

TEST_F(LoadTest, AnUnknownKeyInTheFileGetsACloseName) {
  write_file("prot = 1\n");
  const Error error = load_error();
  EXPECT_EQ(error.code, errc::unknown_key);
  EXPECT_EQ(error.message, "~/.config/corral/config.toml:1: unknown setting 'prot'; did you mean 'port'?");
  write_file("models-dir = \"x\"\n");
  EXPECT_THAT(load_error().message, HasSubstr("did you mean 'models_dir'?"));
  write_file("zebra_crossing_length = 1\n");
  EXPECT_THAT(load_error().message, HasSubstr("unknown setting 'zebra_crossing_length'"));
  EXPECT_THAT(load_error().message, ::testing::Not(HasSubstr("did you mean")));
}

TEST_F(LoadTest, ABrokenFileNamesLineAndColumn) {
  write_file("port = 1\nhost = \n");
  const Error error = load_error();
  EXPECT_EQ(error.code, errc::malformed_file);
  EXPECT_THAT(error.message, HasSubstr("~/.config/corral/config.toml:2:"));
}

TEST_F(LoadTest, AFileThatWasAskedForMustExist) {
  inputs_.config_file = home_ / "other.toml";
  EXPECT_EQ(load_error().code, errc::unreadable_file);
  EXPECT_EQ(load_error().message, "configuration file ~/other.toml: no such file");
  inputs_.config_file.reset();
  variables_["CORRAL_CONFIG"] = home_.string();  // a folder
  EXPECT_EQ(load_error().message, "configuration file " + home_.string() + ": cannot be read");
}

TEST_F(LoadTest, AFlagOrAVariableNamesAnotherFile) {
  std::ofstream(home_ / "a.toml") << "port = 1\n";
  std::ofstream(home_ / "b.toml") << "port = 2\n";
  variables_["CORRAL_CONFIG"] = "~/a.toml";
  EXPECT_EQ(load().port, 1);
  inputs_.config_file = home_ / "b.toml";
  EXPECT_EQ(load().port, 2);
}

TEST_F(LoadTest, ReachableFromOutsideNeedsAKeyOrTheUsersWord) {
  inputs_.flags["host"] = {"0.0.0.0"};
  const Error error = load_error();
  EXPECT_EQ(error.code, errc::unsafe_bind);
  EXPECT_EQ(
      error.message,
      "--host: '0.0.0.0' is reachable from other machines, but no key is required: create one with corral key create "
      "or set CORRAL_API_KEY (all other requests without a key then get 401, except GET /health and /live), or give "
      "--allow-open");
  inputs_.flags["allow_open"] = {"true"};
  EXPECT_TRUE(load().allow_open);
  inputs_.flags.erase("allow_open");
  variables_["CORRAL_API_KEY"] = "s3cret";
  EXPECT_EQ(load().api_key, "s3cret");
  variables_.erase("CORRAL_API_KEY");
  ASSERT_TRUE(create_key(home_ / ".local/state/corral/keys.json", "", {.inference = true}, 0));
  EXPECT_TRUE(load().has_key_file);
}

TEST_F(LoadTest, LoopbackInEveryShapeIsSafe) {
  for (const char* host : {"localhost", "127.0.0.2", "::1"}) {
    inputs_.flags["host"] = {host};
    EXPECT_EQ(load().host, host);
  }
  inputs_.flags["host"] = {"127.evil.example"};
  EXPECT_EQ(load_error().code, errc::unsafe_bind);
}

TEST_F(LoadTest, OfSeveralAddressesEachMustBeSafe) {
  inputs_.flags["host"] = {"127.0.0.1, ::1"};
  EXPECT_EQ(load().host, "127.0.0.1, ::1");
  EXPECT_EQ(load_client_settings(inputs_)->host, "127.0.0.1") << "commands use the first one";
  inputs_.flags["host"] = {"127.0.0.1,192.0.2.1"};
  EXPECT_EQ(load_error().code, errc::unsafe_bind);
  inputs_.flags["host"] = {","};
  EXPECT_EQ(load_error().message, "--host: ',' contains no address");
}

TEST_F(LoadTest, ThereIsOnlyOneOneModel) {
  inputs_.flags["hub_model"] = {"org/repo:Q8_0"};
  EXPECT_TRUE(load().has_one_model());
  inputs_.flags["model_file"] = {"/m/x.gguf"};
  EXPECT_EQ(load_error().message,
            "--hub-model: 'org/repo:Q8_0' conflicts with model_file '/m/x.gguf': give one of both");
}

TEST_F(LoadTest, ASecretIsNeverPrinted) {
  variables_["CORRAL_API_KEY"] = "s3cret\nX-Evil: 1";
  const Error error = load_error();
  EXPECT_EQ(error.code, errc::invalid_value);
  EXPECT_THAT(error.message, ::testing::Not(HasSubstr("s3cret")));
}

TEST_F(LoadTest, ACommandFindsTheServerOfTheSameUser) {
  write_file("host = \"0.0.0.0\"\nport = 8123\napi_key = \"k\"\nfrom_a_newer_version = 1\n");
  const auto client = load_client_settings(inputs_);
  ASSERT_TRUE(client) << client.error().message;
  EXPECT_EQ(client->host, "127.0.0.1");
  EXPECT_EQ(client->port, 8123);
  EXPECT_EQ(client->api_key, "k");
}

class ClientSettingsTest : public HomeForTests {
 protected:
  ClientSettings load() {
    const auto settings = load_client_settings(inputs_);
    EXPECT_TRUE(settings) << (settings ? "" : settings.error().message);
    return settings.value_or(ClientSettings());
  }
};

// No command worked, not even with --port.
TEST_F(ClientSettingsTest, AnInvalidFileCountsAsEmpty) {
  write_file("port = 8001\nhost =\n");
  EXPECT_EQ(load().port, 8000);
  EXPECT_EQ(load().problem.find("~/.config/corral/config.toml:2:"), 0u) << load().problem;
  EXPECT_THAT(load().problem, HasSubstr(": not valid TOML: "));
  inputs_.flags["port"] = {"8002"};
  EXPECT_EQ(load().port, 8002);
  inputs_.flags.clear();
  write_file("port = 1979-05-27\n");
  EXPECT_EQ(load().port, 8000);
  EXPECT_THAT(load().problem, HasSubstr("config.toml:1: port: the value is not "));
  write_file("host = \"127.0.0.2\"\nport = 123456\n");
  EXPECT_EQ(load().port, 8000);
  EXPECT_EQ(load().host, "127.0.0.2");
  EXPECT_THAT(load().problem, HasSubstr("config.toml:2: port: "));
  write_file("unknown = 1\nport = 8003\n");
  EXPECT_EQ(load().port, 8003);
  EXPECT_EQ(load().problem, "");
  write_file("state_dir = \"\"\nport = 8004\n");
  EXPECT_EQ(load().port, 8004);
  EXPECT_THAT(load().problem, HasSubstr("state_dir"));
  variables_["CORRAL_CONFIG"] = home_ / "none.toml";
  EXPECT_EQ(load_client_settings(inputs_).error().code, errc::unreadable_file);
  variables_.clear();
  inputs_.config_file = home_ / "none.toml";
  EXPECT_EQ(load_client_settings(inputs_).error().code, errc::unreadable_file);
}

// It was an exception that ended the program.
TEST_F(ClientSettingsTest, ASetValueOfAWrongKindIsAnError) {
  fs::create_directories(home_ / ".local/state/corral");
  for (const auto* text : {R"({"port":null})", R"({"host":["a"]})"}) {
    std::ofstream(home_ / ".local/state/corral/settings.json") << text;
    EXPECT_FALSE(load_client_settings(inputs_)) << text;
  }
}

// `corral --config remote.toml rm M` asked the server of this machine.
TEST_F(ClientSettingsTest, AFileThatWasNamedSaysWhereItsServerIs) {
  const auto state = home_ / ".local/state/corral";
  fs::create_directories(state);
  const auto lock = StateLock::take(state, Millis(0));
  ASSERT_TRUE(lock);
  lock->publish("127.0.0.1", 8123);
  write_file("port = 8001\n");
  EXPECT_EQ(load().port, 8123);
  std::ofstream(home_ / "remote.toml") << "host = \"gpu-box\"\n";
  inputs_.config_file = home_ / "remote.toml";
  EXPECT_EQ(load().host, "gpu-box");
  EXPECT_EQ(load().port, 8000);
  std::ofstream(home_ / "remote.toml") << "host = \"gpu-box\"\nstate_dir = \"" << state.native() << "\"\n";
  EXPECT_EQ(load().port, 8123);
}

// A file that can't be read may name another folder.
TEST_F(ClientSettingsTest, TheStateFolderIsNotGuessed) {
  write_file("port =\n");
  EXPECT_EQ(find_state_dir(inputs_).error().code, errc::malformed_file);
  variables_["CORRAL_STATE_DIR"] = home_ / "x";
  EXPECT_EQ(find_state_dir(inputs_).value_or(""), home_ / "x");
}

// `config set port=9000` broke the command line until the server started again.
TEST_F(ClientSettingsTest, TheRunningServerIsFoundThoughItsPortWasChanged) {
  const auto state = home_ / ".local/state/corral";
  fs::create_directories(state);
  std::ofstream(state / "settings.json") << R"({"port":9000})";
  EXPECT_EQ(load().port, 9000);
  {
    const auto lock = StateLock::take(state, Millis(0));
    ASSERT_TRUE(lock);
    EXPECT_EQ(load().port, 9000) << "it doesn't listen yet";
    lock->publish("0.0.0.0", 8005);
    EXPECT_EQ(load().port, 8005);
    EXPECT_EQ(load().host, "127.0.0.1");
    write_file("host = \"10.0.0.7\"\nport = 7\n");
    EXPECT_EQ(load().port, 8005);
    inputs_.flags["port"] = {"8002"};
    EXPECT_EQ(load().port, 8002);
    inputs_.flags.clear();
    variables_["CORRAL_HOST"] = "10.0.0.8";
    EXPECT_EQ(load().host, "10.0.0.8");
    EXPECT_EQ(load().port, 9000);
    variables_.erase("CORRAL_HOST");
    variables_["CORRAL_STATE_DIR"] = home_ / "other";
    EXPECT_EQ(load().port, 7);
    variables_.clear();
    variables_["HOME"] = home_;
  }
  EXPECT_EQ(load().port, 9000);
}

// The deb's server has a configuration of its own; commands of people asked port 8000.
TEST_F(ClientSettingsTest, TheServiceOfTheSystemIsFoundIfNothingElseNamesAServer) {
  inputs_.service_file = home_ / "service.toml";
  EXPECT_EQ(load().port, 8000) << "there is no service";
  std::ofstream(inputs_.service_file) << "host = \"0.0.0.0\"\nport = 8010\napi_key = \"of-the-service-0123\"\n";
  EXPECT_EQ(load().port, 8010);
  EXPECT_EQ(load().host, "127.0.0.1");
  EXPECT_EQ(load().api_key, "of-the-service-0123");
  EXPECT_EQ(load().problem, "");
  variables_["CORRAL_API_KEY"] = "my-own-key-01234567";
  EXPECT_EQ(load().api_key, "my-own-key-01234567");
  variables_.erase("CORRAL_API_KEY");
  write_file("port = 8011\n");
  EXPECT_EQ(load().port, 8011) << "the user's own file has one";
  EXPECT_EQ(load().api_key, "");
  write_file("log_level = \"debug\"\n");
  EXPECT_EQ(load().port, 8010);
  inputs_.flags["port"] = {"8012"};
  EXPECT_EQ(load().port, 8012);
  inputs_.flags.clear();
  variables_["CORRAL_CONFIG"] = home_ / ".config/corral/config.toml";
  EXPECT_EQ(load().port, 8000);
  variables_.erase("CORRAL_CONFIG");
  std::ofstream(inputs_.service_file) << "port =\n";
  EXPECT_EQ(load().port, 8000) << "the service's file is broken";
  const auto state = home_ / ".local/state/corral";
  fs::create_directories(state);
  const auto lock = StateLock::take(state, Millis(0));
  ASSERT_TRUE(lock);
  lock->publish("127.0.0.1", 8013);
  std::ofstream(inputs_.service_file) << "port = 8010\n";
  EXPECT_EQ(load().port, 8013) << "a server of this user runs";
}

}  // namespace
}  // namespace corral::config
