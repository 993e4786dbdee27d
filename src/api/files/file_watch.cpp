#include "api/files/file_watch.h"

#include <algorithm>
#include <cerrno>
#include <string_view>
#include <utility>

#include <sys/stat.h>

#include "base/log.h"
#include "models/hash/file_stamp.h"
#include "models/hash/verifier.h"

namespace corral::api {
namespace {

constexpr Millis kLookInterval{10'000};
constexpr std::string_view kSource = "files";

void write_file_change(json::Writer& out, const FileChange& change) {
  out.field("model", change.model.value()).field("file", change.file.native());
  out.field("change", change.gone ? "gone" : "changed");
}

void write_list(json::Writer& out, const std::vector<FileChange>& changes) {
  out.key("changed").begin_array();
  for (const auto& change : changes) {
    write_file_change(out.begin_object(), change);
    out.end_object();
  }
  out.end_array();
}

class FileNotice final : public router::Notice {
 public:
  explicit FileNotice(FileChange change) : change_(std::move(change)) {}
  std::string_view name() const override { return kSource; }
  void write(json::Writer& out) const override { write_file_change(out, change_); }

 private:
  const FileChange change_;
};

class FilesNotice final : public router::Notice {
 public:
  explicit FilesNotice(std::vector<FileChange> changes) : changes_(std::move(changes)) {}
  std::string_view name() const override { return kSource; }
  void write(json::Writer& out) const override { write_list(out, changes_); }

 private:
  const std::vector<FileChange> changes_;
};

std::vector<FileChange> changes_of(const std::vector<backends::ModelPtr>& models) {
  std::vector<FileChange> changes;
  for (const auto& model : models) {
    const auto files = models::files_of(*model);
    if (files.size() != model->stamps.size()) continue;  // another backend's model with unknown files
    for (std::size_t i = 0; i < files.size(); ++i) {
      struct stat found{};
      const bool there = ::stat(files[i].c_str(), &found) == 0;
      // A failing disk doesn't mean a removed file.
      const bool gone = !there && (errno == ENOENT || errno == ENOTDIR);
      if (gone || (there && models::stamp_of(found) != model->stamps[i]))
        changes.push_back({model->name, files[i], gone});
    }
  }
  return changes;
}

}  // namespace

async::Task<void> FileWatch::run() {
  while (true) {
    co_await timers_.sleep_for(kLookInterval);
    co_await look();
  }
}

async::Task<void> FileWatch::look() {
  const auto report = co_await router_.report();
  std::vector<backends::ModelPtr> models;
  for (const auto& instance : report.instances) models.push_back(instance.model);
  std::vector<FileChange> found;
  if (!models.empty()) found = co_await pool_.run([all = std::move(models)] { return changes_of(all); });
  const auto before = changes();
  {
    const MutexLock lock(mutex_);
    changes_ = found;
  }
  for (auto& change : found) {
    if (std::ranges::find(before, change) != before.end()) continue;
    log::warning("models", "'{}' {} while '{}' is in memory: unload and load it again", change.file.native(),
                 change.gone ? "has gone" : "has changed", change.model.value());
    if (!attached_) attached_ = router_.attach(*this);
    router_.notify(std::make_shared<FileNotice>(std::move(change)));
  }
}

std::vector<FileChange> FileWatch::changes() const {
  const MutexLock lock(mutex_);
  return changes_;
}

router::NoticePtr FileWatch::state() const { return std::make_shared<FilesNotice>(changes()); }

void write_changed_files(json::Writer& out, const std::vector<FileChange>& changes) {
  if (changes.empty()) return;
  write_list(out.key(kSource).begin_object(), changes);
  out.end_object();
}

}  // namespace corral::api
