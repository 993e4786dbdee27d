// Converts items of the Responses API to turns (dialects/turns.h).
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "dialects/turns.h"
#include "json/peek.h"
#include "json/writer.h"

namespace corral::dialects::responses {

// Writes elements of the open array of `out`. The body has passed its table; its views must live as long as this.
class Items {
 public:
  // Referenced items, by id.
  using Referred = std::map<std::string, json::Peek, std::less<>>;
  Items(json::Writer& out, const Referred& referred) : turns_(out), referred_(referred) {}

  void instructions(json::View text);  // call it first
  void input(json::View items);
  void closing(std::string_view text);  // of the user; call it last
  // After the last item. See Turns::end().
  Begun end() { return turns_.end(); }

 private:
  void item(json::View item);
  void message(json::View item);
  void call(json::View item, bool custom);
  void output(json::View item);
  void think(json::View item);
  void content(json::View content);
  void file(json::View part);
  void summary(std::string_view compacted);
  void add(std::string_view text);
  json::View answered(json::View id);

  Turns turns_;
  const Referred& referred_;
  std::deque<json::Peek> texts_;    // texts that aren't in the body; turns refer to them
  std::vector<json::View> called_;  // ids of calls
  std::size_t answered_ = 0;        // number of calls with an output, from the first on
};

}  // namespace corral::dialects::responses
