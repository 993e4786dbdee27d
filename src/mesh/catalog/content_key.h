// The identity of a model: the hash of its content or, until that is computed, a hash of its name and size. Plain
// value.
#pragma once

#include <compare>

#include "base/sha256.h"

namespace corral::mesh {

struct ContentKey {
  Sha256 bytes{};
  bool pending = false;  // a hash of name and size
  friend auto operator<=>(const ContentKey&, const ContentKey&) = default;
};

}  // namespace corral::mesh
