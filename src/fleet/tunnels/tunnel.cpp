#include "fleet/tunnels/tunnel.h"

#include "fleet/base/errors.h"
#include "mesh/catalog/fields.h"
#include "mesh/identity/bytes.h"
#include "mesh/identity/errors.h"

namespace corral::fleet {
namespace {

using mesh::ByteReader;
using mesh::ByteWriter;

constexpr std::uint8_t kYes = 1;
constexpr std::uint8_t kNo = 2;
constexpr std::size_t kMaxWords = 300;

std::string with_length(std::string_view bytes) {
  std::string all;
  ByteWriter(all).sized<std::uint16_t>(bytes);
  return all;
}

}  // namespace

std::string encode(const TunnelAsk& ask) {
  std::string bytes;
  ByteWriter(bytes)
      .raw(ask.model.bytes)
      .number<std::uint8_t>(ask.model.pending ? 1 : 0)
      .number<std::uint64_t>(ask.of.epoch)
      .number<std::uint64_t>(ask.of.term);
  return with_length(bytes);
}

Result<TunnelAsk> decode_tunnel_ask(std::string_view bytes) {
  ByteReader in(bytes);
  TunnelAsk ask;
  ask.model.bytes = in.fixed<32>();
  const auto pending = in.number<std::uint8_t>();
  ask.model.pending = pending == 1;
  ask.of.epoch = in.number<std::uint64_t>();
  ask.of.term = in.number<std::uint64_t>();
  if (!in.ok() || pending > 1) return fail(mesh::errc::malformed, "invalid preamble of a tunnel stream");
  return ask;
}

std::string encode_tunnel_answer(const std::optional<std::string>& refusal) {
  std::string bytes;
  ByteWriter out(bytes);
  out.number<std::uint8_t>(refusal ? kNo : kYes);
  if (refusal) out.raw(std::string_view(*refusal).substr(0, kMaxWords));
  return with_length(bytes);
}

Result<> decode_tunnel_answer(std::string_view bytes) {
  ByteReader in(bytes);
  const auto verdict = in.number<std::uint8_t>();
  if (in.ok() && verdict == kYes) return {};
  if (!in.ok() || verdict != kNo) return fail(mesh::errc::malformed, "invalid answer to a tunnel stream");
  const mesh::Field words{.tag = 0, .bytes = in.rest()};
  return fail(errc::worker_refused, words.text(kMaxWords));
}

Result<std::size_t> tunnel_length(std::string_view head, std::size_t max_length) {
  const std::size_t length = ByteReader(head).number<std::uint16_t>();
  if (length == 0 || length > max_length) return fail(mesh::errc::malformed, "invalid length in a tunnel stream");
  return length;
}

}  // namespace corral::fleet
