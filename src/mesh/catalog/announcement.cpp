#include "mesh/catalog/announcement.h"

#include <fmt/format.h>

#include "mesh/identity/errors.h"

namespace corral::mesh {
namespace {

void encode_body(const Head& head, std::string& out) {
  ByteWriter bytes(out);
  bytes.raw(head.author.bytes).number<std::uint64_t>(head.boot.epoch).raw(head.boot.nonce);
  bytes.number<std::uint64_t>(head.seq).number<std::uint16_t>(static_cast<std::uint16_t>(head.pages.size()));
  for (const auto& page : head.pages) bytes.number<std::uint32_t>(page.bytes).raw(page.hash);
  bytes.sized<std::uint16_t>(head.more);
}

std::string signed_body(const MeshId& mesh, const Head& head) {
  std::string body;
  ByteWriter(body).raw(mesh.bytes);
  encode_body(head, body);
  return body;
}

}  // namespace

HeadStamp Head::stamp() const {
  std::string body;
  encode_body(*this, body);
  return {boot.epoch, seq, sha256({body})};
}

std::uint64_t Head::page_bytes() const {
  std::uint64_t sum = 0;
  for (const auto& page : pages) sum += page.bytes;
  return sum;
}

PageRef ref_of(std::string_view page) { return {static_cast<std::uint32_t>(page.size()), sha256({page})}; }

void encode(const Head& head, std::string& out) {
  encode_body(head, out);
  ByteWriter(out).raw(head.signature.bytes);
}

std::size_t encoded_size(const Head& head) {
  return 32 + 8 + 16 + 8 + 2 + head.pages.size() * 36 + 2 + head.more.size() + 64;
}

Result<Head> decode_head(ByteReader& in) {
  Head head;
  head.author.bytes = in.fixed<32>();
  head.boot.epoch = in.number<std::uint64_t>();
  head.boot.nonce = in.fixed<16>();
  head.seq = in.number<std::uint64_t>();
  const auto count = in.number<std::uint16_t>();
  if (count > kMaxPages)
    return fail(errc::malformed, fmt::format("an announcement has {} pages (max {})", count, kMaxPages));
  for (unsigned i = 0; i < count && in.ok(); ++i) {
    auto& page = head.pages.emplace_back();
    page.bytes = in.number<std::uint32_t>();
    page.hash = in.fixed<32>();
    if (page.bytes > kLargestNodeStatePage)
      return fail(errc::malformed,
                  fmt::format("a page of an announcement has {} bytes (max {})", page.bytes, kLargestNodeStatePage));
  }
  head.more = std::string(in.sized<std::uint16_t>());
  head.signature.bytes = in.fixed<64>();
  const bool in_range = head.boot.epoch > 0 && head.boot.epoch < kMaxEpoch && head.seq > 0 && head.seq < kMaxEpoch;
  if (!in.ok() || !in_range || head.more.size() > kMaxHeadMore)
    return fail(errc::malformed, "an announcement is cut off, or has a number out of range");
  if (head.page_bytes() > kMaxStatementBytes)
    return fail(errc::malformed,
                fmt::format("an announcement has {} bytes (max {})", head.page_bytes(), kMaxStatementBytes));
  return head;
}

void sign(Head& head, const SigningKey& key, const MeshId& mesh) {
  head.author = key.public_key();
  head.signature = key.sign(Domain::announce, signed_body(mesh, head));
}

bool is_genuine(const MeshId& mesh, const Head& head) {
  return verify(head.author, Domain::announce, signed_body(mesh, head), head.signature);
}

Result<Announcement> make_announcement(Head head, std::vector<Page> pages) {
  std::vector<std::string_view> texts;
  for (const auto& page : pages) texts.push_back(*page);
  auto node_state = decode_pages(texts);
  if (!node_state) return std::unexpected(node_state.error());
  const auto stamp = head.stamp();
  return Announcement{std::move(head), stamp, std::move(pages),
                      std::make_shared<const NodeState>(std::move(*node_state))};
}

}  // namespace corral::mesh
