#include "mesh/link/join_frames.h"

#include <array>

#include "base/utf8.h"
#include "mesh/identity/bytes.h"
#include "mesh/identity/errors.h"

namespace corral::mesh {
namespace {

constexpr std::size_t kLongestText = 200;

// The number of a cause is its index, from 1.
constexpr std::array kCauses = {errc::token_unknown,   errc::token_expired, errc::token_used,
                                errc::token_withdrawn, errc::wrong_proof,   errc::foreign_mesh,
                                errc::revoked,         errc::too_many,      errc::overloaded};

}  // namespace

Frame to_frame(const JoinAsk& ask) {
  Frame frame{FrameKind::join_ask, {}};
  ByteWriter out(frame.payload);
  out.number<std::uint16_t>(ask.minor).raw(ask.mesh.bytes).raw(ask.proof.token.bytes).raw(ask.proof.signature.bytes);
  return frame;
}

Result<JoinAsk> read_ask(std::string_view payload) {
  ByteReader in(payload);
  JoinAsk ask;
  ask.minor = in.number<std::uint16_t>();
  ask.mesh.bytes = in.fixed<32>();
  ask.proof.token.bytes = in.fixed<32>();
  ask.proof.signature.bytes = in.fixed<64>();
  if (!in.ok()) return fail(errc::malformed, "the request to join is cut off");
  return ask;
}

Frame to_frame(const Founding& founding) {
  Frame frame{FrameKind::join_admitted, {}};
  ByteWriter(frame.payload).raw(founding.founder.bytes).raw(founding.nonce);
  return frame;
}

Result<Founding> read_founding(std::string_view payload) {
  ByteReader in(payload);
  const Founding founding{{in.fixed<32>()}, in.fixed<16>()};
  if (!in.ok()) return fail(errc::malformed, "the issuer's answer is cut off");
  return founding;
}

Frame refusal(const Error& why) {
  std::uint8_t number = kCauses.size();
  for (std::size_t i = 0; i < kCauses.size(); ++i) {
    if (why.code == kCauses[i]) number = static_cast<std::uint8_t>(i + 1);
  }
  // Other errors of this side (a path, a full disk) stay hidden from strangers.
  const bool ours = number == kCauses.size();
  std::string_view text = why.message;
  if (ours) text = "the issuer can't admit nodes now: see its log";
  Frame frame{FrameKind::join_refused, {}};
  ByteWriter(frame.payload).number<std::uint8_t>(number).raw(text.substr(0, kLongestText));
  return frame;
}

Error read_refusal(std::string_view payload) {
  ByteReader in(payload);
  const auto number = in.number<std::uint8_t>();
  const auto cause = number >= 1 && number <= kCauses.size() ? kCauses[number - 1] : errc::overloaded;
  auto text = valid_utf8(in.rest().substr(0, kLongestText));
  std::erase_if(text, [](char c) { return static_cast<unsigned char>(c) < ' ' || c == '\x7f'; });
  return Error(make_error_code(cause), std::move(text));
}

}  // namespace corral::mesh
