// Numbers within bounds, as JSON texts.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "json_schema/decimal.h"
#include "json_schema/language.h"

namespace corral::json_schema {

struct Bound {
  Decimal value;
  bool exclusive = false;
};

struct NumberRange {
  bool integer = false;
  std::optional<Bound> min = std::nullopt, max = std::nullopt;
  std::optional<Step> step = std::nullopt;
  std::vector<Decimal> excluded = {};
  bool fractional = false;  // no integers

  bool unbounded() const { return !min && !max && !step && excluded.empty() && !fractional; }
};

// Without exponents. Fractions are long enough to distinguish doubles from the bounds. Throws TooComplex.
Language number_language(Languages& languages, const NumberRange& range);

}  // namespace corral::json_schema
