// Numbers within bounds, as JSON texts.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "json/value.h"
#include "json_schema/language.h"

namespace corral::json_schema {

// A number as its digits, without leading and trailing zeros.
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
  std::uint32_t multiple_of = 1;  // other values than 1: whole numbers only

  bool unbounded() const { return !least && !most && multiple_of == 1; }
};

// Without exponents. Fractions are long enough to distinguish doubles from the bounds. Throws TooComplex.
Language number_language(Languages& languages, const NumberRange& range);

}  // namespace corral::json_schema
