// Messages to and from a Serf agent: MessagePack maps one behind the other, a head with a number and then, for some
// commands, a body. Pure; input from an agent isn't trusted.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "mesh/hints/message_pack.h"
#include "mesh/hints/peer_discovery.h"

namespace corral::mesh {

std::string serf_handshake(std::uint64_t number);
std::string serf_auth(std::uint64_t number, std::string_view secret);
std::string serf_tags(std::uint64_t number, const HintLabels& labels);
std::string serf_join(std::uint64_t number, const std::vector<Address>& engines);
std::string serf_members(std::uint64_t number);
std::string serf_leave(std::uint64_t number);

// The head of an answer.
struct SerfHead {
  std::uint64_t number = 0;
  std::string error;  // empty: success
};

// Cuts what arrives into whole values.
class SerfReader {
 public:
  explicit SerfReader(std::size_t max_bytes = 4 * 1024 * 1024) : max_bytes_(max_bytes) {}

  // Errors: too_large, if more bytes wait than a value may have.
  Result<> put(std::string_view bytes);
  // The next value, whole, or nothing yet. Errors: malformed, which ends the reader.
  Result<std::optional<std::string>> take();

 private:
  std::size_t max_bytes_;
  std::string rest_;
  std::size_t taken_ = 0;  // of its front
  PackScanner scanner_;    // of the value behind that
};

// Errors: malformed.
Result<SerfHead> read_serf_head(std::string_view value);
// Hints of all members that are alive and have valid labels; others are skipped. Errors: malformed.
Result<std::vector<Hint>> read_serf_members(std::string_view value);

}  // namespace corral::mesh
