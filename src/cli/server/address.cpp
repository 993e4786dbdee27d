#include "cli/server/address.h"

#include <charconv>

#include <fmt/format.h>

#include "cli/errors.h"

namespace corral::cli {
namespace {

constexpr std::uint16_t kHttpPort = 80;

void strip_brackets(std::string& host) {
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
}

}  // namespace

std::string Address::authority() const {
  const bool is_v6 = host.find(':') != std::string::npos;
  return is_v6 ? fmt::format("[{}]:{}", host, port) : fmt::format("{}:{}", host, port);
}

Result<Address> parse_url(const std::string& url) {
  const auto wrong = [&](std::string_view why) {
    return fail(errc::usage, fmt::format("'{}' {}; a valid address is http://127.0.0.1:8000", url, why), "url");
  };
  std::string rest = url;
  if (rest.starts_with("https://")) return wrong("uses TLS, which corral does not support");
  if (rest.starts_with("http://")) {
    rest = rest.substr(7);
  } else if (rest.find("://") != std::string::npos) {
    return wrong("is not an http address");
  }
  Address address;
  if (const auto slash = rest.find('/'); slash != std::string::npos) {
    address.prefix = rest.substr(slash);
    rest.resize(slash);
  }
  const auto strip = [&](std::string_view end) {
    if (address.prefix.ends_with(end)) address.prefix.resize(address.prefix.size() - end.size());
  };
  strip("/");
  for (const std::string_view base : {"/v1", "/v0", "/api"}) strip(base);

  address.port = kHttpPort;
  const auto colon = rest.rfind(':');
  if (colon != std::string::npos && rest.find(']', colon) == std::string::npos) {
    const std::string digits = rest.substr(colon + 1);
    const auto* last = digits.data() + digits.size();
    const auto [end, error] = std::from_chars(digits.data(), last, address.port);
    if (error != std::errc{} || end != last || address.port == 0) return wrong("has no usable port");
    rest.resize(colon);
  }
  strip_brackets(rest);
  if (rest.empty() || rest.find_first_of(" @?#") != std::string::npos) return wrong("has no usable host");
  address.host = rest;
  return address;
}

Address address_of(const config::ClientSettings& settings) {
  Address address{settings.host, static_cast<std::uint16_t>(settings.port), {}, settings.api_key};
  strip_brackets(address.host);
  return address;
}

}  // namespace corral::cli
