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
  using List = std::vector<json::Object>;
  static constexpr std::size_t kMaxVariants = 256;

  // Adds unenforced keywords to `unenforced`. All must outlive it. `strict`: see converter.h.
  Variants(const json::Value& root, Languages& languages, bool strict, std::vector<Unenforced>& unenforced)
      : root_(root), languages_(languages), evaluator_(root, languages), strict_(strict), unenforced_(unenforced) {}

  // Each in plain_form(), or only {"$ref": ...}. Throws SchemaFault.
  List of(const json::Value& schema, const std::string& at);
  // The same without references.
  List written_out(const json::Value& schema, const std::string& at);

  // For combinators.h and negation.h. `depth` is the number of schemas around.
  const json::Value& root() const { return root_; }
  List expand(const json::Value& schema, const std::string& at, std::size_t depth);
  List write_out(const List& some, const std::string& at, std::size_t depth);
  // What fits one of `some` and one of `others`. At most `max` of them, if there is such a limit; fewer if the work is
  // spent().
  List cross(const List& some, const List& others, const std::string& at, std::size_t depth, std::size_t max = 0);
  bool exclusive(const List& some, const List& others);
  void report(std::string_view keyword, const std::string& at, std::string reason);
  // Throws SchemaFault: more than kMaxVariants.
  [[noreturn]] static void refuse_more(const std::string& at);
  // Counts a schema that is expanded or negated. Throws SchemaFault if there are too many.
  void step(const std::string& at);
  // Counts `made`, which joins a list. Throws SchemaFault if all of them are too large.
  void count(const json::Object& made, const std::string& at);
  // How often alternatives were left out: the values of a schema may be more than those of its alternatives then.
  std::size_t narrowed() const { return narrowed_; }
  void narrow() { ++narrowed_; }
  // Half of the work is done: negations leave the rest to other keywords, and say that they aren't exact.
  bool spent() const;

 private:
  List expand_ref(const json::Object& variant, const std::string& at, std::size_t depth);
  List alternatives(const json::Value& list, const std::string& at, std::size_t depth);
  // Drops values of `enum` that don't fit the rest. False: nothing fits.
  bool keep(json::Object& plain);

  const json::Value& root_;
  Languages& languages_;
  Evaluator evaluator_;
  const bool strict_;
  std::vector<Unenforced>& unenforced_;
  std::size_t steps_ = 0, bytes_ = 0, narrowed_ = 0;
  std::size_t comparisons_ = 10'000'000;  // that are left
};

}  // namespace corral::json_schema
