#include "protocol/media.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "base/excerpt.h"
#include "base/text.h"
#include "json/writer.h"
#include "protocol/base64.h"
#include "protocol/errors.h"
#include "protocol/rules/rules.h"

namespace corral::protocol {
namespace {

using json::View;

constexpr std::string_view kScheme = "data:", kEncoding = ";base64";
constexpr std::string_view kFormats = "PNG, JPEG, WebP and GIF";
constexpr auto kPictureTypes =
    std::to_array<std::string_view>({"image/png", "image/jpeg", "image/jpg", "image/webp", "image/gif"});
constexpr std::size_t kHeadDigits = 16;  // of base64: enough bytes for the type
constexpr std::size_t kShownType = 64;

std::unexpected<Error> refuse(errc cause, const Path& path, std::string_view problem) {
  auto where = path.text();
  return fail(cause, fmt::format("'{}' {}", where, problem), where);
}

// The parts of "data:TYPE;base64,DATA"; nothing for other texts.
struct DataUrl {
  std::string_view type, base64;
};
std::optional<DataUrl> data_url_in(std::string_view url) {
  const auto comma = url.find(',');
  const auto head = url.substr(0, comma);
  if (comma == std::string_view::npos || !head.starts_with(kScheme) || !head.ends_with(kEncoding) ||
      head.size() < kScheme.size() + kEncoding.size())
    return std::nullopt;
  auto type = head.substr(kScheme.size(), head.size() - kScheme.size() - kEncoding.size());
  return DataUrl{type.substr(0, type.find(';')), url.substr(comma + 1)};
}

bool is_picture_type(std::string_view type) {
  return std::ranges::find(kPictureTypes, to_lower(type.substr(0, kShownType))) != kPictureTypes.end();
}

Result<> check_type(std::string_view type, const Path& path) {
  if (is_picture_type(type)) return {};
  return refuse(errc::unsupported_value, path,
                fmt::format("has the type \"{}\", but only {} are supported: convert the picture",
                            excerpt(type, kShownType), kFormats));
}

// Base64 of at most kMaxMediaBytes. `what`: "picture" or "sound".
Result<> check_bytes(std::string_view base64, std::string_view what, const Path& path) {
  if (base64.empty()) return refuse(errc::bad_value, path, fmt::format("has no data: send the {} in base64", what));
  if (const auto bytes = base64_size(base64); bytes > kMaxMediaBytes) {
    return refuse(errc::bad_value, path,
                  fmt::format("has {} bytes, at most {} are allowed: send a smaller {}", bytes, kMaxMediaBytes, what));
  }
  if (const auto fault = base64_fault(base64); !fault.empty()) {
    return refuse(errc::bad_value, path,
                  fmt::format("is not valid base64, it {}: encode the {} again, without line breaks", fault, what));
  }
  return {};
}

Result<> check_picture_bytes(std::string_view base64, const Path& path) {
  if (auto fine = check_bytes(base64, "picture", path); !fine) return fine;
  if (!picture_type_of_base64(base64).empty()) return {};
  return refuse(errc::unsupported_value, path,
                fmt::format("is no picture that can be read: its data begins with \"{}\", but only {} are supported",
                            base64.substr(0, kHeadDigits), kFormats));
}

std::string_view type_of(View part) { return part.find("type").as_string(); }

// Of a part: a text, or an object with it.
View url_of(View part) {
  const auto picture = part.find("image_url");
  return picture.is_object() ? picture.find("url") : picture;
}

// The value of a part `image_url`.
Result<> check_picture(View picture, const Path& path) {
  if (picture.is_string()) return check_picture_url(picture, path);
  static constexpr Field kFields[] = {
      {.name = "url", .kinds = kString, .required = true},
      {.name = "detail", .kinds = kString},
  };
  static const FieldTable table(kFields);
  if (auto fine = table.check(picture, path); !fine) return fine;
  return check_picture_url(picture.find("url"), {&path, "url"});
}

Result<> check_part(View part, const Path& path) {
  const auto type = type_of(part);
  if (type == "image_url") return check_picture(part.find(type), {&path, type});
  if (type == "input_audio") return check_sound(part.find(type), {&path, type});
  return {};
}

Result<> check_count(View messages, const Path& path) {
  const auto media = media_in(messages);
  const std::size_t all = std::size_t{media.pictures} + media.sounds + media.videos;
  if (all <= kMaxMedia) return {};
  return refuse(
      errc::bad_value, path,
      fmt::format("has {} pictures and sounds in all, at most {} are allowed: omit old ones", all, kMaxMedia));
}

void write_picture(json::Writer& out, std::string_view url) {
  out.begin_object().field("type", "image_url").key("image_url").begin_object().field("url", url);
  out.end_object().end_object();
}

class Rewriter {
 public:
  Rewriter(json::Writer& out, std::span<const std::string> data_urls) : out_(out), data_urls_(data_urls) {}

  // Of equal members the last one is used.
  void body(View body) {
    copy_but(body, "messages", [&](View messages) {
      out_.begin_array();
      messages.each_element([&](View one) { message(one); });
      out_.end_array();
    });
  }

 private:
  void message(View message) {
    if (!message.find("content").is_array()) {
      out_.raw(message.text());
      return;
    }
    copy_but(message, "content", [&](View content) {
      out_.begin_array();
      content.each_element([&](View one) { part(one); });
      out_.end_array();
    });
  }

  void part(View part) {
    if (type_of(part) != "image_url") {
      out_.raw(part.text());
      return;
    }
    const auto url = url_of(part).as_string();
    const bool replaced = is_web_url(url) && next_ < data_urls_.size();
    write_picture(out_, replaced ? std::string_view(data_urls_[next_++]) : url);
  }

  template <typename Write>
  void copy_but(View object, std::string_view rewritten, Write write) {
    bool written = false;
    out_.begin_object();
    object.each_member([&](std::string_view name, View value) {
      if (name != rewritten) {
        out_.any_key(name).raw(value.text());
      } else if (!std::exchange(written, true)) {
        out_.any_key(name);
        write(object.find(rewritten));
      }
    });
    out_.end_object();
  }

  json::Writer& out_;
  const std::span<const std::string> data_urls_;
  std::size_t next_ = 0;
};

}  // namespace

std::string_view picture_type(std::string_view bytes) {
  if (bytes.starts_with("\x89PNG")) return "image/png";
  if (bytes.starts_with("\xff\xd8\xff")) return "image/jpeg";
  if (bytes.starts_with("GIF87a") || bytes.starts_with("GIF89a")) return "image/gif";
  constexpr std::size_t kForm = 8;  // behind "RIFF" and a size
  if (bytes.starts_with("RIFF") && bytes.size() > kForm && bytes.substr(kForm).starts_with("WEBP")) return "image/webp";
  return {};
}

std::string_view picture_type_of_base64(std::string_view base64) {
  const auto head = from_base64(base64.substr(0, kHeadDigits));
  return head ? picture_type(*head) : std::string_view();  // views of literals
}

bool is_web_url(std::string_view url) {
  const auto scheme = to_lower(url.substr(0, std::string_view("https://").size()));
  return scheme.starts_with("http://") || scheme.starts_with("https://");
}

bool is_picture_url(std::string_view data_url) {
  const auto parts = data_url_in(data_url);
  return parts && to_lower(parts->type.substr(0, kShownType)).starts_with("image/");
}

Result<> check_picture_url(View url, const Path& path) {
  const auto text = url.as_string();
  if (is_web_url(text)) {
    if (text.size() <= kMaxWebUrl) return {};
    return refuse(errc::bad_value, path,
                  fmt::format("is a URL of {} bytes, at most {} are allowed: use a shorter one, or send a data URL",
                              text.size(), kMaxWebUrl));
  }
  const auto parts = data_url_in(text);
  if (!parts) {
    return refuse(errc::bad_value, path,
                  fmt::format("must be a data URL in base64 (\"data:image/png;base64,...\") or an http or https URL, "
                              "not {}",
                              url.excerpt()));
  }
  if (auto fine = check_type(parts->type, path); !fine) return fine;
  return check_picture_bytes(parts->base64, path);
}

Result<> check_picture_data(View base64, const Path& path) { return check_picture_bytes(base64.as_string(), path); }

Result<> check_picture_type(View type, const Path& path) { return check_type(type.as_string(), path); }

Result<> check_sound(View sound, const Path& path) {
  static constexpr Field kFields[] = {
      {.name = "data", .kinds = kString, .required = true},
      {.name = "format", .kinds = kString, .required = true, .choices = "wav|mp3|flac"},
  };
  static const FieldTable table(kFields);
  if (auto fine = table.check(sound, path); !fine) return fine;
  return check_bytes(sound.find("data").as_string(), "sound", {&path, "data"});
}

Media media_in(View messages) {
  Media media;
  messages.each_element([&](View message) {
    const auto content = message.find("content");
    if (!content.is_array()) return;
    content.each_element([&](View part) {
      const auto type = type_of(part);
      if (type == "image_url") {
        ++media.pictures;
        if (!part.find("image_url").is_object()) media.canonical = false;
        if (is_web_url(url_of(part).as_string())) ++media.urls;
      } else if (type == "input_audio") {
        ++media.sounds;
      } else if (type == "input_video" || type == "video_url") {
        ++media.videos;
      }
    });
  });
  return media;
}

Result<> check_media(View messages, const Path& path) {
  if (auto fine = check_count(messages, path); !fine) return fine;
  return check_each(messages, path, [](View message, const Path& place) -> Result<> {
    const auto content = message.find("content");
    return content.is_array() ? check_each(content, {&place, "content"}, check_part) : Result<>();
  });
}

std::vector<WebPicture> web_pictures(View messages) {
  std::vector<WebPicture> found;
  std::size_t number = 0;
  messages.each_element([&](View message) {
    const auto turn = number++;
    const auto content = message.find("content");
    if (!content.is_array()) return;
    std::size_t at = 0;
    content.each_element([&](View part) {
      const auto place = at++;
      if (type_of(part) != "image_url") return;
      const auto url = url_of(part).as_string();
      if (!is_web_url(url)) return;
      found.push_back({fmt::format("messages[{}].content[{}].image_url{}", turn, place,
                                   part.find("image_url").is_object() ? ".url" : ""),
                       std::string(url)});
    });
  });
  return found;
}

std::string with_data_urls(View body, std::span<const std::string> data_urls) {
  std::string text;
  std::size_t size = body.bytes();
  for (const auto& url : data_urls) size += url.size() + 64;
  text.reserve(size);
  json::Writer out(text);
  Rewriter(out, data_urls).body(body);
  return text;
}

}  // namespace corral::protocol
