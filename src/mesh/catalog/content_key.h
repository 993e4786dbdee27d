// What a model is: the hash of its contents, or, while nobody has computed that, its name and size. Plain value.
#pragma once

#include <compare>

#include "base/sha256.h"

namespace corral::mesh {

struct ContentKey {
  Sha256 bytes{};
  bool pending = false;  // made of name and size
  friend auto operator<=>(const ContentKey&, const ContentKey&) = default;
};

}  // namespace corral::mesh
