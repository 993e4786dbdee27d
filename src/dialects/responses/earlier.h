// The stored data that a request continues, parsed; and the rules between it and the request's own items. Pure.
#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "dialects/kept.h"
#include "dialects/responses/items.h"
#include "json/peek.h"

namespace corral::dialects::responses {

struct Earlier {
  std::vector<json::Peek> texts = {};  // lists of items, or answers; oldest first
  Items::Referred items = {};
};

Result<Earlier> open_earlier(const Before& before);
// The items of one of the texts: a list, or the output of an answer.
json::View items_of(const json::Peek& text);

// Errors: bad_value for a reference to an unknown item.
Result<> check_references(json::View input, const Items::Referred& items);
// For a request whose whole conversation is known. Errors: bad_value for the output of a call that isn't in it.
// `continued`: the field that names the conversation.
Result<> check_outputs(json::View input, const Earlier& earlier, std::string_view continued);

}  // namespace corral::dialects::responses
