// Uploads that are kept until they can be passed on: the first bytes in memory, the rest in a file without a name,
// which goes with its last owner, however the process ends. An upload of gigabytes takes as much memory as a small one.
//
// Files are written and read on threads of their own: a slow disk holds up nobody else.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "async/offload.h"
#include "base/unique_fd.h"
#include "http/passing.h"

namespace corral::http {

// Where spools keep what they don't hold, for all of them. Outlives them. Safe on every thread.
class SpoolRoom {
 public:
  // `limit`: bytes of all files together; 0: none. Without `threads` files are used where they are needed, for tests.
  SpoolRoom(std::filesystem::path folder, std::uint64_t limit, async::ThreadPool* threads)
      : folder_(std::move(folder)), limit_(limit), threads_(threads) {}

  const std::filesystem::path& folder() const { return folder_; }
  std::uint64_t limit() const { return limit_; }
  std::uint64_t used() const { return used_.load(std::memory_order_relaxed); }
  async::ThreadPool* threads() const { return threads_; }
  bool take(std::uint64_t bytes);
  void give_back(std::uint64_t bytes) { used_.fetch_sub(bytes, std::memory_order_relaxed); }

 private:
  const std::filesystem::path folder_;
  const std::uint64_t limit_;
  async::ThreadPool* const threads_;
  std::atomic<std::uint64_t> used_ = 0;
};

// Written by one task, then read by any number of them.
class Spool {
 public:
  // As much is held, and a file is written and read in pieces of this size.
  static constexpr std::size_t kBlock = 64 * 1024;

  explicit Spool(SpoolRoom& room);
  ~Spool();
  Spool(const Spool&) = delete;
  Spool& operator=(const Spool&) = delete;

  // Errors: uploads_full, not_kept.
  async::Task<Result<>> append(std::string_view bytes);
  // Behind the last append(), before the first reader. `first` takes the place of as many bytes at the beginning.
  async::Task<Result<>> finish(std::string_view first = {});

  std::uint64_t size() const { return size_; }
  // Of all bytes, so that two of the same are known.
  std::uint64_t hash() const;
  // The first bytes, up to a block.
  std::string_view head() const { return head_; }
  // All of it; `spool` lives as long.
  static std::unique_ptr<KeptBody> reader(std::shared_ptr<const Spool> spool);
  // A descriptor of a file that holds all of it, for another process.
  Result<std::shared_ptr<const UniqueFd>> file() const;

 private:
  friend class SpoolReader;
  async::Task<Result<>> write_block();

  struct Hashing;
  SpoolRoom& room_;
  const std::unique_ptr<Hashing> hashing_;
  std::shared_ptr<const UniqueFd> file_;  // none: all is in head_
  std::string head_;
  std::string block_;  // behind what is written
  std::uint64_t size_ = 0, written_ = 0, booked_ = 0;
};

}  // namespace corral::http
