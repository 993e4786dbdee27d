// Uploads that are stored until they can be forwarded: the first bytes in memory, the rest in a file without a name,
// which the kernel deletes with its last owner, however the process ends. An upload of gigabytes takes as much memory
// as a small one.
//
// Files are written and read on separate threads, so that a slow disk delays nothing else.
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

// The folder and common limit of all spools. Outlives them. Safe on every thread.
class SpoolRoom {
 public:
  // `limit`: bytes of all files together; 0: no limit. Without `threads` (tests) files are accessed on the caller's
  // thread.
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
  // Bytes in memory, and the size of pieces that are written and read.
  static constexpr std::size_t kBlock = 64 * 1024;

  explicit Spool(SpoolRoom& room);
  ~Spool();
  Spool(const Spool&) = delete;
  Spool& operator=(const Spool&) = delete;

  // Errors: uploads_full, not_kept.
  async::Task<Result<>> append(std::string_view bytes);
  // After the last append(), before the first reader. `first` replaces as many bytes at the beginning.
  async::Task<Result<>> finish(std::string_view first = {});

  std::uint64_t size() const { return size_; }
  // Of all bytes, to recognize equal uploads.
  std::uint64_t hash() const;
  // The first bytes, up to a block.
  std::string_view head() const { return head_; }
  // Reads all bytes; keeps `spool` alive.
  static std::unique_ptr<ReplayableBody> reader(std::shared_ptr<const Spool> spool);
  // A descriptor of a file with all bytes, for another process.
  Result<std::shared_ptr<const UniqueFd>> file() const;

 private:
  friend class SpoolReader;
  async::Task<Result<>> write_block();

  struct Hashing;
  SpoolRoom& room_;
  const std::unique_ptr<Hashing> hashing_;
  std::shared_ptr<const UniqueFd> file_;  // null: all bytes are in head_
  std::string head_;
  std::string block_;  // bytes after the written ones
  std::uint64_t size_ = 0, written_ = 0, reserved_ = 0;
};

}  // namespace corral::http
