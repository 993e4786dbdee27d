// What a chat sends besides its messages: fields of POST chat/completions. Plain values.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"

namespace corral::cli {

class ChatSettings {
 public:
  // By name, as JSON texts, in the order in which they were set.
  using Fields = std::vector<std::pair<std::string, std::string>>;

  const Fields& fields() const { return fields_; }
  // A JSON text, or a text without quotation marks. Errors: usage for unknown fields, with a close name, for those that
  // the chat itself sends, and for invalid values.
  Result<> set(std::string_view name, std::string_view value);
  // "json", or a file with a JSON schema. Errors: usage, and those of reading it.
  Result<> set_format(const std::string& format);
  // False: it wasn't set.
  bool unset(std::string_view name);

 private:
  void put(std::string name, std::string json);

  Fields fields_;
};

// Names of fields that can be set, in the order of docs/requests.md.
std::vector<std::string> settable_fields();

}  // namespace corral::cli
