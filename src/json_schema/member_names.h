// The names of an object's members, by what their values must fit.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "json_schema/schema_rules.h"

namespace corral::json_schema {

class MemberNames {
 public:
  struct Schema {
    json::Value schema = true;
    std::string at = {};
  };
  struct Others {
    SchemaRules::Rule key;  // nothing: there is no such name
    Schema values;
  };

  // `schema` is in plain_form(); all must outlive it.
  MemberNames(SchemaRules& rules, const json::Object& schema, const std::string& at);

  // The names that the schema lists, in their order.
  const std::vector<std::string_view>& listed() const { return listed_; }
  bool required(std::string_view name) const { return required_.contains(name); }
  // Of a listed name; nothing: no value fits.
  std::optional<Schema> schema_of(std::string_view name);
  // All other names, in groups with equal schemas.
  std::vector<Others> others();

 private:
  struct Pattern {
    std::string_view text;
    Language names;
  };
  struct Part {  // of `members`
    const json::Object& own;
    std::vector<std::size_t> patterns;  // numbers
    bool left_out = false;              // it has unenforced patterns
  };
  // Names that match the patterns of this set and no others.
  struct Group {
    Language names;
    std::size_t chosen;
  };

  void read(const json::Object& schema);
  void add_pattern(Part& part, std::string_view pattern, const json::Value& schema);
  void add_listed(std::string_view name);
  bool matches(Language names, std::string_view name, std::string_view keyword, bool otherwise);
  void add(std::vector<Schema>& all, const json::Value& schema, const std::string& at) const;
  Schema joined(std::vector<Schema> all) const;
  // Of a group; nothing: there are no such names.
  std::optional<Schema> schema_of_others(std::size_t chosen) const;
  std::vector<Group> groups();
  std::vector<Group> divided(std::vector<Group> all, std::size_t pattern);
  SchemaRules::Rule key_of_others(Language names);
  void too_complex(std::string_view keyword) { rules_.report(keyword, at_, "the pattern is too complex"); }

  SchemaRules& rules_;
  const std::string& at_;
  const bool closed_;  // no names but the listed ones and those of patterns
  std::vector<Part> parts_;
  std::vector<Pattern> patterns_;
  std::vector<Schema> left_out_;   // of unenforced patterns: for any other name
  std::optional<Language> names_;  // that propertyNames allows
  std::vector<std::string_view> listed_;
  std::set<std::string_view> known_, required_;
};

}  // namespace corral::json_schema
