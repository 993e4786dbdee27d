// JSON schemas of one request (answer and tools) as grammar rules.
//
// The chat template library builds the grammar of a whole answer. It gets numbers in place of schemas, and these
// numbers in its grammar are replaced by the names of rules of json_schema.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "json/value.h"
#include "json_schema/converter.h"
#include "protocol/requests.h"

namespace corral::engine_server {

// One sentence for each keyword that isn't enforced, up to a limit.
using Warnings = std::vector<std::string>;

// The grammar of a schema alone. Errors: bad_value.
Result<std::string> schema_grammar(const protocol::AnswerSchema& schema, Warnings& warnings);

class RequestSchemas {
 public:
  // Errors: bad_value, naming the field and the place in its schema.
  static Result<RequestSchemas> read(const protocol::ChatRequest& request);

  // Placeholder of the answer's schema; "" if there is none.
  std::string answer_placeholder() const;
  // The placeholder is in the prompt.
  bool shown_in(std::string_view prompt) const;
  // The request's tools, with one number for all parameters of each.
  std::string whole_tools() const;
  // The request's tools with a number for each parameter, for formats that write parameters one by one; strings stay,
  // since they are written literally.
  std::string tools_by_parameter();

  // If parameters are written as one object, the library has one rule per tool, named after it: replaces these by rules
  // of json_schema. False, and nothing is changed, if one of them is missing.
  bool replace_tool_rules(std::string& grammar);
  // Replaces numbers by names of rules.
  void fill(std::string& grammar);
  // Appends the rules of these names.
  void append_rules(std::string& grammar) const;
  bool has_tools() const { return !tools_.empty(); }
  bool found_tools() const;
  // After tools_by_parameter(): adds warnings for schemas that the format can't express.
  void warn_of_format();
  Warnings take_warnings() { return std::move(warnings_); }

 private:
  struct Slot {  // a number and its schema
    json_schema::SchemaGrammar grammar;
    bool found = false;
  };
  struct Tool {
    json::Object own = {};
    std::string path = {};  // of its parameters
    bool strict = false;
    std::size_t slot = 0;
    std::vector<std::size_t> parameters = {};  // slots
  };

  Result<std::size_t> add(const json::Value& schema, const std::string& path, bool strict);
  json::Object shape_of(Tool& tool, const json::Value& parameters, std::string_view name, const json::Value& schema);

  std::unique_ptr<json_schema::Workspace> workspace_ = std::make_unique<json_schema::Workspace>("j");
  std::vector<Slot> slots_;
  std::vector<Tool> tools_;
  bool has_answer_ = false;
  Warnings warnings_;
};

}  // namespace corral::engine_server
