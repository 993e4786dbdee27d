// Numbers within bounds, as the texts that JSON writes them with.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "json/value.h"
#include "json_schema/language.h"

namespace corral::json_schema {

// A number as its digits, without zeros in front of the whole part and behind the fraction.
struct Decimal {
  bool negative = false;
  std::string whole = "0";
  std::string fraction = {};

  // Of a JSON number.
  static Decimal of(const json::Value& number);
  bool zero() const { return whole == "0" && fraction.empty(); }
};

struct Bound {
  Decimal value;
  bool exclusive = false;
};

struct NumberRange {
  bool integer = false;
  std::optional<Bound> least = std::nullopt, most = std::nullopt;
  std::uint32_t multiple_of = 1;  // other than 1: whole numbers only

  bool unbounded() const { return !least && !most && multiple_of == 1; }
};

// Without exponents. Fractions are as long as a program that reads doubles tells apart from the bounds. Throws
// TooComplex.
Language number_language(Languages& languages, const NumberRange& range);

}  // namespace corral::json_schema
