#include "engine/kv/parked_file.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <system_error>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/unique_fd.h"
#include "engine/values/errors.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace corral::engine {
namespace {

namespace fs = std::filesystem;

static_assert(std::endian::native == std::endian::little, "numbers are copied as they stand in the file");

constexpr std::array<char, 8> kMagic = {'c', 'o', 'r', 'r', 'a', 'l', 'K', 'V'};
constexpr std::uint32_t kVersion = 1;
constexpr std::string_view kEnding = ".kv";
constexpr std::size_t kHashDigits = 16;
constexpr std::size_t kNameLength = 2 * kHashDigits + 1 + kEnding.size();
// No process writes one file for so long: the writer of the temporary file has ended.
constexpr std::chrono::hours kForgotten{1};

struct FixedHead {
  std::array<char, 8> magic = kMagic;
  std::uint32_t version = kVersion;
  std::uint32_t fingerprint_bytes = 0;
  std::uint64_t tokens = 0;
  std::uint64_t payload_bytes = 0;
  std::uint64_t payload_hash = 0;
  std::uint64_t head_hash = 0;
};
static_assert(sizeof(FixedHead) == 48, "the table in the header");

std::uint64_t hash_of(std::span<const std::uint8_t> bytes) { return XXH3_64bits(bytes.data(), bytes.size()); }

std::unexpected<Error> system_failure(const fs::path& path, const char* what, int error) {
  return fail(errc::park_failed,
              fmt::format("parked KV '{}' {}: {}", path.native(), what, std::generic_category().message(error)));
}
std::unexpected<Error> damaged(const fs::path& path, const char* how) {
  return fail(errc::park_damaged, fmt::format("parked KV '{}' {}", path.native(), how));
}

std::vector<std::uint8_t> make_head(std::string_view fingerprint, const Parked& parked) {
  FixedHead fixed;
  fixed.fingerprint_bytes = static_cast<std::uint32_t>(fingerprint.size());
  fixed.tokens = parked.tokens.size();
  fixed.payload_bytes = parked.bytes.size();
  fixed.payload_hash = hash_of(parked.bytes);
  std::vector<std::uint8_t> head(parked_file_bytes(fingerprint, parked) - parked.bytes.size());
  const auto put = [&head](std::size_t at, const void* from, std::size_t length) {
    if (length > 0) std::memcpy(head.data() + at, from, length);
  };
  put(0, &fixed, sizeof fixed);
  put(sizeof fixed, fingerprint.data(), fingerprint.size());
  put(sizeof fixed + fingerprint.size(), parked.tokens.data(), parked.tokens.size() * sizeof(Token));
  fixed.head_hash = hash_of(head);
  put(0, &fixed, sizeof fixed);
  return head;
}

bool write_all(int fd, std::span<const std::uint8_t> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
  return true;
}

// False at the end of the file too, with errno 0.
bool read_all(int fd, std::span<std::uint8_t> out) {
  while (!out.empty()) {
    const ssize_t got = ::read(fd, out.data(), out.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) {
      if (got == 0) errno = 0;
      return false;
    }
    out = out.subspan(static_cast<std::size_t>(got));
  }
  return true;
}

// A file up to its payload.
struct OpenFile {
  UniqueFd fd;
  FixedHead fixed;
  std::vector<Token> tokens;
};

Result<OpenFile> open_parked(const fs::path& path, std::string_view fingerprint) {
  OpenFile file;
  // O_NONBLOCK: opening a FIFO without a writer must not block.
  file.fd.reset(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat status{};
  if (!file.fd || ::fstat(file.fd.get(), &status) != 0) return system_failure(path, "can't be opened", errno);
  if (!S_ISREG(status.st_mode) || status.st_uid != ::geteuid()) return damaged(path, "isn't a file of this user");
  const auto size = static_cast<std::uint64_t>(status.st_size);

  FixedHead& fixed = file.fixed;
  const auto fixed_bytes = std::span(reinterpret_cast<std::uint8_t*>(&fixed), sizeof fixed);
  if (!read_all(file.fd.get(), fixed_bytes)) {
    return errno == 0 ? damaged(path, "is cut short") : system_failure(path, "can't be read", errno);
  }
  if (fixed.magic != kMagic) return damaged(path, "isn't one");
  if (fixed.version != kVersion) return damaged(path, "is of another version");
  // Check each size first, so that their sum can't overflow.
  if (fixed.tokens > size / sizeof(Token) || fixed.payload_bytes > size ||
      sizeof fixed + fixed.fingerprint_bytes + fixed.tokens * sizeof(Token) + fixed.payload_bytes != size) {
    return damaged(path, "has another size than its head says");
  }

  std::vector<std::uint8_t> head(size - fixed.payload_bytes);
  const auto rest = std::span(head).subspan(sizeof fixed);
  if (!read_all(file.fd.get(), rest)) {
    return errno == 0 ? damaged(path, "is cut short") : system_failure(path, "can't be read", errno);
  }
  FixedHead hashed = fixed;
  hashed.head_hash = 0;
  std::memcpy(head.data(), &hashed, sizeof hashed);
  if (hash_of(head) != fixed.head_hash) return damaged(path, "has a damaged head");
  if (!std::ranges::equal(rest.first(fixed.fingerprint_bytes), fingerprint))
    return damaged(path, "belongs to another model, adapter set or version");
  file.tokens.resize(fixed.tokens);
  if (fixed.tokens > 0)
    std::memcpy(file.tokens.data(), rest.data() + fixed.fingerprint_bytes, fixed.tokens * sizeof(Token));
  return file;
}

std::string digits(std::uint64_t hash) { return fmt::format("{:016x}", hash); }

bool has_name_form(std::string_view name) {
  if (name.size() < kNameLength || name.substr(2 * kHashDigits + 1, kEnding.size()) != kEnding) return false;
  for (std::size_t i = 0; i < 2 * kHashDigits + 1; ++i) {
    const char c = name[i];
    const bool fits = i == kHashDigits ? c == '-' : (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
    if (!fits) return false;
  }
  return true;
}

}  // namespace

std::string parked_name_prefix(std::string_view fingerprint) {
  return digits(XXH3_64bits(fingerprint.data(), fingerprint.size())) + '-';
}

std::string parked_name(std::string_view fingerprint, std::span<const Token> tokens) {
  return parked_name_prefix(fingerprint) + digits(XXH3_64bits(tokens.data(), tokens.size_bytes())) +
         std::string(kEnding);
}

std::uint64_t parked_file_bytes(std::string_view fingerprint, const Parked& parked) {
  return sizeof(FixedHead) + fingerprint.size() + parked.tokens.size() * sizeof(Token) + parked.bytes.size();
}

Result<> write_parked(const fs::path& path, std::string_view fingerprint, const Parked& parked) {
  const std::vector<std::uint8_t> head = make_head(fingerprint, parked);
  std::string temporary = path.native() + ".XXXXXX";
  UniqueFd fd(::mkostemp(temporary.data(), O_CLOEXEC));
  if (!fd) return system_failure(path, "can't be made", errno);
  int error = write_all(fd.get(), head) && write_all(fd.get(), parked.bytes) ? 0 : errno;
  // Some file systems report a full disk only at close().
  if (::close(fd.release()) != 0 && error == 0) error = errno;
  if (error == 0 && ::rename(temporary.c_str(), path.c_str()) != 0) error = errno;
  if (error == 0) return {};
  ::unlink(temporary.c_str());
  return system_failure(path, "can't be written", error);
}

Result<std::vector<Token>> read_parked_tokens(const fs::path& path, std::string_view fingerprint) {
  Result<OpenFile> file = open_parked(path, fingerprint);
  if (!file) return std::unexpected(std::move(file.error()));
  return std::move(file->tokens);
}

Result<Parked> read_parked(const fs::path& path, std::string_view fingerprint) {
  Result<OpenFile> file = open_parked(path, fingerprint);
  if (!file) return std::unexpected(std::move(file.error()));
  Parked parked{.tokens = std::move(file->tokens), .bytes = std::vector<std::uint8_t>(file->fixed.payload_bytes)};
  if (!read_all(file->fd.get(), parked.bytes)) {
    return errno == 0 ? damaged(path, "is cut short") : system_failure(path, "can't be read", errno);
  }
  if (hash_of(parked.bytes) != file->fixed.payload_hash) return damaged(path, "has a damaged payload");
  return parked;
}

Result<std::vector<ParkedFile>> list_parked(const fs::path& folder) {
  std::vector<ParkedFile> files;
  std::error_code error;
  const auto now = fs::file_time_type::clock::now();
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename().native();
    // A file that vanishes meanwhile is no error: other processes clean up here too.
    std::error_code gone;
    if (!has_name_form(name) || !it->is_regular_file(gone)) continue;
    ParkedFile file{.path = it->path(), .bytes = it->file_size(gone), .used = it->last_write_time(gone)};
    if (gone) continue;
    if (name.size() == kNameLength) {
      files.push_back(std::move(file));
    } else if (now - file.used > kForgotten) {
      fs::remove(file.path, gone);
    }
  }
  if (error && error != std::errc::no_such_file_or_directory)
    return system_failure(folder, "can't be listed", error.value());
  return files;
}

}  // namespace corral::engine
