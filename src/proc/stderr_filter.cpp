#include "proc/stderr_filter.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>

#include <unistd.h>

namespace corral::proc {
namespace {

// The C library passes one call's print on an unbuffered stream in pieces of this size; a shorter piece is the last
// one.
constexpr std::size_t kPiece = BUFSIZ;

struct Filter {
  std::span<const std::string_view> beginnings;
  bool cutting = false;  // the call continues, and its beginning was cut
};

bool write_all(std::string_view text) {
  while (!text.empty()) {
    const auto put = ::write(STDERR_FILENO, text.data(), text.size());
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return false;
    text.remove_prefix(static_cast<std::size_t>(put));
  }
  return true;
}

// Called with the stream's own lock held.
ssize_t write_filtered(void* cookie, const char* bytes, std::size_t size) {
  auto& filter = *static_cast<Filter*>(cookie);
  const std::string_view text(bytes, size);
  const bool goes_on = size >= kPiece;
  const bool whole = !filter.cutting;
  const auto cut =
      std::ranges::find_if(filter.beginnings, [&](std::string_view known) { return text.starts_with(known); });
  if (filter.cutting || cut != filter.beginnings.end()) filter.cutting = goes_on;
  if (!whole) return static_cast<ssize_t>(size);
  bool fine = true;
  if (cut == filter.beginnings.end()) {
    fine = write_all(text);
  } else {
    fine = write_all(*cut) && write_all(" (client's text omitted)\n");
  }
  return fine ? static_cast<ssize_t>(size) : 0;
}

}  // namespace

void cut_stderr_behind(std::span<const std::string_view> beginnings) {
  static Filter filter;
  filter.beginnings = beginnings;
  FILE* const stream =
      ::fopencookie(&filter, "w", {.read = nullptr, .write = write_filtered, .seek = nullptr, .close = nullptr});
  if (stream == nullptr) return;
  ::setvbuf(stream, nullptr, _IONBF, 0);
  stderr = stream;
}

}  // namespace corral::proc
