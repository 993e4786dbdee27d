#include "mesh/link/link.h"

#include "base/utf8.h"
#include "mesh/identity/bytes.h"
#include "mesh/identity/errors.h"

namespace corral::mesh {
namespace {

constexpr std::size_t kLongestText = 200;

}  // namespace

std::string_view name_of(CloseReason reason) {
  switch (reason) {
    case CloseReason::stopping:
      return "the node stops";
    case CloseReason::superseded:
      return "another link of the same nodes replaced it";
    case CloseReason::revoked:
      return "the node was revoked";
    case CloseReason::foreign_mesh:
      return "the node is of another mesh";
    case CloseReason::malformed:
      return "it sent a malformed frame";
    case CloseReason::overrun:
      return "it sent more than its limit";
    case CloseReason::silent:
      return "it is silent";
    case CloseReason::deaf:
      return "it receives nothing";
    case CloseReason::slow:
      return "it reads too slowly";
    case CloseReason::lost:
      break;
  }
  return "the connection broke";
}

std::string encode(const Hello& hello) {
  std::string bytes;
  ByteWriter out(bytes);
  out.raw(hello.mesh.bytes).number<std::uint16_t>(hello.minor).raw(hello.members).raw(encode(hello.claim));
  out.number<std::uint8_t>(hello.known_claim ? 1 : 0);
  if (hello.known_claim) out.raw(encode(*hello.known_claim));
  return bytes;
}

Result<Hello> decode_hello(std::string_view bytes) {
  ByteReader in(bytes);
  Hello hello;
  hello.mesh.bytes = in.fixed<32>();
  hello.minor = in.number<std::uint16_t>();
  hello.members = in.fixed<32>();
  const auto claim = decode_claim(in.take(kEpochClaimBytes));
  if (in.number<std::uint8_t>() == 1) hello.known_claim = decode_claim(in.take(kEpochClaimBytes));
  // A newer version may send more fields.
  if (!in.ok() || !claim) return fail(errc::malformed, "the peer's hello is cut off");
  hello.claim = *claim;
  return hello;
}

std::string encode(CloseReason reason, std::string_view text) {
  std::string bytes;
  ByteWriter(bytes).number<std::uint8_t>(static_cast<std::uint8_t>(reason)).raw(text.substr(0, kLongestText));
  return bytes;
}

Closing decode_closing(std::string_view bytes) {
  ByteReader in(bytes);
  const auto number = in.number<std::uint8_t>();
  const bool known = number >= 1 && number <= static_cast<std::uint8_t>(CloseReason::slow);
  auto text = valid_utf8(in.rest().substr(0, kLongestText));
  std::erase_if(text, [](char c) { return static_cast<unsigned char>(c) < ' ' || c == '\x7f'; });
  return {known ? static_cast<CloseReason>(number) : CloseReason::lost, true, std::move(text)};
}

}  // namespace corral::mesh
