// Data that outlives requests: stored responses and conversations, results of requests, and captured bodies of some, in
// one SQLite file. Independent of HTTP; documents are texts.
//
// Only the store's own thread uses the file, so that no loop waits for a disk. Its queue is bounded in number and
// bytes, except for texts with a Place. If the queue is full, rows of activity are lost and counted. Data that must be
// stored needs a Place first, so that a request fails before any work. Jobs run in the order of their calls, so a later
// read finds an earlier write.
//
// A damaged file is renamed and a new one created. An unusable file (locked by another program, disk full) is tried
// again later; until then calls that need it fail with errc::unavailable and the cause.
//
// Methods may be called on any thread, tasks on any loop. A cancelled caller doesn't wait for the disk.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "async/offload.h"
#include "async/run_or_leave.h"
#include "async/timer.h"
#include "base/error.h"
#include "base/mutex.h"
#include "store/errors.h"
#include "store/rows.h"

namespace corral::store {

class Tables;
class Journal;

struct StoreOptions {
  std::filesystem::path file;
  Limits limits = {};
  std::size_t max_waiting = 1'024;             // jobs
  std::uint64_t max_waiting_bytes = 64 << 20;  // of their texts
  Millis gather = Millis(100);                 // how long rows of activity are collected
  std::int64_t max_pages = 0;                  // of the file, 4 KiB each; 0: no limit
};

struct StoreCounts {
  std::uint64_t waiting = 0, waiting_bytes = 0;
  std::uint64_t lost_activity = 0;  // rows and captures that exceeded a limit
  std::uint64_t failures = 0;       // of the file
  std::uint64_t kept_bytes = 0;     // of responses and conversations
};

class Store {
 public:
  // The file is opened at its first use. `timers` must outlive the store.
  Store(async::Timers& timers, StoreOptions options);
  ~Store();
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;

  void change(const Limits& limits);
  // Runs the queued jobs, at most for `limit`, then stops. False: the disk doesn't respond.
  bool finish_within(Millis limit);

  // A reservation for one put().
  class Place {
   public:
    Place() = default;
    Place(Place&& other) noexcept : store_(std::exchange(other.store_, nullptr)) {}
    Place& operator=(Place&& other) noexcept {
      Place old(std::move(*this));
      store_ = std::exchange(other.store_, nullptr);
      return *this;
    }
    ~Place();
    explicit operator bool() const { return store_ != nullptr; }

   private:
    friend class Store;
    explicit Place(Store& store) : store_(&store) {}
    Store* store_ = nullptr;
  };
  // Errors: busy; unavailable, if that is known.
  Result<Place> reserve();
  // Returns at once. Failures are logged and counted; put_now() reports them.
  void put(Place place, ResponseRow row);
  // Appends items to the conversation, if it exists.
  void append(Place place, std::string owner, std::string conversation, std::vector<ItemRow> items);
  // Rows are collected for a moment and written together: on a busy server, single writes would cost more than some
  // requests. Rows beyond `max_waiting` are lost, which bounds the cost of the log.
  void note(ActivityRow row);
  // May be lost, too. `doc` makes the document, of `bytes` bytes, on the store's thread.
  void capture(std::string request, std::int64_t ended, std::uint64_t bytes,
               std::move_only_function<std::string()> doc);

  // Errors of all: busy (not with a place), unavailable, and those of Tables. A cancelled put_now() still writes.
  async::Task<Result<>> put_now(ResponseRow row);
  async::Task<Result<>> put_now(Place place, ResponseRow row);
  async::Task<Result<ResponseRow>> response(std::string owner, std::string id);
  async::Task<Result<std::vector<ResponseRow>>> chain(std::string owner, std::string id, ReadLimits limits);
  // The existing ones of them.
  async::Task<Result<std::vector<ResponseRow>>> responses(std::string owner, std::vector<std::string> ids,
                                                          ReadLimits limits);
  async::Task<Result<>> erase_response(std::string owner, std::string id);
  async::Task<Result<>> create(ConversationRow row, std::vector<ItemRow> items);
  async::Task<Result<ConversationRow>> conversation(std::string owner, std::string id);
  async::Task<Result<ConversationPage>> conversations(std::string owner, Page page);
  async::Task<Result<ConversationRow>> set_metadata(std::string owner, std::string id, std::string metadata);
  async::Task<Result<>> erase_conversation(std::string owner, std::string id);
  async::Task<Result<>> add(std::string owner, std::string id, std::vector<ItemRow> items, ReadLimits limits);
  async::Task<Result<ItemPage>> items(std::string owner, std::string id, Page page);
  async::Task<Result<std::vector<ItemRow>>> all_items(std::string owner, std::string id, ReadLimits limits);
  async::Task<Result<ItemRow>> item(std::string owner, std::string id, std::string item);
  async::Task<Result<>> erase_item(std::string owner, std::string id, std::string item);
  async::Task<Result<std::vector<ActivityRow>>> activity(ActivityFilter filter);
  async::Task<Result<CaptureRow>> captured(std::string request);

  StoreCounts counts() const;

 private:
  struct File;
  class Job;

  // Writes the collected rows. On the thread.
  void write_notes();
  bool has_room(std::uint64_t bytes) const;
  std::int64_t now() const { return epoch_millis(timers_.wall_now()); }
  // The file, opened if necessary. On the thread.
  Result<File*> file();
  // Runs `work(File&)` and converts exceptions of the file to errors. On the thread.
  template <typename R, typename Work>
  R with_file(Work& work);
  // `bytes`: of its texts. ask() fails if the queue is full.
  template <typename R, typename Work>
  async::Task<R> run(std::uint64_t bytes, Work work);
  template <typename R, typename Work>
  async::Task<R> ask(std::uint64_t bytes, Work work);
  template <typename Work>
  void post(std::uint64_t bytes, Work work);
  // statement: only one operation fails.
  enum class Damage { none, statement, full, broken };
  Error failed(const std::exception& failure, Damage damage);
  static Damage damage_of(const std::exception& failure);

  async::Timers& timers_;
  const StoreOptions options_;
  mutable Mutex notes_mutex_;
  std::vector<ActivityRow> notes_ GUARDED_BY(notes_mutex_);
  std::unique_ptr<File> file_;  // on the thread
  Limits limits_;               // on the thread
  std::optional<Error> cause_;  // why there is no file, on the thread
  std::atomic<MonoTime> try_again_{MonoTime::min()};
  std::atomic<std::uint64_t> waiting_ = 0, waiting_bytes_ = 0, lost_ = 0, failures_ = 0, kept_ = 0;
  async::ThreadPool thread_{1};
};

}  // namespace corral::store
