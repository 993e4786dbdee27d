// The schema of the configuration file, by a checker of the few words of JSON Schema that it uses.
#include "config/schema.h"

#include <algorithm>
#include <regex>
#include <sstream>

#include <gmock/gmock.h>
#include <toml++/toml.h>

#include "config/docs.h"
#include "config/home_for_tests.h"
#include "config/options/option.h"
#include "json/value.h"

namespace corral::config {
namespace {

using testing::IsEmpty;

bool is_whole(const json::Value& value) {
  return value.is_int64() || value.is_uint64() ||
         (value.is_double() &&
          value.get_double() == static_cast<double>(static_cast<std::int64_t>(value.get_double())));
}

bool has_type(const json::Value& value, std::string_view type) {
  if (type == "integer") return is_whole(value);
  if (type == "number") return value.is_number();
  if (type == "string") return value.is_string();
  if (type == "boolean") return value.is_bool();
  if (type == "array") return value.is_array();
  return type == "object" && value.is_object();
}

bool has_one_of(const json::Value& value, const json::Value& types) {
  if (types.is_string()) return has_type(value, std::string_view(types.get_string()));
  return std::ranges::any_of(
      types.get_array(), [&](const json::Value& type) { return has_type(value, std::string_view(type.get_string())); });
}

// What is wrong with `value`; "" for nothing. A word that it doesn't know is wrong as well.
std::string fault(const json::Value& value, const json::Value& schema) {
  for (const auto& [word, rule] : schema.get_object()) {
    const std::string_view name = word;
    if (name == "$schema" || name == "$id" || name == "$comment" || name == "title" || name == "description" ||
        name == "default")
      continue;
    if (name == "type") {
      if (!has_one_of(value, rule)) return "type";
    } else if (name == "enum") {
      if (std::ranges::find(rule.get_array(), value) == rule.get_array().end()) return "enum";
    } else if (name == "minimum") {
      if (value.is_number() && value.to_number<double>() < rule.to_number<double>()) return "minimum";
    } else if (name == "exclusiveMinimum") {
      if (value.is_number() && value.to_number<double>() <= rule.to_number<double>()) return "exclusiveMinimum";
    } else if (name == "maximum") {
      if (value.is_number() && value.to_number<double>() > rule.to_number<double>()) return "maximum";
    } else if (name == "pattern") {
      if (value.is_string() &&
          !std::regex_search(std::string(value.get_string()), std::regex(std::string(rule.get_string()))))
        return "pattern";
    } else if (name == "items") {
      if (!value.is_array()) continue;
      for (const auto& item : value.get_array())
        if (const auto wrong = fault(item, rule); !wrong.empty()) return "items: " + wrong;
    } else if (name == "properties") {
      for (const auto& [key, one] : rule.get_object())
        if (const auto* member = json::find(value, std::string_view(key)))
          if (const auto wrong = fault(*member, one); !wrong.empty()) return std::string(key) + ": " + wrong;
    } else if (name == "additionalProperties") {
      for (const auto& [key, member] : value.get_object())
        if (!json::find(*json::find(schema, "properties"), std::string_view(key)))
          return std::string(key) + ": unknown";
    } else {
      return "the checker doesn't know " + std::string(name);
    }
  }
  return "";
}

// A file as JSON.
json::Value from_toml(const std::string& text) {
  std::ostringstream json;
  json << toml::json_formatter(toml::parse(text));
  return *json::parse(json.str());
}

class Schema : public HomeForTests {
 protected:
  const json::Value& of(const Option& option) const {
    return *json::find(*json::find(schema_, "properties"), option.key);
  }
  std::string fault_of(const std::string& file) const { return fault(from_toml(file), schema_); }

  const json::Value schema_ = *json::parse(configuration_schema());
};

TEST_F(Schema, NamesItselfAndEveryKey) {
  for (const auto* word : {"$schema", "$id", "title", "type"}) EXPECT_TRUE(json::find(schema_, word)) << word;
  EXPECT_EQ(json::find(schema_, "properties")->get_object().size(), options().size());
  for (const Option& option : options()) EXPECT_TRUE(of(option).is_object()) << option.key;
}

TEST_F(Schema, EveryDefaultIsOfItsOwnKindAndIsWhatCountsWithoutAFile) {
  const auto none = load_serve_settings(inputs_);
  ASSERT_TRUE(none) << none.error().message;
  for (const Option& option : options()) {
    const auto* const fallback = json::find(of(option), "default");
    EXPECT_EQ(fallback != nullptr, !option.fallback.empty()) << option.key;
    if (!fallback) continue;
    EXPECT_EQ(fault(*fallback, of(option)), "") << option.key;
    const bool has_unit = std::holds_alternative<Millis ServeSettings::*>(option.field) ||
                          std::holds_alternative<Bytes ServeSettings::*>(option.field);
    const bool is_number =
        !has_unit && option.fallback.find_first_not_of("0123456789.") == std::string_view::npos && option.key != "host";
    EXPECT_EQ(fallback->is_number(), is_number) << option.key;
    EXPECT_EQ(fallback->is_bool(), is_switch(option)) << option.key;
    if (option.fallback.starts_with('$')) continue;
    write_file(std::string(option.key) + " = " + json::serialize(*fallback));
    const auto read = load_serve_settings(inputs_);
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_TRUE(same_value(option, *none, *read)) << option.key;
  }
}

TEST_F(Schema, TheExampleOfTheManualIsFine) {
  const std::string page = configuration_page();
  const auto begin = page.find("```toml\n");
  ASSERT_NE(begin, std::string::npos);
  const auto example = page.substr(begin + 8, page.find("```", begin + 8) - begin - 8);
  EXPECT_EQ(fault_of(example), "");
  EXPECT_GT(from_toml(example).get_object().size(), 2u);
  write_file(example);
  const auto read = load_serve_settings(inputs_);
  EXPECT_TRUE(read) << read.error().message;
}

TEST_F(Schema, WhatIsWrongInAFileIsFound) {
  const std::pair<const char*, const char*> files[] = {
      {"port = 70000", "port: maximum"},
      {"port = -1", "port: minimum"},
      {"port = \"http\"", "port: type"},
      {"prot = 8000", "prot: unknown"},
      {"allow_open = \"yes\"", "allow_open: type"},
      {"io_threads = \"all\"", "io_threads: pattern"},
      {"swap_patience = \"soon\"", "swap_patience: pattern"},
      {"swap_patience = 3601", "swap_patience: maximum"},
      {"evict_idle_timeout = \"5 weeks\"", "evict_idle_timeout: pattern"},
      {"max_body_bytes = \"64 MiBs\"", "max_body_bytes: pattern"},
      {"max_body_bytes = 1.5", "max_body_bytes: type"},
      {"auto_evict_threshold_pct = 90", "auto_evict_threshold_pct: maximum"},
      {"evict_weight_factor = 0", "evict_weight_factor: exclusiveMinimum"},
      {"llamacpp_backend = \"abacus\"", "llamacpp_backend: enum"},
      {"log_level = \"loud\"", "log_level: enum"},
      {"max_loaded_models = true", "max_loaded_models: type"},
      {"models_dir = [1]", "models_dir: items: type"},
  };
  for (const auto& [file, wrong] : files) {
    EXPECT_EQ(fault_of(file), wrong) << file;
    // The program reads texts as it reads flags, and is as lenient.
    const bool lenient =
        file == std::string_view("allow_open = \"yes\"") || file == std::string_view("models_dir = [1]");
    write_file(file);
    EXPECT_EQ(load_serve_settings(inputs_).has_value(), lenient) << file;
  }
}

// What the schema lets pass the program takes, for every key and values of all sorts.
TEST_F(Schema, WhatItLetsPassIsTaken) {
  const char* const values[] = {"0",         "1",         "-1",        "8",         "0.5",        "4096",
                                "true",      "false",     "\"auto\"",  "\"never\"", "\"off\"",    "\"cpu\"",
                                "\"debug\"", "\"2s\"",    "\"1.5 M\"", "\"64MiB\"", "\"512 kb\"", "\".5h\"",
                                "\"5B\"",    "\"10 ms\"", "[1, 2]",    "[]"};
  std::vector<std::string> never;
  for (const Option& option : options()) {
    if (option.check) continue;  // rules of texts that a schema can't say
    bool once = false;
    for (const auto* value : values) {
      const auto file = std::string(option.key) + " = " + value;
      if (!fault_of(file).empty()) continue;
      // An address or a folder may be anything; a size or a time with its unit may be too small for its option.
      const bool small = std::string_view("\"5B\" \"512 kb\" \"10 ms\"").contains(value);
      const bool below = small && option.range.min > 0;
      write_file(file + (option.key == "host" ? "\nallow_open = true" : ""));
      const auto read = load_serve_settings(inputs_);
      EXPECT_TRUE(read || below) << file << ": " << read.error().message;
      once = true;
    }
    if (!once) never.emplace_back(option.key);
  }
  EXPECT_THAT(never, IsEmpty());
}

}  // namespace
}  // namespace corral::config
