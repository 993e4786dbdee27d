#include "proc/log_sink.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/uio.h>

#include "base/log.h"

namespace corral::proc {
namespace {

namespace fs = std::filesystem;

constexpr mode_t kOnlyOurs = S_IRUSR | S_IWUSR;
constexpr std::string_view kOlder = ".1";

}  // namespace

void keep_newest_logs(const fs::path& folder, std::size_t max) {
  struct Log {
    fs::file_time_type written;
    fs::path path;
  };
  std::vector<Log> logs;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    std::error_code gone;
    if (it->path().extension() == ".log") logs.push_back({it->last_write_time(gone), it->path()});
  }
  if (logs.size() <= max) return;
  std::ranges::sort(logs, std::ranges::greater(), &Log::written);
  for (auto log = logs.begin() + static_cast<std::ptrdiff_t>(max); log != logs.end(); ++log) {
    fs::remove(log->path, error);
    fs::remove(log->path += kOlder, error);
  }
}

LogFile::LogFile(std::filesystem::path path, std::size_t max_bytes, bool begins)
    : path_(std::move(path)), max_bytes_(max_bytes) {
  open();
  if (begins && size_ > 0) rotate();
}

void LogFile::open() {
  file_.reset(::open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, kOnlyOurs));
  // Others may be able to read a file of an earlier run.
  if (file_) ::fchmod(file_.get(), kOnlyOurs);
  if (!file_) {
    log::warning("proc", "cannot write log file {}: {}", path_.string(), std::strerror(errno));
    return;
  }
  const auto end = ::lseek(file_.get(), 0, SEEK_END);
  size_ = end > 0 ? static_cast<std::size_t>(end) : 0;
}

void LogFile::rotate() {
  auto old = path_;
  old += kOlder;
  std::error_code ignored;  // a file that can't be renamed grows further: open() appends to it
  std::filesystem::rename(path_, old, ignored);
  open();
}

void LogFile::append(std::string_view line) {
  if (!file_) return;
  if (size_ > 0 && size_ + line.size() + 1 > max_bytes_) rotate();
  char newline = '\n';
  const iovec parts[] = {{const_cast<char*>(line.data()), line.size()}, {&newline, 1}};
  if (file_ && ::writev(file_.get(), parts, 2) < 0) {
    log::warning("proc", "cannot write log file {}: {}", path_.string(), std::strerror(errno));
    file_.reset();
  }
  size_ += line.size() + 1;
}

LogSink::LogSink(const ChildSpec& spec) : name_(spec.name), tail_(spec.log), on_line_(spec.on_line) {
  if (!spec.log_file.empty()) file_.emplace(spec.log_file, spec.log_file_bytes, spec.log_begins);
}

void LogSink::add(bool from_stderr, std::string line) {
  log::debug(name_, "{}", line);
  if (file_) file_->append(line);
  if (on_line_ && !muted_) on_line_(LogLine{from_stderr, line});
  tail_.add(std::move(line));
}

}  // namespace corral::proc
