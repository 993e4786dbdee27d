// Negations of the keywords of one schema, combinators aside.
#pragma once

#include <cstddef>
#include <vector>

#include "json/value.h"

namespace corral::json_schema {

// Adds alternatives whose values break a keyword of `schema`; `plain` is its plain_form(). False: there are more such
// values. It may stop at `max` alternatives.
bool negate_keywords(const json::Object& schema, const json::Object& plain, std::size_t max,
                     std::vector<json::Object>& made);

}  // namespace corral::json_schema
