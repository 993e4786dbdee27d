// Reads bodies that are canonical already: checks them and leaves them unchanged.
#pragma once

#include <utility>

#include "dialects/dialect.h"

namespace corral::dialects {

template <const protocol::FieldTable& (*Fields)()>
Result<Canonical> checked(std::string body) {
  auto about = protocol::check(body, Fields());
  if (!about) return std::unexpected(std::move(about.error()));
  return Canonical{.body = std::move(body), .about = std::move(*about)};
}

}  // namespace corral::dialects
