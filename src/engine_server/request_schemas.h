// The schemas of one request, of its answer and of its tools, as rules of a grammar.
//
// The chat template library makes the grammar of a whole answer. It is given numbers in place of schemas, and where
// these stand in its grammar they become the names of rules that json_schema makes.
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

// One sentence for each keyword that isn't enforced; some of them, if there are many.
using Warnings = std::vector<std::string>;

// The grammar of a schema alone. Errors: bad_value.
Result<std::string> schema_grammar(const protocol::AnswerSchema& schema, Warnings& warnings);

class RequestSchemas {
 public:
  // Errors: bad_value, naming the field and the place in its schema.
  static Result<RequestSchemas> read(const protocol::ChatRequest& request);

  // Instead of the answer's schema; "" if there is none.
  std::string answer_placeholder() const;
  // A template has shown that to the model.
  bool shown_in(std::string_view prompt) const;
  // The request's tools, with a number for the parameters of each.
  std::string whole_tools() const;
  // With a number for each parameter, where parameters are written one by one; strings stay, they are written as they
  // are.
  std::string tools_by_parameter();

  // The library names a rule for each tool after it, if parameters are written as one object: rules of json_schema in
  // place of these. False, and nothing is changed, if they aren't all there.
  bool replace_tool_rules(std::string& grammar);
  // Names of rules for numbers.
  void fill(std::string& grammar);
  // The rules that these names stand for.
  void append_rules(std::string& grammar) const;
  bool has_tools() const { return !tools_.empty(); }
  bool found_tools() const;
  // After tools_by_parameter(): adds warnings of what the tools' format leaves no place for.
  void warn_of_format();
  Warnings take_warnings() { return std::move(warnings_); }

 private:
  struct Slot {  // a number, and what it stands for
    json_schema::SchemaGrammar grammar;
    bool found = false;
  };
  struct Tool {
    json::Object own = {};
    std::string path = {};  // of its parameters
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
