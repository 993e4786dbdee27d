// Downloads as events: each change of a download is an event, and each snapshot has the downloads that haven't ended.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>

#include "base/mutex.h"
#include "downloads/download_manager.h"
#include "router/core/event_source.h"

namespace corral::api {

class DownloadEventSource final : public router::EventSource {
 public:
  using Row = std::shared_ptr<const downloads::DownloadRow>;

  // The callback may be called on any loop.
  explicit DownloadEventSource(std::function<void(router::NoticePtr)> notify) : notify_(std::move(notify)) {}

  // On the download manager's loop.
  void changed(Row row);
  router::NoticePtr state() const override;

 private:
  const std::function<void(router::NoticePtr)> notify_;
  mutable Mutex mutex_;
  std::map<std::uint64_t, Row> rows_ GUARDED_BY(mutex_);  // by id, without ended downloads
};

}  // namespace corral::api
