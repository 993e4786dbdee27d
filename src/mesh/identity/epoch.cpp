#include "mesh/identity/epoch.h"

#include <charconv>

#include <fmt/format.h>

#include "base/log.h"
#include "base/state_file.h"
#include "mesh/identity/bytes.h"

namespace corral::mesh {
namespace {

namespace fs = std::filesystem;

std::string body_of(const PublicKey& author, const Boot& boot) {
  std::string body;
  ByteWriter(body).raw(author.bytes).number<std::uint64_t>(boot.epoch).raw(boot.nonce);
  return body;
}

std::optional<std::uint64_t> parse_epoch(std::string_view text) {
  std::uint64_t epoch = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), epoch);
  const bool whole = error == std::errc() && std::string_view(end, text.data() + text.size()) == "\n";
  return whole && epoch > 0 && epoch < kMaxEpoch ? std::optional(epoch) : std::nullopt;
}

}  // namespace

Result<Boot> count_boot(const fs::path& folder) {
  const fs::path file = folder / kEpochFile;
  auto text = read_state_file(file);
  if (!text) return std::unexpected(text.error());
  const auto last = *text ? parse_epoch(**text) : std::optional<std::uint64_t>(0);
  if (!last) {
    const auto aside = set_aside(file);
    log::warning("mesh",
                 "'{}' has no valid count of starts and was moved to '{}'; this node learns its count from peers",
                 file.native(), aside.native());
  }
  Boot boot{last.value_or(0) + 1, random_bytes<16>()};
  if (auto kept = keep_epoch(folder, boot.epoch); !kept) return std::unexpected(kept.error());
  return boot;
}

Result<> keep_epoch(const fs::path& folder, std::uint64_t epoch) {
  return write_state_file(folder / kEpochFile, fmt::format("{}\n", epoch), Durability::power_loss);
}

EpochClaim make_claim(const SigningKey& key, const Boot& boot) {
  return {key.public_key(), boot, key.sign(Domain::epoch, body_of(key.public_key(), boot))};
}

bool is_genuine(const EpochClaim& claim) {
  return claim.boot.epoch > 0 && claim.boot.epoch < kMaxEpoch &&
         verify(claim.author, Domain::epoch, body_of(claim.author, claim.boot), claim.signature);
}

std::string encode(const EpochClaim& claim) {
  return body_of(claim.author, claim.boot).append(as_text(claim.signature.bytes));
}

std::optional<EpochClaim> decode_claim(std::string_view bytes) {
  ByteReader in(bytes);
  EpochClaim claim;
  claim.author.bytes = in.fixed<32>();
  claim.boot.epoch = in.number<std::uint64_t>();
  claim.boot.nonce = in.fixed<16>();
  claim.signature.bytes = in.fixed<64>();
  return in.done() ? std::optional(claim) : std::nullopt;
}

std::uint64_t learn_epoch(const PublicKey& own, const Boot& now, std::span<const EpochClaim> held) {
  std::uint64_t epoch = now.epoch;
  for (const auto& claim : held) {
    const bool later = claim.boot.epoch > epoch || (claim.boot.epoch == epoch && claim.boot.nonce != now.nonce);
    if (claim.author == own && later && is_genuine(claim)) epoch = claim.boot.epoch + 1;
  }
  return epoch;
}

}  // namespace corral::mesh
