// JSON as a tree, for code where speed doesn't matter: configuration, small answers of other programs. Frequent texts
// are read with json/peek.h and written with json/writer.h instead.
#pragma once

#include <string>
#include <string_view>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/string.hpp>
#include <boost/json/value.hpp>

#include "base/error.h"

namespace corral::json {

using Value = boost::json::value;
using Object = boost::json::object;
using Array = boost::json::array;
using String = boost::json::string;

// Deeper texts are errors, here and in Peek: no serious text is that deep, and readers recurse.
inline constexpr std::size_t kMaxDepth = 256;

// The last of equal fields is used. Errors: malformed, with the byte offset; bad_number, with the field.
Result<Value> parse(std::string_view text);
// In the form of json::Writer; a fraction stays one ("2.0"). parse() may return it with its last bit changed.
std::string serialize(const Value& value);

// The member of that name; null if `object` is no object or lacks it.
const Value* find(const Value& object, std::string_view name);
// The member's text, number or flag, or `otherwise` if it is missing or of another type.
std::string_view text_or(const Value& object, std::string_view name, std::string_view otherwise);
double number_or(const Value& object, std::string_view name, double otherwise);
bool bool_or(const Value& object, std::string_view name, bool otherwise);

// The error of a text that a parser rejected. Never empty: `fallback` is used if this parser, which may be less strict,
// finds no error.
Error explain_malformed(std::string_view text, std::string_view fallback);

}  // namespace corral::json
