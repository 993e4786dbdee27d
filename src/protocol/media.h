// Pictures and sound in bodies of requests: what is found without decoding them, so that a bad one loads no model. All
// dialects share these rules. Pure; safe on every thread.
//
// The canonical form of a chat has pictures as {"type":"image_url","image_url":{"url":"data:image/png;base64,..."}} and
// sound as {"type":"input_audio","input_audio":{"data":"...","format":"wav"}}. Upstreams never get a URL of the web:
// the API downloads it, or refuses it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "json/peek.h"
#include "protocol/fields.h"

namespace corral::protocol {

// Of one request.
inline constexpr std::size_t kMaxMedia = 32;
// Of one picture or sound.
inline constexpr std::size_t kMaxMediaBytes = 20ull << 20;
inline constexpr std::size_t kMaxWebUrl = 8192;

// The type of a picture by its first bytes, "image/png"; empty: it is none of the supported formats.
std::string_view picture_type(std::string_view bytes);
// The same for a picture in base64.
std::string_view picture_type_of_base64(std::string_view base64);
// "http://..." or "https://...".
bool is_web_url(std::string_view url);
// Whether a data URL has a picture, by its type.
bool is_picture_url(std::string_view data_url);

// The URL of a picture: a data URL in base64, or one of the web. Errors: bad_value, unsupported_value.
Result<> check_picture_url(json::View url, const Path& path);
// A picture in base64, and its type. Errors: the same.
Result<> check_picture_data(json::View base64, const Path& path);
Result<> check_picture_type(json::View type, const Path& path);
// The object of a part `input_audio`. Errors: the same, and those of a field table.
Result<> check_sound(json::View sound, const Path& path);

// What the messages of a chat contain.
Media media_in(json::View messages);
// Checks the pictures and sounds in the messages of a chat, and their number. Errors: the same, and those of a field
// table. check() of a chat calls it; an engine, which decodes them, has rules of its own.
Result<> check_media(json::View messages, const Path& path);

// A picture of the web in the messages of a chat.
struct WebPicture {
  std::string place;  // "messages[0].content[1].image_url.url"
  std::string url;
};
std::vector<WebPicture> web_pictures(json::View messages);
// The body with all pictures in the canonical form. `data_urls` replace the URLs of the web, in their order.
std::string with_data_urls(json::View body, std::span<const std::string> data_urls);

}  // namespace corral::protocol
