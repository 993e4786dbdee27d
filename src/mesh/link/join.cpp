#include "mesh/link/join.h"

#include <fmt/format.h>

#include "mesh/identity/errors.h"
#include "mesh/link/frame_stream.h"
#include "mesh/link/join_frames.h"
#include "mesh/link/link.h"
#include "mesh/link/member_exchange.h"

namespace corral::mesh {
namespace {

using async::Task;

Error stopped_at(JoinStep step, const Address& address, Error why) {
  why.message =
      fmt::format("joining stopped at the step '{}' with {}: {}", name_of(step), to_text(address), why.message);
  why.facts = JoinFailure{step};
  return why;
}

JoinStep step_of(const Error& dial_error) {
  const bool dialling = dial_error.code == errc::unreachable || dial_error.code == errc::bad_address;
  return dialling ? JoinStep::dial : JoinStep::handshake;
}

// A node accepts strangers only while one of its tokens is open.
Error refused_dial(Error why, bool by_name) {
  if (why.code == errc::not_a_member) {
    why.message = by_name ? "it is in a mesh, and its setting mesh_peers doesn't list this node"
                          : "it has no open join token: all were used or withdrawn or have expired; get a new one";
  }
  return why;
}

// One join, step by step.
struct Joiner {
  Stream& stream;
  const PublicKey& own;
  const JoinToken& token;
  FrameReader reader;

  // The next frame, which must be of that kind.
  static Task<Result<std::string>> expect(Joiner& self, FrameKind kind) {
    auto frame = co_await read_frame(self.stream, self.reader);
    if (!frame) co_return std::unexpected(frame.error());
    if (frame->kind == FrameKind::join_refused) co_return std::unexpected(read_refusal(frame->payload));
    if (frame->kind != kind) co_return fail(errc::malformed, "the issuer sent an unexpected frame");
    co_return std::move(frame->payload);
  }
  static Task<Result<std::string>> ask(Joiner& self) {
    const auto binding = self.stream.exporter(kJoinExporter);
    auto frame = to_frame(JoinAsk{kProtocolMinor, self.token.mesh, make_proof(self.token, self.own, binding)});
    if (auto sent = co_await write_frame(self.stream, std::move(frame)); !sent) co_return std::unexpected(sent.error());
    co_return co_await expect(self, FrameKind::join_proved);
  }
  static Task<Result<std::string>> admitted(Joiner& self) { return expect(self, FrameKind::join_admitted); }
  static Task<Result<std::vector<MemberRecord>>> members(Joiner& self) {
    PageCollector collector;
    while (true) {
      const auto page = co_await expect(self, FrameKind::members);
      if (!page) co_return std::unexpected(page.error());
      const auto last = collector.take(*page);
      if (!last) co_return std::unexpected(last.error());
      if (*last) co_return collector.records();
    }
  }
};

Result<MemberSet> check_members(const Founding& founding, const std::vector<MemberRecord>& records,
                                const PublicKey& own, const NodeId& issuer) {
  MemberSet set(founding);
  if (auto added = set.add(records); !added) return std::unexpected(added.error());
  if (set.standing(own) != MembershipStatus::member || set.standing(issuer) != MembershipStatus::member) {
    return fail(errc::not_a_member, "the list of members of the issuer lacks the issuer or this node");
  }
  return set;
}

// The result of a step, or why it failed.
template <typename T>
Result<T> outcome(std::optional<Result<T>> result, JoinStep step, const Address& address, Millis limit) {
  if (!result) {
    return std::unexpected(
        stopped_at(step, address,
                   Error(make_error_code(errc::timed_out), fmt::format("it took longer than {} ms", limit.count()))));
  }
  if (!*result) return std::unexpected(stopped_at(step, address, result->error()));
  return std::move(*result);
}

// For join_by_name().
constexpr MeshId kAnyMesh{};

}  // namespace

std::string_view name_of(JoinStep step) {
  switch (step) {
    case JoinStep::dial:
      return "dial";
    case JoinStep::handshake:
      return "handshake";
    case JoinStep::proof:
      return "proof";
    case JoinStep::admit:
      return "admit";
    case JoinStep::members:
      return "members";
  }
  return "";
}

Task<Result<MemberSet>> join_by_name(Network& network, async::Timers& timers, SigningKey own, NodeId member,
                                     std::vector<Address> addresses, JoinOptions options) {
  JoinToken none;
  none.pins = {member};
  none.seeds = std::move(addresses);
  return join_mesh(network, timers, std::move(own), std::move(none), std::move(options));
}

Task<Result<MemberSet>> join_mesh(Network& network, async::Timers& timers, SigningKey own, JoinToken token,
                                  JoinOptions options) {
  const auto begin = [&](JoinStep step, const Address& address) {
    if (options.on_step) options.on_step(step, address);
  };
  if (token.seeds.empty()) co_return fail(errc::token_malformed, "the token has no address");
  std::unique_ptr<Stream> stream;
  std::optional<Error> failure;
  Address address;
  for (const auto& seed : token.seeds) {
    address = seed;
    begin(JoinStep::dial, address);
    Place place(seed, Origin::settings);  // this node's administrator provided the token
    auto dialling = network.dial(std::move(place), token.pins, Purpose::join);
    auto dialled = co_await std::move(dialling);
    if (dialled) {
      stream = std::move(*dialled);
      break;
    }
    auto why = stopped_at(step_of(dialled.error()), seed, refused_dial(dialled.error(), token.mesh == kAnyMesh));
    // A failed handshake is a better reason than an address without a node.
    if (!failure || failure->fact<JoinFailure>()->step == JoinStep::dial) failure = std::move(why);
  }
  if (!stream) co_return std::unexpected(std::move(*failure));

  Joiner joiner{*stream, own.public_key(), token, {}};
  begin(JoinStep::proof, address);
  auto asking = Joiner::ask(joiner);
  auto asked = co_await async::with_timeout(timers, options.proof, std::move(asking));
  const auto proved = outcome(std::move(asked), JoinStep::proof, address, options.proof);
  if (!proved) co_return std::unexpected(proved.error());

  begin(JoinStep::admit, address);
  auto admitting = Joiner::admitted(joiner);
  auto admitted = co_await async::with_timeout(timers, options.admit, std::move(admitting));
  const auto answer = outcome(std::move(admitted), JoinStep::admit, address, options.admit);
  if (!answer) co_return std::unexpected(answer.error());
  const auto founding = read_founding(*answer);
  if (!founding) co_return std::unexpected(stopped_at(JoinStep::admit, address, founding.error()));
  if (token.mesh != kAnyMesh && mesh_id(*founding) != token.mesh) {
    Error why(make_error_code(errc::foreign_mesh), "the issuer and the token are of different meshes");
    co_return std::unexpected(stopped_at(JoinStep::admit, address, std::move(why)));
  }

  begin(JoinStep::members, address);
  auto collecting = Joiner::members(joiner);
  auto collected = co_await async::with_timeout(timers, options.members, std::move(collecting));
  const auto records = outcome(std::move(collected), JoinStep::members, address, options.members);
  if (!records) co_return std::unexpected(records.error());
  auto members = check_members(*founding, *records, own.public_key(), stream->peer().id);
  if (!members) co_return std::unexpected(stopped_at(JoinStep::members, address, members.error()));
  co_return members;
}

}  // namespace corral::mesh
