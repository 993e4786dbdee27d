// KV that was taken out of the cache but may be wanted again, by its token list: in host memory, and from one start of
// the service to the next in a folder of files. All workers of a model share one store.
//
// Restoring is orders of magnitude cheaper than computing: a session that lost its cells, or a new one that begins like
// an old conversation, takes the entry that begins most like its own history.
//
// Safe on every thread. One mutex guards everything; bytes are copied, read from files and written to files outside of
// it. A hit shares its bytes, so they stay whole for as long as it is held, whatever becomes of the entry. Nobody who
// looks for an entry waits for a disk, or, with `chores`, for memory to be given back.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/error.h"
#include "engine/kv/parked_file.h"
#include "engine/kv/radix_index.h"
#include "engine/threads/background_executor.h"
#include "engine/values/stats.h"

namespace corral::engine {

struct ParkedStoreOptions {
  // Of all entries in memory, tokens and bytes; least recently used go first. Hits that are held come on top.
  std::uint64_t memory_bytes = 0;
  // The bytes of an entry can't be cut back to fewer tokens (recurrent state, sliding windows): an entry matches only
  // with all of its tokens, and a longer one doesn't replace a shorter one.
  bool whole_only = false;

  std::filesystem::path folder = {};  // may be shared with other processes and models; empty: nothing is saved
  std::string fingerprint = {};       // files with another one are not for this store
  std::uint64_t folder_bytes = 0;     // of all files there, whatever their fingerprint; least recently used go first

  std::shared_ptr<BackgroundExecutor> disk = nullptr;      // reads files; nullptr: nobody does. A disk may hang
  std::shared_ptr<BackgroundExecutor> executor = nullptr;  // gives memory back; nullptr: whoever calls does
};

class ParkedStore {
 public:
  // Never 0, never given twice.
  using Id = RadixIndex::Owner;

  struct Hit {
    Id id = 0;
    std::uint32_t length = 0;              // tokens that the entry and the wanted list have in common
    std::shared_ptr<const Parked> parked;  // may be longer than that; never nullptr
  };

  explicit ParkedStore(ParkedStoreOptions options) : options_(std::move(options)) {}
  // Waits for a file that is being read.
  ~ParkedStore();
  ParkedStore(const ParkedStore&) = delete;
  ParkedStore& operator=(const ParkedStore&) = delete;

  // Called whenever a file has been read, well or badly, on whatever thread; it must not block, throw or call the
  // store.
  void when_read(std::move_only_function<void()> call);

  // Keeps the entry; those that are a beginning of it go, and if it is a beginning of another that one stays instead.
  // False if it has no tokens or is larger than all the memory there is.
  // Where the system has no memory for what is done with an entry, this and the others below throw as if nothing were
  // kept any more, and so it is: half a change is none, and the memory is needed elsewhere. Files stay.
  bool put(Parked parked);

  // There is an entry for these tokens; also a longer one, unless whole_only.
  bool covers(std::span<const Token> tokens) const;

  struct Found {
    std::optional<Hit> hit;
    bool coming = false;  // a chore reads its file: ask again when that is done (when_read)
    bool begun = false;   // since now
  };
  // What is to be done about entries in files.
  enum class Files : std::uint8_t {
    ignored,
    awaited,  // those that are being read count
    read,     // those that memory has room for count, and the one that is wanted is read
  };
  // The entry with the longest beginning in common with `wanted`, at least `least` tokens (and at least 1). One whose
  // file turns out damaged is forgotten, and the file removed.
  Found find(std::span<const Token> wanted, std::uint32_t least, Files files = Files::read);

  // Keeps the entry for whoever knows its id: nobody else finds it, and no file is made of it. It takes the place of
  // the owner's `former` one (0: none), unless that is as long or longer and begins with it. Nothing: there is no room.
  std::optional<Id> put_own(Parked parked, Id former);
  // An entry of put_own, if it is still there and of use for `wanted`.
  std::optional<Hit> own(Id id, std::span<const Token> wanted);

  // Forgets the entry, for one that turned out to be of no use. Its file goes with the next save.
  void erase(Id id);

  // Makes the files of the folder known that have this store's fingerprint, by their heads; damaged ones and ones of
  // other versions are removed. Nothing happens without a folder. Error: park_failed.
  Result<> open();

  struct Saved {
    std::size_t written = 0;
    std::size_t removed = 0;  // files, for want of room or because a longer entry replaced them
  };
  // Writes what is in memory only, most recently used first, and makes room for it in the folder. Costs about a copy
  // of the bytes: nothing waits for the disk. Error: park_failed (also for a folder that others may write into); what
  // is written by then stays, and so does everything in memory.
  Result<Saved> save();

  // Frees the memory of the entries that have a file; they are read again when they are wanted. Returns the bytes.
  std::uint64_t let_go_of_saved();

  ParkedStats stats() const;

 private:
  using Time = std::filesystem::file_time_type;
  // Bytes to be given back after the mutex, by a chore if there are any.
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
    bool own = false;      // not in the index, never in a file
    bool reading = false;  // its file, by a chore
    Time used;
  };
  // What competes for room in the folder: a file there is (whose entry may be known), or an entry to be written.
  struct Candidate {
    std::uint64_t bytes = 0;
    Time used;
    Id id = 0;                   // 0: no entry of this store
    std::filesystem::path file;  // there already; or empty, and to be written:
    std::shared_ptr<const Parked> parked;
  };

  Result<Parked> read(const std::filesystem::path& file) const;
  void read_aside(Id id, const std::filesystem::path& file);
  void take_in(Id id, Result<Parked> read);
  void end_reading(Id id) noexcept;
  Result<std::vector<Candidate>> candidates(Saved& saved);
  Result<> write(const Candidate& candidate);

  // Calls it with the mutex held. If it throws, all entries are forgotten.
  template <typename Call>
  auto guarded(Call call);
  void forget_all() noexcept;

  // With the mutex held.
  std::optional<RadixIndex::Match> choose(std::span<const Token> wanted, std::uint32_t least,
                                          bool in_files = true) const;
  // The entry for these tokens: the one there is, or a new one in place of those that are a beginning of it; nothing if
  // a longer one covers them.
  std::optional<Id> admit(std::span<const Token> tokens, Time used, Freed& freed);
  void remember(Entry& entry, std::shared_ptr<const Parked> parked, Freed& freed);
  void release(Entry& entry, Freed& freed);
  void drop(Id id, Freed& freed);
  void set_file(Entry& entry, std::filesystem::path file, std::uint64_t bytes);
  void file_gone(Id id);
  bool begin_reading(Id id);
  Time now();

  const ParkedStoreOptions options_;

  std::mutex saving_;  // one save at a time; taken before mutex_

  mutable std::mutex mutex_;  // guards all below
  RadixIndex index_;
  std::unordered_map<Id, Entry> entries_;
  std::vector<std::filesystem::path> stale_;  // files whose entries were replaced; removed by the next save
  std::uint64_t memory_ = 0;                  // bytes
  Id last_id_ = 0;
  Time last_used_ = Time::min();
  ParkedStats counts_;  // its counters only
  std::vector<std::move_only_function<void()>> when_read_;

  // Those of a chore that outlives the store do nothing.
  struct Alive {
    explicit Alive(ParkedStore* owner) : store(owner) {}
    std::mutex mutex;  // held while a chore uses the store
    ParkedStore* store;
  };
  const std::shared_ptr<Alive> alive_ = std::make_shared<Alive>(this);
};

}  // namespace corral::engine
