// JSON as a tree, for the edges of the program where speed doesn't matter: configuration, small answers of other
// programs. What comes in by the thousand is read with json/peek.h and written with json/writer.h instead.
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

// Deeper texts are refused, here and by Peek: nothing meant seriously nests that far, and readers recurse.
inline constexpr std::size_t kMaxDepth = 256;

// Of two fields of one name the last one counts. Errors: malformed, naming the byte offset; bad_number, naming the
// field.
Result<Value> parse(std::string_view text);
// As json::Writer writes; a fraction stays one ("2.0"). parse() may bring one back with its last bit changed.
std::string serialize(const Value& value);

// The member of that name; null when `object` is no object or has no such member.
const Value* find(const Value& object, std::string_view name);
// The member's text, number or flag, or `otherwise` when it is missing or of another type.
std::string_view text_or(const Value& object, std::string_view name, std::string_view otherwise);
double number_or(const Value& object, std::string_view name, double otherwise);
bool bool_or(const Value& object, std::string_view name, bool otherwise);

// Says what is wrong with a text that a parser refused. Never succeeds in being empty: `fallback` is the reason given
// when this parser, which may be less strict, finds nothing.
Error explain_malformed(std::string_view text, std::string_view fallback);

}  // namespace corral::json
