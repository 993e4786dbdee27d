// docs/requests.md, written from the tables.
#pragma once

#include <string>

namespace corral::protocol {

std::string requests_page();

}  // namespace corral::protocol
