// Notices that a file of a model in memory isn't the one any more that was loaded: somebody wrote to it, replaced it or
// removed it. What is in memory goes on as it is (a file that was written to may make its model answer nonsense), so
// somebody should know: readers of events get a "files" event, snapshots and health a member `files`.
#pragma once

#include <filesystem>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "async/offload.h"
#include "async/timer.h"
#include "json/writer.h"
#include "router/core/event_source.h"
#include "router/model_router.h"

namespace corral::api {

struct FileChange {
  ModelName model;
  std::filesystem::path file;
  bool gone = false;  // no file of that name is there; else it is another one, or was written to
  friend bool operator==(const FileChange&, const FileChange&) = default;
};

// Lives on the router's home loop, but for what says otherwise. The pool must be told to finish() before it goes.
class FileWatch final : public router::EventSource {
 public:
  FileWatch(router::ModelRouter& router, async::ThreadPool& pool, async::Timers& timers)
      : router_(router), pool_(pool), timers_(timers) {}

  // Looks every ten seconds, until it is cancelled. A disk that hangs holds it up, and nobody else.
  async::Task<void> run();
  async::Task<void> look();

  // Of models in memory, as of the last look. On any loop.
  std::vector<FileChange> changes() const;
  router::NoticePtr state() const override;

 private:
  router::ModelRouter& router_;
  async::ThreadPool& pool_;
  async::Timers& timers_;
  mutable std::mutex mutex_;
  std::vector<FileChange> changes_;
  std::shared_ptr<void> tells_;  // since there was a change to tell of
};

// The member `files`, where there is anything to say.
void write_changed_files(json::Writer& out, const std::vector<FileChange>& changes);

}  // namespace corral::api
