#include "store/store.h"

#include <future>
#include <utility>

#include <fmt/format.h>

#include "base/log.h"
#include "base/state_file.h"
#include "store/database.h"
#include "store/journal.h"
#include "store/schema.h"
#include "store/tables.h"

namespace corral::store {
namespace {

// Time before an unusable file is tried again.
constexpr Millis kPause{10'000};

// A finished answer is stored, even if its conversation is then too large to continue.
constexpr ReadLimits kAppended{.rows = 16'384, .bytes = 256ull << 20};

std::uint64_t size_of(const ResponseRow& row) { return row.doc.size() + row.input.size() + row.id.size(); }
std::uint64_t size_of(const std::vector<ItemRow>& items) {
  std::uint64_t all = 0;
  for (const auto& item : items) all += item.doc.size() + item.id.size();
  return all;
}

}  // namespace

struct Store::File {
  File(const StoreOptions& options, const Limits& limits, std::int64_t now)
      : database(prepared(options)), tables(*database, limits), journal(*database, limits) {
    tables.tidy(now);
    journal.tidy(now);
  }
  static std::unique_ptr<Database> prepared(const StoreOptions& options) {
    auto database = std::make_unique<Database>(options.file);
    if (options.max_pages > 0) database->run(fmt::format("PRAGMA max_page_count = {}", options.max_pages));
    migrate(*database);
    return database;
  }

  std::unique_ptr<Database> database;
  Tables tables;
  Journal journal;
};

// Counts waiting jobs and their bytes.
class Store::Job {
 public:
  Job(Store& store, std::uint64_t bytes) : store_(&store), bytes_(bytes) {
    store.waiting_ += 1;
    store.waiting_bytes_ += bytes;
  }
  Job(Job&& other) noexcept : store_(std::exchange(other.store_, nullptr)), bytes_(other.bytes_) {}
  Job& operator=(Job&&) = delete;
  ~Job() {
    if (store_ == nullptr) return;
    store_->waiting_ -= 1;
    store_->waiting_bytes_ -= bytes_;
  }

 private:
  Store* store_;
  std::uint64_t bytes_;
};

Store::Store(async::Timers& timers, StoreOptions options)
    : timers_(timers), options_(std::move(options)), limits_(options_.limits) {}

Store::~Store() { thread_.finish(); }

Store::Place::~Place() {
  if (store_ != nullptr) store_->waiting_ -= 1;
}

bool Store::has_room(std::uint64_t bytes) const {
  return waiting_ < options_.max_waiting && waiting_bytes_ + bytes <= options_.max_waiting_bytes;
}

Store::Damage Store::damage_of(const std::exception& failure) {
  const auto* own = dynamic_cast<const Failure*>(&failure);
  if (own == nullptr) return Damage::none;
  if (own->of_statement()) return Damage::statement;
  return own->damaged() ? Damage::broken : own->full() ? Damage::full : Damage::none;
}

Error Store::failed(const std::exception& failure, Damage damage) {
  ++failures_;
  Error cause(make_error_code(errc::unavailable),
              fmt::format("storage is not available: {}: {}", options_.file.native(), failure.what()));
  if (damage == Damage::statement) {  // only this operation fails
    log::warning("store", "{}", cause.message);
    return cause;
  }
  cause.retry_after = std::chrono::ceil<std::chrono::seconds>(kPause);
  cause_ = cause;
  try_again_ = timers_.now() + kPause;
  if (damage == Damage::full) {  // reads still work
    log::warning("store", "{}", cause.message);
    return cause;
  }
  file_.reset();
  if (damage == Damage::none) {
    log::warning("store", "{}", cause.message);
    return cause;
  }
  const auto aside = set_aside(options_.file);
  if (aside.empty()) {
    log::warning("store", "{} is damaged ({}), and it cannot be renamed", options_.file.native(), failure.what());
    return cause;
  }
  // The last changes are only in the log beside the file, which sqlite3 needs to recover them.
  std::error_code ignored;
  std::filesystem::rename(options_.file.native() + "-wal", aside.native() + "-wal", ignored);
  std::filesystem::remove(options_.file.native() + "-shm", ignored);
  log::warning("store", "{} is damaged ({}): it was renamed to {}, and a new one is created", options_.file.native(),
               failure.what(), aside.native());
  try_again_ = MonoTime::min();
  return cause;
}

Result<Store::File*> Store::file() {
  if (file_) return file_.get();
  // A second time after a rename.
  for (int times = 0; times < 2; ++times) {
    if (cause_ && timers_.now() < try_again_.load()) return std::unexpected(*cause_);
    try {
      std::error_code ignored;
      std::filesystem::create_directories(options_.file.parent_path(), ignored);
      file_ = std::make_unique<File>(options_, limits_, now());
      if (cause_) log::info("store", "{} works again", options_.file.native());
      cause_.reset();
      return file_.get();
    } catch (const std::exception& failure) {
      (void)failed(failure, damage_of(failure));
    }
  }
  return std::unexpected(*cause_);
}

template <typename R, typename Work>
R Store::with_file(Work& work) {
  const auto opened = file();
  if (!opened) return std::unexpected(opened.error());
  try {
    R result = work(**opened);
    kept_ = (*opened)->tables.bytes();
    return result;
  } catch (const std::exception& failure) {
    return std::unexpected(failed(failure, damage_of(failure)));
  }
}

template <typename R, typename Work>
async::Task<R> Store::run(std::uint64_t bytes, Work work) {
  // Counted until the job is destroyed, before its caller resumes: the caller may use its place in the queue at once.
  auto job = [this, counted = Job(*this, bytes), work = std::move(work)]() mutable {
    const Job until_done = std::move(counted);
    return with_file<R>(work);
  };
  auto asking = async::run_or_leave(thread_, timers_, std::move(job));
  co_return co_await std::move(asking);
}

template <typename R, typename Work>
async::Task<R> Store::ask(std::uint64_t bytes, Work work) {
  if (!has_room(bytes)) co_return fail(errc::busy, "too many reads and writes wait: retry later");
  auto running = run<R>(bytes, std::move(work));
  co_return co_await std::move(running);
}

template <typename Work>
void Store::post(std::uint64_t bytes, Work work) {
  thread_.post([this, counted = Job(*this, bytes), work = std::move(work)]() mutable {
    if (const auto done = with_file<Result<>>(work); !done && done.error().code != errc::unavailable)
      log::debug("store", "{}", done.error().message);
  });
}

void Store::change(const Limits& limits) {
  thread_.post([this, limits] {
    limits_ = limits;
    if (!file_) return;
    auto work = [&](File& file) -> Result<> {
      file.tables.change(limits);
      file.journal.change(limits);
      file.tables.tidy(now());
      file.journal.tidy(now());
      return {};
    };
    (void)with_file<Result<>>(work);
  });
}

bool Store::finish_within(Millis limit) {
  auto done = std::make_shared<std::promise<void>>();
  const auto last = done->get_future();
  // Jobs that wait are done before this one.
  thread_.post([this, done] {
    write_notes();
    file_.reset();
    done->set_value();
  });
  const bool all = last.wait_for(limit) == std::future_status::ready;
  return thread_.finish_within(all ? limit : Millis(0)) && all;
}

Result<Store::Place> Store::reserve() {
  if (timers_.now() < try_again_.load()) {
    Error error(make_error_code(errc::unavailable), "storage is not available, see the log: retry later");
    error.retry_after = std::chrono::ceil<std::chrono::seconds>(kPause);
    return std::unexpected(std::move(error));
  }
  if (!has_room(1)) {
    Error error(make_error_code(errc::busy), "too many writes wait for the disk: retry later, or with 'store': false");
    error.retry_after = std::chrono::seconds(1);
    return std::unexpected(std::move(error));
  }
  waiting_ += 1;
  return Place(*this);
}

// From here on the job counts instead of its place.
void Store::put(Place /*place*/, ResponseRow row) {
  const auto bytes = size_of(row);
  post(bytes, [this, row = std::move(row)](File& file) { return file.tables.put(row, now()); });
}

void Store::append(Place /*place*/, std::string owner, std::string conversation, std::vector<ItemRow> items) {
  const auto bytes = size_of(items);
  post(bytes, [this, owner = std::move(owner), id = std::move(conversation), items = std::move(items)](File& file) {
    return file.tables.add(owner, id, items, kAppended, now());
  });
}

void Store::note(ActivityRow row) {
  const MutexLock lock(notes_mutex_);
  if (notes_.size() >= options_.max_waiting) {
    ++lost_;
    return;
  }
  notes_.push_back(std::move(row));
  // The first row schedules the write.
  if (notes_.size() == 1) thread_.post_after(options_.gather, [this] { write_notes(); });
}

void Store::write_notes() {
  std::vector<ActivityRow> rows;
  {
    const MutexLock lock(notes_mutex_);
    rows.swap(notes_);
  }
  if (rows.empty()) return;
  auto work = [&](File& file) -> Result<> {
    file.journal.add(rows, now());
    return {};
  };
  if (const auto done = with_file<Result<>>(work); !done) lost_ += rows.size();
}

void Store::capture(std::string request, std::int64_t ended, std::uint64_t bytes,
                    std::move_only_function<std::string()> doc) {
  if (!has_room(bytes)) {
    ++lost_;
    return;
  }
  post(bytes, [this, request = std::move(request), ended, doc = std::move(doc)](File& file) mutable -> Result<> {
    file.journal.capture({.request = std::move(request), .ended = ended, .doc = doc()}, now());
    return {};
  });
}

async::Task<Result<>> Store::put_now(ResponseRow row) {
  const auto bytes = size_of(row);
  auto work = [this, row = std::move(row)](File& file) { return file.tables.put(row, now()); };
  return ask<Result<>>(bytes, std::move(work));
}

async::Task<Result<>> Store::put_now(Place /*place*/, ResponseRow row) {
  const auto bytes = size_of(row);
  auto work = [this, row = std::move(row)](File& file) { return file.tables.put(row, now()); };
  return run<Result<>>(bytes, std::move(work));
}

async::Task<Result<ResponseRow>> Store::response(std::string owner, std::string id) {
  auto work = [this, owner = std::move(owner), id = std::move(id)](File& file) {
    return file.tables.response(owner, id, now());
  };
  return ask<Result<ResponseRow>>(0, std::move(work));
}

async::Task<Result<std::vector<ResponseRow>>> Store::chain(std::string owner, std::string id, ReadLimits limits) {
  auto work = [this, owner = std::move(owner), id = std::move(id), limits](File& file) {
    return file.tables.chain(owner, id, limits, now());
  };
  return ask<Result<std::vector<ResponseRow>>>(0, std::move(work));
}

async::Task<Result<std::vector<ResponseRow>>> Store::responses(std::string owner, std::vector<std::string> ids,
                                                               ReadLimits limits) {
  auto work = [this, owner = std::move(owner), ids = std::move(ids), limits](File& file) {
    return file.tables.responses(owner, ids, limits, now());
  };
  return ask<Result<std::vector<ResponseRow>>>(0, std::move(work));
}

async::Task<Result<>> Store::erase_response(std::string owner, std::string id) {
  auto work = [this, owner = std::move(owner), id = std::move(id)](File& file) {
    return file.tables.erase_response(owner, id, now());
  };
  return ask<Result<>>(0, std::move(work));
}

async::Task<Result<>> Store::create(ConversationRow row, std::vector<ItemRow> items) {
  const auto bytes = row.metadata.size() + size_of(items);
  auto work = [this, row = std::move(row), items = std::move(items)](File& file) {
    return file.tables.create(row, items, now());
  };
  return ask<Result<>>(bytes, std::move(work));
}

async::Task<Result<ConversationRow>> Store::conversation(std::string owner, std::string id) {
  auto work = [this, owner = std::move(owner), id = std::move(id)](File& file) {
    return file.tables.conversation(owner, id, now());
  };
  return ask<Result<ConversationRow>>(0, std::move(work));
}

async::Task<Result<ConversationPage>> Store::conversations(std::string owner, Page page) {
  auto work = [this, owner = std::move(owner), page = std::move(page)](File& file) {
    return file.tables.conversations(owner, page, now());
  };
  return ask<Result<ConversationPage>>(0, std::move(work));
}

async::Task<Result<ConversationRow>> Store::set_metadata(std::string owner, std::string id, std::string metadata) {
  const auto bytes = metadata.size();
  auto work = [this, owner = std::move(owner), id = std::move(id), metadata = std::move(metadata)](File& file) {
    return file.tables.set_metadata(owner, id, metadata, now());
  };
  return ask<Result<ConversationRow>>(bytes, std::move(work));
}

async::Task<Result<>> Store::erase_conversation(std::string owner, std::string id) {
  auto work = [this, owner = std::move(owner), id = std::move(id)](File& file) {
    return file.tables.erase_conversation(owner, id, now());
  };
  return ask<Result<>>(0, std::move(work));
}

async::Task<Result<>> Store::add(std::string owner, std::string id, std::vector<ItemRow> items, ReadLimits limits) {
  const auto bytes = size_of(items);
  auto work = [this, owner = std::move(owner), id = std::move(id), items = std::move(items), limits](File& file) {
    return file.tables.add(owner, id, items, limits, now());
  };
  return ask<Result<>>(bytes, std::move(work));
}

async::Task<Result<ItemPage>> Store::items(std::string owner, std::string id, Page page) {
  auto work = [this, owner = std::move(owner), id = std::move(id), page = std::move(page)](File& file) {
    return file.tables.items(owner, id, page, now());
  };
  return ask<Result<ItemPage>>(0, std::move(work));
}

async::Task<Result<std::vector<ItemRow>>> Store::all_items(std::string owner, std::string id, ReadLimits limits) {
  auto work = [this, owner = std::move(owner), id = std::move(id), limits](File& file) {
    return file.tables.all_items(owner, id, limits, now());
  };
  return ask<Result<std::vector<ItemRow>>>(0, std::move(work));
}

async::Task<Result<ItemRow>> Store::item(std::string owner, std::string id, std::string item) {
  auto work = [this, owner = std::move(owner), id = std::move(id), item = std::move(item)](File& file) {
    return file.tables.item(owner, id, item, now());
  };
  return ask<Result<ItemRow>>(0, std::move(work));
}

async::Task<Result<>> Store::erase_item(std::string owner, std::string id, std::string item) {
  auto work = [this, owner = std::move(owner), id = std::move(id), item = std::move(item)](File& file) {
    return file.tables.erase_item(owner, id, item, now());
  };
  return ask<Result<>>(0, std::move(work));
}

async::Task<Result<std::vector<ActivityRow>>> Store::activity(ActivityFilter filter) {
  auto work = [this, filter = std::move(filter)](File& file) -> Result<std::vector<ActivityRow>> {
    return file.journal.find(filter, now());
  };
  // This job runs after the write.
  if (has_room(0)) thread_.post([this] { write_notes(); });
  return ask<Result<std::vector<ActivityRow>>>(0, std::move(work));
}

async::Task<Result<CaptureRow>> Store::captured(std::string request) {
  auto work = [request = std::move(request)](File& file) { return file.journal.captured(request); };
  return ask<Result<CaptureRow>>(0, std::move(work));
}

StoreCounts Store::counts() const {
  const MutexLock lock(notes_mutex_);
  return {.waiting = waiting_ + notes_.size(),
          .waiting_bytes = waiting_bytes_,
          .lost_activity = lost_,
          .failures = failures_,
          .kept_bytes = kept_};
}

}  // namespace corral::store
