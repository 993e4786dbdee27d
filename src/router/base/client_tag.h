// Identifies the client of a request to a backend that gives clients equal turns. A number without other meaning, and a
// different one each time the server runs. Safe on every thread.
#pragma once

#include <cstdint>
#include <string>

#include "router/base/identities.h"

namespace corral::router {

class ClientTags {
 public:
  ClientTags();
  explicit ClientTags(std::uint64_t secret) : secret_(secret) {}

  // Without a key, the address identifies the client.
  std::string of(const OwnerId& owner, const ClientAddress& client) const;

 private:
  const std::uint64_t secret_;
};

}  // namespace corral::router
