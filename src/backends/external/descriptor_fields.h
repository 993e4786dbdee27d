// The table of what a descriptor may say. Reading (descriptor_reader.h, known_backends.h) and the documentation come
// from its rows.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace corral::backends {

struct DescriptorField {
  std::string_view key;
  std::string_view synonym;   // llama-swap's word for it, taken as well; empty: none
  std::string_view kind;      // what a right value is: "a text", "an array of texts"
  std::string_view fallback;  // what counts without it, for people
  std::string_view help;
  bool of_models = true;  // a model's entry may say it, too, over what its recipe says
};

// In the order of the documentation.
std::span<const DescriptorField> descriptor_fields();

// docs/backends.md: the table, and the descriptors that are built in.
std::string backends_page();

}  // namespace corral::backends
