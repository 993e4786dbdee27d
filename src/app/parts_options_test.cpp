// Settings reach the parts that they limit.
#include "app/parts_options.h"

#include <gtest/gtest.h>

#include "config/options/option.h"

namespace corral::app {
namespace {

config::ServeSettings settings() {
  config::ServeSettings settings;
  settings.max_body_bytes = Bytes(1001);
  settings.max_bodies_bytes = Bytes(1002);
  settings.max_upload_bytes = Bytes(1003);
  settings.max_connections = 104;
  settings.max_connections_per_address = 105;
  settings.head_timeout = Millis(1006);
  settings.slow_client_timeout = Millis(1007);
  return settings;
}

async::ThreadPool body_threads(1);

void expect_limits(const http::ServerOptions& options) {
  EXPECT_EQ(options.max_body_bytes, 1001u);
  EXPECT_EQ(options.max_bodies_bytes, 1002u);
  EXPECT_EQ(options.max_upload_bytes, 1003u);
  EXPECT_EQ(options.max_connections, 104u);
  EXPECT_EQ(options.max_connections_per_address, 105u);
  EXPECT_EQ(options.head_timeout, Millis(1006));
  EXPECT_EQ(options.body_pace.grace, Millis(1007));
  EXPECT_EQ(options.answer_pace.grace, Millis(1007));
  EXPECT_EQ(options.threads, &body_threads);
}

TEST(PartsOptions, TheServersLimitsAreThoseOfTheSettings) { expect_limits(server_options(settings(), &body_threads)); }

TEST(PartsOptions, RequestsOfPeersHaveTheLimitsOfOtherRequests) {
  const auto options = gateway_options(settings(), &body_threads);
  expect_limits(options.server);
  EXPECT_EQ(options.handler.max_body_bytes, 1001u);
}

TEST(PartsOptions, TheModelOfEspeakIsSwitchedOffByItsSetting) {
  config::ServeSettings settings;
  EXPECT_TRUE(registry_options(settings, {}).installed.empty());
  settings.espeak_model = true;
  const auto options = registry_options(settings, {});
  ASSERT_EQ(options.installed.size(), 1u);
  EXPECT_EQ(options.installed[0].model.name, "espeak-ng");
  EXPECT_EQ(options, registry_options(settings, {})) << "equal settings start no scan";
}

// An assigned model was kept for the one limit, and unloaded after the other.
TEST(PartsOptions, ModelsOfTheMeshHaveTheSoonerOfBothIdleLimits) {
  auto settings = app::settings();
  settings.mesh_idle_unload = Millis(60'000);
  settings.evict_idle_timeout = Millis(20'000);
  EXPECT_EQ(node_options(settings).idle_unload, Millis(60'000));
  settings.auto_evict = true;
  EXPECT_EQ(node_options(settings).idle_unload, Millis(20'000));
  settings.mesh_idle_unload = config::kNever;
  EXPECT_EQ(node_options(settings).idle_unload, Millis(20'000));
  settings.evict_idle_timeout = config::kNever;
  EXPECT_GT(node_options(settings).idle_unload, std::chrono::hours(24));
}

TEST(PartsOptions, AServerIsLocalIfAllItsAddressesAre) {
  const auto keys = api::KeyStore::open("/nowhere/keys.json", "/nowhere/uses.json", "");
  ASSERT_TRUE(keys);
  config::ServeSettings settings;
  settings.host = "127.0.0.1,::1";
  EXPECT_TRUE(access_options(settings, **keys).loopback_only);
  settings.host = "127.0.0.1,192.0.2.1";
  const auto options = access_options(settings, **keys);
  EXPECT_FALSE(options.loopback_only);
  EXPECT_EQ(options.own_names.at(1), "192.0.2.1");
}

// As in llama-server, whose names are a sorted set.
TEST(PartsOptions, TheFirstNameInTheAlphabetIsTheIdOfTheOneModel) {
  config::ServeSettings settings;
  settings.model_file = "/m/x.gguf";
  settings.alias = "mine, also";
  settings.tags = "fast,chat";
  const auto given = registry_options(settings, {}).given;
  ASSERT_TRUE(given);
  EXPECT_EQ(given->names, (std::vector<std::string>{"also", "mine"}));
  EXPECT_EQ(given->tags, (std::vector<std::string>{"fast", "chat"}));
}

TEST(PartsOptions, AStartWithAJoinTokenDecidesTheRole) {
  auto settings = app::settings();
  settings.mesh_models = "m n";
  EXPECT_TRUE(node_options(settings).role_is_open);
  EXPECT_FALSE(node_options(settings).joins);
  EXPECT_EQ(node_options(settings).role, mesh::Role::member);
  EXPECT_EQ(node_options(settings).assigned_at_start, "");
  settings.join_token = "corral-join_abc";
  EXPECT_TRUE(node_options(settings).joins);
  EXPECT_EQ(node_options(settings).role, mesh::Role::worker);
  EXPECT_EQ(node_options(settings).assigned_at_start, "m");
  for (const auto source :
       {config::Source::file, config::Source::set, config::Source::environment, config::Source::flag}) {
    settings.origins["mesh_models"].source = source;
    EXPECT_EQ(node_options(settings).wants_of_start, source >= config::Source::environment);
  }
  settings.mesh_role = "member";
  EXPECT_FALSE(node_options(settings).role_is_open);
  EXPECT_EQ(node_options(settings).role, mesh::Role::member);
}

TEST(PartsOptions, ModelsThatParkHaveTimeToWrite) {
  auto settings = app::settings();
  settings.park_on_disk = false;
  settings.max_loaded_models = "1";
  const auto quick = router_options(settings);
  ASSERT_TRUE(quick) << quick.error().message;
  settings.park_on_disk = true;
  EXPECT_GT(router_options(settings)->stop_grace, quick->stop_grace);
  EXPECT_GT(shutdown_patience(settings), Millis(1000));
}

}  // namespace
}  // namespace corral::app
