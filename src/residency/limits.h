// How many models of each type may be in memory: `max_loaded_models`, in its three syntaxes.
//   "3"                        3 of every type; "-1": unlimited
//   "5 2 4"                    llm, embedding, reranking; the other types get 1. From the second number on only
//   "llm=3,embedding=2,*=1"    by name; types not named get what "*" says, else 1
// Spaces, commas and tabs separate alike. 0 is refused: a type that can't be loaded is better left out of the requests.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/model_type.h"

namespace corral::residency {

inline constexpr std::int32_t kUnlimited = -1;

class Limits {
 public:
  Limits() { slots_.fill(1); }
  static Limits of_all(std::int32_t slots) {
    Limits limits;
    limits.slots_.fill(slots);
    return limits;
  }

  // Slots of a type: at least 1, or kUnlimited.
  std::int32_t operator[](ModelType type) const { return slots_[index_of(type)]; }
  void set(ModelType type, std::int32_t slots) { slots_[index_of(type)] = slots; }
  // True when `count` models of this type are within the limit.
  bool allows(ModelType type, std::size_t count) const {
    const std::int32_t slots = (*this)[type];
    return slots == kUnlimited || count <= static_cast<std::size_t>(slots);
  }

  friend bool operator==(const Limits&, const Limits&) = default;

 private:
  std::array<std::int32_t, kModelTypeCount> slots_{};
};

// Parses any of the syntaxes above. The error names the value and the way out; its code is errc::bad_limit.
Result<Limits> parse_max_loaded_models(std::string_view text);
// The shortest text that parses back to these limits.
std::string to_text(const Limits& limits);

}  // namespace corral::residency
