// GET memory, and what health and events show of what is next. The memory itself is measured in
// tests/integration/console.test.mjs; this router has no sampler.
#include "api/api_fixture_for_tests.h"
#include "backends/errors.h"

namespace corral::api {
namespace {

using MemoryApiTest = ApiTest;

const json::Value& slots_of(const json::Value& memory, std::string_view type) {
  for (const auto& one : json::find(memory, "slots")->get_array())
    if (json::text_or(one, "type", "") == type) return one;
  throw std::out_of_range(std::string(type));
}

TEST_F(MemoryApiTest, ShowsWhichModelAFurtherLoadEvicts) {
  for (const auto prefix : kPrefixes) EXPECT_EQ(get(std::string(prefix) + "memory").status, 200u);
  const auto empty = get("/v1/memory").json();
  EXPECT_TRUE(slots_of(empty, "llm").at("next").is_null());
  EXPECT_THAT(strings(json::find(empty, "pools")), IsEmpty()) << "nothing measures the memory here";
  have("tiny-llama");
  const auto memory = get("/v1/memory").json();
  const auto& slots = slots_of(memory, "llm");
  EXPECT_EQ(json::number_or(slots, "taken", 0), 1);
  EXPECT_EQ(json::number_or(slots, "limit", 0), 1);
  EXPECT_EQ(json::serialize(slots.at("next")), R"({"model_name":"tiny-llama","action":"evict","reason":"room"})");
  EXPECT_TRUE(slots.at("obstacle").is_null());
  EXPECT_TRUE(slots_of(memory, "embedding").at("next").is_null());
}

TEST_F(MemoryApiTest, PinnedModelsAreAnObstacle) {
  have("tiny-llama");
  EXPECT_EQ(post("/internal/pin", R"({"model_name":"tiny-llama","pinned":true})").status, 200u);
  const auto memory = get("/v1/memory").json();
  EXPECT_TRUE(slots_of(memory, "llm").at("next").is_null());
  EXPECT_EQ(json::text_or(slots_of(memory, "llm"), "obstacle", ""), "pinned");
  const auto loaded = json::find(get("/v1/health").json(), "all_models_loaded")->at(0);
  EXPECT_EQ(json::text_or(loaded, "stays", ""), "pinned");
  EXPECT_TRUE(loaded.at("evict_at").is_null());
}

TEST_F(MemoryApiTest, HealthShowsWhenAnIdleModelIsEvicted) {
  const auto loading =
      send("POST", "/v1/load",
           R"({"model_name":"tiny-llama","auto_evict":true,"downsize_idle_timeout":10,"evict_idle_timeout":60})");
  backend.server("tiny-llama").finish_load();
  settle();
  const auto loaded = json::find(get("/v1/health").json(), "all_models_loaded")->at(0);
  EXPECT_EQ(json::text_or(loaded, "stays", ""), "none");
  const double downsize = json::number_or(loaded, "downsize_at", 0), evict = json::number_or(loaded, "evict_at", 0);
  EXPECT_EQ(evict - downsize, 50'000);
  EXPECT_NEAR(evict, json::number_or(loaded, "last_use", 0) + 60'000, 2'000);
}

TEST_F(MemoryApiTest, HealthShowsWhyALoadFailed) {
  const auto before = get("/v1/health").json();
  EXPECT_THAT(strings(json::find(before, "failures")), IsEmpty());
  const auto loading = send("POST", "/v1/load", R"({"model_name":"tiny-llama"})");
  for (int i = 0; i < 2; ++i) {
    backend.server("tiny-llama").fail_load({make_error_code(backends::errc::load_failed), "unknown architecture"});
    settle();
  }
  const auto health = get("/v1/health").json();
  const auto& failures = json::find(health, "failures")->get_array();
  ASSERT_EQ(failures.size(), 1u);
  EXPECT_EQ(json::text_or(failures.at(0), "model", ""), "tiny-llama");
  EXPECT_FALSE(failures.at(0).at("under_requests").as_bool());
  EXPECT_THAT(std::string(json::text_or(failures.at(0), "cause", "")), HasSubstr("unknown architecture"));
}

}  // namespace
}  // namespace corral::api
