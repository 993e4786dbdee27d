// The address of the server.
#pragma once

#include <cstdint>
#include <string>

#include "base/error.h"
#include "config/serve_settings.h"

namespace corral::cli {

struct Address {
  std::string host;  // without brackets
  std::uint16_t port = 0;
  std::string prefix;  // path before every request's, without a trailing slash
  std::string api_key;

  std::string authority() const;  // "127.0.0.1:8000", "[::1]:8000"
  std::string url() const { return "http://" + authority() + prefix; }
};

// "http://host:port", or a base URL of other clients ("…/v1", "…/api/v1"). Errors: usage.
Result<Address> parse_url(const std::string& url);
Address address_of(const config::ClientSettings& settings);

}  // namespace corral::cli
