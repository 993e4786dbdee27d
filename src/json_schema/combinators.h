// Keywords that combine schemas: what `all` leaves of its variants together with one of them. `schema` or the schema
// with the keyword is at `at`. Unenforced ones are reported.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "json/value.h"
#include "json_schema/variants.h"

namespace corral::json_schema {

// Exactly one of a list.
Variants::List one_of(Variants& variants, const Variants::List& all, const json::Value& list, const std::string& at,
                      std::size_t depth);
// `not`.
Variants::List without(Variants& variants, const Variants::List& all, const json::Value& schema, const std::string& at,
                       std::size_t depth);
// `if` with `then` and `else`.
Variants::List conditional(Variants& variants, const Variants::List& all, const json::Object& schema,
                           const std::string& at, std::size_t depth);
// dependentRequired, dependentSchemas, or dependencies.
Variants::List dependents(Variants& variants, const Variants::List& all, std::string_view keyword,
                          const json::Value& value, const std::string& at, std::size_t depth);

}  // namespace corral::json_schema
