// The issuer's side of joining.
#include <fmt/format.h>

#include "base/log.h"
#include "mesh/identity/errors.h"
#include "mesh/link/frame_stream.h"
#include "mesh/link/join.h"
#include "mesh/link/join_frames.h"
#include "mesh/link/member_exchange.h"

namespace corral::mesh {
namespace {

using async::Task;

// Cheap checks first, because strangers may ask any number of times. Nothing: the configuration lists the node.
Result<std::optional<TokenId>> check(const JoinAsk& ask, const Stream& stream, const JoinServiceContext& service) {
  const auto& mesh = service.store.set().mesh();
  if (ask.mesh == MeshId()) {
    if (service.named && service.named(stream.peer().id)) return std::nullopt;
    return fail(errc::token_unknown, "the configuration of that member doesn't list this node, so it needs a token");
  }
  if (ask.mesh != mesh) return fail(errc::foreign_mesh, "the token is of another mesh than the issuer");
  const auto& joiner = stream.peer();
  const auto id = token_id(ask.proof.token);
  if (auto usable = service.tokens.check(id, joiner.id, service.timers.wall_now()); !usable) {
    return std::unexpected(usable.error());
  }
  if (!is_genuine(ask.proof, mesh, joiner.key, stream.exporter(kJoinExporter))) {
    return fail(errc::wrong_proof, "the proof of the token is of another connection, or forged");
  }
  if (service.store.set().standing(joiner.key) == MembershipStatus::revoked) {
    return fail(errc::revoked, "this node was revoked: it can only join again with a new key");
  }
  return id;
}

Task<Result<NodeId>> converse(Stream& stream, const JoinServiceContext& service) {
  FrameReader reader;
  const auto frame = co_await read_frame(stream, reader);
  if (!frame) co_return std::unexpected(frame.error());
  if (frame->kind != FrameKind::join_ask) co_return fail(errc::malformed, "a join must begin with its request");
  const auto ask = read_ask(frame->payload);
  if (!ask) co_return std::unexpected(ask.error());
  const auto id = check(*ask, stream, service);
  if (!id) co_return std::unexpected(id.error());
  Frame proved{FrameKind::join_proved, {}};
  if (auto sent = co_await write_frame(stream, std::move(proved)); !sent) co_return std::unexpected(sent.error());

  // In this order: a used token remains used, whatever happens next. Each step is on the disk before the next one, and
  // checks the present state again.
  const auto& joiner = stream.peer();
  if (*id) {
    auto using_it = service.tokens.use(**id, joiner.id, service.timers.wall_now());
    const auto used = co_await std::move(using_it);
    if (!used) co_return std::unexpected(used.error());
  }
  auto admitting = service.store.admit(service.own, joiner.key);
  if (auto admitted = co_await std::move(admitting); !admitted) co_return std::unexpected(admitted.error());

  auto founding = to_frame(service.store.set().founding());
  if (auto sent = co_await write_frame(stream, std::move(founding)); !sent) co_return std::unexpected(sent.error());
  for (auto& page : member_pages(service.store.set())) {
    Frame members{FrameKind::members, std::move(page)};
    if (auto sent = co_await write_frame(stream, std::move(members)); !sent) co_return std::unexpected(sent.error());
  }
  co_return joiner.id;
}

// Sends the cause, and waits until the peer has read it.
Task<bool> end(Stream& stream, std::optional<Error> refused) {
  if (refused) {
    auto frame = refusal(*refused);
    if (!co_await write_frame(stream, std::move(frame))) co_return false;
  }
  co_return co_await finish_politely(stream);
}

}  // namespace

Task<Result<NodeId>> serve_join(std::unique_ptr<Stream> stream, JoinServiceContext service) {
  auto conversing = converse(*stream, service);
  auto result = co_await async::with_timeout(service.timers, service.limit, std::move(conversing));
  if (!result) {
    co_return fail(errc::timed_out, fmt::format("{} didn't finish its join within {} ms", stream->peer().address,
                                                service.limit.count()));
  }
  std::optional<Error> refused;
  if (!*result) {
    refused = result->error();
    log::info("mesh", "{} may not join: {}", stream->peer().address, refused->message);
  }
  constexpr Millis kFarewell(1000);
  auto ending = end(*stream, std::move(refused));
  co_await async::with_timeout(service.timers, kFarewell, std::move(ending));
  co_return std::move(*result);
}

Result<> may_enter(const MemberSet& members, bool token_is_out, const PublicKey& key, Purpose purpose) {
  const auto standing = members.standing(key);
  if (standing == MembershipStatus::member) return {};
  if (standing == MembershipStatus::revoked) return fail(errc::revoked, "it was revoked");
  if (purpose == Purpose::join && token_is_out) return {};
  return fail(errc::not_a_member, "it isn't a member of the mesh");
}

}  // namespace corral::mesh
