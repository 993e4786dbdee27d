#include "cli/chat/saved_chats.h"

#include <algorithm>
#include <system_error>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/state_file.h"
#include "cli/errors.h"
#include "cli/server/answer_fields.h"
#include "json/value.h"

namespace corral::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kEnding = ".json";
constexpr std::size_t kLongestName = 100;

json::Value as_json(const ChatState& chat) {
  json::Object settings;
  for (const auto& [name, text] : chat.settings.fields()) settings[name] = text;
  json::Array messages;
  for (const ChatMessage& message : chat.messages) {
    json::Array files;
    for (const Attachment& file : message.attachments)
      files.push_back(json::Object{{"type", file.type}, {"base64", file.base64}});
    messages.push_back(json::Object{{"role", message.role}, {"content", message.content}, {"files", std::move(files)}});
  }
  return json::Object{{"model", chat.model},
                      {"system", chat.system},
                      {"settings", std::move(settings)},
                      {"messages", std::move(messages)}};
}

bool is_valid(const ChatState& chat) {
  const auto is_known = [](const ChatMessage& message) {
    return message.role == "user" || message.role == "assistant";
  };
  return !chat.model.empty() && std::ranges::all_of(chat.messages, is_known);
}

ChatState from_json(const json::Value& saved) {
  ChatState chat{.model = text_of(saved, "model"), .system = text_of(saved, "system")};
  const auto* const settings = json::find(saved, "settings");
  if (settings != nullptr && settings->is_object()) {
    // What this program no longer knows is left out.
    for (const auto& [name, text] : settings->get_object()) (void)chat.settings.set(name, text_of(*settings, name));
  }
  each(saved, "messages", [&](const json::Value& one) {
    ChatMessage message{text_of(one, "role"), text_of(one, "content")};
    each(one, "files", [&](const json::Value& file) {
      message.attachments.push_back({text_of(file, "type"), text_of(file, "base64")});
    });
    chat.messages.push_back(std::move(message));
  });
  return chat;
}

}  // namespace

Result<fs::path> SavedChats::file_of(const std::string& name) const {
  const bool valid = !name.empty() && name.size() <= kLongestName && name.front() != '.' &&
                     name.find_first_of("/\\") == std::string::npos;
  if (!valid) return fail(errc::usage, fmt::format("'{}' can't be the name of a file", name));
  return folder_ / (name + std::string(kEnding));
}

Result<> SavedChats::save(const std::string& name, const ChatState& chat) const {
  const auto file = file_of(name);
  if (!file) return std::unexpected(file.error());
  return write_state_file(*file, json::serialize(as_json(chat)));
}

Result<ChatState> SavedChats::load(const std::string& name) const {
  const auto file = file_of(name);
  if (!file) return std::unexpected(file.error());
  const auto text = read_state_file(*file);
  if (!text) return std::unexpected(text.error());
  if (!*text) {
    const auto known = names();
    return fail(errc::usage, fmt::format("there is no saved chat '{}'{}", name,
                                         known.empty() ? "" : fmt::format("; there are {}", fmt::join(known, ", "))));
  }
  const auto saved = json::parse(**text);
  if (!saved) return fail(errc::usage, fmt::format("'{}' is damaged: {}", file->native(), saved.error().message));
  ChatState chat = saved->is_object() ? from_json(*saved) : ChatState();
  if (!is_valid(chat)) return fail(errc::usage, fmt::format("'{}' is no saved chat", file->native()));
  return chat;
}

std::vector<std::string> SavedChats::names() const {
  std::vector<std::string> names;
  std::error_code failed;
  for (const auto& entry : fs::directory_iterator(folder_, failed)) {
    if (entry.path().extension() == kEnding) names.push_back(entry.path().stem().native());
  }
  std::ranges::sort(names);
  return names;
}

}  // namespace corral::cli
