#include "app/runtime_dir.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <stdexcept>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "backends/engine_backend.h"
#include "base/private_folder.h"

namespace corral::app {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrefix = "corral.";  // folders with this prefix are locked by their process

struct Hold {
  UniqueFd fd;
  int failed = 0;  // errno; EWOULDBLOCK: another process holds it, ENOENT: the folder is gone
};

Hold hold(const fs::path& folder) {
  Hold hold{UniqueFd(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC))};
  if (!hold.fd || ::flock(hold.fd.get(), LOCK_EX | LOCK_NB) != 0) {
    hold.failed = errno;
    return hold;
  }
  struct stat held{}, named{};
  const bool same = ::fstat(hold.fd.get(), &held) == 0 && ::stat(folder.c_str(), &named) == 0;
  if (!same || held.st_ino != named.st_ino) hold.failed = ENOENT;
  return hold;
}

void remove_abandoned(const fs::path& parent) {
  std::error_code failed;
  for (fs::directory_iterator at(parent, failed); !failed && at != fs::directory_iterator(); at.increment(failed)) {
    if (!at->path().filename().native().starts_with(kPrefix)) continue;
    std::error_code ignored;
    if (const auto held = hold(at->path()); held.failed == 0) fs::remove_all(at->path(), ignored);
  }
}

}  // namespace

RuntimeDir::RuntimeDir(const fs::path& parent) {
  const auto wanted = parent / fmt::format("{}XXXXXX", kPrefix);
  if (const auto fits = backends::EngineBackend::check_runtime_dir(wanted); !fits) {
    throw std::runtime_error(fmt::format("runtime_dir '{}' is too long: {}", parent.native(), fits.error().message));
  }
  if (const auto safe = ensure_private_folder(parent); !safe)
    throw std::runtime_error("runtime_dir: " + safe.error().message);
  remove_abandoned(parent);
  // Another starting server may remove a new folder as abandoned. If folders can't be locked (some network file
  // systems), none are removed either.
  constexpr int kTries = 10;
  for (int tries = 1;; ++tries) {
    auto name = wanted.native();
    if (!::mkdtemp(name.data()))
      throw std::runtime_error(
          fmt::format("cannot create a folder in '{}': {}", parent.native(), std::strerror(errno)));
    auto held = hold(name);
    const bool lost = held.failed == EWOULDBLOCK || held.failed == ENOENT;
    if (lost && tries < kTries) continue;
    path_ = name;
    held_ = std::move(held.fd);
    return;
  }
}

void RuntimeDir::remove() const {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

}  // namespace corral::app
