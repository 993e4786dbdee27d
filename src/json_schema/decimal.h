// Numbers by their digits, since doubles don't hold all of them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "json/value.h"

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

// A `multipleOf`: digits * 10^zeros / 10^places; of zeros and places one is 0.
struct Step {
  std::uint32_t digits = 1, zeros = 0, places = 0;

  // Of a number above 0; nothing: too many digits.
  static std::optional<Step> of(const json::Value& number);
};

// Whether a number is a multiple of one above 0; nothing: that has too many digits.
std::optional<bool> is_multiple(const Decimal& number, const Decimal& divisor);

}  // namespace corral::json_schema
