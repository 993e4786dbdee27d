// Rules for logit_bias.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "protocol/errors.h"
#include "protocol/request_parts.h"
#include "protocol/rules/rules.h"

namespace corral::protocol {
namespace {

using json::View;

// All of them are checked for each token of an answer.
constexpr std::size_t kMaxBiased = 16384;

// A text has at most as many tokens as bytes.
std::size_t weight(std::string_view text) { return std::max<std::size_t>(1, text.size()); }

bool fits(View bias, double max) {
  const auto kind = bias.kind();
  if (kind == json::Kind::boolean) return !bias.as_bool();
  return (kind == json::Kind::integer || kind == json::Kind::number) && std::abs(bias.as_number()) <= max;
}

// Whether [token, bias] is valid; adds the token's weight.
bool fits_pair(View pair, double max, std::size_t& biased) {
  std::size_t at = 0;
  bool fine = pair.size() == 2;
  pair.each_element([&](View value) {
    if (at++ > 0) {
      fine = fine && fits(value, max);
    } else if (value.is_string()) {
      biased += weight(value.as_string());
    } else {
      ++biased;
      fine = fine && value.kind() == json::Kind::integer && is_token(value);
    }
  });
  return fine;
}

Result<> check_biases(View biases, const Path& path, double max) {
  Result<> result;
  std::size_t biased = 0;
  const auto wrong = [&](View value) {
    auto where = path.text();
    auto message = fmt::format("'{}' must map tokens to numbers between {} and {} (or false), not to {}", where, -max,
                               max, value.excerpt());
    result = fail(errc::bad_value, std::move(message), std::move(where));
    return false;
  };
  biases.each_member([&](std::string_view name, View value) {
    if (value.is_null()) return true;
    biased += token_number(name) ? 1 : weight(name);
    return fits(value, max) || wrong(value);
  });
  biases.each_element([&](View pair) { return fits_pair(pair, max, biased) || wrong(pair); });
  if (!result || biased <= kMaxBiased) return result;
  auto where = path.text();
  auto message = fmt::format("'{}' is for {} tokens (a text counts its bytes), at most {} are allowed: use a grammar",
                             where, biased, kMaxBiased);
  return fail(errc::bad_value, std::move(message), std::move(where));
}

}  // namespace

Result<> check_logit_bias(View bias, const Path& path) { return check_biases(bias, path, 100); }

Result<> check_wide_logit_bias(View bias, const Path& path) { return check_biases(bias, path, kLarge); }

}  // namespace corral::protocol
