// The alternatives of a schema, after references are followed and allOf, anyOf, oneOf and dependentRequired are
// expanded: a value fits the schema if it fits one of them.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "json/value.h"
#include "json_schema/keywords.h"

namespace corral::json_schema {

class Variants {
 public:
  // Adds unenforced keywords to `unenforced`. Both must outlive it.
  Variants(const json::Value& root, std::vector<Unenforced>& unenforced) : root_(root), unenforced_(unenforced) {}

  // Each in plain_form(), or only {"$ref": ...}. Throws SchemaFault.
  std::vector<json::Object> of(const json::Value& schema, const std::string& at);
  // The same without references.
  std::vector<json::Object> written_out(const json::Value& schema);

 private:
  using List = std::vector<json::Object>;

  List expand(const json::Value& schema, const std::string& at, std::size_t depth);
  List expand_ref(const json::Object& variant, const std::string& at, std::size_t depth);
  List alternatives(std::string_view keyword, const json::Value& list, const std::string& at, std::size_t depth);
  List dependents(const std::string& name, const json::Value& required);
  // Counts `made`, which joins a list.
  void count(const json::Object& made, const std::string& at);
  List cross(const List& some, const List& others, const std::string& at, std::size_t depth);
  void report(std::string_view keyword, const std::string& at, std::string reason);

  const json::Value& root_;
  std::vector<Unenforced>& unenforced_;
  std::size_t steps_ = 0, bytes_ = 0;
};

// Whether no value of the grammar of `one` fits `other`, and vice versa.
bool exclude_each_other(const json::Object& one, const json::Object& other);

}  // namespace corral::json_schema
