#include "cli/server/mesh_wire.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/errors.h"
#include "cli/server/answer_fields.h"
#include "cli/terminal/format.h"
#include "json/writer.h"

namespace corral::cli {
namespace {

// 0 if the member is missing.
std::int64_t count_of(const json::Value& object, std::string_view name) { return integer_of(object, name).value_or(0); }
std::uint64_t size_of(const json::Value& object, std::string_view name) { return bytes_of(object, name).value_or(0); }

// A list of the answer, each item read by `read`.
template <typename Item>
Result<std::vector<Item>> list_of(std::string_view text, std::string_view name, Item (*read)(const json::Value&)) {
  const auto value = parse_answer(text);
  if (!value) return std::unexpected(value.error());
  const auto* list = json::find(*value, name);
  if (list == nullptr || !list->is_array())
    return fail(errc::bad_answer, fmt::format("the server's response has no list '{}'", name));
  std::vector<Item> items;
  for (const auto& item : list->get_array()) items.push_back(read(item));
  return items;
}

MeshNode node_in(const json::Value& value) {
  MeshNode node{.id = text_of(value, "id"),
                .name = text_of(value, "name"),
                .role = text_of(value, "role"),
                .version = text_of(value, "version"),
                .self = json::bool_or(value, "self", false),
                .routable = json::bool_or(value, "routable", false),
                .last_end = text_of(value, "last_end"),
                .addresses = names_of(value, "addresses"),
                .models = count_of(value, "models")};
  if (const auto* rtt = json::find(value, "rtt_ms"); rtt != nullptr && rtt->is_number())
    node.rtt_ms = count_of(value, "rtt_ms");
  each(value, "memory", [&](const json::Value& memory) {
    node.memory_total += size_of(memory, "total_bytes");
    node.memory_free += size_of(memory, "free_bytes");
  });
  each(value, "serving", [&](const json::Value& serving) {
    const auto state = text_of(serving, "state");
    auto name = text_of(serving, "model");
    node.serving.push_back(state == "ready" ? name : fmt::format("{} ({})", name, state));
  });
  return node;
}

MeshModel model_in(const json::Value& value) {
  MeshModel model{.name = text_of(value, "id"),
                  .type = text_of(value, "type"),
                  .status = text_of(value, "status"),
                  .host = text_of(value, "host"),
                  .size = size_of(value, "size_bytes")};
  each(value, "nodes", [&](const json::Value& node) {
    model.on_disk.push_back(text_of(node, "name"));
    const auto state = text_of(node, "state");
    if (state == "ready") model.serving.push_back(text_of(node, "name"));
    if (state == "loading" || state == "draining")
      model.serving.push_back(fmt::format("{} ({})", text_of(node, "name"), state));
  });
  return model;
}

MeshCopy copy_in(const json::Value& value) {
  return {.model = text_of(value, "model"),
          .content = text_of(value, "content"),
          .state = text_of(value, "state"),
          .from = text_of(value, "from"),
          .problem = text_of(value, "problem"),
          .done = size_of(value, "done_bytes"),
          .total = size_of(value, "total_bytes"),
          .bytes_per_second = size_of(value, "bytes_per_second")};
}

// Appends the cause, if there is a problem.
std::string with_problem(std::string text, const json::Value& value) {
  if (const auto problem = text_of(value, "problem"); !problem.empty()) text += fmt::format(" ({})", problem);
  return text;
}

std::string group_in(const json::Value& value) {
  std::vector<std::string> parts;
  each(value, "shares", [&](const json::Value& part) {
    parts.push_back(fmt::format("{} ({} layers)", text_of(part, "node"), count_of(part, "layers")));
  });
  return with_problem(
      fmt::format("{} over {}: {}", text_of(value, "model"), fmt::join(parts, ", "), text_of(value, "status")), value);
}

MeshToken token_in(const json::Value& value) {
  return {.id = text_of(value, "id"),
          .state = text_of(value, "state"),
          .used_by = text_of(value, "used_by"),
          .issued = count_of(value, "issued"),
          .expires = count_of(value, "expires"),
          .text = text_of(value, "token"),
          .addresses = names_of(value, "addresses")};
}

}  // namespace

Result<MeshStatus> parse_mesh(std::string_view text) {
  const auto value = parse_answer(text);
  if (!value) return std::unexpected(value.error());
  MeshStatus status{.status = text_of(*value, "status"), .mesh_id = text_of(*value, "mesh_id")};
  if (status.status.empty()) return fail(errc::bad_answer, "the server's response has no field 'status'");
  if (const auto* node = json::find(*value, "node")) {
    status.node_id = text_of(*node, "id");
    status.name = text_of(*node, "name");
    status.role = text_of(*node, "role");
  }
  status.listening = text_of(*value, "listening");
  status.addresses = names_of(*value, "addresses");
  status.members = count_of(*value, "members");
  status.routable = count_of(*value, "routable");
  status.open_tokens = count_of(*value, "open_tokens");
  status.problem = text_of(*value, "problem");
  each(*value, "groups", [&](const json::Value& group) { status.groups.push_back(group_in(group)); });
  if (const auto* share = json::find(*value, "share"); share != nullptr && !text_of(*share, "model").empty()) {
    const auto what = fmt::format("{} for {} of {}: {}", human_bytes(size_of(*share, "memory_bytes")),
                                  text_of(*share, "model"), text_of(*share, "host"), text_of(*share, "status"));
    status.share = with_problem(what, *share);
  }
  return status;
}

Result<std::vector<MeshNode>> parse_mesh_nodes(std::string_view text) { return list_of(text, "nodes", node_in); }
Result<std::vector<MeshModel>> parse_mesh_models(std::string_view text) { return list_of(text, "models", model_in); }
Result<std::vector<MeshToken>> parse_mesh_tokens(std::string_view text) { return list_of(text, "tokens", token_in); }

Result<MeshToken> parse_mesh_token(std::string_view text) {
  const auto value = parse_answer(text);
  if (!value) return std::unexpected(value.error());
  auto token = token_in(*value);
  if (token.text.empty()) return fail(errc::bad_answer, "the server's response has no field 'token'");
  return token;
}

Result<MeshChoice> parse_mesh_choice(std::string_view text) {
  const auto value = parse_answer(text);
  if (!value) return std::unexpected(value.error());
  MeshChoice choice{.model = text_of(*value, "model"),
                    .status = text_of(*value, "status"),
                    .node = text_of(*value, "node"),
                    .rank = text_of(*value, "rank"),
                    .here = json::bool_or(*value, "here", false)};
  if (const auto* shortage = json::find(*value, "short")) choice.shortage = text_of(*shortage, "text");
  if (const auto* split = json::find(*value, "split"); split != nullptr && split->is_object()) {
    const auto host = text_of(*split, "host_id");
    each(*split, "shares", [&](const json::Value& share) {
      const bool hosts = text_of(share, "id") == host;
      choice.split_over.insert(hosts ? choice.split_over.begin() : choice.split_over.end(), text_of(share, "node"));
    });
  }
  each(*value, "candidates", [&](const json::Value& item) {
    choice.candidates.push_back({text_of(item, "name"), text_of(item, "rank"), text_of(item, "text")});
  });
  choice.allocation = names_of(*value, "allocation");
  return choice;
}

Result<MeshCopy> parse_mesh_copy(std::string_view text) {
  const auto value = parse_answer(text);
  if (!value) return std::unexpected(value.error());
  return copy_in(*value);
}
Result<std::vector<MeshCopy>> parse_mesh_copies(std::string_view text) {
  return list_of<MeshCopy>(text, "copies", copy_in);
}

Result<std::vector<MeshFinding>> parse_mesh_findings(std::string_view text) {
  return list_of<MeshFinding>(text, "findings", [](const json::Value& value) {
    return MeshFinding{text_of(value, "verdict"), text_of(value, "step"), text_of(value, "node"),
                       text_of(value, "text")};
  });
}

Result<JoinStep> parse_join_step(std::string_view text) {
  const auto value = parse_answer(text);
  if (!value) return std::unexpected(value.error());
  return JoinStep{text_of(*value, "step"), text_of(*value, "address"), count_of(*value, "limit_ms")};
}

std::string join_body(std::string_view token, bool stream) {
  std::string body;
  json::Writer(body).begin_object().field("token", token).field("stream", stream).end_object();
  return body;
}
std::string token_body(std::int64_t seconds) {
  std::string body;
  json::Writer(body).begin_object().field("expires_in", seconds).end_object();
  return body;
}
std::string pull_body(const std::string& model, bool stream) {
  std::string body;
  json::Writer(body).begin_object().field("model", model).field("stream", stream).end_object();
  return body;
}

std::string revoke_body(const std::string& node, bool with_admitted) {
  std::string body;
  json::Writer(body).begin_object().field("node", node).field("with_admitted", with_admitted).end_object();
  return body;
}

}  // namespace corral::cli
