// What some bodies can do beside being read.
#pragma once

#include <cstdint>
#include <string_view>

#include "http/body.h"

namespace corral::http {

// Whether this content type is that of a form with files, "multipart/form-data; …".
bool is_form(std::string_view content_type);

// One that may be told, before its first read(), that what is read isn't held in memory: so it doesn't count against
// what bodies may take there.
class PassingBody : public BodySource {
 public:
  virtual void passes_by() = 0;
};

// One that is kept, and can be sent again.
class KeptBody : public BodySource {
 public:
  // Begins anew with its first byte. Not while a read() is under way.
  virtual void rewind() = 0;
  // The same for the same bytes; to know it by where it does harm.
  virtual std::string_view key() const = 0;
};

}  // namespace corral::http
