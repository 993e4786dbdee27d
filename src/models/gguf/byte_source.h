// Bytes at offsets, of a file or of memory, and a cursor that reads GGUF's little-endian values from them with every
// access checked against the size. Files are read with pread through one window, not mapped: a file that shrinks while
// it is read (a download that starts again) is then an error, where a mapping would be a SIGBUS.
// Blocking; one thread at a time per object.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"

namespace corral::models {

class ByteSource {
 public:
  virtual ~ByteSource() = default;
  virtual std::uint64_t size() const = 0;
  // Fills `out` from `offset`; returns how many bytes there were (fewer only at the end), or errc::unreadable.
  virtual Result<std::size_t> read_at(std::uint64_t offset, std::span<std::byte> out) = 0;
};

// errc::file_not_found, errc::unreadable (also for anything but a regular file: a FIFO could block permanently).
Result<std::unique_ptr<ByteSource>> open_file(const std::filesystem::path& path);
// The bytes must outlive the source.
std::unique_ptr<ByteSource> memory_source(std::span<const std::byte> bytes);

// Walks forward through a source. Errors stick: after the first one every read gives zero or nothing and ok() is false,
// so a parser checks once per loop and not once per value.
class ByteCursor {
 public:
  explicit ByteCursor(ByteSource& source, std::uint64_t start = 0);

  bool ok() const { return !error_; }
  // Meaningful after ok() turned false: errc::truncated or errc::unreadable.
  const Error& error() const { return *error_; }
  std::uint64_t position() const { return window_start_ + at_; }
  std::uint64_t remaining() const { return size_ - position(); }

  // One value of an arithmetic type, little-endian as the file has it.
  template <typename T>
  T read() {
    T value{};
    if (ensure(sizeof(T))) {
      std::memcpy(&value, window_.data() + at_, sizeof(T));
      at_ += sizeof(T);
    }
    return value;
  }
  // The next `length` bytes as text. The caller has bounded `length`.
  std::string text(std::uint64_t length);
  void skip(std::uint64_t bytes);

 private:
  bool ensure(std::size_t bytes) { return filled_ - at_ >= bytes || refill(bytes); }
  bool refill(std::size_t bytes);
  bool stop(Error error);

  ByteSource& source_;
  const std::uint64_t size_;

  std::vector<std::byte> window_;
  std::uint64_t window_start_ = 0;  // offset of window_[0] in the source
  std::size_t at_ = 0;              // next byte within the window
  std::size_t filled_ = 0;          // bytes of the window that are valid
  std::optional<Error> error_;
};

}  // namespace corral::models
