#include "downloads/download.h"

#include <algorithm>
#include <set>
#include <utility>

#include <boost/asio/error.hpp>
#include <boost/system/system_error.hpp>
#include <fmt/format.h>

#include "downloads/errors.h"

namespace corral::downloads {
namespace {

constexpr int kMaxFetches = 2;  // of a file with wrong content

// Files of repositories have hashes; a URL may return a page with an error message instead of a file.
bool begins_as_model(const TreeFile& file, std::string_view bytes) {
  constexpr std::string_view kMagic = "GGUF";
  return file.hash != HashKind::none || kMagic.starts_with(bytes.substr(0, kMagic.size()));
}

std::string size_text(std::uint64_t bytes) {
  constexpr std::uint64_t kMiB = 1 << 20, kGiB = 1 << 30;
  if (bytes < kMiB) return fmt::format("{:.1f} KiB", static_cast<double>(bytes) / 1024);
  if (bytes < kGiB) return fmt::format("{:.1f} MiB", static_cast<double>(bytes) / static_cast<double>(kMiB));
  return fmt::format("{:.1f} GiB", static_cast<double>(bytes) / static_cast<double>(kGiB));
}

}  // namespace

struct Download::File {
  File(async::Executor executor, TreeFile tree_file) : what(std::move(tree_file)), arrived(executor) {}

  TreeFile what;
  async::Event arrived;  // more bytes have arrived
  std::optional<BlobLock> lock;
  std::shared_ptr<PartFile> part;
  std::optional<std::size_t> number;  // in parts_
  std::uint64_t announced = 0;        // bytes since `arrived` was set
  std::uint64_t saved = 0;            // recorded bytes
  std::uint64_t before = 0;           // bytes at the start of the download
  bool whole = false, elsewhere = false, saving = false;
  bool useless = false;          // the bytes aren't part of a model
  std::optional<Error> refused;  // why bytes were refused
};

// State of the response that a worker reads.
struct Download::Intake {
  bool begun = false;
  std::uint64_t skip = 0;  // bytes before the requested ones
};

struct Download::Worker {
  explicit Worker(async::Executor executor) : wake(executor) {}
  async::Event wake;
};

Download::Download(DownloadTools tools, DownloadOptions options, Listing listing, std::vector<TreeFile> files)
    : tools_(std::move(tools)),
      options_(std::move(options)),
      listing_(std::move(listing)),
      folder_(tools_.hub.settings().cache, listing_.repo),
      parts_(options_.parts),
      ended_(tools_.executor),
      tasks_(tools_.executor) {
  for (TreeFile& file : files) files_.emplace_back(tools_.executor, std::move(file));
}

Download::~Download() = default;

void Download::start() { tasks_.spawn("download", guard(run())); }

// An exception in a task ends the download, so that no client waits in vain.
async::Task<void> Download::guard(async::Task<void> task) {
  try {
    co_await std::move(task);
  } catch (const boost::system::system_error& failure) {
    if (failure.code() == async::asio::error::operation_aborted) throw;
    fail_with({make_error_code(errc::disk_failed), fmt::format("fetching '{}': {}", listing_.repo, failure.what())});
  } catch (const std::exception& failure) {
    fail_with({make_error_code(errc::disk_failed), fmt::format("fetching '{}': {}", listing_.repo, failure.what())});
  }
}

async::Task<Result<>> Download::finished() {
  co_await ended_.wait();
  if (failure_) co_return std::unexpected(*failure_);
  co_return Result<>();
}

async::Task<void> Download::stop() {
  stopping_ = true;
  tasks_.cancel();
  co_await tasks_.join();
  for (File& file : files_) {
    if (file.part && !file.whole) {
      // A part whose record can't be written is fetched again. A part without useful bytes is removed, which frees its
      // disk space.
      const bool nothing = file.useless || !file.number || parts_.done(*file.number).bytes() == 0;
      auto drop = [kept = file.part] { return kept->abandon(); };
      auto work = nothing ? tools_.disk.run(std::move(drop)) : save(file);
      const Result<> ignored = co_await std::move(work);
    }
    file.part.reset();
    file.lock.reset();
  }
}

std::vector<FileView> Download::files() const {
  std::vector<FileView> views;
  for (const File& file : files_) {
    const std::uint64_t there = file.whole ? file.what.size : file.number ? parts_.done(*file.number).bytes() : 0;
    views.push_back({file.what.path, file.what.size, there, file.whole, file.elsewhere, file.what.oid, file.before});
  }
  return views;
}

void Download::fail_with(Error error) {
  if (!failure_ && whole_ < files_.size()) failure_ = std::move(error);
  ended_.set();
}

void Download::wake_workers() {
  for (Worker& worker : workers_) worker.wake.set();
}

async::Task<void> Download::run() {
  auto look = [this] { return enough_room(); };
  const Result<> room = co_await tools_.disk.run(std::move(look));
  if (!room) {
    fail_with(room.error());
    co_return;
  }
  // A cancellation during the work of a thread takes effect at the next wait, and there is none here.
  if (stopping_) co_return;
  for (std::size_t i = 0; i < options_.parts.at_once; ++i) workers_.emplace_back(tools_.executor);
  for (Worker& worker : workers_) tasks_.spawn("download worker", guard(work(worker)));
  for (std::size_t i = 0; i < files_.size(); ++i) tasks_.spawn("download file", guard(run_file(i)));
  tasks_.spawn("download record", guard(save_now_and_then()));
  if (files_.empty()) ended_.set();
}

Result<> Download::enough_room() const {
  std::uint64_t need = 0;
  std::set<std::string_view> counted;  // the same content under two names is fetched once
  for (const File& file : files_) {
    if (!counted.insert(file.what.oid).second) continue;
    if (has_blob(folder_, file.what.oid, file.what.size)) continue;
    need += file.what.size - reserved_bytes(folder_, file.what);
  }
  const std::uint64_t have = options_.free_disk(folder_.cache());
  if (need == 0 || need + options_.keep_free <= have) return {};
  const auto& name = listing_.source == SourceKind::address ? listing_.revision : listing_.repo;
  Error error{
      make_error_code(errc::disk_full),
      fmt::format("not enough disk space for '{}': {} to download and {} to keep free, but {} has {} free. Free some "
                  "space, or set HF_HUB_CACHE to a folder on another disk",
                  name, size_text(need), size_text(options_.keep_free), folder_.cache().native(), size_text(have))};
  error.memory.push_back({"disk", need + options_.keep_free, have});
  return std::unexpected(std::move(error));
}

async::Task<void> Download::run_file(std::size_t index) {
  File& file = files_[index];
  Result<> brought = co_await bring(file);
  if (!brought) {
    fail_with(std::move(brought.error()));
    co_return;
  }
  file.whole = true;
  file.elsewhere = false;
  file.part.reset();
  file.lock.reset();
  if (++whole_ < files_.size()) co_return;
  auto name = [this] { return name_all(); };
  Result<> named = co_await tools_.disk.run(std::move(name));
  if (!named && !failure_) failure_ = std::move(named.error());
  ended_.set();
}

Result<> Download::name_all() const {
  // Another process may have removed a complete blob during the download: a name must not refer to nothing.
  for (const File& file : files_) {
    if (has_blob(folder_, file.what.oid, file.what.size)) continue;
    return fail(errc::in_use, fmt::format("another program removed '{}' of '{}' during the download: start again",
                                          file.what.path, listing_.repo));
  }
  for (const File& file : files_) {
    auto linked = link_file(folder_, listing_.at.commit, file.what.path, file.what.oid);
    if (!linked) return linked;
  }
  // A URL is no valid name of a reference.
  const std::string_view name = is_revision(listing_.revision) ? std::string_view(listing_.revision) : "main";
  return name == listing_.at.commit ? Result<>() : write_ref(folder_, name, listing_.at.commit);
}

async::Task<Result<>> Download::take_lock(File& file) {
  while (true) {
    auto attempt = [folder = folder_, what = file.what]() -> Result<std::optional<BlobLock>> {
      auto lock = BlobLock::try_take(folder.lock(what.oid));
      // A read-only cache is fine for existing blobs.
      if (!lock && has_blob(folder, what.oid, what.size)) return std::optional<BlobLock>();
      return lock;
    };
    Result<std::optional<BlobLock>> taken = co_await tools_.disk.run(std::move(attempt));
    if (!taken) co_return std::unexpected(std::move(taken.error()));
    auto look = [folder = folder_, what = file.what, locked = taken->has_value()] {
      const bool whole = has_blob(folder, what.oid, what.size);
      // Removes the part of a process that was killed after the last step.
      if (whole && locked) {
        const auto ignored = remove_part(folder, what.oid);
      }
      return whole;
    };
    const bool there = co_await tools_.disk.run(std::move(look));
    if (there) co_return Result<>();
    if (*taken) {
      file.lock = std::move(*taken);
      file.elsewhere = false;
      co_return Result<>();
    }
    file.elsewhere = true;
    co_await tools_.timers.sleep_for(options_.ask_for_lock_every);
  }
}

async::Task<Result<>> Download::bring(File& file) {
  Result<> locked = co_await take_lock(file);
  if (locked && !file.lock) file.before = file.what.size;
  if (!locked || !file.lock) co_return locked;
  auto open = [folder = folder_, what = file.what] { return PartFile::open(folder, what); };
  Result<std::shared_ptr<PartFile>> part = co_await tools_.disk.run(std::move(open));
  if (!part) co_return std::unexpected(std::move(part.error()));
  file.part = std::move(*part);
  file.before = file.saved = file.part->done_at_open().bytes();
  file.number = parts_.add(file.what.size, file.part->done_at_open());
  file_of_part_.push_back(&file);
  wake_workers();
  for (int fetches = 1;; ++fetches) {
    Result<bool> right = co_await check(file);
    if (!right) co_return std::unexpected(std::move(right.error()));
    if (*right) break;
    const bool last = fetches == kMaxFetches;
    if (last) parts_.drop(*file.number);
    parts_.discard(*file.number);
    file.saved = 0;
    auto forget = [kept = file.part, last] { return last ? kept->abandon() : kept->record({}); };
    Result<> forgotten = co_await tools_.disk.run(std::move(forget));
    if (!forgotten) co_return forgotten;
    if (last) {
      co_return fail(errc::wrong_content, fmt::format("'{}' of '{}' had wrong contents in {} attempts: the server or a "
                                                      "proxy changes it. All of it was discarded",
                                                      file.what.path, listing_.repo, fetches));
    }
    wake_workers();
  }
  auto publish = [kept = file.part] { return kept->publish(); };
  Result<> published = co_await tools_.disk.run(std::move(publish));
  co_return published;
}

async::Task<Result<bool>> Download::check(File& file) {
  auto hash = std::make_shared<ContentCheck>(file.what.hash, file.what.size);
  while (true) {
    file.arrived.reset();
    const RangeSet& done = parts_.done(*file.number);
    const std::uint64_t end = std::min(done.front(), hash->hashed() + options_.hash_behind);
    const bool complete = parts_.complete(*file.number);
    if (end > hash->hashed() && (complete || end - hash->hashed() >= options_.hash_behind)) {
      auto read = [hash, part = file.part, end] { return hash->read_to(part->fd(), end); };
      Result<> hashed = co_await tools_.disk.run(std::move(read));
      if (!hashed) co_return std::unexpected(std::move(hashed.error()));
    } else if (complete) {
      co_return file.what.hash == HashKind::none || hash->digest() == file.what.oid;
    } else {
      co_await file.arrived.wait();
    }
  }
}

async::Task<void> Download::work(Worker& worker) {
  while (!failure_) {
    worker.wake.reset();
    std::optional<Part> part = parts_.next();
    if (!part) {
      co_await worker.wake.wait();
      continue;
    }
    struct Return {
      Download& download;
      Part& part;
      ~Return() { download.parts_.give_back(part); }
    };
    Result<> fetched;
    File& file = *file_of_part_[part->file];
    {
      const Return giving_back{*this, *part};
      fetched = co_await fetch(*part);
    }
    if (!fetched) {
      fail_with(std::move(fetched.error()));
      co_return;
    }
    file.arrived.set();
    wake_workers();
    Result<> saved = co_await save(file);
    if (!saved) {
      fail_with(std::move(saved.error()));
      co_return;
    }
  }
}

async::Task<Result<>> Download::fetch(Part& part) {
  File& file = *file_of_part_[part.file];
  Attempts attempts(options_.retries);
  Asked asked{.repo = file.what.hash == HashKind::none ? std::string() : listing_.repo,
              .revision = listing_.revision,
              .what = file.what.path,
              .endpoint = tools_.hub.endpoint_of(listing_),
              .endpoint_variable = Hub::endpoint_variable_of(listing_),
              .size = file.what.size};
  FetchRequest request{.url = tools_.hub.address_of(listing_, file.what)};
  request.token = tools_.hub.token_for(request.url);
  while (true) {
    Intake intake;
    const std::uint64_t from = part.range.begin;
    asked.range = request.range = part.range;
    FetchRequest attempt = request;
    attempt.sink = [this, &file, &part, &intake](const FetchHead& head, std::string_view bytes) {
      return take(file, part, intake, head, bytes);
    };
    const FetchAnswer answer = co_await tools_.fetcher.fetch(std::move(attempt));
    if (file.refused) co_return std::unexpected(std::move(*std::exchange(file.refused, std::nullopt)));
    Outcome outcome = answer.outcome(request);
    outcome.received = part.range.begin - from;
    Decision next = attempts.decide(asked, outcome, tools_.dice());
    if (next.step == Step::fail) co_return std::unexpected(std::move(*next.error));
    if (next.step == Step::done && part.range.empty()) co_return Result<>();
    if (next.step == Step::one_piece) parts_.in_one_piece(part.file);
    request.fresh_connection = next.fresh_connection;
    co_await tools_.timers.sleep_for(next.pause);
  }
}

Take Download::take(File& file, Part& part, Intake& intake, const FetchHead& head, std::string_view bytes) {
  if (!intake.begun) {
    intake.begun = true;
    // A whole file as the answer to a range is only used if the server supports no ranges.
    const auto got = head.content_range();
    const bool fits = head.status == 206 ? got && got->begin == part.range.begin
                                         : part.range.begin == 0 || parts_.is_in_one_piece(part.file);
    if (!fits || head.total().value_or(file.what.size) != file.what.size) return Take::enough;  // see attempts.h
    if (!file.what.stamp.empty() && head.stamp() != file.what.stamp) {
      file.refused = {make_error_code(errc::wrong_content),
                      fmt::format("'{}' changed on its server during the download: start again", file.what.path)};
      file.useless = true;
      return Take::failed;
    }
    intake.skip = head.status == 206 ? 0 : part.range.begin;
  }
  const auto over = std::min<std::uint64_t>(bytes.size(), intake.skip);
  intake.skip -= over;
  const bool surplus = bytes.size() - over > part.range.size();
  bytes = bytes.substr(static_cast<std::size_t>(over), static_cast<std::size_t>(part.range.size()));
  if (part.range.begin == 0 && !begins_as_model(file.what, bytes)) {
    file.refused = {make_error_code(errc::wrong_content),
                    fmt::format("'{}' is not a GGUF file: check the URL", listing_.revision)};
    file.useless = true;
    return Take::failed;
  }
  if (!bytes.empty()) {
    if (Result<> written = file.part->write(part.range.begin, bytes); !written) {
      file.refused = std::move(written.error());
      return Take::failed;
    }
    part = parts_.wrote(part, bytes.size());
    file.announced += bytes.size();
    if (file.announced >= options_.hash_behind) {
      file.announced = 0;
      file.arrived.set();
    }
  }
  // After a complete response the connection can be reused; after surplus bytes it is closed.
  return part.range.empty() && (head.status != 206 || surplus) ? Take::enough : Take::more;
}

async::Task<void> Download::save_now_and_then() {
  while (true) {
    co_await tools_.timers.sleep_for(options_.save_every);
    for (File& file : files_) {
      if (!file.part || file.whole) continue;
      Result<> saved = co_await save(file);
      if (!saved) fail_with(std::move(saved.error()));
    }
  }
}

async::Task<Result<>> Download::save(File& file) {
  if (!file.part || !file.number || file.saving) co_return Result<>();
  RangeSet done = parts_.done(*file.number);
  if (done.bytes() == file.saved) co_return Result<>();
  struct Saving {
    bool& flag;
    ~Saving() { flag = false; }
  };
  file.saving = true;
  const Saving saving{file.saving};
  const std::uint64_t bytes = done.bytes();
  auto record = [kept = file.part, done = std::move(done)] { return kept->record(done); };
  Result<> recorded = co_await tools_.disk.run(std::move(record));
  if (recorded) file.saved = bytes;
  co_return recorded;
}

}  // namespace corral::downloads
