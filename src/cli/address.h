// Where the server is.
#pragma once

#include <cstdint>
#include <string>

#include "base/error.h"
#include "config/serve_settings.h"

namespace corral::cli {

struct Address {
  std::string host;  // without brackets
  std::uint16_t port = 0;
  std::string prefix;  // path in front of every request's, without a slash at its end
  std::string api_key;

  std::string authority() const;  // "127.0.0.1:8000", "[::1]:8000"
  std::string url() const { return "http://" + authority() + prefix; }
};

// "http://host:port"; the base URLs that other clients want ("…/v1", "…/api/v1") are understood too. Errors: usage.
Result<Address> parse_url(const std::string& url);
Address address_of(const config::ClientSettings& settings);

}  // namespace corral::cli
