// Fields of sound endpoints. Forms with files are listed here for the documentation; dialects/audio and dialects/images
// check them.
#pragma once

#include <span>
#include <string_view>

#include "protocol/fields.h"

namespace corral::protocol {

const FieldTable& speech_fields();  // POST audio/speech

struct FormField {
  std::string_view name;
  std::string_view schema;  // JSON schema of its value
  std::string_view value;   // for people
  std::string_view about;
  bool required = false;
};

struct EndpointForm {
  std::string_view path;
  std::span<const FormField> fields;
  // Its other fields, as of a body with JSON; null: none.
  const FieldTable& (*table)() = nullptr;
};
std::span<const EndpointForm> endpoint_forms();

}  // namespace corral::protocol
