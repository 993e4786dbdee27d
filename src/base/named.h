// Strong types for identifiers and quantities: a ModelName is never a RequestId, Bytes are never Tokens. Plain values;
// safe on every thread.
#pragma once

#include <compare>
#include <concepts>
#include <cstdint>
#include <functional>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>

namespace corral {

// A value of type T that only converts explicitly. Each Tag makes a separate type.
template <typename T, typename Tag>
class Named {
 public:
  using value_type = T;

  constexpr Named() = default;
  constexpr explicit Named(T value) : value_(std::move(value)) {}

  constexpr const T& value() const& { return value_; }
  constexpr T&& value() && { return std::move(value_); }

  friend constexpr auto operator<=>(const Named&, const Named&) = default;
  friend constexpr bool operator==(const Named&, const Named&) = default;
  friend std::ostream& operator<<(std::ostream& out, const Named& named) { return out << named.value_; }

 private:
  T value_{};
};

// The name a client uses for a model, e.g. "tiny-llama" or "org/repo:Q8_0".
using ModelName = Named<std::string, struct ModelNameTag>;
// Identifies one HTTP request in logs, answers and cancellation ("X-Request-Id").
using RequestId = Named<std::string, struct RequestIdTag>;
// Sizes of memory and files, in bytes.
using Bytes = Named<std::uint64_t, struct BytesTag>;

}  // namespace corral

template <typename T, typename Tag>
struct std::hash<corral::Named<T, Tag>> {
  std::size_t operator()(const corral::Named<T, Tag>& named) const { return std::hash<T>{}(named.value()); }
};
