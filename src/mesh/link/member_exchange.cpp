#include "mesh/link/member_exchange.h"

#include "mesh/identity/errors.h"

namespace corral::mesh {
namespace {

constexpr char kLast = 1;

}  // namespace

std::vector<std::string> member_pages(const MemberSet& set) { return member_pages(set.records()); }

std::vector<std::string> member_pages(std::span<const MemberRecord> records) {
  std::vector<std::string> pages{std::string(1, '\0')};
  for (const auto& record : records) {
    if (pages.back().size() + encoded_size(record) > kLargestPage) pages.emplace_back(1, '\0');
    encode(record, pages.back());
  }
  pages.back().front() = kLast;
  return pages;
}

Result<bool> PageCollector::take(std::string_view page) {
  constexpr MemberLimits kLimits;
  bytes_ += page.size();
  // Each page may begin with a byte of its own, and end before its bound.
  if (bytes_ > kLimits.bytes + kLargestPage) return fail(errc::too_many, "too many bytes of member records");
  ByteReader in(page);
  const bool last = in.number<std::uint8_t>() == kLast;
  if (!in.ok()) return fail(errc::malformed, "a page of members is empty");
  while (!in.done()) {
    auto record = decode_record(in);
    if (!record) return std::unexpected(record.error());
    if (records_.size() >= kLimits.records) return fail(errc::too_many, "too many member records");
    records_.push_back(std::move(*record));
  }
  // An endless sequence of pages without records must not be possible.
  if (!last && page.size() == 1) return fail(errc::malformed, "a page of members has no records");
  return last;
}

CloseReason reason_for(const Error& error) {
  return error.code == errc::overloaded ? CloseReason::overrun : CloseReason::malformed;
}

async::Task<Result<bool>> exchange_members(Link& link, MemberStore& store, Sha256 sent_digest, LearnMembers learn) {
  if (link.hello().members == sent_digest) co_return false;
  for (auto& page : member_pages(store.set())) {
    Frame frame{FrameKind::members, std::move(page)};
    if (auto sent = co_await link.send(std::move(frame)); !sent) co_return std::unexpected(sent.error());
  }
  PageCollector collector;
  while (true) {
    const auto frame = co_await link.receive();
    if (!frame) co_return std::unexpected(frame.error());
    auto last = frame->kind == FrameKind::members
                    ? collector.take(frame->payload)
                    : Result<bool>(fail(errc::malformed, "the peer sent another frame before its members"));
    if (last && !*last) continue;
    if (last) last = learn ? learn(collector.records()) : store.learn(collector.records());
    if (!last) link.close(reason_for(last.error()), last.error().message);
    co_return last;
  }
}

}  // namespace corral::mesh
