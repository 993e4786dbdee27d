// Whether schemas in plain_form() exclude each other. Cheap checks; false if they don't suffice.
#pragma once

#include <cstddef>

#include "json/value.h"

namespace corral::json_schema {

// Whether no value of the grammar of `one` fits `other`, and vice versa. `strict`: objects are open unless they say
// otherwise. `budget` is the number of steps that are left; false if none is.
bool exclude_each_other(const json::Object& one, const json::Object& other, bool strict, std::size_t& budget);

// Whether a list of `members` permits only the names that it lists.
bool is_shut(const json::Object& members);

// Whether a grammar of this schema has only the listed properties.
bool is_closed(const json::Object& plain, bool strict);

// Removes what no value can fit: types of `type` whose other assertions contradict each other. False: nothing is left.
bool prune(json::Object& plain);

}  // namespace corral::json_schema
