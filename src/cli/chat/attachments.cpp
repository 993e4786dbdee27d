#include "cli/chat/attachments.h"

#include <filesystem>
#include <string_view>

#include <fmt/format.h>

#include "base/human_bytes.h"
#include "base/state_file.h"
#include "base/utf8.h"
#include "cli/errors.h"
#include "protocol/answers/answers.h"
#include "protocol/media.h"

namespace corral::cli {
namespace {

constexpr std::size_t kLargestText = std::size_t{1024} * 1024;

// Empty: no supported sound.
std::string_view sound_type(std::string_view bytes) {
  if (bytes.starts_with("RIFF") && bytes.substr(0, 12).ends_with("WAVE")) return "audio/wav";
  if (bytes.starts_with("fLaC")) return "audio/flac";
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(bytes[i]); };
  const bool mpeg = bytes.size() > 1 && byte(0) == 0xFF && (byte(1) & 0xE6) == 0xE2;  // MPEG audio, layer 3
  return mpeg || bytes.starts_with("ID3") ? "audio/mp3" : "";
}

Result<std::string> read(const std::string& file) {
  std::error_code failed;
  if (!std::filesystem::exists(file, failed)) return fail(errc::usage, fmt::format("there is no file '{}'", file));
  if (!std::filesystem::is_regular_file(file, failed)) return fail(errc::usage, fmt::format("'{}' is no file", file));
  auto text = read_state_file(file, protocol::kMaxMediaBytes + 1);
  if (!text) return fail(errc::usage, text.error().message);
  if (!*text || (*text)->empty()) return fail(errc::usage, fmt::format("'{}' is empty", file));
  if ((*text)->size() > protocol::kMaxMediaBytes) {
    return fail(errc::usage, fmt::format("'{}' is larger than {}, the limit for a picture or sound", file,
                                         human_bytes(protocol::kMaxMediaBytes)));
  }
  return std::move(**text);
}

}  // namespace

Result<> attach(const std::string& file, Draft& draft) {
  const auto bytes = read(file);
  if (!bytes) return std::unexpected(bytes.error());
  std::string_view type = protocol::picture_type(*bytes);
  if (type.empty()) type = sound_type(*bytes);
  if (!type.empty()) {
    draft.attachments.push_back({std::string(type), protocol::base64(*bytes)});
    return {};
  }
  const bool text = bytes->find('\0') == std::string::npos && valid_utf8(*bytes) == *bytes;
  if (!text) {
    return fail(errc::usage, fmt::format("'{}' is no text in UTF-8, no picture (PNG, JPEG, WebP, GIF) and no sound "
                                         "(wav, mp3, flac)",
                                         file));
  }
  if (bytes->size() > kLargestText) {
    return fail(errc::usage,
                fmt::format("'{}' is larger than {}, the limit for a text", file, human_bytes(kLargestText)));
  }
  const std::string name = std::filesystem::path(file).filename().native();
  draft.texts += fmt::format("{}:\n\n```\n{}{}```\n\n", name, *bytes, bytes->ends_with('\n') ? "" : "\n");
  return {};
}

Result<> attach_picture(const std::string& file, Draft& draft) {
  const auto bytes = read(file);
  if (!bytes) return std::unexpected(bytes.error());
  const std::string_view type = protocol::picture_type(*bytes);
  if (type.empty()) return fail(errc::usage, fmt::format("'{}' is no PNG, JPEG, WebP or GIF", file));
  draft.attachments.push_back({std::string(type), protocol::base64(*bytes)});
  return {};
}

}  // namespace corral::cli
