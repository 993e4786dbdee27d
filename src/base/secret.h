// Secret texts: creation, comparison, digests as text.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/sha256.h"

namespace corral {

// Random letters and digits (a-z, 2-7), five bits each, from the system's generator. Throws std::system_error if that
// fails.
std::string random_text(std::size_t characters);

// Takes the same time wherever two texts of one length differ.
bool same_secret(std::string_view a, std::string_view b);
inline bool same_secret(const Sha256& a, const Sha256& b) {
  return same_secret({reinterpret_cast<const char*>(a.data()), a.size()},
                     {reinterpret_cast<const char*>(b.data()), b.size()});
}

std::string to_hex(const Sha256& digest);
// Nothing unless it has 64 hexadecimal digits.
std::optional<Sha256> parse_sha256(std::string_view hex);

}  // namespace corral
