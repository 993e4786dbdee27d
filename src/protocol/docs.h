// docs/requests.md, generated from the tables; and the table of each endpoint.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "protocol/fields.h"

namespace corral::protocol {

struct EndpointBody {
  std::string_view path;  // of a POST, under the core prefixes
  const FieldTable& (*table)();
};
std::span<const EndpointBody> endpoint_bodies();

std::string requests_page();

}  // namespace corral::protocol
