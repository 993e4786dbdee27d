#include "http/message.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/text.h"

namespace corral::http {
namespace {

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  const char l = to_lower(c);
  return l >= 'a' && l <= 'f' ? l - 'a' + 10 : -1;
}

}  // namespace

bool same_name(std::string_view a, std::string_view b) { return equal_ignoring_case(a, b); }

bool is_hop_by_hop(std::string_view name) {
  static constexpr std::array<std::string_view, 8> kNames = {
      "connection", "keep-alive", "proxy-connection", "transfer-encoding",
      "upgrade",    "te",         "trailer",          "proxy-authenticate"};
  return std::ranges::any_of(kNames, [&](std::string_view known) { return same_name(known, name); });
}

std::string_view Headers::get(std::string_view name) const {
  for (const auto& field : fields_) {
    if (same_name(field.name, name)) return field.value;
  }
  return {};
}

bool Headers::has(std::string_view name) const {
  return std::ranges::any_of(fields_, [&](const Field& field) { return same_name(field.name, name); });
}

void Headers::set(std::string_view name, std::string_view value) {
  remove(name);
  add(name, value);
}

void Headers::remove(std::string_view name) {
  std::erase_if(fields_, [&](const Field& field) { return same_name(field.name, name); });
}

std::string_view RequestHead::path() const {
  auto path = std::string_view(target).substr(0, target.find('?'));
  while (path.size() > 1 && path.ends_with('/')) path.remove_suffix(1);
  return path;
}

std::string_view RequestHead::query() const {
  const auto mark = target.find('?');
  return mark == std::string::npos ? std::string_view() : std::string_view(target).substr(mark + 1);
}

std::string_view reason_phrase(unsigned status) {
  static constexpr std::pair<unsigned, std::string_view> kPhrases[] = {
      {100, "Continue"},
      {101, "Switching Protocols"},
      {200, "OK"},
      {201, "Created"},
      {202, "Accepted"},
      {204, "No Content"},
      {301, "Moved Permanently"},
      {302, "Found"},
      {304, "Not Modified"},
      {400, "Bad Request"},
      {401, "Unauthorized"},
      {403, "Forbidden"},
      {404, "Not Found"},
      {405, "Method Not Allowed"},
      {408, "Request Timeout"},
      {409, "Conflict"},
      {413, "Content Too Large"},
      {415, "Unsupported Media Type"},
      {422, "Unprocessable Content"},
      {429, "Too Many Requests"},
      {431, "Request Header Fields Too Large"},
      {499, "Client Closed Request"},
      {500, "Internal Server Error"},
      {501, "Not Implemented"},
      {502, "Bad Gateway"},
      {503, "Service Unavailable"},
      {504, "Gateway Timeout"},
  };
  for (const auto& [known, phrase] : kPhrases) {
    if (known == status) return phrase;
  }
  return "Status";
}

std::string percent_decode(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%' && i + 2 < text.size() && hex_digit(text[i + 1]) >= 0 && hex_digit(text[i + 2]) >= 0) {
      out.push_back(static_cast<char>(hex_digit(text[i + 1]) * 16 + hex_digit(text[i + 2])));
      i += 2;
    } else {
      out.push_back(text[i]);
    }
  }
  return out;
}

std::optional<std::string> query_value(std::string_view query, std::string_view name) {
  while (!query.empty()) {
    const auto end = std::min(query.find('&'), query.size());
    const auto pair = query.substr(0, end);
    query.remove_prefix(std::min(end + 1, query.size()));
    const auto equals = std::min(pair.find('='), pair.size());
    if (percent_decode(pair.substr(0, equals)) != name) continue;
    std::string value(equals < pair.size() ? pair.substr(equals + 1) : std::string_view());
    std::ranges::replace(value, '+', ' ');
    return percent_decode(value);
  }
  return std::nullopt;
}

}  // namespace corral::http
