#include "mesh/groups/grant_wire.h"

#include "mesh/identity/bytes.h"
#include "mesh/identity/errors.h"

namespace corral::mesh {
namespace {

// The first byte is the index in GroupMessage, from 1.
struct Writer {
  ByteWriter out;

  void operator()(const GrantRequest& ask) {
    head(1, ask).number<std::uint64_t>(ask.stamp).raw(ask.plan).number<std::uint64_t>(ask.bytes);
  }
  void operator()(const GrantResponse& answer) {
    const auto verdict = static_cast<std::uint8_t>(answer.verdict);
    head(2, answer)
        .number<std::uint64_t>(answer.stamp)
        .number<std::uint8_t>(verdict)
        .number<std::uint32_t>(answer.lease_ms);
  }
  void operator()(const GrantRelease& given) { head(3, given).number<std::uint64_t>(given.stamp); }
  void operator()(const GrantRecall& recall) { head(4, recall).number<std::uint32_t>(recall.within_ms); }

  template <typename Message>
  ByteWriter& head(std::uint8_t kind, const Message& message) {
    const ContentKey& model = message.model;
    const PlanTerm& of = message.of;
    out.number<std::uint8_t>(kind).number<std::uint8_t>(model.pending).raw(model.bytes);
    return out.number<std::uint64_t>(of.epoch).number<std::uint64_t>(of.term);
  }
};

// A verdict that this version doesn't know counts as `taken`.
GrantDecision verdict_of(std::uint8_t number) {
  const bool known = number >= 1 && number <= static_cast<std::uint8_t>(GrantDecision::too_often);
  return known ? static_cast<GrantDecision>(number) : GrantDecision::taken;
}

}  // namespace

std::string_view name_of(GrantDecision verdict) {
  constexpr std::string_view kNames[] = {"",         "granted",  "taken",      "reaping",
                                         "recalled", "settling", "too_little", "too_often"};
  return kNames[static_cast<std::size_t>(verdict)];
}

Frame to_frame(const GroupMessage& message) {
  Frame frame{FrameKind::grant, {}};
  std::visit(Writer{ByteWriter(frame.payload)}, message);
  return frame;
}

Result<GroupMessage> read_group_message(std::string_view payload) {
  ByteReader in(payload);
  const auto kind = in.number<std::uint8_t>();
  const bool pending = in.number<std::uint8_t>() != 0;
  GroupMessage message;
  const auto head = [&](auto of_kind) {
    of_kind.model = {in.fixed<32>(), pending};
    of_kind.of = {in.number<std::uint64_t>(), in.number<std::uint64_t>()};
    return of_kind;
  };
  if (kind == 1) {
    auto ask = head(GrantRequest());
    ask.stamp = in.number<std::uint64_t>();
    ask.plan = in.fixed<32>();
    ask.bytes = in.number<std::uint64_t>();
    message = ask;
  } else if (kind == 2) {
    auto answer = head(GrantResponse());
    answer.stamp = in.number<std::uint64_t>();
    answer.verdict = verdict_of(in.number<std::uint8_t>());
    answer.lease_ms = in.number<std::uint32_t>();
    message = answer;
  } else if (kind == 3) {
    auto given = head(GrantRelease());
    given.stamp = in.number<std::uint64_t>();
    message = given;
  } else if (kind == 4) {
    auto recall = head(GrantRecall());
    recall.within_ms = in.number<std::uint32_t>();
    message = recall;
  } else {
    return fail(errc::malformed, "a message of groups has an unknown kind");
  }
  if (!in.ok()) return fail(errc::malformed, "a message of groups is cut off");
  return message;
}

}  // namespace corral::mesh
