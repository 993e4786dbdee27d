#include "config/options/option.h"

#include <set>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/docs.h"
#include "config/flags.h"

namespace corral::config {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;

TEST(Options, EveryRowIsComplete) {
  std::set<std::string_view> keys;
  for (const Option& option : options()) {
    EXPECT_TRUE(keys.insert(option.key).second) << option.key;
    EXPECT_THAT(std::string(option.key), MatchesRegex("[a-z_]+"));
    EXPECT_THAT(std::string(option.help), MatchesRegex(".*[.]")) << option.key;
    EXPECT_EQ(option.value_name.empty(), is_switch(option)) << option.key;
    EXPECT_FALSE(expectation(option).empty()) << option.key;
    EXPECT_EQ(find_option(option.key), &option);
  }
}

TEST(Options, NamesComeFromTheKey) {
  const Option& option = *find_option("max_body_bytes");
  EXPECT_EQ(flag_of(option), "--max-body-bytes");
  EXPECT_EQ(variable_of(option), "CORRAL_MAX_BODY_BYTES");
}

TEST(Options, CloseNames) {
  EXPECT_EQ(closest_key("max_loaded_model"), "max_loaded_models");
  EXPECT_EQ(closest_key("API-KEY"), "api_key");
  EXPECT_EQ(closest_key("xyz"), "");
}

TEST(Options, FlagsFillTheInputs) {
  CLI::App app;
  Inputs inputs;
  add_serve_flags(app, inputs);
  app.parse("--port 1 --models-dir a --models-dir b --max-loaded-models 5 2 4 --no-warm-spare --hub-cache --config x");
  EXPECT_THAT(inputs.flags.at("port"), ElementsAre("1"));
  EXPECT_THAT(inputs.flags.at("models_dir"), ElementsAre("a", "b"));
  EXPECT_THAT(inputs.flags.at("max_loaded_models"), ElementsAre("5 2 4"));
  EXPECT_THAT(inputs.flags.at("warm_spare"), ElementsAre("false"));
  EXPECT_THAT(inputs.flags.at("hub_cache"), ElementsAre("true"));
  EXPECT_EQ(inputs.config_file, "x");
  EXPECT_EQ(inputs.flags.size(), 5u);
}

TEST(Options, TheOlderNameOfAFlagMeansTheSame) {
  for (const char* flag : {"--llamacpp cpu", "--llamacpp-backend cpu"}) {
    CLI::App app;
    Inputs inputs;
    add_serve_flags(app, inputs);
    app.parse(flag);
    EXPECT_THAT(inputs.flags.at("llamacpp_backend"), ElementsAre("cpu")) << flag;
  }
}

TEST(Options, UnlimitedIsNotMistakenForAFlag) {
  CLI::App app;
  Inputs inputs;
  add_serve_flags(app, inputs);
  app.parse("--max-loaded-models -1 --ctx-size -1 --port 2 --port 3");
  EXPECT_THAT(inputs.flags.at("max_loaded_models"), ElementsAre("-1"));
  EXPECT_THAT(inputs.flags.at("ctx_size"), ElementsAre("-1"));
  EXPECT_THAT(inputs.flags.at("port"), ElementsAre("3"));
}

TEST(Options, HelpNamesEveryOptionAndNoSecret) {
  CLI::App app;
  Inputs inputs;
  add_serve_flags(app, inputs);
  const std::string help = app.help();
  for (const Option& option : options()) EXPECT_THAT(help, HasSubstr(flag_of(option)));
}

TEST(Options, ThePageNamesEveryOption) {
  const std::string page = configuration_page();
  for (const Option& option : options()) {
    EXPECT_THAT(page, HasSubstr("| `" + std::string(option.key) + "` |"));
    EXPECT_THAT(page, HasSubstr(variable_of(option)));
  }
}

}  // namespace
}  // namespace corral::config
