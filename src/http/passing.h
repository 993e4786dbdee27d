// Further abilities of some bodies.
#pragma once

#include <cstdint>
#include <string_view>

#include "http/body.h"

namespace corral::http {

// Whether this is the content type of a form with files, "multipart/form-data; …".
bool is_form(std::string_view content_type);

// A body that its reader doesn't hold in memory: passes_by(), called before the first read(), exempts it from the
// memory limit of bodies.
class PassingBody : public BodySource {
 public:
  virtual void passes_by() = 0;
};

// A stored body, which can be sent again.
class ReplayableBody : public BodySource {
 public:
  // Restarts at its first byte. Not during a read().
  virtual void rewind() = 0;
  // Equal for equal bytes; identifies a body that ended processes.
  virtual std::string_view key() const = 0;
};

}  // namespace corral::http
