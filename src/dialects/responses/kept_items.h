// The stored form of items and answers: whole, and each item with an id that contains the id of its request. Pure
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

// The items of the request with this id, as a list. `referred`: items that some of them refer to.
std::string kept_input(json::View input, std::string_view request,
                       const std::map<std::string, std::string, std::less<>>& referred);
// The items of a list, or of an answer's output. An item without an id has an empty id.
std::vector<KeptItem> items_in(const std::string& list_or_answer);
// The answer that the item with this id belongs to; empty: not one of our ids.
std::string answer_of_item(std::string_view item);

// The end of an answer.
struct LastAnswer {
  std::string_view status;
  std::string_view doc;  // the response object
};
// Finds it in whole events of the ResponseTranslator; nothing: the stream continues.
std::optional<LastAnswer> last_answer(std::string_view events);
// "status" of an answer; empty: none.
std::string status_in(const std::string& answer);
// The document of a background answer that the end of its program interrupted.
std::string interrupted(const std::string& answer);
// The document of an answer that could not be stored: "store" is false.
std::string not_stored(const std::string& answer);
// The same for events with the end of an answer; others stay.
std::string events_not_stored(std::string events);

}  // namespace corral::dialects::responses
