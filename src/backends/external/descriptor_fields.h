// The table of the keys of a descriptor. Parsers (descriptor_reader.h, known_backends.h) and the documentation use its
// rows.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace corral::backends {

struct DescriptorField {
  std::string_view key;
  std::string_view synonym;   // llama-swap's name, also accepted; empty: none
  std::string_view kind;      // the valid values: "a text", "an array of texts"
  std::string_view fallback;  // the default, as text for users
  std::string_view help;
  bool of_models = true;  // also allowed in a model's entry, where it overrides its recipe
};

// In the order of the documentation.
std::span<const DescriptorField> descriptor_fields();

// Writes docs/backends.md: the table and the built-in descriptors.
std::string backends_page();

}  // namespace corral::backends
