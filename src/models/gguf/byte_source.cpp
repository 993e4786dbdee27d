#include "models/gguf/byte_source.h"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <system_error>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "models/errors.h"
#include "models/text.h"

namespace corral::models {
namespace {

static_assert(std::endian::native == std::endian::little, "GGUF values are copied in the byte order of the file");

// Large enough to read a vocabulary of some MB in few calls, and small enough for tiny headers.
constexpr std::size_t kWindow = 128 * 1024;

std::string system_text(int error) { return std::generic_category().message(error); }

class FileSource final : public ByteSource {
 public:
  FileSource(int fd, std::uint64_t size) : fd_(fd), size_(size) {}
  ~FileSource() override { ::close(fd_); }
  FileSource(const FileSource&) = delete;
  FileSource& operator=(const FileSource&) = delete;

  std::uint64_t size() const override { return size_; }

  Result<std::size_t> read_at(std::uint64_t offset, std::span<std::byte> out) override {
    std::size_t done = 0;
    while (done < out.size()) {
      const ssize_t got = ::pread(fd_, out.data() + done, out.size() - done, static_cast<off_t>(offset + done));
      if (got == 0) break;
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return fail(errc::unreadable, fmt::format("cannot be read: {}", system_text(errno)));
      done += static_cast<std::size_t>(got);
    }
    return done;
  }

 private:
  const int fd_;
  const std::uint64_t size_;
};

class MemorySource final : public ByteSource {
 public:
  explicit MemorySource(std::span<const std::byte> bytes) : bytes_(bytes) {}
  std::uint64_t size() const override { return bytes_.size(); }

  Result<std::size_t> read_at(std::uint64_t offset, std::span<std::byte> out) override {
    if (offset >= bytes_.size()) return 0;
    const std::span<const std::byte> rest = bytes_.subspan(offset);
    const std::size_t length = std::min(rest.size(), out.size());
    std::ranges::copy(rest.first(length), out.begin());
    return length;
  }

 private:
  const std::span<const std::byte> bytes_;
};

}  // namespace

Result<std::unique_ptr<ByteSource>> open_file(const std::filesystem::path& path) {
  // O_NONBLOCK: opening a FIFO without a writer must not block.
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) {
    const int error = errno;
    const bool absent = error == ENOENT || error == ENOTDIR;
    return fail(absent ? errc::file_not_found : errc::unreadable,
                fmt::format("'{}' cannot be opened: {}", printable_path(path), system_text(error)));
  }
  struct stat status{};
  const bool known = ::fstat(fd, &status) == 0;
  auto source = std::make_unique<FileSource>(fd, known ? static_cast<std::uint64_t>(status.st_size) : 0);
  if (!known || !S_ISREG(status.st_mode)) {
    return fail(errc::unreadable, fmt::format("'{}' is not a regular file", printable_path(path)));
  }
  return source;
}

std::unique_ptr<ByteSource> memory_source(std::span<const std::byte> bytes) {
  return std::make_unique<MemorySource>(bytes);
}

ByteCursor::ByteCursor(ByteSource& source, std::uint64_t start)
    : source_(source), size_(source.size()), window_start_(std::min(start, size_)) {}

std::string ByteCursor::text(std::uint64_t length) {
  std::string out;
  if (error_) return out;
  if (length > remaining()) {
    stop(Error(make_error_code(errc::truncated), "ends inside a string"));
    return out;
  }
  out.reserve(length);
  while (out.size() < length && ensure(1)) {
    const std::size_t part = std::min<std::uint64_t>(length - out.size(), filled_ - at_);
    out.append(reinterpret_cast<const char*>(window_.data() + at_), part);
    at_ += part;
  }
  return out;
}

void ByteCursor::skip(std::uint64_t bytes) {
  if (error_) return;
  if (bytes <= filled_ - at_) {
    at_ += bytes;
  } else if (bytes <= remaining()) {
    window_start_ = position() + bytes;
    at_ = filled_ = 0;
  } else {
    stop(Error(make_error_code(errc::truncated), "ends inside its header"));
  }
}

bool ByteCursor::refill(std::size_t bytes) {
  if (error_) return false;
  if (bytes > remaining()) return stop(Error(make_error_code(errc::truncated), "ends inside its header"));
  window_start_ = position();
  at_ = filled_ = 0;
  window_.resize(std::min<std::uint64_t>(kWindow, size_ - window_start_));
  Result<std::size_t> got = source_.read_at(window_start_, window_);
  if (!got) return stop(std::move(got).error());
  filled_ = *got;
  if (filled_ < bytes) return stop(Error(make_error_code(errc::truncated), "was truncated during the read"));
  return true;
}

bool ByteCursor::stop(Error error) {
  error_ = std::move(error);
  at_ = filled_ = 0;
  return false;
}

}  // namespace corral::models
