#include "mesh/hints/serf_wire.h"

#include <utility>

#include "mesh/identity/errors.h"

namespace corral::mesh {
namespace {

PackWriter command(std::uint64_t number, std::string_view name) {
  PackWriter out;
  out.map(2).text("Command").text(name).text("Seq").number(number);
  return out;
}

std::unexpected<Error> nonsense() { return fail(errc::malformed, "the Serf agent sent a malformed answer"); }

struct Member {
  std::string_view status;
  HintLabels labels;
};

// False: malformed.
bool read_labels(PackReader& in, HintLabels& labels) {
  const auto pairs = in.map();
  if (!pairs) return false;
  for (std::uint32_t i = 0; i < *pairs; ++i) {
    const auto name = in.text(), value = in.text();
    if (!name || !value) return false;
    if (*name == "id") labels.node = *value;
    if (*name == "at") labels.addresses = *value;
    if (*name == "seq") labels.progress = *value;
  }
  return true;
}

std::optional<Member> read_member(PackReader& in) {
  const auto pairs = in.map();
  if (!pairs) return std::nullopt;
  Member member;
  for (std::uint32_t i = 0; i < *pairs; ++i) {
    const auto name = in.text();
    if (!name) return std::nullopt;
    if (*name == "Status") {
      const auto status = in.text();
      if (!status) return std::nullopt;
      member.status = *status;
    } else if (*name == "Tags") {
      if (!read_labels(in, member.labels)) return std::nullopt;
    } else if (!in.skip()) {
      return std::nullopt;
    }
  }
  return member;
}

}  // namespace

std::string serf_handshake(std::uint64_t number) {
  auto out = command(number, "handshake");
  return out.map(1).text("Version").number(1).take();
}

std::string serf_auth(std::uint64_t number, std::string_view secret) {
  auto out = command(number, "auth");
  return out.map(1).text("AuthKey").text(secret).take();
}

std::string serf_tags(std::uint64_t number, const HintLabels& labels) {
  auto out = command(number, "tags");
  out.map(1).text("Tags").map(3);
  out.text("id").text(labels.node).text("at").text(labels.addresses).text("seq").text(labels.progress);
  return out.take();
}

std::string serf_join(std::uint64_t number, const std::vector<Address>& engines) {
  auto out = command(number, "join");
  out.map(2).text("Existing").array(static_cast<std::uint32_t>(engines.size()));
  for (const auto& engine : engines) out.text(to_text(engine));
  return out.text("Replay").flag(false).take();
}

std::string serf_leave(std::uint64_t number) { return command(number, "leave").take(); }

std::string serf_members(std::uint64_t number) { return command(number, "members").take(); }

Result<> SerfReader::put(std::string_view bytes) {
  rest_.erase(0, std::exchange(taken_, 0));
  if (rest_.size() + bytes.size() > max_bytes_) {
    return fail(errc::too_large, "the Serf agent sent too many bytes without a complete value");
  }
  rest_ += bytes;
  return {};
}

Result<std::optional<std::string>> SerfReader::take() {
  const auto extent = scanner_.scan(std::string_view(rest_).substr(taken_));
  if (extent.state == PackState::malformed) return nonsense();
  if (extent.state == PackState::cut_off) return std::nullopt;
  auto value = rest_.substr(taken_, extent.bytes);
  taken_ += extent.bytes;
  scanner_ = {};
  return value;
}

Result<SerfHead> read_serf_head(std::string_view value) {
  PackReader in(value);
  const auto pairs = in.map();
  if (!pairs) return nonsense();
  SerfHead head;
  for (std::uint32_t i = 0; i < *pairs; ++i) {
    const auto name = in.text();
    if (!name) return nonsense();
    if (*name == "Seq") {
      const auto number = in.number();
      if (!number) return nonsense();
      head.number = *number;
    } else if (*name == "Error") {
      const auto error = in.text();
      if (!error) return nonsense();
      head.error = *error;
    } else if (!in.skip()) {
      return nonsense();
    }
  }
  return head;
}

Result<std::vector<Hint>> read_serf_members(std::string_view value) {
  PackReader in(value);
  const auto pairs = in.map();
  if (!pairs) return nonsense();
  std::vector<Hint> hints;
  for (std::uint32_t i = 0; i < *pairs; ++i) {
    const auto name = in.text();
    if (!name) return nonsense();
    if (*name != "Members") {
      if (!in.skip()) return nonsense();
      continue;
    }
    const auto members = in.array();
    if (!members) return nonsense();
    for (std::uint32_t m = 0; m < *members; ++m) {
      const auto member = read_member(in);
      if (!member) return nonsense();
      if (member->status != "alive") continue;
      if (auto hint = hint_of(member->labels)) hints.push_back(std::move(*hint));
    }
  }
  return hints;
}

}  // namespace corral::mesh
