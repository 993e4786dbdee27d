// For tests of downloading, naming and deleting models: the API fixture with a hub on the loopback, its own cache,
// and downloads on their thread.
#pragma once

#include <fstream>
#include <iterator>

#include "api/api_fixture_for_tests.h"
#include "api/supply/download_event_source.h"
#include "api/supply/supply.h"
#include "downloads/hub/hub_for_tests.h"
#include "http/sse.h"

namespace corral::api {

class SupplyTest : public ApiTest {
 protected:
  SupplyTest() {
    hub.add("x-Q4_K_M.gguf", gguf("llama", 'x'));
    hub.add("x-Q8_0.gguf", gguf("llama", 'y'));
    std::filesystem::create_directories(cache / "own");
    registry.look_at({.models_dirs = {dir.path(), cache / "own"},
                      .hub_cache = cache.path(),
                      .user_models = cache / "user_models.json",
                      .aliases = cache / "aliases.json",
                      .known_names = {{"little-4b", "org/repo:Q4_K_M"}}});
    context.supply.supply = &supply;
    handler = make_api(context);
  }
  ~SupplyTest() override {
    end(download_manager.stop());
    end(hub.stop());
  }

  // Of a file as the hub may have it.
  std::string gguf(std::string_view architecture, char salt) {
    const auto file = cache / "made.gguf.tmp";
    models::GgufWriter::model(architecture).text("general.name", std::string(100'000, salt)).save(file);
    std::ifstream in(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  void end(async::Task<void> task) {
    bool done = false;
    const auto run = [](async::Task<void> work, bool& ended) -> async::Task<void> {
      co_await std::move(work);
      ended = true;
    };
    async::TaskGroup group(loop.executor());
    group.spawn("end", run(std::move(task), done));
    loop.context().restart();
    while (!done) loop.context().run_one();
  }
  json::Value download(const std::string& name) {
    for (const auto& row : get("/v1/downloads").json().as_array())
      if (json::text_or(row, "model_name", "") == name) return row;
    return {};
  }
  // Asks until it is so: what happens meanwhile happens on another thread.
  void until_status(const std::string& name, std::string_view status) {
    while (json::text_or(download(name), "status", "") != status) {
    }
  }
  // The data of the last event of that name.
  static json::Value event(const Answer& answer, std::string_view name) {
    json::Value found;
    http::SseParser parser([&](std::string_view event, std::string_view data) {
      if (event == name) found = *json::parse(data);
    });
    parser.feed(answer.text);
    return found;
  }

  static downloads::DownloadManagerOptions download_manager_options(const std::string& endpoint,
                                                                    const std::filesystem::path& cache) {
    downloads::DownloadManagerOptions options;
    options.hub = {.endpoint = endpoint, .cache = cache};
    options.retries = {.max_tries = 20, .first_pause = Millis(2), .longest_pause = Millis(2)};
    options.questions = options.retries;
    options.downloads.each.retries = options.retries;
    options.downloads.each.parts = {.smallest = 20'000, .largest = 20'000, .at_once = 2};
    options.downloads.each.keep_free = 0;
    options.curl.proxy = "";
    options.tick = Millis(5);
    options.record = cache / "downloads.json";
    return options;
  }
  async::Task<std::uint64_t> enough_memory() { co_return memory; }

  std::uint64_t memory = 16ull << 30;
  const models::TempDir cache;
  downloads::HubForTests hub{loop.executor()};
  DownloadEventSource event_source{[this](router::NoticePtr notice) { router.notify(std::move(notice)); }};
  models::NameStore names{cache / "user_models.json", cache / "aliases.json"};
  downloads::DownloadManager download_manager{
      clock, download_manager_options(hub.endpoint(), cache.path()),
      [this](DownloadEventSource::Row row, bool) { event_source.changed(std::move(row)); }};
  Supply supply{
      .download_manager = download_manager,
      .names = names,
      .places =
          [this] { return ModelPlaces{.hub_cache = cache.path(), .own = cache / "own", .models_dirs = {dir.path()}}; },
      .memory = [this] { return enough_memory(); },
      .imports = threads,
      .known = {.models = {{.name = "little-4b", .repository = "org/repo", .quantisation = "Q4_K_M", .billions = 4}}}};
};

}  // namespace corral::api
