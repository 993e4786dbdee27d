// Content hashes of models, so that nodes recognize equal files under different names. SHA-256 over all parts and the
// projector, computed once per file in the background, and kept on disk by path, size, time and inode: hashing 40 GB
// again at each start would keep a disk busy for minutes.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/error.h"
#include "base/mutex.h"
#include "base/sha256.h"
#include "models/hash/digest.h"
#include "models/hash/kept_hashes.h"
#include "models/model_info.h"

namespace corral::models {

using ContentHash = Sha256;

// Hash of a model with these files. Differs for different numbers of parts, and with or without a projector.
ContentHash content_of(std::span<const Sha256> parts, const std::optional<Sha256>& projector);

// Passes the bytes of a file to `take`, piece by piece. Reads without evicting the system's page cache, if the system
// supports that. Calls `go_on` once per MiB; false when it returned false. Errors: the system's own.
Result<bool> read_pieces(const std::filesystem::path& file, const std::function<bool()>& go_on,
                         const std::function<void(std::string_view)>& take);

// Hash of a file. Reads on a low-priority thread that calls `go_on` once per MiB, and waits for it; none when `go_on`
// returned false. Throws std::system_error if no thread can be started. Errors: the system's own.
Result<std::optional<FileHash>> hash_file(const std::filesystem::path& file, const std::function<bool()>& go_on);

// Hashes of requested models. Works on its own thread, which starts with the first request; its reads yield processor
// and disk to everything else. Safe on every thread.
class ContentHashes {
 public:
  using Model = std::shared_ptr<const ModelInfo>;
  using Hasher = std::function<Result<std::optional<FileHash>>(const std::filesystem::path& file,
                                                               const std::function<bool()>& go_on)>;

  // `file` stores the hashes; the thread reads it. `on_change` is called on the thread whenever a hash is added.
  ContentHashes(std::filesystem::path file, std::function<void()> on_change,
                std::chrono::seconds rest = std::chrono::seconds(10), Hasher hasher = hash_file);
  // Ends the thread and waits for it. A hanging disk blocks this: see finish_within().
  ~ContentHashes();
  ContentHashes(const ContentHashes&) = delete;
  ContentHashes& operator=(const ContentHashes&) = delete;

  // Requests the hashes of these models only, the smallest first. Cheap if they are the same as before; a running read
  // continues if it is still requested. Files that were written less than `rest` ago wait.
  void want(std::vector<Model> models);
  // None while it isn't known. Reads no disk: the state of the latest want().
  std::optional<ContentHash> find(const ModelInfo& model) const;
  // Hashes of the model's files, in the order of its paths, the projector last; empty while one isn't known.
  std::vector<FileHash> files_of(const ModelInfo& model) const;
  // Number of requested models without a hash, except unreadable ones.
  std::size_t missing() const;

  // Aborts the running read; false: the disk does not respond. For use before the process ends.
  bool finish_within(std::chrono::milliseconds limit);

 private:
  struct KnownModel {
    std::vector<std::filesystem::path> paths;  // the projector last
    std::vector<FileStamp> stamps;             // of the request
    std::vector<FileHash> files;
    ContentHash content{};
  };

  // On the thread.
  void run();
  template <typename Work>
  void guarded(const Work& work);
  bool wait_for_work();  // false at the end
  void look_at_all();
  void look_at(const Model& model);
  // None: the file can't be read, is no longer requested, or is being written.
  std::optional<FileHash> hash_of(const std::filesystem::path& path);
  void read_file();
  void save();
  bool superseded() const;
  bool is_restless(const FileStamp& stamp) const;

  void stop() REQUIRES(mutex_);
  bool is_wanted(const std::filesystem::path& path) const REQUIRES(mutex_);

  static std::vector<std::filesystem::path> paths_of(const ModelInfo& model);
  static bool same(const Model& a, const Model& b);

  const std::filesystem::path file_;
  const std::function<void()> on_change_;
  const std::chrono::seconds rest_;
  const Hasher hasher_;

  mutable Mutex mutex_;  // never held during disk access, nor on a low-priority thread
  Condition changed_;
  std::vector<Model> wanted_ GUARDED_BY(mutex_);
  bool wanted_changed_ GUARDED_BY(mutex_) = false;  // wanted_ has changed
  std::filesystem::path reading_ GUARDED_BY(mutex_);
  std::atomic<bool> go_on_ = false;           // reading_ is still wanted; read without the mutex
  bool restless_ GUARDED_BY(mutex_) = false;  // a file was written recently: check again soon
  bool stop_ GUARDED_BY(mutex_) = false, ended_ GUARDED_BY(mutex_) = true;
  std::map<ModelName, KnownModel> known_ GUARDED_BY(mutex_);
  std::size_t missing_ GUARDED_BY(mutex_) = 0;

  KeptHashes files_;  // used by the thread
  std::thread thread_ GUARDED_BY(mutex_);
};

}  // namespace corral::models
