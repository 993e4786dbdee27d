// Detects that a file of a model in memory was written, replaced or removed after the load. The model in memory stays
// as it is, but a file that was written may make it answer nonsense. Therefore readers of events get a "files" event,
// and snapshots and health have a member `files`.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "async/offload.h"
#include "async/timer.h"
#include "base/mutex.h"
#include "json/writer.h"
#include "router/core/event_source.h"
#include "router/model_router.h"

namespace corral::api {

struct FileChange {
  ModelName model;
  std::filesystem::path file;
  bool gone = false;  // the file is missing; else it was replaced or written
  friend bool operator==(const FileChange&, const FileChange&) = default;
};

// On the router's home loop, unless noted. finish() must be called on the pool before this is destroyed.
class FileWatch final : public router::EventSource {
 public:
  FileWatch(router::ModelRouter& router, async::ThreadPool& pool, async::Timers& timers)
      : router_(router), pool_(pool), timers_(timers) {}

  // Checks every ten seconds, until it is cancelled. A hanging disk blocks only this task.
  async::Task<void> run();
  async::Task<void> look();

  // Changes of models in memory at the last check. On any loop.
  std::vector<FileChange> changes() const;
  router::NoticePtr state() const override;

 private:
  router::ModelRouter& router_;
  async::ThreadPool& pool_;
  async::Timers& timers_;
  mutable Mutex mutex_;
  std::vector<FileChange> changes_ GUARDED_BY(mutex_);

  std::shared_ptr<void> attached_;  // registered as an event source since the first change
};

// The member `files`, if there are changes.
void write_changed_files(json::Writer& out, const std::vector<FileChange>& changes);

}  // namespace corral::api
