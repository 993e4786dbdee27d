#include "engine_server/preparation/chat_media.h"

#include <iterator>
#include <optional>
#include <random>
#include <utility>

#include <fmt/format.h>

#include "engine/media/media_header.h"
#include "engine/values/errors.h"
#include "engine_server/errors.h"
#include "json/peek.h"
#include "json/writer.h"
#include "protocol/base64.h"
#include "protocol/errors.h"
#include "protocol/media.h"

namespace corral::engine_server {
namespace {

using json::View;

std::string random_marker() {
  static constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
  std::random_device random;
  std::uniform_int_distribution<std::size_t> letter(0, kLetters.size() - 1);
  std::string marker = "<__media_";
  for (int i = 0; i < 32; ++i) marker.push_back(kLetters[letter(random)]);
  return marker + "__>";
}

std::unexpected<Error> bad(const std::string& param, std::string_view what) {
  return fail(protocol::errc::bad_value, fmt::format("'{}': {}", param, what), param);
}

std::unexpected<Error> not_taken(const std::string& param, std::string_view kind, const engine::ModelFacts& facts) {
  const std::string_view takes = facts.vision ? "pictures and text" : facts.sound ? "sound and text" : "text";
  return fail(errc::no_media, fmt::format("'{}' is {}, but this model takes {} only: remove it", param, kind, takes),
              param);
}

// The data of a part.
Result<MediaFile> read_file(std::string_view data, std::string param) {
  constexpr std::string_view kScheme = "data:", kBase64 = ";base64";
  if (data.starts_with(kScheme)) {
    const auto comma = data.find(',');
    if (comma == std::string_view::npos || !data.substr(0, comma).ends_with(kBase64))
      return bad(param, "a data URL must have its data in base64: data:image/png;base64,...");
    data.remove_prefix(comma + 1);
  }
  const auto limit = engine::MediaLimits().bytes;
  const auto size = protocol::base64_size(data);
  if (size > limit) return bad(param, fmt::format("the file has {} bytes: at most {} are allowed", size, limit));
  auto bytes = protocol::from_base64(data);
  if (!bytes) return bad(param, fmt::format("is no valid base64: it {}", protocol::base64_fault(data)));
  return MediaFile{std::move(*bytes), std::move(param)};
}

// Copies the messages, with markers.
class Extraction {
 public:
  Extraction(const engine::ModelFacts& facts, std::string_view marker, std::string& text)
      : facts_(facts), marker_(marker), out_(text) {}

  Result<std::vector<MediaFile>> take(View messages) {
    out_.begin_array();
    std::size_t at = 0;
    messages.each_element([&](View message) {
      write_message(message, at++);
      return fine_.has_value();
    });
    out_.end_array();
    if (!fine_) return std::unexpected(std::move(fine_.error()));
    return std::move(files_);
  }

 private:
  void write_message(View message, std::size_t number) {
    out_.begin_object();
    message.each_member([&](std::string_view name, View value) {
      out_.any_key(name);
      if (name == "content" && value.is_array()) {
        write_content(value, number);
      } else {
        out_.raw(value.text());
      }
    });
    out_.end_object();
  }

  void write_content(View content, std::size_t message) {
    out_.begin_array();
    std::size_t at = 0;
    content.each_element([&](View part) {
      const auto type = part.find("type").as_string();
      if (type == "text" || type == "refusal") {
        out_.raw(part.text());
      } else {
        take_part(part, type, fmt::format("messages[{}].content[{}].{}", message, at, type));
        out_.begin_object().field("type", "media_marker").field("text", marker_).end_object();
      }
      ++at;
      return fine_.has_value();
    });
    out_.end_array();
  }

  void take_part(View part, std::string_view type, std::string param) {
    const auto value = part.find(type);
    Result<MediaFile> file;
    if (files_.size() == protocol::kMaxMedia) {
      file = bad(param, fmt::format("a request can have at most {} pictures and sounds", protocol::kMaxMedia));
    } else if (type == "image_url") {
      const auto url = value.is_object() ? value.find("url").as_string() : value.as_string();
      if (!facts_.vision) {
        file = not_taken(param, "a picture", facts_);
      } else if (!url.starts_with("data:")) {
        file = bad(param, "a picture must be a data URL with base64: data:image/png;base64,...");
      } else {
        file = read_file(url, std::move(param));
      }
    } else if (type == "input_audio") {
      file = facts_.sound ? read_file(value.find("data").as_string(), std::move(param))
                          : Result<MediaFile>(not_taken(param, "a sound", facts_));
    } else {
      file = not_taken(param, "a video", facts_);
    }
    if (file) {
      files_.push_back(std::move(*file));
    } else {
      fine_ = std::unexpected(std::move(file.error()));
    }
  }

  const engine::ModelFacts& facts_;
  const std::string_view marker_;
  json::Writer out_;
  std::vector<MediaFile> files_;
  Result<> fine_;
};

std::unexpected<Error> unusable(const MediaFile& file, Error error) {
  if (error.code == engine::errc::invalid_argument) return bad(file.param, error.message);
  if (error.code == engine::errc::unsupported)
    return fail(errc::no_media, fmt::format("'{}': {}", file.param, error.message), file.param);
  return std::unexpected(std::move(error));
}

engine::MediaBytes bytes_of(const MediaFile& file) {
  return {reinterpret_cast<const std::uint8_t*>(file.bytes.data()), file.bytes.size()};
}

Result<> add_file(const engine::InferenceEngine& service, const MediaFile& file, MediaPrompt& prompt) {
  if (!service.has_weights()) {
    if (auto header = engine::read_media_header(bytes_of(file)); !header)
      return unusable(file, std::move(header.error()));
    return {};
  }
  auto parts = service.read_media(bytes_of(file));
  if (!parts) return unusable(file, std::move(parts.error()));
  for (auto& part : *parts) {
    prompt.tokens.insert(prompt.tokens.end(), part.tokens.begin(), part.tokens.end());
    if (!part.piece) continue;
    prompt.media.push_back({.begin = static_cast<std::uint32_t>(prompt.tokens.size()), .piece = part.piece});
    engine::append_media_tokens(*part.piece, prompt.tokens);
  }
  return {};
}

}  // namespace

const std::string& media_marker() {
  static const std::string marker = random_marker();
  return marker;
}

Result<std::vector<MediaFile>> take_media(protocol::ChatRequest& request, const engine::ModelFacts& facts,
                                          std::string_view marker) {
  if (!request.has_media) return std::vector<MediaFile>();
  if (!facts.vision && !facts.sound)
    return fail(errc::no_media, "'messages' must be text for this model: remove images and audio", "messages");
  const auto peek = json::Peek::open(request.messages);
  if (!peek) return std::unexpected(peek.error());
  std::string text;
  auto files = Extraction(facts, marker, text).take(peek->root());
  if (!files) return files;
  request.messages = std::move(text);
  request.has_media = false;
  return files;
}

Result<MediaPrompt> tokens_with_media(const PromptTokens& tokens, std::string_view prompt,
                                      std::span<const MediaFile> files, std::size_t max, const CancelToken& stop) {
  const auto& service = tokens.service();
  const auto& facts = service.facts();
  MediaPrompt made;
  if (facts.add_bos) made.tokens.push_back(facts.bos);
  const std::string& marker = media_marker();
  std::size_t used = 0, places = 0;
  for (auto at = prompt.find(marker); at != std::string_view::npos; at = prompt.find(marker, at + marker.size()))
    ++places;
  if (places != files.size()) {
    return fail(
        errc::render_failed,
        fmt::format("'messages' have {} pictures and sounds, but the chat template of this model has places for "
                    "{}",
                    files.size(), places),
        "messages");
  }
  for (bool last = false; !last;) {
    if (stop.wanted()) return stopped();
    const auto end = prompt.find(marker);
    last = end == std::string_view::npos;
    if (const auto text = prompt.substr(0, end); !text.empty()) {
      auto more = tokens.tokenize(text, {.max = max, .add_special = false}, "messages", stop);
      if (!more) return std::unexpected(std::move(more.error()));
      made.tokens.insert(made.tokens.end(), more->begin(), more->end());
    }
    if (last) break;
    prompt.remove_prefix(end + marker.size());
    if (auto added = add_file(service, files[used++], made); !added) return std::unexpected(std::move(added.error()));
    if (max == 0) made.media.clear();
    if (max != 0 && made.tokens.size() > max) return made;  // the caller reports it
  }
  if (!made.tokens.empty() && engine::is_media(made.tokens.back())) {
    return fail(errc::render_failed,
                "'messages' end with a picture or sound in the chat template of this model: add text behind it",
                "messages");
  }
  if (facts.add_eos) made.tokens.push_back(facts.eos);
  return made;
}

}  // namespace corral::engine_server
