// Who a request comes from, for a backend that gives clients equal turns: a number that says nothing else, and another
// one each time the server runs. Safe on every thread.
#pragma once

#include <cstdint>
#include <string>

#include "router/base/identities.h"

namespace corral::router {

class ClientTags {
 public:
  ClientTags();
  explicit ClientTags(std::uint64_t secret) : secret_(secret) {}

  // Without a key it is the address that counts.
  std::string of(const OwnerId& owner, const ClientAddress& client) const;

 private:
  const std::uint64_t secret_;
};

}  // namespace corral::router
