#include "config/options/origins.h"

#include <algorithm>
#include <array>
#include <optional>

#include <arpa/inet.h>
#include <fmt/format.h>

#include "base/text.h"
#include "config/errors.h"

namespace corral::config {
namespace {

std::vector<std::string_view> words(std::string_view text) {
  constexpr std::string_view kBetween = " ,\t";
  std::vector<std::string_view> found;
  while (true) {
    const auto begin = text.find_first_not_of(kBetween);
    if (begin == std::string_view::npos) return found;
    text.remove_prefix(begin);
    const auto end = std::min(text.find_first_of(kBetween), text.size());
    found.push_back(text.substr(0, end));
    text.remove_prefix(end);
  }
}

bool is_web(std::string_view scheme) {
  return equal_ignoring_case(scheme, "http") || equal_ignoring_case(scheme, "https");
}

// Removes the default port of a scheme, as browsers do.
std::string_view without_usual_port(std::string_view authority, bool secure) {
  const std::string_view usual = secure ? ":443" : ":80";
  if (authority.ends_with(usual)) authority.remove_suffix(usual.size());
  return authority;
}

struct Origin {
  std::string_view scheme, authority;
};

std::optional<Origin> split(std::string_view origin) {
  const auto mark = origin.find("://");
  if (mark == std::string_view::npos || mark == 0) return std::nullopt;
  Origin parts{origin.substr(0, mark), origin.substr(mark + 3)};
  if (is_web(parts.scheme))
    parts.authority = without_usual_port(parts.authority, equal_ignoring_case(parts.scheme, "https"));
  return parts;
}

constexpr std::string_view kLocal = "localhost", kAnyone = "*";

// The error of an entry; empty: none.
std::string_view fault_of(std::string_view entry) {
  if (entry == kLocal || entry == kAnyone) return {};
  const auto origin = split(entry);
  if (!origin || origin->authority.empty()) return "is not an origin such as http://localhost:3000";
  if (origin->authority.find_first_of("/?#@") != std::string_view::npos) return "has more than scheme, host and port";
  if (origin->authority.find('*') == std::string_view::npos) return {};
  if (is_web(origin->scheme)) return "would allow pages of others: list each origin";
  return origin->authority == "*" ? std::string_view() : "has a * that is not the whole host";
}

}  // namespace

Result<std::vector<std::string>> parse_origins(std::string_view text) {
  std::vector<std::string> origins;
  for (const auto word : words(text)) {
    if (const auto fault = fault_of(word); !fault.empty())
      return fail(errc::invalid_value, fmt::format("'{}' {}", word, fault), "allowed_origins");
    origins.emplace_back(word);
  }
  return origins;
}

Result<std::vector<std::string>> parse_hosts(std::string_view text) {
  std::vector<std::string> hosts;
  for (const auto word : words(text)) {
    const bool bracketed = word.starts_with('[') && word.ends_with(']');
    const auto name = bracketed ? word.substr(1, word.size() - 2) : word;
    if (name.empty() || name.find_first_of("/*@?[]") != std::string_view::npos ||
        (!is_address(name) && name.contains(':')))
      return fail(errc::invalid_value,
                  fmt::format("'{}' is not a host name such as ai.example.org, without a port", word), "allowed_hosts");
    hosts.emplace_back(name);
  }
  return hosts;
}

bool is_listed_origin(std::string_view origin, std::span<const std::string> listed, bool keyed) {
  if (keyed && std::ranges::find(listed, kAnyone) != listed.end()) return true;
  const auto sent = split(origin);
  if (!sent || sent->authority.empty()) return false;
  return std::ranges::any_of(listed, [&](const std::string& entry) {
    if (entry == kLocal && is_web(sent->scheme) && is_loopback(host_name(origin))) return true;
    const auto known = split(entry);
    return known && equal_ignoring_case(known->scheme, sent->scheme) &&
           (known->authority == "*" || equal_ignoring_case(known->authority, sent->authority));
  });
}

bool is_listed_host(std::string_view name, std::span<const std::string> listed) {
  return std::ranges::any_of(listed, [&](const std::string& entry) { return equal_ignoring_case(entry, name); });
}

std::string_view host_name(std::string_view authority) {
  if (const auto scheme = authority.find("://"); scheme != std::string_view::npos) authority.remove_prefix(scheme + 3);
  if (authority.starts_with('[')) return authority.substr(1, authority.find(']') - 1);
  return authority.substr(0, authority.find(':'));
}

bool is_loopback(std::string_view host) {
  constexpr std::string_view kBelow = ".localhost";
  if (equal_ignoring_case(host, kLocal)) return true;
  if (host.size() > kBelow.size() && equal_ignoring_case(host.substr(host.size() - kBelow.size()), kBelow)) return true;
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  if (host.size() > INET6_ADDRSTRLEN) return false;
  const std::string text(host);
  in_addr four{};
  if (::inet_pton(AF_INET, text.c_str(), &four) == 1) return ntohl(four.s_addr) >> 24 == 127;
  in6_addr six{};
  return ::inet_pton(AF_INET6, text.c_str(), &six) == 1 && IN6_IS_ADDR_LOOPBACK(&six);
}

bool is_container_gateway(std::string_view host) {
  constexpr auto kNames =
      std::to_array<std::string_view>({"host.docker.internal", "gateway.docker.internal", "host.containers.internal",
                                       "host.lima.internal", "host.minikube.internal", "host.orb.internal"});
  return std::ranges::any_of(kNames, [&](std::string_view name) { return equal_ignoring_case(name, host); });
}

bool is_private_name(std::string_view host) {
  constexpr auto kEndings =
      std::to_array<std::string_view>({".local", ".lan", ".internal", ".home.arpa", ".localdomain"});
  if (host.empty() || is_address(host)) return false;
  if (!host.contains('.')) return true;
  return std::ranges::any_of(kEndings, [&](std::string_view ending) {
    return host.size() > ending.size() && equal_ignoring_case(host.substr(host.size() - ending.size()), ending);
  });
}

bool is_address(std::string_view host) {
  if (host.size() > INET6_ADDRSTRLEN) return false;
  const std::string text(host);
  in6_addr six{};
  in_addr four{};
  return ::inet_pton(AF_INET, text.c_str(), &four) == 1 || ::inet_pton(AF_INET6, text.c_str(), &six) == 1;
}

bool is_same_origin(std::string_view origin, std::string_view host) {
  const auto sent = split(origin);
  if (!sent || !is_web(sent->scheme) || host.empty()) return false;
  return equal_ignoring_case(sent->authority, without_usual_port(host, equal_ignoring_case(sent->scheme, "https")));
}

}  // namespace corral::config
