#include "protocol/images.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "protocol/errors.h"
#include "protocol/field_parts.h"

namespace corral::protocol {
namespace {

constexpr std::uint32_t kSmallestSide = 64, kLargestSide = 2048, kSideStep = 8;
constexpr std::uint64_t kMaxImages = 10;
// Of all images of a request: bounds the memory of its answer.
constexpr std::uint64_t kMaxPixels = 16ull << 20;

std::optional<std::uint32_t> side_of(std::string_view text) {
  std::uint32_t side = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), side);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  const bool fits = side >= kSmallestSide && side <= kLargestSide && side % kSideStep == 0;
  return whole && fits ? std::optional(side) : std::nullopt;
}

Result<> check_size(json::View value, const Path& path) {
  if (value.as_string() == "auto" || parse_image_size(value.as_string())) return {};
  return fail(errc::bad_value,
              fmt::format("'{}' must be auto, or a width and a height of {} to {} pixels in multiples of {}, such as "
                          "512x512, not {}",
                          path.text(), kSmallestSide, kLargestSide, kSideStep, value.excerpt()),
              path.text());
}

// Names of samplers and schedulers: "dpm++2m", "euler_a".
Result<> check_word(json::View value, const Path& path) {
  const auto is_part = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '+' ||
           c == '-' || c == ' ';
  };
  if (std::ranges::all_of(value.as_string(), is_part)) return {};
  return fail(errc::bad_value, fmt::format("'{}' must be a name such as euler_a, not {}", path.text(), value.excerpt()),
              path.text());
}

constexpr auto kShared = std::to_array<Field>({
    kModelField,
    {.name = "n", .kinds = kInteger, .min = 1, .max = kMaxImages, .about = "number of images; default: 1"},
    {.name = "size",
     .kinds = kString,
     .max_bytes = 32,
     .inside = check_size,
     .about = "WIDTHxHEIGHT, each 64 to 2048 pixels in multiples of 8, or `auto`: the default of the backend. All "
              "images of a request together have at most 16777216 pixels"},
    {.name = "quality",
     .kinds = kString,
     .choices = "auto|low|medium|high|standard|hd",
     .about = "for backends that support it; with sd-cpp use `steps`"},
    {.name = "background",
     .kinds = kString,
     .choices = "auto|opaque",
     .about = "transparent backgrounds are not supported"},
    {.name = "output_format",
     .kinds = kString,
     .choices = "png|jpeg|webp",
     .about = "default: png. sd-cpp has no webp for edits and variations"},
    {.name = "output_compression",
     .kinds = kInteger,
     .min = 0,
     .max = 100,
     .about = "quality of jpeg and webp; default: 100"},
    {.name = "response_format",
     .kinds = kString,
     .choices = "b64_json|url",
     .about = "default: b64_json. url: this server keeps the image for an hour"},
    {.name = "stream",
     .kinds = kBoolean,
     .about = "an event for each complete image, and pings before. There are no events of unfinished images"},
    {.name = "partial_images",
     .kinds = kInteger,
     .min = 0,
     .max = 3,
     .about = "accepted, but no backend sends unfinished images"},
    {.name = "user", .kinds = kString, .about = "no effect"},
    {.name = "style", .kinds = kString, .choices = "vivid|natural", .about = "no effect: put it into the prompt"},
    {.name = "moderation", .kinds = kString, .choices = "auto|low", .about = "no effect: nothing is moderated"},
    {.name = "negative_prompt",
     .kinds = kString,
     .max_bytes = 2048,
     .about = "what the images should not show",
     .instead = "send a shorter one"},
    {.name = "steps", .kinds = kInteger, .min = 1, .max = 200, .about = "sampling steps"},
    {.name = "cfg_scale", .kinds = kNumber, .min = 0, .max = 100, .about = "how strictly images follow the prompt"},
    {.name = "seed",
     .kinds = kInteger,
     .min = -1,
     .max = kMaxInt32,
     .about = "of the first image; the others have the next numbers. Default and -1: random"},
    {.name = "sampler",
     .kinds = kString,
     .max_bytes = 64,
     .inside = check_word,
     .about = "sampling method, such as `euler_a`"},
    {.name = "scheduler",
     .kinds = kString,
     .max_bytes = 64,
     .inside = check_word,
     .about = "noise schedule, such as `karras`"},
});

constexpr auto kImagePrompt = std::to_array<Field>({
    {.name = "prompt",
     .kinds = kString,
     .required = true,
     .min_size = 1,
     .max_bytes = 8 * 1024,
     .about = "what the images show",
     .instead = "shorten it"},
});

constexpr auto kStrength = std::to_array<Field>({
    {.name = "strength",
     .kinds = kNumber,
     .min = 0,
     .max = 1,
     .about = "how much may change: 0 is the given image, 1 another one"},
});

Result<> check_pixels(json::View body) {
  const auto size = parse_image_size(body.find("size").as_string());
  if (!size) return {};
  const auto n = body.find("n").is_null() ? 1 : static_cast<std::uint64_t>(body.find("n").as_integer());
  const auto pixels = n * size->width * size->height;
  if (pixels <= kMaxPixels) return {};
  return fail(errc::bad_value,
              fmt::format("'n' images of this 'size' have {} pixels, but a request makes at most {}: ask for fewer or "
                          "smaller images",
                          pixels, kMaxPixels),
              "n");
}

}  // namespace

std::optional<ImageSize> parse_image_size(std::string_view text) {
  const auto x = text.find('x');
  if (x == text.npos) return std::nullopt;
  const auto width = side_of(text.substr(0, x)), height = side_of(text.substr(x + 1));
  if (!width || !height) return std::nullopt;
  return ImageSize{*width, *height};
}

const FieldTable& image_fields() {
  static constexpr auto kFields = kImagePrompt + kShared;
  static const FieldTable table(kFields, check_pixels);
  return table;
}

const FieldTable& image_edit_fields() {
  static constexpr auto kFields = kImagePrompt + kShared + kStrength;
  static const FieldTable table(kFields, check_pixels);
  return table;
}

const FieldTable& image_variation_fields() {
  static constexpr auto kFields = kShared + kStrength;
  static const FieldTable table(kFields, check_pixels);
  return table;
}

}  // namespace corral::protocol
