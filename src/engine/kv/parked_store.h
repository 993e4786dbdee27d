// Store of parked KV by token list: in host memory, and across restarts in a folder of files. All workers of a model
// share one store.
//
// A restore is orders of magnitude cheaper than a new computation. A session without cells gets the entry with the
// longest common prefix.
//
// Safe on every thread. One mutex guards everything; bytes are copied, and files read and written, outside of it. A hit
// shares its bytes, so they stay valid while it is held, whatever happens to the entry. No lookup waits for a disk, or,
// with `executor`, for the release of memory.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/error.h"
#include "base/mutex.h"
#include "engine/kv/parked_file.h"
#include "engine/kv/radix_index.h"
#include "engine/threads/background_executor.h"
#include "engine/values/stats.h"

namespace corral::engine {

struct ParkedStoreOptions {
  // Limit for entries in memory, tokens and bytes; the least recently used are evicted first. Hits that are held are
  // extra.
  std::uint64_t memory_bytes = 0;
  // Entries can't be cut to fewer tokens (recurrent state, sliding windows): an entry matches only with all its tokens,
  // and a longer one does not replace a shorter one.
  bool whole_only = false;

  std::filesystem::path folder = {};  // other processes and models may use it too; empty: nothing is saved
  std::string fingerprint = {};       // the store ignores files with another fingerprint
  std::uint64_t folder_bytes = 0;     // limit for all files there, of any fingerprint; the least recently used are
                                      // removed first

  std::shared_ptr<BackgroundExecutor> disk = nullptr;      // reads files, because a disk may hang; nullptr: files are
                                                           // not read
  std::shared_ptr<BackgroundExecutor> executor = nullptr;  // releases memory; nullptr: on the calling thread
};

class ParkedStore {
 public:
  // Never 0, never reused.
  using Id = RadixIndex::Owner;

  struct Hit {
    Id id = 0;
    std::uint32_t length = 0;              // length of the common prefix of entry and wanted list
    std::shared_ptr<const Parked> parked;  // may be longer than that; never nullptr
  };

  explicit ParkedStore(ParkedStoreOptions options) : options_(std::move(options)) {}
  // Waits for a running read.
  ~ParkedStore();
  ParkedStore(const ParkedStore&) = delete;
  ParkedStore& operator=(const ParkedStore&) = delete;

  // Called after each read of a file, also a failed one, on any thread; it must not block, throw or call the store.
  void when_read(std::move_only_function<void()> call);

  // Adds an entry. Entries that are a prefix of it are removed; if it is a prefix of another entry, it is dropped.
  // False if it has no tokens or is larger than the memory limit.
  //
  // Without memory for the change, this call and those below throw, and the store forgets all its entries: no change
  // stays half done, and the memory is needed elsewhere. Files stay.
  bool put(Parked parked);

  // There is an entry for these tokens, or a longer one unless whole_only.
  bool covers(std::span<const Token> tokens) const;

  struct Found {
    std::optional<Hit> hit;
    bool coming = false;  // its file is being read: call again after when_read
    bool begun = false;   // this call has started the read
  };
  // How a lookup treats entries in files.
  enum class Files : std::uint8_t {
    ignored,
    awaited,  // entries that are being read count
    read,     // entries that fit into memory count, and the chosen one is read
  };
  // The entry with the longest common prefix with `wanted`, of at least `least` (and at least 1) tokens. A damaged file
  // is removed, and its entry forgotten.
  Found find(std::span<const Token> wanted, std::uint32_t least, Files files = Files::read);

  // Adds an entry that only its id finds, without a file. It replaces the owner's `former` entry (0: none), unless that
  // one has the same prefix and is at least as long. None: no space.
  std::optional<Id> put_own(Parked parked, Id former);
  // An entry of put_own, if it still exists and is useful for `wanted`.
  std::optional<Hit> own(Id id, std::span<const Token> wanted);

  // Removes an entry that can't be used. The next save removes its file.
  void erase(Id id);

  // Registers the files of the folder that have this store's fingerprint, by their heads; removes damaged ones and
  // those of other versions. Does nothing without a folder. Error: park_failed.
  Result<> open();

  struct Saved {
    std::size_t written = 0;
    std::size_t removed = 0;  // files, for lack of space or because a longer entry replaced them
  };
  // Writes entries without a file, most recently used first, and removes old files if the folder is full. Takes about
  // as long as copying the bytes; it does not sync. Error: park_failed (also if others may write into the folder).
  // Files that are written by then stay, and so does everything in memory.
  Result<Saved> save();

  // Frees the memory of entries that have a file; a later lookup reads the file. Returns the bytes.
  std::uint64_t let_go_of_saved();

  ParkedStats stats() const;

 private:
  using Time = std::filesystem::file_time_type;
  // Bytes to be released after the mutex, by the executor if there is one.
  struct Freed {
    explicit Freed(std::shared_ptr<BackgroundExecutor> to = nullptr) : executor(std::move(to)) {}
    ~Freed() {
      if (!parked.empty()) give_back(executor, std::move(parked));
    }
    Freed(const Freed&) = delete;
    Freed& operator=(const Freed&) = delete;

    const std::shared_ptr<BackgroundExecutor> executor;
    std::vector<std::shared_ptr<const Parked>> parked;
  };

  // In memory, in a file or both.
  struct Entry {
    std::shared_ptr<const Parked> parked;
    std::filesystem::path file;
    std::uint64_t file_bytes = 0;
    bool own = false;      // entry of one session: not in the index, never in a file
    bool reading = false;  // its file is being read
    Time used;
  };
  // A candidate for space in the folder: an existing file (whose entry may be known), or an entry to be written.
  struct Candidate {
    std::uint64_t bytes = 0;
    Time used;
    Id id = 0;                   // 0: not of this store
    std::filesystem::path file;  // exists; or empty if `parked` is to be written
    std::shared_ptr<const Parked> parked;
  };

  Result<Parked> read(const std::filesystem::path& file) const;
  void read_aside(Id id, const std::filesystem::path& file);
  void take_in(Id id, Result<Parked> read);
  void end_reading(Id id) noexcept;
  Result<std::vector<Candidate>> candidates(Saved& saved) REQUIRES(saving_);
  Result<> write(const Candidate& candidate) REQUIRES(saving_);

  // Calls `call` with the mutex held. If it throws, forgets all entries.
  template <typename Call>
  auto guarded(Call call) EXCLUDES(mutex_);
  void forget_all() noexcept REQUIRES(mutex_);

  std::optional<RadixIndex::Match> choose(std::span<const Token> wanted, std::uint32_t least,
                                          bool in_files = true) const REQUIRES(mutex_);
  // The entry for these tokens: the existing one, or a new one in place of its prefixes; none if a longer one covers
  // them.
  std::optional<Id> admit(std::span<const Token> tokens, Time used, Freed& freed) REQUIRES(mutex_);
  void remember(Entry& entry, std::shared_ptr<const Parked> parked, Freed& freed) REQUIRES(mutex_);
  void release(Entry& entry, Freed& freed) REQUIRES(mutex_);
  void drop(Id id, Freed& freed) REQUIRES(mutex_);
  void set_file(Entry& entry, std::filesystem::path file, std::uint64_t bytes) REQUIRES(mutex_);
  void file_gone(Id id) REQUIRES(mutex_);
  bool begin_reading(Id id) REQUIRES(mutex_);
  Time now() REQUIRES(mutex_);

  const ParkedStoreOptions options_;

  Mutex saving_ ACQUIRED_BEFORE(mutex_);  // one save at a time; taken before mutex_

  mutable Mutex mutex_;
  RadixIndex index_ GUARDED_BY(mutex_);
  std::unordered_map<Id, Entry> entries_ GUARDED_BY(mutex_);
  std::vector<std::filesystem::path> stale_
      GUARDED_BY(mutex_);                        // files whose entries were replaced; removed by the next save
  std::uint64_t memory_ GUARDED_BY(mutex_) = 0;  // bytes
  Id last_id_ GUARDED_BY(mutex_) = 0;
  Time last_used_ GUARDED_BY(mutex_) = Time::min();
  ParkedStats counts_ GUARDED_BY(mutex_);  // its counters only
  std::vector<std::move_only_function<void()>> when_read_ GUARDED_BY(mutex_);

  // Tasks of the executor that outlive the store do nothing.
  struct Alive {
    explicit Alive(ParkedStore* owner) : store(owner) {}
    Mutex mutex;  // held while a task uses the store
    ParkedStore* store GUARDED_BY(mutex);
  };
  const std::shared_ptr<Alive> alive_ = std::make_shared<Alive>(this);
};

}  // namespace corral::engine
