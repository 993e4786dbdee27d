// What is saved for a model, and what it does to loads.
#include <fstream>

#include "router/router_fixture_for_tests.h"

namespace corral::router {
namespace {

class OptionsTest : public RouterTest {
 protected:
  static backends::LoadOptions context_of(std::int64_t tokens) {
    backends::LoadOptions options;
    options.ctx_size = tokens;
    return options;
  }
  void start_with(RouterOptions options, backends::OptionStore saved) {
    router.emplace(loop, timers, std::vector<backends::Backend*>{&backend}, std::move(options), std::move(saved));
    forwarder.emplace(*router, timers);
  }
  Result<OptionReport> options(const std::string& name, OptionChange change = {.dry_run = true}) {
    return std::move(run(router->options(model(name), std::move(change))).get());
  }
  auto load_and_save(const std::string& name, OptionPatch wanted) {
    return run(router->load(model(name), std::move(wanted), {}, true));
  }
};

TEST_F(OptionsTest, RequestThenSavedThenConfiguredThenBuiltIn) {
  RouterOptions configured;
  configured.default_options.ctx_size = 1;
  configured.default_options.parallel = 2;
  configured.default_options.threads = 3;
  backends::OptionStore saved;
  backends::LoadOptions of_a;
  of_a.ctx_size = 10;
  of_a.parallel = 20;
  ASSERT_TRUE(saved.save(ModelName("a"), of_a));
  start_with(configured, std::move(saved));
  auto loading = load("a", context_of(100));
  EXPECT_EQ(server("a").options().ctx_size, 100);
  EXPECT_EQ(server("a").options().parallel, 20);
  EXPECT_EQ(server("a").options().threads, 3);
  EXPECT_EQ(server("a").options().gpu_layers, -1);
  server("a").finish_load();
}

TEST_F(OptionsTest, ParametersOfOllamasRegistryCountLessThanWhatIsSavedAndMoreThanTheSettings) {
  RouterOptions configured;
  configured.default_options.ctx_size = 1;
  configured.default_options.threads = 3;
  backends::OptionStore saved;
  backends::LoadOptions of_a;
  of_a.gpu_layers = 7;
  ASSERT_TRUE(saved.save(ModelName("a"), of_a));
  start_with(configured, std::move(saved));
  auto info = std::make_shared<models::ModelInfo>(*model("a"));
  info->parameters = R"({"num_ctx": 512, "num_gpu": 5, "temperature": 0.5})";
  const auto report = std::move(run(router->options(info, {.dry_run = true})).get());
  ASSERT_TRUE(report);
  EXPECT_EQ(report->defaults.ctx_size, 512);
  auto loading = run(router->load(info, {}, {}));
  EXPECT_EQ(server("a").options().ctx_size, 512);
  EXPECT_EQ(server("a").options().gpu_layers, 7);
  EXPECT_EQ(server("a").options().threads, 3);
  server("a").finish_load();
}

TEST_F(OptionsTest, ARequestLoadsWithWhatIsSaved) {
  ASSERT_TRUE(options("a", {.patch = context_of(64)}));
  auto lease = acquire("a");
  EXPECT_EQ(server("a").options().ctx_size, 64);
  server("a").finish_load();
  settle();
}

TEST_F(OptionsTest, ALoadSavesWhatItWasToldWhenItHasSucceeded) {
  auto failing = load_and_save("a", context_of(64));
  server("a").fail_load(Error(make_error_code(backends::errc::invalid_option), "no"));
  settle();
  ASSERT_TRUE(failing.refused());
  EXPECT_FALSE(options("a")->saved.ctx_size);
  auto loading = load_and_save("a", context_of(32));
  server("a").finish_load();
  settle();
  ASSERT_TRUE(loading.granted());
  EXPECT_EQ(options("a")->saved, context_of(32)) << "nothing that the request didn't say";
  backends::LoadOptions more;
  more.parallel = 2;
  auto again = load_and_save("a", more);
  EXPECT_EQ(server("a").options().ctx_size, 32);
  server("a").finish_load();
  settle();
  EXPECT_EQ(options("a")->saved.ctx_size, 32);
  EXPECT_EQ(options("a")->saved.parallel, 2);
}

TEST_F(OptionsTest, ALoadCanLeaveOutWhatIsSaved) {
  backends::LoadOptions both = context_of(64);
  both.parallel = 2;
  ASSERT_TRUE(options("a", {.patch = both}));
  const OptionPatch without_context({}, {config::find_load_option("ctx_size")});
  auto loading = run(router->load(model("a"), without_context, {}));
  EXPECT_EQ(server("a").options().ctx_size, -1);
  EXPECT_EQ(server("a").options().parallel, 2);
  server("a").finish_load();
  settle();
  EXPECT_EQ(options("a")->saved, both) << "for this load only";
  auto again = load_and_save("a", without_context);
  settle();
  ASSERT_TRUE(again.granted());
  EXPECT_EQ(options("a")->saved.ctx_size, std::nullopt) << "and for good when it is saved";
  EXPECT_EQ(options("a")->saved.parallel, 2);
}

TEST_F(OptionsTest, ADryRunSaysWhatWouldBeAndChangesNothing) {
  have("a");
  const auto report = options("a", {.patch = context_of(64), .dry_run = true});
  ASSERT_TRUE(report);
  EXPECT_EQ(report->effective.ctx_size, 64);
  EXPECT_EQ(report->defaults.ctx_size, -1);
  EXPECT_TRUE(report->loaded);
  EXPECT_TRUE(report->needs_reload);
  EXPECT_FALSE(options("a")->saved.ctx_size);
  EXPECT_FALSE(options("a")->needs_reload);
  EXPECT_FALSE(options("b")->loaded);
}

TEST_F(OptionsTest, ChangesAddUpAndAreTakenBackOneByOneOrAll) {
  backends::LoadOptions both = context_of(64);
  both.parallel = 2;
  ASSERT_TRUE(options("a", {.patch = both}));
  ASSERT_TRUE(options("a", {.patch = {context_of(65), {config::find_load_option("parallel")}}}));
  EXPECT_EQ(options("a")->saved, context_of(65));
  ASSERT_TRUE(options("a", {.unset_all = true}));
  EXPECT_EQ(options("a")->saved, backends::LoadOptions());
}

TEST_F(OptionsTest, HowAModelLeavesMemoryNeedsNoReload) {
  have("a");
  backends::LoadOptions evict;
  evict.auto_evict = true;
  evict.evict_idle_timeout = Millis(1000);
  EXPECT_FALSE(options("a", {.patch = evict})->needs_reload);
  auto again = load("a", evict);
  ASSERT_TRUE(again.granted());
  EXPECT_TRUE(again.get().value());
  EXPECT_EQ(backend.loads("a"), 1u);
}

TEST_F(OptionsTest, HowAModelLeavesMemoryFollowsRequestSavedAndConfigured) {
  const auto eviction = [this] { return report().instances.at(0).view.eviction; };
  have("a");
  EXPECT_FALSE(eviction().auto_evict);
  EXPECT_EQ(eviction().evict_idle_timeout, 300s);
  RouterOptions configured;
  configured.default_options.auto_evict = true;
  configured.default_options.evict_idle_timeout = 10s;
  configured.default_options.downsize_idle_timeout = 0s;
  router->change(configured);
  settle();
  EXPECT_TRUE(eviction().auto_evict) << "models in memory follow";
  EXPECT_EQ(eviction().evict_idle_timeout, 10s);
  EXPECT_EQ(eviction().downsize_idle_timeout, 0s) << "0 is at once";
  EXPECT_EQ(report().instances.at(0).options.evict_idle_timeout, 10s);
  backends::LoadOptions saved;
  saved.evict_idle_timeout = 20s;
  saved.downsize_idle_timeout = -1s;
  ASSERT_TRUE(options("a", {.patch = saved}));
  EXPECT_EQ(eviction().evict_idle_timeout, 20s);
  EXPECT_LT(eviction().downsize_idle_timeout, 0s) << "below 0 is never";
  EXPECT_EQ(report().instances.at(0).options.downsize_idle_timeout, -1s);
  backends::LoadOptions requested;
  requested.evict_idle_timeout = 30s;
  requested.evict_weight_factor = 2;
  ASSERT_TRUE(load("a", requested).granted());
  EXPECT_EQ(eviction().evict_idle_timeout, 30s);
  router->change({});
  settle();
  EXPECT_EQ(eviction().evict_idle_timeout, 30s) << "what a load said holds until the next one";
  EXPECT_EQ(eviction().evict_weight_factor, 2);
  EXPECT_FALSE(eviction().auto_evict);
  EXPECT_EQ(backend.loads("a"), 1u);
}

TEST_F(OptionsTest, HowAModelLeavesMemoryFollowsChangesMadeWhileItsLoadIsQueued) {
  auto before = load("b", {});
  auto queued = load("a", {});
  backends::LoadOptions saved;
  saved.auto_evict = true;
  saved.evict_idle_timeout = 20s;
  ASSERT_TRUE(options("a", {.patch = saved}));
  server("b").finish_load();
  settle();
  server("a").finish_load();
  settle();
  ASSERT_TRUE(queued.granted());
  const auto all = report();
  const auto found = std::ranges::find(all.instances, ModelName("a"), [](const auto& s) { return s.view.spec->name; });
  ASSERT_NE(found, all.instances.end());
  EXPECT_TRUE(found->view.eviction.auto_evict);
  EXPECT_EQ(found->view.eviction.evict_idle_timeout, 20s);
}

TEST_F(OptionsTest, ValuesThatTheBackendRefusesAreNotSaved) {
  backend.refused.emplace("a", Error(make_error_code(backends::errc::invalid_option), "no such file", "lora"));
  const auto refused = options("a", {.patch = context_of(64)});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().param, "lora");
  EXPECT_FALSE(options("a")->saved.ctx_size);
  EXPECT_EQ(options("a")->problem, "no such file");
}

TEST_F(OptionsTest, TheServersFlagsCountBesideAModelsOwnUnlessToldOtherwise) {
  RouterOptions configured;
  configured.default_options.threads = 3;  // by its own flags
  configured.default_options.parallel = 4;
  configured.defaults_without_args.emplace().parallel = 4;
  start_with(configured, backends::OptionStore());
  const auto threads = [this](backends::LoadOptions wanted) {
    return options("a", {.patch = wanted, .dry_run = true})->effective.threads;
  };
  backends::LoadOptions wanted;
  EXPECT_EQ(threads(wanted), 3);
  wanted.llamacpp_args = "-c 99";
  EXPECT_EQ(threads(wanted), 3);
  wanted.merge_args = false;
  EXPECT_EQ(threads(wanted), 0);
  EXPECT_EQ(options("a", {.patch = wanted, .dry_run = true})->effective.parallel, 4) << "settings are no flags";
  wanted.llamacpp_args = "";
  EXPECT_EQ(threads(wanted), 0);
  wanted.llamacpp_args.reset();
  EXPECT_EQ(threads(wanted), 3) << "nothing stands instead of them";
}

TEST_F(OptionsTest, ADividedContextOfTheServerIsNotThatOfAModel) {
  RouterOptions configured;
  configured.default_options.ctx_size = 512;
  configured.default_options.parallel = 2;
  configured.default_options.kv_unified = false;
  start_with(configured, backends::OptionStore());
  const auto unified = [this](const backends::LoadOptions& wanted) {
    return options("a", {.patch = wanted, .dry_run = true})->effective.kv_unified;
  };
  EXPECT_EQ(unified({}), false);
  EXPECT_EQ(unified(context_of(512)), std::nullopt);
  auto wanted = context_of(512);
  wanted.kv_unified = false;
  EXPECT_EQ(unified(wanted), false);
}

TEST_F(OptionsTest, APinOfAModelThatIsNotLoadedCanBeTakenOff) {
  const auto file = std::filesystem::path(testing::TempDir()) / "corral_router_saved_pin.json";
  std::ofstream(file) << R"({"user.a": {"pinned": true}})";
  start_with({}, backends::OptionStore(file));
  auto unpinned = run(router->pin(ModelName("a"), false));
  EXPECT_TRUE(unpinned.granted());
  EXPECT_FALSE(backends::OptionStore(file).pinned(ModelName("a")));
  have("a");
  EXPECT_FALSE(report().instances.at(0).view.pinned);
  std::filesystem::remove(file);
}

TEST_F(OptionsTest, PinsOutliveTheRouter) {
  const auto file = std::filesystem::path(testing::TempDir()) / "corral_router_pins.json";
  std::filesystem::remove(file);
  start_with({}, backends::OptionStore(file));
  auto loading = load("a", {}, true);
  server("a").finish_load();
  settle();
  ASSERT_TRUE(loading.granted());
  auto stopped = run(router->stop(Millis(1000)));
  settle();

  start_with({}, backends::OptionStore(file));
  EXPECT_TRUE(options("a")->pinned);
  have("a");
  EXPECT_TRUE(report().instances.at(0).view.pinned);
  auto other = acquire("b");
  ASSERT_TRUE(other.refused());
  EXPECT_EQ(other.error().code.message(), "slots_pinned_error");
  auto unpinned = run(router->pin(ModelName("a"), false));
  EXPECT_TRUE(unpinned.granted());
  EXPECT_TRUE(backends::OptionStore(file).pins().empty());
  std::filesystem::remove(file);
}

}  // namespace
}  // namespace corral::router
