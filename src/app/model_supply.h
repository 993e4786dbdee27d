// Sources of models for this server: the downloads on their thread, names that users give to models, and events about
// both.
#pragma once

#include <cstdint>
#include <functional>

#include "api/supply/download_event_source.h"
#include "api/supply/supply.h"
#include "async/timer.h"
#include "config/live_settings.h"
#include "downloads/download_manager.h"
#include "models/names/name_store.h"

namespace corral::app {

struct SupplyHooks {
  config::KnownModels known;                           // see api::Supply
  std::function<void(router::NoticePtr)> notify;       // publishes events; on any loop
  std::function<void()> arrived;                       // a download is complete; on the downloads' loop
  std::function<async::Task<std::uint64_t>()> memory;  // see api::Supply
};

class ModelSupply {
 public:
  // `live` and `timers` outlive it.
  ModelSupply(async::Timers& timers, config::LiveSettings& live, const config::ServeSettings& settings,
              SupplyHooks hooks);

  api::Supply& supply() { return supply_; }
  const router::EventSource& events() const { return event_source_; }
  void start() { download_manager_.start(); }
  async::Task<void> stop() { return download_manager_.stop(); }
  void change(const config::ServeSettings& settings);
  // Waits at most that long for the end of a running import. False: its disk hangs.
  bool finish_within(Millis limit) { return imports_.finish_within(limit); }

 private:
  const SupplyHooks hooks_;
  api::DownloadEventSource event_source_;
  models::NameStore names_;
  downloads::DownloadManager download_manager_;
  async::ThreadPool imports_{1};
  api::Supply supply_;
};

}  // namespace corral::app
