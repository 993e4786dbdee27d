#include "mesh/members/join_token.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/secret.h"
#include "mesh/identity/bytes.h"
#include "mesh/identity/errors.h"

namespace corral::mesh {
namespace {

constexpr std::string_view kPrefix = "corral-join_";
constexpr std::string_view kAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
constexpr std::uint8_t kVersion = 1;
constexpr std::size_t kChecksum = 4;

// RFC 4648, 5, without padding.
std::string to_base64(std::string_view bytes) {
  std::string text;
  std::uint32_t bits = 0;
  int count = 0;
  for (const char byte : bytes) {
    bits = bits << 8 | static_cast<std::uint8_t>(byte);
    for (count += 8; count >= 6; count -= 6) text.push_back(kAlphabet[bits >> (count - 6) & 63]);
  }
  if (count > 0) text.push_back(kAlphabet[bits << (6 - count) & 63]);
  return text;
}

// None for a character outside the alphabet, or for leftover bits that no encoder makes.
std::optional<std::string> from_base64(std::string_view text) {
  std::string bytes;
  std::uint32_t bits = 0;
  int count = 0;
  for (const char c : text) {
    const auto digit = kAlphabet.find(c);
    if (digit == std::string_view::npos) return std::nullopt;
    bits = bits << 6 | static_cast<std::uint32_t>(digit);
    count += 6;
    if (count < 8) continue;
    count -= 8;
    bytes.push_back(static_cast<char>(bits >> count & 0xff));
  }
  if (count >= 6 || (bits & ((1u << count) - 1)) != 0) return std::nullopt;
  return bytes;
}

std::string checksum(std::string_view payload) {
  return std::string(as_text(tagged_hash("token checksum", payload)).substr(0, kChecksum));
}

std::unexpected<Error> mistyped(std::string_view what) {
  return fail(
      errc::token_mistyped,
      fmt::format("the token has a wrong, missing or additional character ({}); copy the whole token again", what));
}

Result<JoinToken> read_payload(std::string_view payload) {
  ByteReader in(payload);
  const auto version = in.number<std::uint8_t>();
  if (version != kVersion) {
    return fail(errc::unsupported_version, fmt::format("the token has format {}; this version of corral reads {}. "
                                                       "Update corral on this machine",
                                                       version, kVersion));
  }
  JoinToken token;
  token.mesh.bytes = in.fixed<32>();
  token.secret = in.fixed<16>();
  token.expires = WallTime(std::chrono::seconds(in.number<std::uint32_t>()));
  const auto pins = in.number<std::uint8_t>();
  bool sound = pins >= 1 && pins <= kMaxPins;
  for (std::size_t i = 0; sound && i < pins; ++i) token.pins.push_back({in.fixed<32>()});
  const auto seeds = in.number<std::uint8_t>();
  sound = sound && seeds >= 1 && seeds <= kMaxSeeds;
  for (std::size_t i = 0; sound && i < seeds; ++i) {
    auto address = parse_address(in.sized<std::uint16_t>());
    sound = address.has_value();
    if (address) token.seeds.push_back(std::move(*address));
  }
  if (!sound || !in.done()) return fail(errc::token_malformed, "the token is invalid: its fields are malformed");
  return token;
}

std::string proof_body(const MeshId& mesh, const PublicKey& joiner, const Sha256& binding) {
  std::string body;
  ByteWriter(body).raw(mesh.bytes).raw(joiner.bytes).raw(binding);
  return body;
}

}  // namespace

std::string short_text(const TokenId& id) { return to_hex(id.bytes).substr(0, 8); }

SigningKey token_key(const JoinToken& token) {
  return SigningKey::from_seed(tagged_hash("token secret", as_text(token.secret)));
}

TokenId token_id(const PublicKey& token_key) { return {tagged_hash("token", as_text(token_key.bytes))}; }

std::string to_text(const JoinToken& token) {
  std::string payload;
  ByteWriter out(payload);
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(token.expires.time_since_epoch()).count();
  out.number<std::uint8_t>(kVersion).raw(token.mesh.bytes).raw(token.secret);
  out.number<std::uint32_t>(static_cast<std::uint32_t>(std::clamp<std::int64_t>(seconds, 0, UINT32_MAX)));
  out.number<std::uint8_t>(static_cast<std::uint8_t>(token.pins.size()));
  for (const auto& pin : token.pins) out.raw(pin.bytes);
  out.number<std::uint8_t>(static_cast<std::uint8_t>(token.seeds.size()));
  for (const auto& seed : token.seeds) out.sized<std::uint16_t>(to_text(seed));
  return std::string(kPrefix) + to_base64(payload + checksum(payload));
}

Result<JoinToken> parse_token(std::string_view text) {
  if (text.size() > 2 * kLongestToken) return fail(errc::token_malformed, "this is not a token: it is too long");
  std::string bare;
  std::ranges::copy_if(text, std::back_inserter(bare), [](char c) { return c != ' ' && (c < '\t' || c > '\r'); });
  if (!bare.starts_with(kPrefix)) {
    return fail(
        errc::token_malformed,
        fmt::format("this is not a corral token: tokens begin with '{}' (make one with corral mesh token)", kPrefix));
  }
  const auto bytes = from_base64(std::string_view(bare).substr(kPrefix.size()));
  if (!bytes) return mistyped("an invalid character, or a missing end");
  if (bytes->size() <= kChecksum) return mistyped("it is too short");
  const auto payload = std::string_view(*bytes).substr(0, bytes->size() - kChecksum);
  if (checksum(payload) != bytes->substr(payload.size())) return mistyped("its checksum is wrong");
  return read_payload(payload);
}

TokenProof make_proof(const JoinToken& token, const PublicKey& joiner, const Sha256& binding) {
  const auto key = token_key(token);
  return {key.public_key(), key.sign(Domain::join, proof_body(token.mesh, joiner, binding))};
}

bool is_genuine(const TokenProof& proof, const MeshId& mesh, const PublicKey& joiner, const Sha256& binding) {
  return verify(proof.token, Domain::join, proof_body(mesh, joiner, binding), proof.signature);
}

}  // namespace corral::mesh
