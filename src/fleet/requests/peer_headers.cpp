#include "fleet/requests/peer_headers.h"

#include <array>
#include <charconv>

#include <fmt/format.h>

#include "protocol/errors.h"

namespace corral::fleet {
namespace {

constexpr std::string_view kHeld = "X-Corral-Held";
constexpr std::string_view kModel = "X-Corral-Model";
constexpr std::string_view kContent = "X-Corral-Content";
constexpr std::string_view kStream = "X-Corral-Stream";
constexpr std::string_view kPing = "X-Corral-Ping";  // milliseconds
constexpr std::string_view kContext = "X-Corral-Context";
constexpr std::string_view kWaits = "X-Corral-Waits";
constexpr std::string_view kFailureHeader = "X-Corral-Mishap";
constexpr std::string_view kUnbegun = "unbegun";
constexpr std::string_view kEnded = "ended ";
constexpr std::string_view kComment = ": corral ";
constexpr std::size_t kLongestName = 1024;

template <typename T>
std::optional<T> number(std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::unexpected<Error> bad(std::string_view field, std::string_view value) {
  return fail(protocol::errc::bad_value, fmt::format("invalid value '{1}' in header {0}", field, value),
              std::string(field));
}

// For an optional field.
template <typename T>
Result<std::optional<T>> optional_number(const http::Headers& headers, std::string_view field) {
  const auto text = headers.get(field);
  if (text.empty()) return std::optional<T>();
  const auto value = number<T>(text);
  if (!value) return bad(field, text);
  return value;
}

bool is_content(std::string_view text) {
  constexpr std::size_t kDigits = 64;
  return text.size() == kDigits && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

// Names may contain any byte, header fields may not.
std::string as_field(std::string_view name) {
  std::string text;
  for (const char c : name) {
    if (c > ' ' && c < 127 && c != '%' && c != '+') {
      text.push_back(c);
    } else {
      fmt::format_to(std::back_inserter(text), "%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return text;
}

std::string words_of(const PeerFailure& failure) {
  return failure.unbegun ? std::string(kUnbegun) : fmt::format("{}{} {}", kEnded, failure.process, failure.requests);
}

std::optional<PeerFailure> parse(std::string_view words) {
  if (words == kUnbegun) return PeerFailure{.unbegun = true};
  if (!words.starts_with(kEnded)) return std::nullopt;
  words.remove_prefix(kEnded.size());
  const auto space = words.find(' ');
  if (space == std::string_view::npos) return std::nullopt;
  const auto process = number<std::uint64_t>(words.substr(0, space));
  const auto requests = number<std::uint64_t>(words.substr(space + 1));
  if (!process || !requests) return std::nullopt;
  return PeerFailure{.process = *process, .requests = *requests};
}

}  // namespace

void write(http::Headers& headers, const PeerRequestInfo& info) {
  headers.add(kHeld, std::to_string(info.held));
  headers.add(kModel, as_field(info.model));
  if (!info.content.empty()) headers.add(kContent, info.content);
  if (info.stream) headers.add(kStream, "1");
  if (info.ping_interval) headers.add(kPing, std::to_string(info.ping_interval->count()));
  if (info.context > 0) headers.add(kContext, std::to_string(info.context));
  if (info.waits) headers.add(kWaits, "1");
}

Result<PeerRequestInfo> read_request_info(const http::Headers& headers) {
  PeerRequestInfo info;
  const auto held = optional_number<mesh::InFlightId>(headers, kHeld);
  if (!held) return std::unexpected(held.error());
  const auto name = headers.get(kModel);
  if (!*held || name.empty()) {
    return fail(protocol::errc::missing_field,
                fmt::format("a request of a node needs the headers {} and {}", kHeld, kModel),
                std::string(*held ? kModel : kHeld));
  }
  if (name.size() > kLongestName) return bad(kModel, name.substr(0, 64));
  const auto content = headers.get(kContent);
  if (!content.empty() && !is_content(content)) return bad(kContent, content);
  const auto ping = optional_number<std::int64_t>(headers, kPing);
  if (!ping) return std::unexpected(ping.error());
  const auto context = optional_number<std::uint64_t>(headers, kContext);
  if (!context) return std::unexpected(context.error());
  constexpr std::int64_t kLongestPing = 24ll * 3600 * 1000;
  if (*ping && (**ping < -1 || **ping > kLongestPing)) return bad(kPing, headers.get(kPing));
  info.held = **held;
  info.model = http::percent_decode(name);
  info.content = content;
  info.stream = headers.get(kStream) == "1";
  if (*ping) info.ping_interval = Millis(**ping);
  info.context = context->value_or(0);
  info.waits = headers.get(kWaits) == "1";
  return info;
}

void write(http::Headers& headers, const PeerFailure& failure) { headers.set(kFailureHeader, words_of(failure)); }

std::optional<PeerFailure> read_failure(const http::Headers& headers) { return parse(headers.get(kFailureHeader)); }

std::string comment_of(const PeerFailure& failure) { return fmt::format("{}{}\n\n", kComment, words_of(failure)); }

std::optional<PeerFailure> failure_in_comment(std::string_view comment) {
  if (!comment.starts_with(kComment)) return std::nullopt;
  return parse(comment.substr(kComment.size()));
}

}  // namespace corral::fleet
