#include "config/live_settings.h"

#include <fstream>
#include <iterator>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/errors.h"
#include "config/home_for_tests.h"

namespace corral::config {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class LiveSettingsTest : public HomeForTests {
 protected:
  LiveSettingsTest() { log::set_level(log::Level::none); }

  fs::path saved() const { return home_ / ".local/state/corral/settings.json"; }
  std::string saved_text() const {
    std::ifstream stream(saved());
    return {std::istreambuf_iterator<char>(stream), {}};
  }
  LiveSettings& open() {
    auto opened = LiveSettings::open(inputs_);
    EXPECT_TRUE(opened) << (opened ? "" : opened.error().message);
    live_ = std::move(*opened);
    changes_ = 0;
    live_->on_change([this] { ++changes_; });
    return *live_;
  }
  // "" or what a set was refused for.
  std::string refused(const SetValues& values) {
    const auto done = live_->set(values);
    return done ? "" : done.error().code.message() + ": " + done.error().message;
  }

  std::unique_ptr<LiveSettings> live_;
  int changes_ = 0;
};

TEST_F(LiveSettingsTest, ASetValueCountsAtOnceAndAfterTheNextStart) {
  open();
  EXPECT_EQ(refused({{"max_loaded_models", 3}, {"swap_patience", "500ms"}, {"auto_evict_threshold_pct", 0.5}}), "");
  EXPECT_EQ(changes_, 1);
  for (int start = 0; start < 2; ++start, open()) {
    const auto now = live_->in_force();
    EXPECT_EQ(now->max_loaded_models, "3");
    EXPECT_EQ(now->swap_patience, Millis(500));
    EXPECT_EQ(now->auto_evict_threshold_pct, 0.5);
    EXPECT_EQ(now->origins.at("max_loaded_models").source, Source::set);
  }
  const auto mode = fs::status(saved()).permissions();
  EXPECT_EQ(mode, fs::perms::owner_read | fs::perms::owner_write);
}

TEST_F(LiveSettingsTest, ASetValueRanksAboveTheFileAndBelowFlagsAndVariables) {
  write_file("max_loaded_models = 2\nswap_patience = \"1s\"\nlog_level = \"error\"\n");
  open();
  EXPECT_EQ(refused({{"max_loaded_models", 3}, {"swap_patience", "3s"}, {"log_level", "debug"}}), "");
  EXPECT_EQ(live_->in_force()->max_loaded_models, "3");
  variables_["CORRAL_SWAP_PATIENCE"] = "4s";
  inputs_.flags["log_level"] = {"warning"};
  open();
  EXPECT_EQ(live_->in_force()->max_loaded_models, "3");
  EXPECT_EQ(live_->in_force()->swap_patience, Millis(4'000));
  EXPECT_EQ(live_->in_force()->log_level, log::Level::warning);
}

TEST_F(LiveSettingsTest, WhatAFlagOrAVariableFixesIsNotSet) {
  variables_["CORRAL_SWAP_PATIENCE"] = "4s";
  inputs_.flags["max_loaded_models"] = {"2"};
  open();
  EXPECT_THAT(refused({{"max_loaded_models", 3}}),
              HasSubstr("setting_fixed: 'max_loaded_models' was given as --max-loaded-models"));
  EXPECT_THAT(refused({{"swap_patience", "1s"}}), HasSubstr("CORRAL_SWAP_PATIENCE"));
  EXPECT_THAT(refused({{"state_dir", "/x"}}), HasSubstr("--state-dir"));
  EXPECT_FALSE(fs::exists(saved()));
}

TEST_F(LiveSettingsTest, AllOrNothing) {
  open();
  EXPECT_EQ(refused({{"max_loaded_models", 0}, {"swap_patience", "1s"}}).substr(0, 34),
            "invalid_setting: max_loaded_models");
  EXPECT_EQ(refused({{"swap_patience", "1s"}, {"swap_pacience", "1s"}}),
            "unknown_setting: unknown setting 'swap_pacience'; did you mean 'swap_patience'?");
  EXPECT_THAT(refused({{"swap_patience", json::Object{}}}), HasSubstr("swap_patience: {} is not a duration"));
  EXPECT_THAT(refused({{"auto_evict_threshold_pct", 1.5}}), HasSubstr("'1.5' is not a number from 0.001 to 1"));
  EXPECT_EQ(live_->in_force()->swap_patience, Millis(2'000));
  EXPECT_EQ(changes_, 0);
  EXPECT_FALSE(fs::exists(saved()));
}

TEST_F(LiveSettingsTest, NullTakesASetValueBack) {
  write_file("max_loaded_models = 2\n");
  open();
  EXPECT_EQ(refused({{"max_loaded_models", 3}, {"parallel", 4}}), "");
  EXPECT_EQ(refused({{"max_loaded_models", nullptr}}), "");
  EXPECT_EQ(live_->in_force()->max_loaded_models, "2");
  EXPECT_EQ(saved_text(), "{\n  \"parallel\": 4\n}\n");
}

TEST_F(LiveSettingsTest, WhatNeedsARestartWaitsForIt) {
  open();
  EXPECT_EQ(refused({{"port", 9000}}), "");
  EXPECT_EQ(live_->in_force()->port, 8000);
  EXPECT_EQ(live_->wanted()->port, 9000);
  EXPECT_EQ(changes_, 0);
  open();
  EXPECT_EQ(live_->in_force()->port, 9000);
  EXPECT_EQ(load_client_settings(inputs_)->port, 9000) << "a command finds the server where it is set to be";
}

TEST_F(LiveSettingsTest, AnOpenServerKeepsItsKey) {
  write_file("host = \"0.0.0.0\"\napi_key = \"secret\"\n");
  open();
  // After a restart it would listen on loopback; now it doesn't.
  EXPECT_THAT(refused({{"host", "127.0.0.1"}, {"api_key", ""}}), HasSubstr("unsafe_bind"));
  EXPECT_EQ(live_->in_force()->api_key, "secret");
}

TEST_F(LiveSettingsTest, AChangedFileTouchesOnlyWhatChanged) {
  write_file("max_loaded_models = 2\n");
  open();
  write_file("max_loaded_models = 4\nport = 9001\n");
  EXPECT_TRUE(live_->reread(LiveSettings::Gone::keeps_the_values));
  EXPECT_EQ(live_->in_force()->max_loaded_models, "4");
  EXPECT_EQ(live_->in_force()->port, 8000);
  EXPECT_EQ(changes_, 1);
  EXPECT_FALSE(live_->reread(LiveSettings::Gone::keeps_the_values));
  EXPECT_EQ(changes_, 1);
}

TEST_F(LiveSettingsTest, ABrokenFileLeavesEverythingAndIsReported) {
  write_file("max_loaded_models = 2\n");
  open();
  for (const char* text : {"max_loaded_models = \n", "max_loaded_model = 3\n", "max_loaded_models = 0\n",
                           "max_loaded_models = 3\nhost = \"0.0.0.0\"\n"}) {
    write_file(text);
    EXPECT_FALSE(live_->reread(LiveSettings::Gone::keeps_the_values)) << text;
    EXPECT_NE(live_->problem(), "") << text;
    EXPECT_EQ(live_->in_force()->max_loaded_models, "2") << text;
  }
  EXPECT_EQ(refused({{"parallel", 4}}), "") << "the last good file still counts";
  write_file("max_loaded_models = 3\n");
  EXPECT_TRUE(live_->reread(LiveSettings::Gone::keeps_the_values));
  EXPECT_EQ(live_->problem(), "");
}

TEST_F(LiveSettingsTest, AMissingFileIsADeletedOneOnlyWhenAsked) {
  write_file("max_loaded_models = 2\n");
  open();
  fs::remove(live_->file());
  EXPECT_FALSE(live_->reread(LiveSettings::Gone::keeps_the_values));
  EXPECT_EQ(live_->in_force()->max_loaded_models, "2");
  EXPECT_TRUE(live_->reread(LiveSettings::Gone::counts_as_empty));
  EXPECT_EQ(live_->in_force()->max_loaded_models, "1");
}

TEST_F(LiveSettingsTest, SetValuesThatCantBeReadArePutAside) {
  fs::create_directories(saved().parent_path());
  std::ofstream(saved()) << "{\"port\": 9";
  open();
  EXPECT_EQ(live_->in_force()->port, 8000);
  EXPECT_FALSE(fs::exists(saved()));
  EXPECT_TRUE(fs::exists(saved().native() + ".broken"));
}

TEST_F(LiveSettingsTest, ValuesAsJsonHideSecrets) {
  inputs_.flags["api_key"] = {"secret"};
  inputs_.flags["models_dir"] = {"/a", "/b"};
  const auto settings = open().in_force();
  const auto shown = [&](std::string_view key) { return json::serialize(to_json(*find_option(key), *settings)); };
  EXPECT_EQ(shown("api_key"), "\"***\"");
  EXPECT_EQ(shown("models_dir"), "[\"/a\",\"/b\"]");
  EXPECT_EQ(shown("port"), "8000");
  EXPECT_EQ(shown("ctx_size"), "\"auto\"");
  EXPECT_EQ(shown("auto_evict"), "false");
  EXPECT_EQ(shown("evict_idle_timeout"), "\"5m\"");
}

}  // namespace
}  // namespace corral::config
