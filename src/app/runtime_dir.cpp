#include "app/runtime_dir.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <stdexcept>

#include <fmt/format.h>

#include "backends/engine_backend.h"
#include "base/private_folder.h"

namespace corral::app {

RuntimeDir::RuntimeDir(const std::filesystem::path& parent) : path_((parent / "corral-XXXXXX").native()) {
  if (const auto fits = backends::EngineBackend::check_runtime_dir(path_); !fits) {
    throw std::runtime_error(fmt::format("runtime_dir '{}' is too long: {}", parent.native(), fits.error().message));
  }
  if (const auto safe = ensure_private_folder(parent); !safe)
    throw std::runtime_error("runtime_dir: " + safe.error().message);
  auto name = path_.native();
  if (!::mkdtemp(name.data())) {
    throw std::runtime_error(fmt::format("can't make a folder in '{}': {}", parent.native(), std::strerror(errno)));
  }
  path_ = name;
}

void RuntimeDir::remove() const {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace corral::app
