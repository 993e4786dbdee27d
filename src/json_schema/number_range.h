// Numbers within bounds, as JSON texts.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

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

// A `multipleOf`: digits * 10^zeros / 10^places; of zeros and places one is 0.
struct Step {
  std::uint32_t digits = 1, zeros = 0, places = 0;

  // Of a number above 0; nothing: too many digits.
  static std::optional<Step> of(const json::Value& number);
};

struct NumberRange {
  bool integer = false;
  std::optional<Bound> least = std::nullopt, most = std::nullopt;
  std::optional<Step> step = std::nullopt;
  std::vector<Decimal> excluded = {};
  bool fractional = false;  // no integers

  bool unbounded() const { return !least && !most && !step && excluded.empty() && !fractional; }
};

// Without exponents. Fractions are long enough to distinguish doubles from the bounds. Throws TooComplex.
Language number_language(Languages& languages, const NumberRange& range);

}  // namespace corral::json_schema
