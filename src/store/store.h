// What outlives requests: stored responses and conversations, what requests have come to, and what some of them said,
// in one SQLite file. Knows nothing of HTTP, and of documents only that they are text.
//
// The file is used on a thread of its own, so that no loop waits for a disk. What goes to that thread is bounded in
// number and in bytes, but for the texts of what has a Place. Where there is too much of it, rows of activity are lost,
// and counted; what has to be kept asks for a Place first, so that it is refused before anything is done for it. Jobs
// are done in the order of their asking: what was put is found by whoever asks afterwards.
//
// A file that is broken is put aside and a new one begun. One that can't be used (another program has it, the disk is
// full) is tried again later; until then what needs it is errc::unavailable, with the cause, and nothing else stands
// still.
//
// Methods may be called on any thread, tasks on any loop; who is cancelled doesn't wait for the disk.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "async/offload.h"
#include "async/run_or_leave.h"
#include "async/timer.h"
#include "base/error.h"
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
  Millis gather = Millis(100);                 // how long rows of activity wait for others
  std::int64_t max_pages = 0;                  // of the file, 4 KiB each; 0: as many as the disk has
};

struct StoreCounts {
  std::uint64_t waiting = 0, waiting_bytes = 0;
  std::uint64_t lost_activity = 0;  // rows that there was no room for
  std::uint64_t failures = 0;       // of the file
  std::uint64_t kept_bytes = 0;     // of responses and conversations
};

class Store {
 public:
  // The file is opened when it is first needed. `timers` must outlive the store.
  Store(async::Timers& timers, StoreOptions options);
  ~Store();
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;

  void change(const Limits& limits);
  // Does what waits, for so long at most, and nothing after that. False: the disk gives no answer.
  bool finish_within(Millis limit);

  // The right to put one thing.
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
  // Nobody waits for it. What can't be kept is logged and counted.
  void put(Place place, ResponseRow row);
  // Behind the last items of that conversation, if it is there.
  void append(Place place, std::string owner, std::string conversation, std::vector<ItemRow> items);
  // Rows are gathered for a moment and written together: one by one they would cost a busy server more than some of its
  // requests do. Lost where `max_waiting` of them are gathered, which bounds what the log costs in a second.
  void note(ActivityRow row);
  // Lost as well. `doc` makes the document, of so many bytes, on the store's thread.
  void capture(std::string request, std::int64_t ended, std::uint64_t bytes,
               std::move_only_function<std::string()> doc);

  // Errors of all: busy, unavailable, and those of Tables.
  async::Task<Result<>> put_now(ResponseRow row);
  async::Task<Result<ResponseRow>> response(std::string owner, std::string id);
  async::Task<Result<std::vector<ResponseRow>>> chain(std::string owner, std::string id, ReadLimits limits);
  // Those of them that are there.
  async::Task<Result<std::vector<ResponseRow>>> responses(std::string owner, std::vector<std::string> ids,
                                                          ReadLimits limits);
  async::Task<Result<>> erase_response(std::string owner, std::string id);
  async::Task<Result<>> create(ConversationRow row, std::vector<ItemRow> items);
  async::Task<Result<ConversationRow>> conversation(std::string owner, std::string id);
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

  // Writes the rows that were gathered. On the thread.
  void write_notes();
  bool has_room(std::uint64_t bytes) const;
  std::int64_t now() const { return epoch_millis(timers_.wall_now()); }
  // The file, opened if need be. On the thread.
  Result<File*> file();
  // Runs `work(File&)` and turns what the file throws into an error. On the thread.
  template <typename R, typename Work>
  R with_file(Work& work);
  // `bytes`: of the texts that it brings.
  template <typename R, typename Work>
  async::Task<R> ask(std::uint64_t bytes, Work work);
  template <typename Work>
  void post(std::uint64_t bytes, Work work);
  // statement: of one question alone.
  enum class Damage { none, statement, full, broken };
  Error failed(const std::exception& failure, Damage damage);
  static Damage damage_of(const std::exception& failure);

  async::Timers& timers_;
  const StoreOptions options_;
  mutable std::mutex notes_mutex_;
  std::vector<ActivityRow> notes_;
  std::unique_ptr<File> file_;  // on the thread
  Limits limits_;               // on the thread
  std::optional<Error> cause_;  // why there is none, on the thread
  std::atomic<MonoTime> try_again_{MonoTime::min()};
  std::atomic<std::uint64_t> waiting_ = 0, waiting_bytes_ = 0, lost_ = 0, failures_ = 0, kept_ = 0;
  async::ThreadPool thread_{1};
};

}  // namespace corral::store
