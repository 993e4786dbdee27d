// Other sources of events: downloads, a mesh. Their notices go through the same hub, in one order and with one series
// of numbers. The hub knows only their names.
#pragma once

#include <memory>
#include <string_view>

#include "json/writer.h"

namespace corral::router {

// Data of one source, opaque to the hub. Immutable; on any thread.
class Notice {
 public:
  virtual ~Notice() = default;
  // Name of the event, or of the member of a snapshot: "download". Needs no escaping.
  virtual std::string_view name() const = 0;
  // Writes its members into an open object.
  virtual void write(json::Writer& out) const = 0;
};
using NoticePtr = std::shared_ptr<const Notice>;

class EventSource {
 public:
  virtual ~EventSource() = default;
  // The current state, for a snapshot: earlier notices are included, later ones are not. On the home loop.
  virtual NoticePtr state() const = 0;
};

}  // namespace corral::router
