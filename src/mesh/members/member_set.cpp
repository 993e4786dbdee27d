#include "mesh/members/member_set.h"

#include <algorithm>
#include <iterator>
#include <optional>

#include <fmt/format.h>

#include "mesh/identity/errors.h"

namespace corral::mesh {
namespace {

constexpr std::string_view kMagic = "corral-members";
constexpr std::uint8_t kVersion = 1;

// The members admitted by the subject that all revokes of one issuer keep.
std::vector<PublicKey> kept_by(const std::vector<Revoke>& revokes) {
  if (revokes.size() >= kMaxRevokesOfPair) return {};
  auto kept = revokes.front().keep;
  for (const auto& revoke : revokes) {
    std::vector<PublicKey> both;
    std::ranges::set_intersection(kept, revoke.keep, std::back_inserter(both));
    kept = std::move(both);
  }
  return kept;
}

// All keys that chains of admits from `start` reach, over admits that `counts` accepts.
template <typename Admits, typename Counts>
std::set<PublicKey> reach(const PublicKey& start, const Admits& admits, const Counts& counts) {
  std::set<PublicKey> reached{start};
  std::vector<PublicKey> open{start};
  while (!open.empty()) {
    const auto issuer = open.back();
    open.pop_back();
    for (auto it = admits.lower_bound({issuer, PublicKey()}); it != admits.end() && it->first.first == issuer; ++it) {
      const auto& subject = it->first.second;
      if (counts(issuer, subject) && reached.insert(subject).second) open.push_back(subject);
    }
  }
  return reached;
}

}  // namespace

MemberSet::MemberSet(const Founding& founding, MemberLimits limits)
    : founding_(founding), mesh_(mesh_id(founding)), limits_(limits) {
  derive();
}

void MemberSet::derive() {
  ever_ = reach(founding_.founder, admits_, [](const auto&, const auto&) { return true; });
  std::map<PublicKey, std::vector<PublicKey>> kept;  // by revoked key: the subjects of its valid admits
  for (const auto& [pair, revokes] : revokes_) {
    const auto keep = kept_by(revokes);
    const auto [entry, first] = kept.try_emplace(pair.second, keep);
    if (first) continue;
    std::vector<PublicKey> both;
    std::ranges::set_intersection(entry->second, keep, std::back_inserter(both));
    entry->second = std::move(both);
  }
  members_ = reach(founding_.founder, admits_, [&](const PublicKey& issuer, const PublicKey& subject) {
    const auto revoked = kept.find(issuer);
    return revoked == kept.end() || std::ranges::binary_search(revoked->second, subject);
  });
  for (const auto& [key, unused] : kept) members_.erase(key);
  by_id_.clear();
  for (const auto& key : members_) by_id_.emplace(node_id(key), MembershipStatus::member);
  for (const auto& [key, unused] : kept) by_id_.emplace(node_id(key), MembershipStatus::revoked);
}

bool MemberSet::is_new(const MemberRecord& record) const {
  const Pair pair(issuer_of(record), subject_of(record));
  const auto* revoke = std::get_if<Revoke>(&record);
  if (revoke == nullptr) return !admits_.contains(pair);
  const auto known = revokes_.find(pair);
  if (known == revokes_.end()) return true;
  return known->second.size() < kMaxRevokesOfPair &&
         std::ranges::find(known->second, revoke->keep, &Revoke::keep) == known->second.end();
}

std::size_t MemberSet::count_new(std::span<const MemberRecord> records) const {
  return static_cast<std::size_t>(
      std::ranges::count_if(records, [this](const MemberRecord& record) { return is_new(record); }));
}

void MemberSet::put(const MemberRecord& record) {
  const Pair pair(issuer_of(record), subject_of(record));
  if (const auto* admit = std::get_if<Admit>(&record)) {
    admits_[pair] = *admit;
  } else {
    auto& revokes = revokes_[pair];
    revokes.push_back(std::get<Revoke>(record));
    std::ranges::sort(revokes, {}, &Revoke::keep);
  }
}

std::size_t MemberSet::size() const {
  std::size_t sum = admits_.size();
  for (const auto& [pair, revokes] : revokes_) sum += revokes.size();
  return sum;
}

Result<> MemberSet::check_limits() const {
  std::size_t bytes = 0;
  std::map<PublicKey, std::size_t> admits, revokes;
  for (const auto& [pair, admit] : admits_) {
    bytes += encoded_size(admit);
    if (++admits[pair.first] > limits_.per_issuer) bytes = limits_.bytes + 1;
  }
  for (const auto& [pair, of_pair] : revokes_) {
    for (const auto& revoke : of_pair) bytes += encoded_size(revoke);
    revokes[pair.first] += of_pair.size();
    if (revokes[pair.first] > limits_.per_issuer) bytes = limits_.bytes + 1;
  }
  if (size() <= limits_.records && bytes <= limits_.bytes) return {};
  return fail(errc::too_many, fmt::format("too many records of members: a mesh may have {} in all, {} of one member, "
                                          "{} bytes",
                                          limits_.records, limits_.per_issuer, limits_.bytes));
}

Result<bool> MemberSet::add(std::span<const MemberRecord> records) {
  if (records.size() > limits_.records) {
    return fail(errc::too_many, "too many records of members at once");
  }
  if (count_new(records) == 0) return false;
  MemberSet changed = *this;
  std::vector<const MemberRecord*> added;
  for (const auto& record : records) {
    if (!changed.is_new(record)) continue;
    changed.put(record);
    added.push_back(&record);
  }
  // Cheap checks first: bounds, then issuers, then signatures.
  if (auto within = changed.check_limits(); !within) return std::unexpected(within.error());
  changed.derive();
  for (const auto* record : added) {
    if (changed.ever_.contains(issuer_of(*record))) continue;
    return fail(errc::not_a_member, fmt::format("a record is signed by {}, which no member has admitted",
                                                short_text(node_id(issuer_of(*record)))));
  }
  for (const auto* record : added) {
    if (is_genuine(mesh_, *record)) continue;
    return fail(errc::forged,
                fmt::format("a record of {} has a wrong signature", short_text(node_id(issuer_of(*record)))));
  }
  *this = std::move(changed);
  return true;
}

Result<bool> MemberSet::merge(const MemberSet& other) {
  if (other.mesh_ != mesh_) return fail(errc::foreign_mesh, "records of members of another mesh");
  MemberSet changed = *this;
  bool added = false;
  for (const auto& record : other.records()) {
    if (!changed.is_new(record)) continue;
    changed.put(record);
    added = true;
  }
  if (!added) return false;
  if (auto within = changed.check_limits(); !within) return std::unexpected(within.error());
  changed.derive();
  *this = std::move(changed);
  return true;
}

MembershipStatus MemberSet::standing(const PublicKey& key) const { return standing(node_id(key)); }

MembershipStatus MemberSet::standing(const NodeId& id) const {
  const auto found = by_id_.find(id);
  return found == by_id_.end() ? MembershipStatus::unknown : found->second;
}

std::vector<PublicKey> MemberSet::members() const { return {members_.begin(), members_.end()}; }

std::vector<PublicKey> MemberSet::admitted_by(const PublicKey& issuer) const {
  std::vector<PublicKey> admitted;
  for (auto it = admits_.lower_bound({issuer, PublicKey()}); it != admits_.end() && it->first.first == issuer; ++it) {
    if (members_.contains(it->first.second)) admitted.push_back(it->first.second);
  }
  return admitted;
}

std::vector<MemberRecord> MemberSet::records() const {
  std::vector<MemberRecord> all;
  all.reserve(size());
  for (const auto& [pair, admit] : admits_) all.emplace_back(admit);
  for (const auto& [pair, revokes] : revokes_) {
    for (const auto& revoke : revokes) all.emplace_back(revoke);
  }
  return all;
}

// The content of the records, without signatures.
std::string MemberSet::meaning() const {
  std::string bytes;
  ByteWriter out(bytes);
  out.raw(founding_.founder.bytes).raw(founding_.nonce);
  out.number<std::uint32_t>(static_cast<std::uint32_t>(admits_.size()));
  for (const auto& [pair, admit] : admits_) out.raw(pair.first.bytes).raw(pair.second.bytes);
  for (const auto& [pair, revokes] : revokes_) {
    out.raw(pair.first.bytes).raw(pair.second.bytes);
    // Of too many revokes the order of arrival must not matter.
    const bool too_many = revokes.size() >= kMaxRevokesOfPair;
    out.number<std::uint8_t>(too_many ? 0 : static_cast<std::uint8_t>(revokes.size()));
    if (too_many) continue;
    for (const auto& revoke : revokes) {
      out.number<std::uint16_t>(static_cast<std::uint16_t>(revoke.keep.size()));
      for (const auto& key : revoke.keep) out.raw(key.bytes);
    }
  }
  return bytes;
}

Sha256 MemberSet::digest() const { return tagged_hash("members", meaning()); }

bool MemberSet::operator==(const MemberSet& other) const { return meaning() == other.meaning(); }

std::string encode(const MemberSet& set) {
  std::string bytes;
  ByteWriter out(bytes);
  out.raw(kMagic).number<std::uint8_t>(kVersion);
  out.raw(set.founding().founder.bytes).raw(set.founding().nonce);
  out.number<std::uint32_t>(static_cast<std::uint32_t>(set.size()));
  for (const auto& record : set.records()) encode(record, bytes);
  return bytes;
}

Result<MemberSet> decode_members(std::string_view bytes, MemberLimits limits) {
  ByteReader in(bytes);
  if (in.take(kMagic.size()) != kMagic) return fail(errc::malformed, "this is not a list of members");
  const auto version = in.number<std::uint8_t>();
  if (version != kVersion) {
    return fail(errc::unsupported_version,
                fmt::format("the list of members has format {}; this version of corral reads {}: update corral",
                            version, kVersion));
  }
  const Founding founding{{in.fixed<32>()}, in.fixed<16>()};
  const auto count = in.number<std::uint32_t>();
  if (count > limits.records) return fail(errc::too_many, "the list of members has too many records");
  std::vector<MemberRecord> records;
  for (std::size_t i = 0; i < count; ++i) {
    auto record = decode_record(in);
    if (!record) return std::unexpected(record.error());
    records.push_back(std::move(*record));
  }
  if (!in.done()) return fail(errc::malformed, "the list of members is cut off, or has additional bytes");
  MemberSet set(founding, limits);
  if (auto added = set.add(records); !added) return std::unexpected(added.error());
  return set;
}

}  // namespace corral::mesh
