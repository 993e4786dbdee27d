// Downloads for readers of events: each change of one is an event, and those that haven't ended are in each snapshot.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>

#include "downloads/download_manager.h"
#include "router/core/event_source.h"

namespace corral::api {

class DownloadEventSource final : public router::EventSource {
 public:
  using Row = std::shared_ptr<const downloads::DownloadRow>;

  // `tell` may be called on any loop.
  explicit DownloadEventSource(std::function<void(router::NoticePtr)> tell) : tell_(std::move(tell)) {}

  // On the desk's loop.
  void changed(Row row);
  router::NoticePtr state() const override;

 private:
  const std::function<void(router::NoticePtr)> tell_;
  mutable std::mutex mutex_;
  std::map<std::uint64_t, Row> rows_;  // by id, of those that haven't ended
};

}  // namespace corral::api
