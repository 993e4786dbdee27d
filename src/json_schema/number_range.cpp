#include "json_schema/number_range.h"

#include <algorithm>
#include <numeric>

namespace corral::json_schema {
namespace {

constexpr std::uint32_t kMaxDigits = 16;
constexpr std::size_t kMaxFraction = 32;
constexpr std::uint32_t kExactDigits = 15;   // digits that a double holds exactly
constexpr std::uint32_t kExactFraction = 6;  // of them, behind the point
constexpr std::uint32_t kStepDigits = 12;    // of a multiple of a number with a fraction

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
  Language digits(std::uint32_t min, std::uint32_t max) { return l_.repeat(digit('0', '9'), min, max); }
  Language some_digits() { return digits(0, Languages::kUnbounded); }
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
    const auto zeros = l_.repeat(digit('0', '0'), 0, Languages::kUnbounded);
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
      : l_(languages), range_(written(range)), magnitudes_(languages, whole_digits(range_), fraction_digits(range_)) {}

  Language make() {
    const auto plus = side(range_.min, range_.max);
    minus_ = true;
    auto minus = side(mirrored(range_.max), mirrored(range_.min));
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
    for (auto* bound : {&range.min, &range.max}) {
      if (!*bound) continue;
      const auto& value = (*bound)->value;
      if (value.fraction.size() > kMaxFraction) throw TooComplex();
      if (value.whole.size() <= kMaxDigits) continue;
      if (value.negative != (bound == &range.min)) throw TooComplex();
      bound->reset();
    }
    return range;
  }
  // Whether a number must differ from others: then a double holds all its digits.
  static bool exact(const NumberRange& range) {
    return !range.integer && !range.step && (range.fractional || !range.excluded.empty());
  }
  static std::uint32_t whole_digits(const NumberRange& range) {
    if (exact(range)) return kExactDigits - kExactFraction;
    if (!range.step) return kMaxDigits;
    // Validators divide doubles.
    const auto places = range.step->places;
    return places == 0 ? kExactDigits : std::max(1u, kStepDigits - std::min(places, kStepDigits));
  }
  static std::uint32_t fraction_digits(const NumberRange& range) {
    if (range.integer) return 0;
    if (exact(range)) return kExactFraction;
    if (range.step) return range.step->places;
    const auto whole = std::max(length(range.min, &Decimal::whole), length(range.max, &Decimal::whole));
    const auto given = std::max(length(range.min, &Decimal::fraction), length(range.max, &Decimal::fraction));
    return std::max({1u, given, whole < kExactDigits ? kExactDigits - whole : 1});
  }
  static std::optional<Bound> mirrored(const std::optional<Bound>& bound) {
    if (!bound) return std::nullopt;
    return Bound{negated(bound->value), bound->exclusive};
  }

  // Magnitudes of numbers from zero up that lie within the bounds.
  Language side(const std::optional<Bound>& min, const std::optional<Bound>& max) {
    auto all = magnitudes_.any();
    if (range_.step) all = l_.both(all, multiples(*range_.step));
    if (range_.fractional) all = l_.both(all, with_fraction());
    for (const auto& value : range_.excluded) all = l_.both(all, l_.complement(spellings(value)));
    if (max) {
      if (max->value.negative && !max->value.zero()) return l_.none();
      all = l_.both(all, magnitudes_.at_most(max->value, max->exclusive));
    }
    if (min && (!min->value.negative || min->value.zero())) {
      all = l_.both(all, magnitudes_.at_least(min->value, min->exclusive));
    }
    return all;
  }

  Language digits() { return l_.repeat(l_.set(CharSet::of("0123456789")), 0, Languages::kUnbounded); }
  Language zeros() { return l_.repeat(l_.set(CharSet::one(U'0')), 0, Languages::kUnbounded); }
  Language ascii(std::string_view text) { return l_.text(std::u32string(text.begin(), text.end())); }

  // For each number of places: the digits without their point are a multiple of what is left of the step.
  Language multiples(const Step& step) {
    if (step.places == 0) {
      return l_.either(ascii("0"), l_.concat(l_.multiple(step.digits), ascii(std::string(step.zeros, '0'))));
    }
    auto all = l_.none();
    const auto digit = l_.set(CharSet::of("0123456789"));
    std::uint64_t scale = 1;  // 10^(places - count)
    for (auto count = step.places;; --count) {
      const auto divisor = step.digits / std::gcd(std::uint64_t(step.digits), scale);
      const auto shape =
          count == 0 ? digits() : l_.concat(digits(), l_.concat(ascii("."), l_.repeat(digit, count, count)));
      all = l_.either(all, l_.both(shape, l_.multiple(static_cast<std::uint32_t>(divisor))));
      if (count == 0) return all;
      scale *= 10;
    }
  }
  Language with_fraction() {
    return l_.concat(digits(),
                     l_.concat(ascii("."), l_.concat(zeros(), l_.concat(l_.set(CharSet::of("123456789")), digits()))));
  }
  // A number with any zeros behind it, with and without a sign.
  Language spellings(const Decimal& value) {
    if (value.negative != minus_ && !value.zero()) return l_.none();
    auto fraction = l_.concat(ascii("." + value.fraction), zeros());
    if (value.fraction.empty()) fraction = l_.either(l_.empty(), fraction);
    return l_.concat(ascii(value.whole), fraction);
  }

  Languages& l_;
  const NumberRange range_;
  bool minus_ = false;  // the side below zero is made
  Magnitudes magnitudes_;
};

}  // namespace

Language number_language(Languages& languages, const NumberRange& range) {
  return SignedNumbers(languages, range).make();
}

}  // namespace corral::json_schema
