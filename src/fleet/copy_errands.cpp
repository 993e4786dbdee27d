#include "fleet/copy_errands.h"

#include <algorithm>

#include <fmt/format.h>

#include "fleet/errors.h"
#include "mesh/identity/bytes.h"
#include "mesh/identity/errors.h"
#include "models/errc.h"

namespace corral::fleet {

using async::Task;

namespace {

constexpr std::size_t kLongestName = 256, kLongestText = 600;
constexpr std::uint8_t kView = 0, kOtherCause = 255;

// Causes by their number on the wire; others are told as copy_failed.
struct Cause {
  std::uint8_t number;
  std::error_code code;
};
const std::array<Cause, 9>& causes() {
  static const std::array<Cause, 9> all = {{{1, make_error_code(errc::not_admin_here)},
                                            {2, make_error_code(errc::copy_not_needed)},
                                            {3, make_error_code(mesh::errc::not_offered)},
                                            {4, make_error_code(mesh::errc::too_many)},
                                            {5, make_error_code(models::errc::model_not_found)},
                                            {6, make_error_code(mesh::errc::disk_full)},
                                            {7, make_error_code(errc::no_mesh)},
                                            {8, make_error_code(errc::files_refused)},
                                            {9, make_error_code(errc::nowhere)}}};
  return all;
}

std::string cut(std::string_view text, std::size_t most) { return std::string(text.substr(0, most)); }

}  // namespace

mesh::Frame to_frame(const CopyAsk& ask) {
  mesh::Frame frame{mesh::FrameKind::copy_ask, {}};
  mesh::ByteWriter(frame.payload)
      .number<std::uint64_t>(ask.number)
      .number<std::uint8_t>(static_cast<std::uint8_t>(ask.wish))
      .raw(ask.content);
  return frame;
}

mesh::Frame to_frame(const CopyAnswer& answer) {
  mesh::Frame frame{mesh::FrameKind::copy_answer, {}};
  mesh::ByteWriter out(frame.payload);
  out.number<std::uint64_t>(answer.number);
  if (!answer.view) {
    const auto known = std::ranges::find(causes(), answer.view.error().code, &Cause::code);
    out.number<std::uint8_t>(known != causes().end() ? known->number : kOtherCause);
    out.sized<std::uint16_t>(cut(answer.view.error().message, kLongestText));
    return frame;
  }
  const auto& view = *answer.view;
  const auto from = view.from.value_or(mesh::NodeId{});
  out.number<std::uint8_t>(kView).raw(view.content).number<std::uint8_t>(static_cast<std::uint8_t>(view.state));
  out.number<std::uint64_t>(view.done).number<std::uint64_t>(view.total);
  out.number<std::uint64_t>(static_cast<std::uint64_t>(std::max(view.bytes_per_second, 0.0)));
  out.number<std::uint8_t>(view.from ? 1 : 0).raw(from.bytes);
  out.sized<std::uint16_t>(cut(view.model, kLongestName)).sized<std::uint16_t>(cut(view.problem, kLongestText));
  return frame;
}

std::optional<CopyAsk> read_copy_ask(std::string_view payload) {
  mesh::ByteReader in(payload);
  CopyAsk ask;
  ask.number = in.number<std::uint64_t>();
  const auto wish = in.number<std::uint8_t>();
  ask.content = in.fixed<32>();
  if (!in.ok() || (wish != 1 && wish != 3)) return std::nullopt;
  ask.wish = static_cast<CopyWish>(wish);
  return ask;
}

std::optional<CopyAnswer> read_copy_answer(std::string_view payload) {
  mesh::ByteReader in(payload);
  const auto number = in.number<std::uint64_t>();
  const auto what = in.number<std::uint8_t>();
  if (!in.ok()) return std::nullopt;
  if (what != kView) {
    auto text = shown_text(in.sized<std::uint16_t>(), kLongestText);
    if (!in.ok()) return std::nullopt;
    const auto known = std::ranges::find(causes(), what, &Cause::number);
    const auto code = known != causes().end() ? known->code : make_error_code(errc::copy_failed);
    return CopyAnswer{number, std::unexpected(Error(code, std::move(text)))};
  }
  CopyView view;
  view.content = in.fixed<32>();
  const auto state = in.number<std::uint8_t>();
  view.done = in.number<std::uint64_t>();
  view.total = in.number<std::uint64_t>();
  view.bytes_per_second = static_cast<double>(in.number<std::uint64_t>());
  const bool has_source = in.number<std::uint8_t>() == 1;
  const mesh::NodeId from{in.fixed<32>()};
  view.model = shown_text(in.sized<std::uint16_t>(), kLongestText);
  view.problem = shown_text(in.sized<std::uint16_t>(), kLongestText);
  if (!in.ok() || state > static_cast<std::uint8_t>(CopyState::failed)) return std::nullopt;
  view.state = static_cast<CopyState>(state);
  view.done = std::min(view.done, view.total);
  if (has_source) view.from = from;
  return CopyAnswer{number, std::move(view)};
}

Task<Result<CopyView>> CopyErrands::ask(mesh::NodeId node, CopyWish wish, Sha256 content) {
  auto asking =
      questions_.ask(node, [wish, content](std::uint64_t number) { return to_frame(CopyAsk{number, wish, content}); });
  const auto payload = co_await std::move(asking);
  if (!payload) co_return std::unexpected(payload.error());
  auto answer = read_copy_answer(*payload);
  if (!answer) co_return fail(mesh::errc::malformed, "its answer can't be understood", "node");
  co_return std::move(answer->view);
}

void CopyErrands::frame(const mesh::NodeId& from, const mesh::Frame& frame) {
  if (frame.kind == mesh::FrameKind::copy_ask) {
    if (const auto ask = read_copy_ask(frame.payload))
      peers_.send(from, to_frame(CopyAnswer{ask->number, obey_(from, *ask)}));
  } else if (frame.kind == mesh::FrameKind::copy_answer) {
    questions_.answered(from, frame.payload);
  }
}

}  // namespace corral::fleet
