#include "downloads/transfer/fetcher.h"

#include <algorithm>
#include <charconv>

namespace corral::downloads {
namespace {

// Reads the number at the front; `text` becomes the rest.
std::optional<std::uint64_t> take_number(std::string_view& text) {
  std::uint64_t number = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (failure != std::errc{}) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return number;
}

bool take(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return false;
  text.remove_prefix(prefix.size());
  return true;
}

}  // namespace

std::string_view FetchHead::field(std::string_view name) const {
  const auto found = fields.find(name);
  return found == fields.end() ? std::string_view{} : std::string_view(found->second);
}

std::string_view FetchHead::stamp() const {
  const std::string_view time = field("last-modified");
  return time.empty() ? field("etag") : time;
}

std::optional<Range> FetchHead::content_range() const {
  std::string_view text = field("content-range");
  if (!take(text, "bytes ")) return std::nullopt;
  const auto first = take_number(text);
  if (!first || !take(text, "-")) return std::nullopt;
  const auto last = take_number(text);
  if (!last || *last < *first) return std::nullopt;
  return Range{*first, *last + 1};
}

std::optional<std::uint64_t> FetchHead::total() const {
  std::string_view text = field(status == 200 ? "content-length" : "content-range");
  if (status != 200) {
    const auto slash = text.find('/');
    if (slash == text.npos) return std::nullopt;
    text.remove_prefix(slash + 1);
  }
  const auto number = take_number(text);
  return text.empty() ? number : std::nullopt;
}

std::optional<std::chrono::seconds> FetchHead::retry_after() const {
  constexpr std::uint64_t kMax = 1'000'000;
  // A date instead of a number is ignored: clocks differ.
  std::string_view text = field("retry-after");
  if (const auto number = take_number(text)) return std::chrono::seconds(std::min(*number, kMax));
  // RateLimit: "api";r=0;t=55
  text = field("ratelimit");
  const auto at = text.find("t=");
  if (status != 429 || at == text.npos) return std::nullopt;
  text.remove_prefix(at + 2);
  const auto number = take_number(text);
  return number ? std::optional(std::chrono::seconds(std::min(*number, kMax))) : std::nullopt;
}

Outcome FetchAnswer::outcome(const FetchRequest& request) const {
  return {.fault = fault,
          .detail = detail,
          .status = head.status,
          .elsewhere = head.elsewhere,
          .error_code = std::string(head.field("x-error-code")),
          .with_token = !request.token.empty(),
          .retry_after = head.retry_after(),
          .got_range = head.status == 206 ? head.content_range() : std::nullopt,
          .total = head.total()};
}

}  // namespace corral::downloads
