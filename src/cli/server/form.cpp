#include "cli/server/form.h"

#include <algorithm>
#include <cerrno>
#include <system_error>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include "cli/errors.h"
#include "http/request_id.h"

namespace corral::cli {
namespace {

constexpr std::uint64_t kPiece = 64 * 1024;

std::string system_text(int number) { return std::generic_category().message(number); }

// In quotation marks; RFC 7578 refers to browsers, which escape these three.
std::string in_quotes(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) out += c == '"' ? "%22" : c == '\r' ? "%0D" : c == '\n' ? "%0A" : std::string(1, c);
  return out + "\"";
}

}  // namespace

Result<std::unique_ptr<FormBody>> FormBody::open(const Form& form) {
  // A pipe without a writer would block.
  UniqueFd file(::open(form.file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file) return fail(errc::usage, fmt::format("'{}': {}", form.file.native(), system_text(errno)));
  struct stat facts{};
  if (::fstat(file.get(), &facts) != 0 || !S_ISREG(facts.st_mode))
    return fail(errc::usage, fmt::format("'{}' is not a file", form.file.native()));
  return std::unique_ptr<FormBody>(new FormBody(form, std::move(file), static_cast<std::uint64_t>(facts.st_size)));
}

FormBody::FormBody(const Form& form, UniqueFd file, std::uint64_t file_size)
    : name_(form.file.native()),
      file_(std::move(file)),
      file_size_(file_size),
      boundary_(http::new_request_id().value()),
      left_(file_size) {
  for (const auto& [name, value] : form.fields)
    before_ +=
        fmt::format("--{}\r\nContent-Disposition: form-data; name={}\r\n\r\n{}\r\n", boundary_, in_quotes(name), value);
  before_ += fmt::format(
      "--{}\r\nContent-Disposition: form-data; name={}; filename={}\r\nContent-Type: application/octet-stream\r\n\r\n",
      boundary_, in_quotes(form.file_field), in_quotes(form.file.filename().native()));
  after_ = fmt::format("\r\n--{}--\r\n", boundary_);
}

async::Task<Result<std::string_view>> FormBody::read() {
  if (next_ == Next::before) {
    next_ = left_ > 0 ? Next::file : Next::after;
    co_return std::string_view(before_);
  }
  if (next_ == Next::file) co_return read_file();
  if (next_ == Next::end) co_return std::string_view();
  next_ = Next::end;
  co_return std::string_view(after_);
}

// Blocks the loop of one command for a read of the disk.
Result<std::string_view> FormBody::read_file() {
  piece_.resize(std::min(kPiece, left_));
  ssize_t count = 0;
  do {
    count = ::read(file_.get(), piece_.data(), piece_.size());
  } while (count < 0 && errno == EINTR);
  if (count <= 0)
    return fail(errc::usage, fmt::format("'{}': {}", name_, count < 0 ? system_text(errno) : "it has become shorter"));
  left_ -= static_cast<std::uint64_t>(count);
  if (left_ == 0) next_ = Next::after;
  return std::string_view(piece_).substr(0, static_cast<std::size_t>(count));
}

}  // namespace corral::cli
