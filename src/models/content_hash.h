// What a model is, by its bytes: nodes that have equal files know it, whatever they call them. SHA-256 over all parts
// and the projector, computed once for each file, beside everything else, and kept on disk by path, size, time and
// inode: hashing 40 GB again at each start would keep a disk busy for minutes.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/error.h"
#include "base/sha256.h"
#include "models/digest.h"
#include "models/kept_hashes.h"
#include "models/model_info.h"

namespace corral::models {

using ContentHash = Sha256;

// Of a model with these files. One file or several, with or without a projector: never the same hash.
ContentHash content_of(std::span<const Sha256> parts, const std::optional<Sha256>& projector);

// Gives the bytes of a file to `take`, piece by piece. Reads without driving out what the system has cached, where the
// system can. `go_on` is asked once for each MiB; false when it said no. Errors: the system's own.
Result<bool> read_pieces(const std::filesystem::path& file, const std::function<bool()>& go_on,
                         const std::function<void(std::string_view)>& take);

// Of the bytes of a file. Reads on a thread that yields to everybody, where `go_on` is asked once for each MiB, and
// waits for it; nothing when it said no. Throws std::system_error where there is no thread. Errors: the system's own.
Result<std::optional<FileHash>> hash_file(const std::filesystem::path& file, const std::function<bool()>& go_on);

// Hashes of the models that somebody wants to know about. Works on a thread of its own, which starts with the first
// wish; what it reads takes no time and no disk from anybody who wants some. Safe on every thread.
class ContentHashes {
 public:
  using Model = std::shared_ptr<const ModelInfo>;
  using Hasher = std::function<Result<std::optional<FileHash>>(const std::filesystem::path& file,
                                                               const std::function<bool()>& go_on)>;

  // `file` keeps what is known; it is read by the thread. `on_change` is called on the thread whenever more is known.
  ContentHashes(std::filesystem::path file, std::function<void()> on_change,
                std::chrono::seconds rest = std::chrono::seconds(10), Hasher hasher = hash_file);
  // Ends the thread, and waits for it: a disk that hangs keeps it, see finish_within().
  ~ContentHashes();
  ContentHashes(const ContentHashes&) = delete;
  ContentHashes& operator=(const ContentHashes&) = delete;

  // These and no others from now on, the smallest first. Cheap where they are the same as before; what is being read
  // and still wanted goes on. Files that were written to less than `rest` ago wait until they do.
  void want(std::vector<Model> models);
  // Nothing while it isn't known. Asks no disk: it is as of the latest want().
  std::optional<ContentHash> find(const ModelInfo& model) const;
  // Of the model's files, in the order of its paths, the projector last; empty while one isn't known.
  std::vector<FileHash> files_of(const ModelInfo& model) const;
  // How many wanted ones aren't known yet, those that can't be read left out.
  std::size_t missing() const;

  // Gives up what runs, at once; false: the disk gives no answer. For those who end the whole process then.
  bool finish_within(std::chrono::milliseconds limit);

 private:
  struct KnownModel {
    std::vector<std::filesystem::path> paths;  // the projector last
    std::vector<FileStamp> stamps;             // of the wish
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
  // Nothing: it can't be read, isn't wanted any more, or doesn't rest.
  std::optional<FileHash> hash_of(const std::filesystem::path& path);
  void read_file();
  void save();
  bool superseded() const;
  bool is_restless(const FileStamp& stamp) const;

  // With the mutex held.
  void stop();
  bool is_wanted(const std::filesystem::path& path) const;

  static std::vector<std::filesystem::path> paths_of(const ModelInfo& model);
  static bool same(const Model& a, const Model& b);

  const std::filesystem::path file_;
  const std::function<void()> on_change_;
  const std::chrono::seconds rest_;
  const Hasher hasher_;

  mutable std::mutex mutex_;  // of what follows; never held while a disk is asked, nor on a thread that yields
  std::condition_variable changed_;
  std::vector<Model> wanted_;
  bool news_ = false;  // wanted_ is another one
  std::filesystem::path reading_;
  std::atomic<bool> go_on_ = false;  // reading_ is still wanted; read without the mutex
  bool restless_ = false;            // a file was written to lately: look again soon
  bool stop_ = false, ended_ = true;
  std::map<ModelName, KnownModel> known_;
  std::size_t missing_ = 0;

  KeptHashes files_;  // of the thread
  std::thread thread_;
};

}  // namespace corral::models
