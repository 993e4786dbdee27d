// Who else has something to tell readers of events: downloads, a mesh. What they say goes through the one hub, in one
// order with what the house says, under one row of numbers; the hub knows no more of it than its name.
#pragma once

#include <memory>
#include <string_view>

#include "json/writer.h"

namespace corral::router {

// Something that only its source understands. Immutable; on any thread.
class Notice {
 public:
  virtual ~Notice() = default;
  // Of the event, or of the member of a snapshot: "download". Needs no escaping.
  virtual std::string_view name() const = 0;
  // Writes its members into an open object.
  virtual void write(json::Writer& out) const = 0;
};
using NoticePtr = std::shared_ptr<const Notice>;

class EventSource {
 public:
  virtual ~EventSource() = default;
  // How things stand, for a snapshot: what was told up to now is in it, what is told from now on isn't. On the home
  // loop.
  virtual NoticePtr state() const = 0;
};

}  // namespace corral::router
