#include "mesh/identity/identity.h"

#include <cerrno>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/private_folder.h"
#include "base/state_file.h"
#include "base/unique_fd.h"
#include "mesh/identity/errors.h"

namespace corral::mesh {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kLargestFile = 16 * 1024;

std::unexpected<Error> unusable(const fs::path& file, std::string_view why) {
  return fail(errc::unusable_identity, fmt::format("the node's key in '{}' is unusable: {}", file.native(), why));
}
std::unexpected<Error> system_error(const fs::path& file, int number) {
  const std::error_code code(number, std::system_category());
  return std::unexpected<Error>(std::in_place, code,
                                fmt::format("the node's key in '{}': {}", file.native(), code.message()));
}

// Nothing if there is no such file.
Result<std::optional<SigningKey>> read_key(const fs::path& file, mode_t forbidden) {
  const UniqueFd handle(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!handle && errno == ENOENT) return std::nullopt;
  struct stat status{};
  if (!handle || ::fstat(handle.get(), &status) != 0) return system_error(file, errno);
  if (!S_ISREG(status.st_mode)) return unusable(file, "it is not a regular file");
  if ((status.st_mode & forbidden) != 0)
    return unusable(file, "other users may read or change it; run chmod 600 on it");
  std::string pem(kLargestFile, '\0');
  const auto got = ::read(handle.get(), pem.data(), pem.size());
  if (got < 0) return system_error(file, errno);
  pem.resize(static_cast<std::size_t>(got));
  auto key = SigningKey::from_pem(pem);
  if (!key) return unusable(file, key.error().message);
  return std::move(*key);
}

// Creates the file unless another process was first.
Result<> put_key(const fs::path& file, const std::string& pem) {
  const fs::path fresh = fmt::format("{}.{}", file.native(), ::getpid());
  ::unlink(fresh.c_str());  // left by a killed process with this number
  if (auto written = write_state_file(fresh, pem, Durability::power_loss); !written) return written;
  const bool linked = ::link(fresh.c_str(), file.c_str()) == 0 || errno == EEXIST;
  const int number = errno;
  ::unlink(fresh.c_str());
  if (!linked) return system_error(file, number);
  if (const auto failed = sync_folder(file.parent_path())) return system_error(file, failed.value());
  return {};
}

}  // namespace

Result<SigningKey> open_identity(const fs::path& folder) {
  if (auto ready = ensure_private_folder(folder); !ready) return std::unexpected(ready.error());
  const fs::path file = folder / kIdentityFile;
  constexpr mode_t kForbidden = S_IRWXG | S_IRWXO;
  auto found = read_key(file, kForbidden);
  if (!found) return std::unexpected(found.error());
  if (*found) return std::move(**found);
  if (auto put = put_key(file, SigningKey::generate().to_pem()); !put) return std::unexpected(put.error());
  found = read_key(file, kForbidden);
  if (!found) return std::unexpected(found.error());
  if (!*found) return unusable(file, "it was removed right after it was made");
  return std::move(**found);
}

Result<SigningKey> read_identity_file(const fs::path& file) {
  auto found = read_key(file, S_IWGRP | S_IRWXO);
  if (!found) return std::unexpected(found.error());
  if (!*found) return unusable(file, "there is no such file");
  return std::move(**found);
}

}  // namespace corral::mesh
