#include "base/read_proc.h"

#include <cerrno>

#include <fcntl.h>

#include "base/unique_fd.h"

namespace corral {

std::string read_proc(int fd, std::size_t limit) {
  std::string text(limit, '\0');
  std::size_t done = 0;
  while (done < limit) {
    const auto count = ::pread(fd, text.data() + done, limit - done, static_cast<off_t>(done));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return {};
    if (count == 0) break;
    done += static_cast<std::size_t>(count);
  }
  text.resize(done);
  return text;
}

std::string read_proc(const std::filesystem::path& file, std::size_t limit) {
  const UniqueFd fd(::open(file.c_str(), O_RDONLY | O_CLOEXEC));
  return fd ? read_proc(fd.get(), limit) : std::string();
}

}  // namespace corral
