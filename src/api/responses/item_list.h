// Lists of items, a page at a time, in OpenAI's format. Pure functions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "store/rows.h"

namespace corral::api {

struct PageRequest {
  store::Page page = {};
  std::string before = {};  // stop before this item; empty: list to the end
};

// Of `limit` (1 to 100), `order` (asc, desc), `after` and `before`. Errors: protocol::errc::bad_value.
Result<PageRequest> page_request(std::string_view query);

// The requested items of `all` (oldest first). Errors: bad_value for an item that isn't in `all`.
Result<store::ItemPage> page_of(std::vector<store::ItemRow> all, const PageRequest& wanted);

// {"object":"list","data",…}
std::string item_list(const store::ItemPage& page);

}  // namespace corral::api
