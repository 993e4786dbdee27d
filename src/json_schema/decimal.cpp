#include "json_schema/decimal.h"

#include <algorithm>
#include <cstdlib>

#include <fmt/format.h>

namespace corral::json_schema {
namespace {

constexpr std::uint32_t kMaxStep = 2000;  // digits of a multipleOf
constexpr std::uint32_t kMaxZeros = 15;   // before or behind its point
constexpr std::size_t kMaxDivisor = 18;   // digits that 64 bits hold

}  // namespace

Decimal Decimal::of(const json::Value& number) {
  // The shortest text that reads as the same number: digits, perhaps with a point, perhaps with an exponent.
  auto text = number.is_double()   ? fmt::format("{}", number.as_double())
              : number.is_uint64() ? fmt::format("{}", number.as_uint64())
                                   : fmt::format("{}", number.to_number<std::int64_t>());
  Decimal made;
  made.negative = text.starts_with('-');
  if (made.negative) text.erase(0, 1);
  long exponent = 0;
  if (const auto e = text.find('e'); e != std::string::npos) {
    exponent = std::strtol(text.c_str() + e + 1, nullptr, 10);
    text.resize(e);
  }
  const auto point = std::min(text.find('.'), text.size());
  auto digits = text.substr(0, point) + (point < text.size() ? text.substr(point + 1) : std::string());
  long whole = static_cast<long>(point) + exponent;
  if (whole <= 0) {
    digits.insert(0, static_cast<std::size_t>(1 - whole), '0');
    whole = 1;
  }
  if (static_cast<std::size_t>(whole) > digits.size()) digits.resize(static_cast<std::size_t>(whole), '0');
  made.whole = digits.substr(0, static_cast<std::size_t>(whole));
  made.fraction = digits.substr(static_cast<std::size_t>(whole));
  made.whole.erase(0, std::min(made.whole.find_first_not_of('0'), made.whole.size() - 1));
  made.fraction.erase(made.fraction.find_last_not_of('0') + 1);
  return made;
}

std::optional<Step> Step::of(const json::Value& number) {
  const auto value = Decimal::of(number);
  auto digits = value.whole + value.fraction;
  Step step{.places = static_cast<std::uint32_t>(value.fraction.size())};
  digits.erase(0, digits.find_first_not_of('0'));
  while (value.fraction.empty() && digits.size() > 1 && digits.ends_with('0')) {
    digits.pop_back();
    ++step.zeros;
  }
  if (digits.empty() || digits.size() > 4 || step.zeros > kMaxZeros || step.places > kMaxZeros) return std::nullopt;
  step.digits = static_cast<std::uint32_t>(std::stoul(digits));
  return step.digits <= kMaxStep ? std::optional(step) : std::nullopt;
}

std::optional<bool> is_multiple(const Decimal& number, const Decimal& divisor) {
  const auto places = std::max(number.fraction.size(), divisor.fraction.size());
  const auto digits_of = [&](const Decimal& one) {
    return one.whole + one.fraction + std::string(places - one.fraction.size(), '0');
  };
  auto by = digits_of(divisor);
  by.erase(0, by.find_first_not_of('0'));
  if (by.empty() || by.size() > kMaxDivisor) return std::nullopt;
  const auto value = std::stoull(by);
  std::uint64_t rest = 0;
  for (const char digit : digits_of(number)) {
    rest = (rest * 10 + static_cast<std::uint64_t>(digit - '0')) % value;
  }
  return rest == 0;
}

}  // namespace corral::json_schema
