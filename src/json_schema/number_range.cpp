#include "json_schema/number_range.h"

#include <algorithm>
#include <cstdlib>

#include <fmt/format.h>

namespace corral::json_schema {
namespace {

constexpr std::uint32_t kMaxDigits = 16;
constexpr std::size_t kMaxFraction = 32;
constexpr std::uint32_t kExactDigits = 15;  // digits that a double holds exactly

// Numbers without a sign: "0" or digits, perhaps a point and more digits.
class Magnitudes {
 public:
  Magnitudes(Languages& languages, std::uint32_t whole_digits, std::uint32_t fraction_digits)
      : l_(languages), whole_digits_(whole_digits), fraction_digits_(fraction_digits) {}

  Language any() {
    return l_.concat(l_.either(digit('0', '0'), l_.concat(digit('1', '9'), digits(0, whole_digits_ - 1))), fraction());
  }
  Language at_least(const Decimal& bound, bool exclusive) {
    const auto length = static_cast<std::uint32_t>(bound.whole.size());
    auto all = l_.none();
    if (length < whole_digits_) all = l_.concat(digit('1', '9'), digits(length, whole_digits_ - 1));
    for (std::uint32_t at = 0; at < length; ++at) {
      all = l_.either(all, differing(bound.whole, at, digit(bound.whole[at] + 1, '9')));
    }
    all = l_.concat(all, fraction());
    return l_.both(any(), l_.either(all, l_.concat(text(bound.whole), fraction_above(bound.fraction, exclusive))));
  }
  Language at_most(const Decimal& bound, bool exclusive) {
    const auto length = static_cast<std::uint32_t>(bound.whole.size());
    auto all = l_.none();
    if (length > 1) {
      all =
          l_.either(digit('0', '0'), length > 2 ? l_.concat(digit('1', '9'), digits(0, length - 2)) : digit('1', '9'));
      if (length == 2) all = digit('0', '9');
    }
    for (std::uint32_t at = 0; at < length; ++at) {
      const char lowest = at == 0 && length > 1 ? '1' : '0';
      all = l_.either(all, differing(bound.whole, at, digit(lowest, bound.whole[at] - 1)));
    }
    all = l_.concat(all, fraction());
    return l_.both(any(), l_.either(all, l_.concat(text(bound.whole), fraction_below(bound.fraction, exclusive))));
  }

 private:
  Language digit(int low, int high) {
    if (low > high) return l_.none();
    return l_.set(CharSet({{static_cast<char32_t>(low), static_cast<char32_t>(high)}}));
  }
  Language digits(std::uint32_t least, std::uint32_t most) { return l_.repeat(digit('0', '9'), least, most); }
  Language some_digits() { return digits(0, Languages::kNoMost); }
  Language text(std::string_view ascii) { return l_.text(std::u32string(ascii.begin(), ascii.end())); }
  // Digits as long as `whole`, equal to it before `at`, and one of `here` there.
  Language differing(std::string_view whole, std::uint32_t at, Language here) {
    const auto rest = static_cast<std::uint32_t>(whole.size()) - at - 1;
    return l_.concat(text(whole.substr(0, at)), l_.concat(here, digits(rest, rest)));
  }

  Language fraction() {
    if (fraction_digits_ == 0) return l_.empty();
    return l_.either(l_.empty(), l_.concat(text("."), digits(1, fraction_digits_)));
  }
  Language fraction_above(std::string_view bound, bool exclusive) {
    auto equal = some_digits();
    if (exclusive) equal = l_.concat(equal, l_.concat(digit('1', '9'), some_digits()));
    auto all = l_.concat(text(bound), equal);
    for (std::size_t at = 0; at < bound.size(); ++at) {
      all = l_.either(all, l_.concat(text(bound.substr(0, at)), l_.concat(digit(bound[at] + 1, '9'), some_digits())));
    }
    all = l_.concat(text("."), all);
    return bound.empty() && !exclusive ? l_.either(l_.empty(), all) : all;
  }
  Language fraction_below(std::string_view bound, bool exclusive) {
    const auto zeros = l_.repeat(digit('0', '0'), 0, Languages::kNoMost);
    auto all = exclusive ? l_.none() : l_.concat(text(bound), zeros);
    for (std::size_t at = 0; at < bound.size(); ++at) {
      const auto begin = text(bound.substr(0, at));
      all = l_.either(all, begin);
      all = l_.either(all, l_.concat(begin, l_.concat(digit('0', bound[at] - 1), some_digits())));
    }
    all = l_.concat(text("."), all);
    return bound.empty() && exclusive ? all : l_.either(l_.empty(), all);
  }

  Languages& l_;
  const std::uint32_t whole_digits_, fraction_digits_;
};

Decimal negated(Decimal of) {
  of.negative = !of.negative;
  return of;
}

class SignedNumbers {
 public:
  SignedNumbers(Languages& languages, const NumberRange& range)
      : l_(languages),
        range_(written(range)),
        magnitudes_(languages, range_.multiple_of == 1 ? kMaxDigits : kExactDigits, fraction_digits(range_)) {}

  Language make() {
    const auto plus = side(range_.least, range_.most);
    auto minus = side(mirrored(range_.most), mirrored(range_.least));
    // Zero is written without a sign, if possible.
    minus = l_.both(minus, magnitudes_.at_least(Decimal(), true));
    return l_.either(plus, l_.concat(l_.text(U"-"), minus));
  }

 private:
  static std::uint32_t length(const std::optional<Bound>& bound, std::string Decimal::* part) {
    return bound ? static_cast<std::uint32_t>((bound->value.*part).size()) : 0;
  }
  // Drops bounds beyond all written numbers.
  static NumberRange written(NumberRange range) {
    for (auto* bound : {&range.least, &range.most}) {
      if (!*bound) continue;
      const auto& value = (*bound)->value;
      if (value.fraction.size() > kMaxFraction) throw TooComplex();
      if (value.whole.size() <= kMaxDigits) continue;
      if (value.negative != (bound == &range.least)) throw TooComplex();
      bound->reset();
    }
    return range;
  }
  static std::uint32_t fraction_digits(const NumberRange& range) {
    if (range.integer || range.multiple_of != 1) return 0;
    const auto whole = std::max(length(range.least, &Decimal::whole), length(range.most, &Decimal::whole));
    const auto given = std::max(length(range.least, &Decimal::fraction), length(range.most, &Decimal::fraction));
    return std::max({1u, given, whole < kExactDigits ? kExactDigits - whole : 1});
  }
  static std::optional<Bound> mirrored(const std::optional<Bound>& bound) {
    if (!bound) return std::nullopt;
    return Bound{negated(bound->value), bound->exclusive};
  }

  // Magnitudes of numbers from zero up that lie within the bounds.
  Language side(const std::optional<Bound>& least, const std::optional<Bound>& most) {
    auto all = magnitudes_.any();
    if (range_.multiple_of != 1) all = l_.both(all, l_.multiple(range_.multiple_of));
    if (most) {
      if (most->value.negative && !most->value.zero()) return l_.none();
      all = l_.both(all, magnitudes_.at_most(most->value, most->exclusive));
    }
    if (least && (!least->value.negative || least->value.zero())) {
      all = l_.both(all, magnitudes_.at_least(least->value, least->exclusive));
    }
    return all;
  }

  Languages& l_;
  const NumberRange range_;
  Magnitudes magnitudes_;
};

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

Language number_language(Languages& languages, const NumberRange& range) {
  return SignedNumbers(languages, range).make();
}

}  // namespace corral::json_schema
