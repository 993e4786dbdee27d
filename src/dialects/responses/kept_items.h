// Items and answers as they are kept: whole, and each item with an id that tells of which request it is. Pure
// functions.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "json/peek.h"
#include "json/writer.h"

namespace corral::dialects::responses {

struct KeptItem {
  std::string id;
  std::string doc;
};

// Items that came with a request of that id, as a list. `referred`: those that some refer to.
std::string kept_input(json::View input, std::string_view request,
                       const std::map<std::string, std::string, std::less<>>& referred);
// The items of a list, or of an answer's output. One without an id has an empty one.
std::vector<KeptItem> items_in(const std::string& list_or_answer);
// The answer that an item of that id came with, or is of; empty: such an id isn't one of ours.
std::string answer_of_item(std::string_view item);

// How an answer ended.
struct LastAnswer {
  std::string_view status;
  std::string_view doc;  // the response object
};
// In whole events as ResponseTranslator makes them; none: more comes.
std::optional<LastAnswer> last_answer(std::string_view events);
// "status" of an answer; empty: it has none.
std::string status_in(const std::string& answer);
// An answer in the background whose program ended before it did.
std::string interrupted(const std::string& answer);

}  // namespace corral::dialects::responses
