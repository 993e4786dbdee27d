// The alternatives of a schema, after references are followed and allOf, anyOf, oneOf, not, if and the keywords about
// dependents are expanded: a value fits the schema if it fits one of them.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "json/value.h"
#include "json_schema/evaluate.h"
#include "json_schema/keywords.h"
#include "json_schema/language.h"

namespace corral::json_schema {

class Variants {
 public:
  // Adds unenforced keywords to `unenforced`. All must outlive it. `strict`: see converter.h.
  Variants(const json::Value& root, Languages& languages, bool strict, std::vector<Unenforced>& unenforced)
      : root_(root), evaluator_(root, languages), strict_(strict), unenforced_(unenforced) {}

  // Each in plain_form(), or only {"$ref": ...}. Throws SchemaFault.
  std::vector<json::Object> of(const json::Value& schema, const std::string& at);
  // The same without references.
  std::vector<json::Object> written_out(const json::Value& schema, const std::string& at);

 private:
  using List = std::vector<json::Object>;
  static constexpr std::size_t kMaxSteps = 20'000;            // schemas that are expanded or negated, each time
  static constexpr std::size_t kMaxBytes = 32 * 1024 * 1024;  // of all copies
  // Alternatives whose values don't fit a schema. Not exact: there are more such values, which the grammar leaves out.
  struct Negation {
    List list;
    bool exact = true;
  };

  List expand(const json::Value& schema, const std::string& at, std::size_t depth);
  List expand_ref(const json::Object& variant, const std::string& at, std::size_t depth);
  List write_out(const List& some, const std::string& at, std::size_t depth);
  List alternatives(const json::Value& list, const std::string& at, std::size_t depth);
  List one_of(const List& all, const json::Value& list, const std::string& at, std::size_t depth);
  List without(const List& all, const json::Value& schema, const std::string& at, std::size_t depth);
  List conditional(const List& all, const json::Object& schema, const std::string& at, std::size_t depth);
  List dependents(const List& all, std::string_view keyword, const json::Value& value, const std::string& at,
                  std::size_t depth);
  List unevaluated_properties(List all, const json::Value& schema, const std::string& at, std::size_t depth);
  List unevaluated_items(List all, const json::Value& schema, const std::string& at, std::size_t depth);
  bool exclusive(const List& some, const List& others);

  Negation negated(const json::Value& schema, const std::string& at, std::size_t depth);
  void negate_combinators(const json::Object& schema, const std::string& at, std::size_t depth, Negation& made);
  Negation negated_all(const json::Value& schemas, const std::string& at, std::size_t depth);

  // Half of the work is done: negations leave the rest to other keywords, and say that they aren't exact.
  bool spent() const { return bytes_ > kMaxBytes / 2 || steps_ > kMaxSteps / 2; }
  // Counts `made`, which joins a list.
  void count(const json::Object& made, const std::string& at);
  // At most `most` of them, if there is such a limit; fewer if the work is spent().
  List cross(const List& some, const List& others, const std::string& at, std::size_t depth, std::size_t most = 0);
  // Drops values of `enum` that don't fit the rest. False: nothing fits.
  bool keep(json::Object& plain);
  void report(std::string_view keyword, const std::string& at, std::string reason);

  const json::Value& root_;
  Evaluator evaluator_;
  const bool strict_;
  std::vector<Unenforced>& unenforced_;
  std::size_t steps_ = 0, bytes_ = 0, comparisons_ = 2'000'000;  // made; left
};

}  // namespace corral::json_schema
