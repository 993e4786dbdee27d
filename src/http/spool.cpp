#include "http/spool.h"

#include <cerrno>
#include <cstdlib>
#include <system_error>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "http/errors.h"

namespace corral::http {
namespace {

constexpr std::uint64_t kReservedAtOnce = 1 << 20;

Error not_kept(std::string_view what, const std::filesystem::path& folder, int cause) {
  return {make_error_code(errc::not_kept), fmt::format("the upload cannot be stored in '{}': {}: {}", folder.native(),
                                                       what, std::generic_category().message(cause))};
}

Result<UniqueFd> nameless_file(const std::filesystem::path& folder) {
  std::error_code ignored;
  std::filesystem::create_directories(folder, ignored);
  UniqueFd file(::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  if (!file && (errno == EOPNOTSUPP || errno == EISDIR || errno == ENOENT)) {  // a file system without unnamed files
    std::string name = folder / "upload-XXXXXX";
    file.reset(::mkostemp(name.data(), O_CLOEXEC));
    if (file) ::unlink(name.c_str());
  }
  if (!file) return std::unexpected(not_kept("a file cannot be created", folder, errno));
  return file;
}

// Writes all bytes, or returns the errno.
int write_at(int file, std::string_view bytes, std::uint64_t offset) {
  while (!bytes.empty()) {
    const auto count = ::pwrite(file, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return count < 0 ? errno : ENOSPC;
    bytes.remove_prefix(static_cast<std::size_t>(count));
    offset += static_cast<std::uint64_t>(count);
  }
  return 0;
}

struct Block {
  std::string bytes;
  int cause = 0;
};

Block read_block(int file, std::uint64_t offset) {
  Block block{std::string(Spool::kBlock, '\0'), 0};
  ssize_t count = 0;
  do {
    count = ::pread(file, block.bytes.data(), block.bytes.size(), static_cast<off_t>(offset));
  } while (count < 0 && errno == EINTR);
  if (count < 0) block.cause = errno;
  block.bytes.resize(count < 0 ? 0 : static_cast<std::size_t>(count));
  return block;
}

template <typename Work>
async::Task<std::invoke_result_t<Work>> beside(const SpoolRoom& room, Work work) {
  if (room.threads() == nullptr) co_return work();
  co_return co_await room.threads()->run(std::move(work));
}

}  // namespace

struct Spool::Hashing {
  XXH3_state_t state;
};

Spool::Spool(SpoolRoom& room) : room_(room), hashing_(std::make_unique<Hashing>()) {
  XXH3_64bits_reset(&hashing_->state);
}
Spool::~Spool() {
  room_.give_back(reserved_);
  // Its last owner deletes the file, which takes time if it is large.
  if (file_ && room_.threads() != nullptr) room_.threads()->post([file = std::move(file_)] {});
}
std::uint64_t Spool::hash() const { return XXH3_64bits_digest(&hashing_->state); }

bool SpoolRoom::take(std::uint64_t bytes) {
  if (used_.fetch_add(bytes, std::memory_order_relaxed) + bytes <= limit_ || limit_ == 0) return true;
  give_back(bytes);
  return false;
}

async::Task<Result<>> Spool::append(std::string_view bytes) {
  XXH3_64bits_update(&hashing_->state, bytes.data(), bytes.size());
  while (!bytes.empty()) {
    const auto taken = bytes.substr(0, kBlock - block_.size());
    block_.append(taken);
    bytes.remove_prefix(taken.size());
    size_ += taken.size();
    if (bytes.empty()) break;  // the last block stays in memory until bytes follow it
    auto writing = write_block();
    if (const auto written = co_await std::move(writing); !written) co_return written;
  }
  co_return Result<>();
}

async::Task<Result<>> Spool::finish(std::string_view first) {
  if (!file_) {
    head_ = std::move(block_);
    head_.replace(0, first.size(), first);
    co_return Result<>();
  }
  std::string mended(first);
  auto writing = write_block();
  if (const auto written = co_await std::move(writing); !written || mended.empty()) co_return written;
  head_.replace(0, mended.size(), mended);
  auto mending = beside(room_, [file = file_, bytes = std::move(mended)] { return write_at(file->get(), bytes, 0); });
  if (const int cause = co_await std::move(mending); cause != 0)
    co_return std::unexpected(not_kept("it cannot be written", room_.folder(), cause));
  co_return Result<>();
}

async::Task<Result<>> Spool::write_block() {
  if (written_ + block_.size() > reserved_) {
    if (!room_.take(kReservedAtOnce)) {
      Error full(make_error_code(errc::uploads_full),
                 fmt::format("uploads of all clients use the maximum of {} bytes on disk; retry soon, send a smaller "
                             "file, or raise max_uploads_bytes",
                             room_.limit()));
      full.retry_after = std::chrono::seconds(5);
      co_return std::unexpected(std::move(full));
    }
    reserved_ += kReservedAtOnce;
  }
  if (!file_) {
    head_ = block_;
    auto making = beside(room_, [folder = room_.folder()] { return nameless_file(folder); });
    auto made = co_await std::move(making);
    if (!made) co_return std::unexpected(made.error());
    file_ = std::make_shared<const UniqueFd>(std::move(*made));
  }
  auto writing = beside(room_, [file = file_, bytes = std::move(block_), at = written_]() mutable {
    const int cause = write_at(file->get(), bytes, at);
    return Block{std::move(bytes), cause};
  });
  auto done = co_await std::move(writing);
  if (done.cause != 0) co_return std::unexpected(not_kept("it cannot be written", room_.folder(), done.cause));
  written_ += done.bytes.size();
  block_ = std::move(done.bytes);  // to reuse its memory
  block_.clear();
  co_return Result<>();
}

Result<std::shared_ptr<const UniqueFd>> Spool::file() const {
  if (file_) return file_;
  UniqueFd memory(::memfd_create("corral-upload", MFD_CLOEXEC));
  if (!memory) return std::unexpected(not_kept("a file cannot be created", "memory", errno));
  if (const int cause = write_at(memory.get(), head_, 0); cause != 0)
    return std::unexpected(not_kept("it cannot be written", "memory", cause));
  return std::make_shared<const UniqueFd>(std::move(memory));
}

class SpoolReader final : public ReplayableBody {
 public:
  explicit SpoolReader(std::shared_ptr<const Spool> spool)
      : spool_(std::move(spool)), key_(fmt::format("{:016x}", spool_->hash())) {}

  async::Task<Result<std::string_view>> read() override {
    if (at_ == spool_->size()) co_return std::string_view();
    if (!spool_->file_) {
      at_ = spool_->size();
      co_return std::string_view(spool_->head_);
    }
    auto reading = beside(spool_->room_, [file = spool_->file_, at = at_] { return read_block(file->get(), at); });
    auto block = co_await std::move(reading);
    if (block.cause != 0 || block.bytes.empty())
      co_return std::unexpected(
          not_kept("it cannot be read", spool_->room_.folder(), block.cause != 0 ? block.cause : EIO));
    piece_ = std::move(block.bytes);
    at_ += piece_.size();
    co_return std::string_view(piece_);
  }
  std::optional<std::uint64_t> length() const override { return spool_->size(); }
  void rewind() override { at_ = 0; }
  std::string_view key() const override { return key_; }

 private:
  const std::shared_ptr<const Spool> spool_;
  const std::string key_;
  std::string piece_;
  std::uint64_t at_ = 0;
};

std::unique_ptr<ReplayableBody> Spool::reader(std::shared_ptr<const Spool> spool) {
  return std::make_unique<SpoolReader>(std::move(spool));
}

}  // namespace corral::http
