#include "fleet/allotment/allot_control.h"

#include <algorithm>
#include <array>

#include "fleet/base/errors.h"
#include "mesh/catalog/node_state.h"
#include "mesh/identity/bytes.h"
#include "mesh/identity/errors.h"
#include "models/errors.h"

namespace corral::fleet {

using async::Task;

namespace {

constexpr std::size_t kLongestText = 600;
constexpr std::size_t kMaxNodes = mesh::kNodeStateLimits.shares_of_group;
constexpr std::uint8_t kDone = 0, kOtherCause = 255;

// Error causes by their number on the wire; all others are sent as nowhere.
struct Cause {
  std::uint8_t number;
  std::error_code code;
};
const std::array<Cause, 7>& causes() {
  static const std::array<Cause, 7> all = {{{1, make_error_code(errc::not_admin_here)},
                                            {2, make_error_code(errc::no_mesh)},
                                            {3, make_error_code(models::errc::model_not_found)},
                                            {4, make_error_code(errc::bad_split)},
                                            {5, make_error_code(errc::nowhere)},
                                            {6, make_error_code(errc::lends_nothing)},
                                            {7, make_error_code(errc::assigned)}}};
  return all;
}

}  // namespace

mesh::Frame to_frame(std::uint64_t number, const AllotAsk& ask) {
  mesh::Frame frame{mesh::FrameKind::allot_ask, {}};
  mesh::ByteWriter out(frame.payload);
  out.number<std::uint64_t>(number).number<std::uint8_t>(static_cast<std::uint8_t>(ask.command));
  const auto content = ask.content.value_or(mesh::ContentKey());
  out.number<std::uint8_t>(ask.content.has_value()).number<std::uint8_t>(content.pending).raw(content.bytes);
  out.sized<std::uint16_t>(std::string_view(ask.name).substr(0, mesh::kNodeStateLimits.name));
  const auto count = std::min(ask.nodes.size(), kMaxNodes);
  out.number<std::uint8_t>(static_cast<std::uint8_t>(count));
  for (std::size_t i = 0; i < count; ++i) out.raw(ask.nodes[i].bytes);
  out.number<std::uint64_t>(ask.stamp);
  return frame;
}

mesh::Frame to_frame(std::uint64_t number, const Result<>& answer) {
  mesh::Frame frame{mesh::FrameKind::allot_answer, {}};
  mesh::ByteWriter out(frame.payload);
  out.number<std::uint64_t>(number);
  if (answer) {
    out.number<std::uint8_t>(kDone);
    return frame;
  }
  const auto known = std::ranges::find(causes(), answer.error().code, &Cause::code);
  out.number<std::uint8_t>(known != causes().end() ? known->number : kOtherCause);
  out.sized<std::uint16_t>(std::string_view(answer.error().message).substr(0, kLongestText));
  return frame;
}

std::optional<NumberedAsk> read_allot_ask(std::string_view payload) {
  mesh::ByteReader in(payload);
  NumberedAsk read;
  read.number = in.number<std::uint64_t>();
  const auto command = in.number<std::uint8_t>();
  const auto there = in.number<std::uint8_t>(), pending = in.number<std::uint8_t>();
  const mesh::ContentKey content{in.fixed<32>(), pending == 1};
  read.ask.name = shown_text(in.sized<std::uint16_t>(), mesh::kNodeStateLimits.name);
  const auto count = in.number<std::uint8_t>();
  if (!in.ok() || command < 1 || command > 6 || there > 1 || pending > 1 || count > kMaxNodes) return std::nullopt;
  for (unsigned i = 0; i < count; ++i) read.ask.nodes.push_back({in.fixed<32>()});
  // Older versions don't send the stamp.
  if (in.ok() && !in.rest().empty())
    read.ask.stamp = std::min(in.number<std::uint64_t>(), mesh::kNodeStateLimits.number);
  read.ask.command = static_cast<AllotCommand>(command);
  const bool about_a_model = read.ask.command != AllotCommand::nothing && read.ask.command != AllotCommand::release;
  if (!in.ok() || about_a_model != (there == 1)) return std::nullopt;
  if (there == 1) read.ask.content = content;
  return read;
}

std::optional<Result<>> read_allot_answer(std::string_view payload) {
  mesh::ByteReader in(payload);
  in.number<std::uint64_t>();
  const auto what = in.number<std::uint8_t>();
  if (!in.ok()) return std::nullopt;
  if (what == kDone) return Result<>();
  auto text = shown_text(in.sized<std::uint16_t>(), kLongestText);
  if (!in.ok()) return std::nullopt;
  const auto known = std::ranges::find(causes(), what, &Cause::number);
  const auto code = known != causes().end() ? known->code : make_error_code(errc::nowhere);
  return Result<>(std::unexpected(Error(code, std::move(text))));
}

Task<Result<>> AllotControl::ask(mesh::NodeId node, AllotAsk ask) {
  auto asking = questions_.ask(node, [ask = std::move(ask)](std::uint64_t number) { return to_frame(number, ask); });
  const auto payload = co_await std::move(asking);
  if (!payload) co_return std::unexpected(payload.error());
  auto answer = read_allot_answer(*payload);
  if (!answer) co_return fail(mesh::errc::malformed, "the node's answer is invalid", "node");
  co_return std::move(*answer);
}

void AllotControl::frame(const mesh::NodeId& from, const mesh::Frame& frame) {
  if (frame.kind == mesh::FrameKind::allot_ask) {
    if (const auto read = read_allot_ask(frame.payload))
      peers_.send(from, to_frame(read->number, obey_(from, read->ask)));
  } else if (frame.kind == mesh::FrameKind::allot_answer) {
    questions_.answered(from, frame.payload);
  }
}

}  // namespace corral::fleet
