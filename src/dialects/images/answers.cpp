#include "dialects/images/answers.h"

#include <fmt/format.h>

#include "dialects/images/image_file.h"
#include "http/sse.h"
#include "json/peek.h"
#include "json/writer.h"
#include "protocol/base64.h"
#include "protocol/errors.h"

namespace corral::dialects::images {
namespace {

// Of the first bytes that have the size of an image, in base64: a multiple of 4.
constexpr std::size_t kHeadInBase64 = 64 * 1024;

std::string_view or_auto(std::string_view value) { return value.empty() ? "auto" : value; }

std::string size_in(std::string_view base64) {
  const auto head = protocol::from_base64(base64.substr(0, kHeadInBase64));
  const auto file = head ? read_image_file(*head) : std::nullopt;
  if (!file || file->width == 0 || file->height == 0) return {};
  return fmt::format("{}x{}", file->width, file->height);
}

// As requested if it can't be read.
std::string_view size_of(const ImagesAsked& asked, const MadeImage& image) {
  return image.size.empty() ? or_auto(asked.size) : std::string_view(image.size);
}

void write_about(json::Writer& out, const ImagesAsked& asked, std::string_view size) {
  // Backends make no transparent backgrounds.
  out.field("background", "opaque").field("output_format", asked.format);
  out.field("quality", or_auto(asked.quality)).field("size", size);
}

// Nothing is counted in tokens, but clients with strict schemas demand the numbers.
void write_usage(json::Writer& out) {
  out.key("usage").raw(
      R"({"total_tokens":0,"input_tokens":0,"output_tokens":0,"input_tokens_details":{"text_tokens":0,"image_tokens":0}})");
}

void write_image(json::Writer& out, const MadeImage& image) {
  image.url.empty() ? out.field("b64_json", image.base64) : out.field("url", image.url);
}

}  // namespace

Result<std::vector<MadeImage>> read_images(const std::string& answer) {
  std::vector<MadeImage> images;
  const auto peek = json::Peek::open(answer);
  if (peek && peek->root().is_object()) {
    peek->root().find("data").each_element([&](json::View item) {
      MadeImage image{.base64 = std::string(item.find("b64_json").as_string()),
                      .url = std::string(item.find("url").as_string())};
      if (image.base64.empty() && image.url.empty()) return;
      image.size = size_in(image.base64);
      images.push_back(std::move(image));
    });
  }
  if (!images.empty()) return images;
  return fail(protocol::errc::remote_upstream, "the response of the backend has no image");
}

std::string images_answer(const ImagesAsked& asked, std::span<const MadeImage> images, std::int64_t created) {
  std::string body;
  json::Writer out(body);
  out.begin_object().field("created", created);
  write_about(out, asked, images.empty() ? or_auto(asked.size) : size_of(asked, images.front()));
  out.key("data").begin_array();
  for (const auto& image : images) {
    out.begin_object();
    write_image(out, image);
    out.end_object();
  }
  out.end_array();
  write_usage(out);
  out.end_object();
  return body;
}

std::string image_event(const ImagesAsked& asked, const MadeImage& image, std::int64_t created) {
  const std::string_view type = asked.is_generation ? "image_generation.completed" : "image_edit.completed";
  std::string event;
  json::Writer out(event);
  out.begin_object().field("type", type);
  write_image(out, image);
  out.field("created_at", created);
  write_about(out, asked, size_of(asked, image));
  write_usage(out);
  out.end_object();
  return http::sse_event(type, event);
}

}  // namespace corral::dialects::images
