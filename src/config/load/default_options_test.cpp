#include "config/load/default_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/errors.h"
#include "config/home_for_tests.h"
#include "config/live_settings.h"

namespace corral::config {
namespace {

using ::testing::HasSubstr;

class DefaultOptions : public HomeForTests {
 protected:
  // Settings of a server that was started with these flags.
  std::unique_ptr<LiveSettings> started(std::map<std::string, std::vector<std::string>, std::less<>> flags) {
    log::set_level(log::Level::none);
    for (auto& [key, texts] : flags) inputs_.flags[key] = std::move(texts);
    auto live = LiveSettings::open(inputs_);
    EXPECT_TRUE(live) << (live ? "" : live.error().message);
    return std::move(*live);
  }
};

LoadOptions defaults_of(const LiveSettings& live) { return default_load_options(*live.in_force()); }
std::string origin(const LiveSettings& live, std::string_view key) {
  return default_origin(*find_load_option(key), *live.in_force());
}

TEST_F(DefaultOptions, SettingsDecideWhatIsLoaded) {
  const auto options =
      defaults_of(*started({{"parallel", {"3"}}, {"park_mib", {"2"}}, {"evict_idle_timeout", {"7s"}}}));
  EXPECT_EQ(options.ctx_size, 0);
  EXPECT_EQ(options.parallel, 3);
  EXPECT_EQ(options.park_bytes, 2 << 20);
  EXPECT_EQ(options.evict_idle_timeout, Millis(7000));
  EXPECT_EQ(options.llamacpp_backend, "auto");
  EXPECT_FALSE(options.gpu_layers);
  EXPECT_FALSE(options.park_dir);
}

TEST_F(DefaultOptions, ASettingThatWasGivenThenArgsThenItsDefault) {
  const auto live = started({{"ctx_size", {"1024"}}, {"llamacpp_args", {"-c 4096 -np 2 -ngl 20 -cram 5"}}});
  const auto options = defaults_of(*live);
  EXPECT_EQ(options.ctx_size, 1024);
  EXPECT_EQ(options.parallel, 2);
  EXPECT_EQ(options.gpu_layers, 20);
  EXPECT_EQ(options.park_bytes, 5 << 20);
  EXPECT_EQ(options.speculative, 16);
  EXPECT_EQ(origin(*live, "ctx_size"), "--ctx-size");
  EXPECT_EQ(origin(*live, "parallel"), "--llamacpp-args");
  EXPECT_EQ(origin(*live, "gpu_layers"), "--llamacpp-args");
  EXPECT_EQ(origin(*live, "park_bytes"), "--llamacpp-args");
  EXPECT_EQ(origin(*live, "speculative"), "default");
  EXPECT_EQ(origin(*live, "lora"), "default");
}

TEST_F(DefaultOptions, BackendAndArgsAreSetWhileTheServerRunsAndCheckedFirst) {
  const auto live = started({});
  ASSERT_TRUE(live->set({{"llamacpp_backend", "cpu"}, {"llamacpp_args", "-c 512"}}));
  EXPECT_EQ(defaults_of(*live).llamacpp_backend, "cpu");
  EXPECT_EQ(defaults_of(*live).ctx_size, 512);
  for (const auto& [key, value] : {std::pair("llamacpp_backend", "abacus"), {"llamacpp_args", "--port 1"}}) {
    const auto refused = live->set({{key, value}});
    ASSERT_FALSE(refused) << key;
    EXPECT_EQ(refused.error().code, errc::invalid_value);
    EXPECT_EQ(refused.error().param, key);
  }
  EXPECT_THAT(live->set({{"llamacpp_backend", "abacus"}}).error().message,
              HasSubstr("'abacus' is not one of auto, cpu, cuda, vulkan, rocm, metal"));
  EXPECT_THAT(live->set({{"llamacpp_args", "--port 1"}}).error().message, HasSubstr("'--port' has no equivalent here"));
  EXPECT_EQ(defaults_of(*live).ctx_size, 512) << "nothing was set";
}

}  // namespace
}  // namespace corral::config
