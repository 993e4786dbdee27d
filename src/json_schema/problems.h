// Errors of schemas, as sentences for people. Pure functions.
#pragma once

#include <string>

#include "json_schema/keywords.h"

namespace corral::json_schema {

// `field` is the field of a request that has the schema. At most 300 bytes of a client's text.
std::string describe(const SchemaFault& fault, const std::string& field);
// For a schema with `strict`, and for one without.
std::string describe_refused(const Unenforced& keyword, const std::string& field);
std::string describe_ignored(const Unenforced& keyword, const std::string& field);

}  // namespace corral::json_schema
