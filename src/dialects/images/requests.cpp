#include "dialects/images/requests.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "base/text.h"
#include "dialects/images/image_file.h"
#include "json/peek.h"
#include "json/writer.h"
#include "protocol/errors.h"
#include "protocol/images.h"

namespace corral::dialects::images {
namespace {

using protocol::errc;

constexpr std::size_t kMaxFiles = 16;
constexpr std::uint64_t kLargestFile = 16ull << 20;
constexpr std::uint64_t kMaxPixels = 32ull << 20;
constexpr std::uint32_t kLongestSide = 16384;
// Of results without a `size`. kStep fits all models.
constexpr double kUsualPixels = 1024 * 1024, kUsualSide = 2048;
constexpr std::uint32_t kStep = 64;

// Fields that end here: they have no effect, or the server itself does what they say.
constexpr auto kOwn = std::to_array<std::string_view>(
    {"n", "seed", "response_format", "stream", "partial_images", "user", "style", "moderation"});
// Their value "auto" means "not given".
constexpr auto kWithAuto = std::to_array<std::string_view>({"size", "quality", "background"});

bool is_forwarded(std::string_view name, json::View value) {
  if (value.is_null() || std::ranges::find(kOwn, name) != kOwn.end()) return false;
  return std::ranges::find(kWithAuto, name) == kWithAuto.end() || value.as_string() != "auto";
}

std::shared_ptr<ImagesAsked> facts_of(json::View body) {
  auto facts = std::make_shared<ImagesAsked>();
  const auto text = [&](std::string_view name) { return std::string(body.find(name).as_string()); };
  if (!body.find("n").is_null()) facts->n = static_cast<unsigned>(body.find("n").as_integer());
  const auto seed = body.find("seed");
  if (!seed.is_null() && seed.as_integer() >= 0) facts->seed = seed.as_integer();
  facts->url = body.find("response_format").as_string() == "url";
  facts->stream = body.find("stream").as_bool();
  facts->size = text("size");
  facts->quality = text("quality");
  if (auto format = text("output_format"); !format.empty()) facts->format = std::move(format);
  return facts;
}

// Checks a body. `each` gets the fields for the backend.
template <typename Each>
Result<Canonical> read(const std::string& body, const protocol::FieldTable& table, Each each) {
  const auto peek = json::Peek::open(body);
  if (!peek) return std::unexpected(peek.error());
  const auto root = peek->root();
  auto about = protocol::check(root, table);
  if (!about) return std::unexpected(std::move(about.error()));
  root.each_member([&](std::string_view name, json::View value) {
    if (is_forwarded(name, value) && table.find(name) != nullptr) each(name, value);
  });
  Canonical asked{.about = std::move(*about)};
  asked.facts = facts_of(root);
  return asked;
}

// The field of a form as JSON; a value that isn't of the field's kind becomes a text, whose error shows it.
void write_field(json::Writer& out, const protocol::Field& field, const std::string& text) {
  out.any_key(field.name);
  if ((field.kinds & protocol::kString) != 0) {
    out.value(text);
  } else if (text.empty()) {
    out.null();
  } else if (field.kinds == protocol::kBoolean) {
    const auto word = to_lower(text);
    const bool is_true = word == "true" || word == "1", is_false = word == "false" || word == "0";
    is_true || is_false ? out.value(is_true) : out.value(text);
  } else {
    is_json_number(text) ? out.raw(text) : out.value(text);
  }
}

// The fields of a form as a body. Empty choices, which forms of browsers send, are not given.
std::string body_of(const Form& form, const protocol::FieldTable& table) {
  std::string body;
  json::Writer out(body);
  out.begin_object();
  for (const auto& field : table.fields()) {
    const auto* value = form.find(field.name);
    if (value == nullptr || (value->empty() && !field.required)) continue;
    write_field(out, field, *value);
  }
  out.end_object();
  return body;
}

std::string form_value(json::View value) { return value.is_string() ? std::string(value.as_string()) : value.text(); }

bool is_named(const FormFile& file, std::string_view name) {
  return file.name == name || file.name == fmt::format("{}[]", name);
}

Result<> bad_file(std::string_view param, std::string message) {
  return fail(errc::bad_value, std::move(message), std::string(param));
}

// Backends decode the whole image, so its size counts, which may be large in a small file.
Result<> add_file(const FormFile& file, std::string name, Form& out) {
  const auto param = std::string_view(file.name).substr(0, file.name.find('['));
  const auto bytes = file.bytes->size();
  if (bytes == 0) return bad_file(param, fmt::format("'{}' is empty", param));
  if (bytes > kLargestFile) {
    return bad_file(param, fmt::format("'{}' has {} bytes, at most {} are allowed: send a smaller image", param, bytes,
                                       kLargestFile));
  }
  const auto image = read_image_file(file.bytes->head());
  if (!image)
    return bad_file(param, fmt::format("'{}' is not an image in a supported format: send png, jpeg or webp", param));
  if (image->width == 0 || image->height == 0)
    return bad_file(param, fmt::format("'{}' is a {} whose first {} bytes have no width and height: save it again, "
                                       "without metadata",
                                       param, image->format, http::Spool::kBlock));
  const auto pixels = std::uint64_t(image->width) * image->height;
  if (std::max(image->width, image->height) > kLongestSide || pixels > kMaxPixels) {
    return bad_file(param, fmt::format("'{}' has {}x{} pixels, at most {} and {} on a side are allowed: send a smaller "
                                       "image",
                                       param, image->width, image->height, kMaxPixels, kLongestSide));
  }
  // sd-server doesn't read such images, and makes others as if there was none.
  if (image->is_grey && param != "mask")
    return bad_file(param,
                    fmt::format("'{}' is a {} of shades of grey: save it with colours (RGB)", param, image->format));
  out.files.push_back(
      {std::move(name), fmt::format("image.{}", image->format), fmt::format("image/{}", image->format), file.bytes});
  return {};
}

// "image" once or as "image[]" several times, and at most one mask.
Result<> add_files(const Form& form, bool is_edit, Form& out) {
  std::size_t count = 0;
  for (const auto& file : form.files) {
    if (!is_named(file, "image")) continue;
    if (++count > (is_edit ? kMaxFiles : 1))
      return fail(errc::bad_value,
                  fmt::format("'image' is there more than {}: send fewer images",
                              is_edit ? fmt::format("{} times", kMaxFiles) : std::string("once")),
                  "image");
    if (auto added = add_file(file, "image[]", out); !added) return added;
  }
  // Programs differ in the name of a single one: all of them read this one.
  if (count == 1) out.files.front().name = "image";
  if (count == 0)
    return form.find("image") == nullptr && form.find("image[]") == nullptr
               ? fail(errc::missing_field, "'image' is required: the image, as a file of the form", "image")
               : fail(errc::bad_value, "'image' must be a file of the form, with a filename, not a text", "image");
  const auto* mask = is_edit ? form.find_file("mask") : nullptr;
  return mask != nullptr ? add_file(*mask, "mask", out) : Result<>();
}

std::uint32_t usual_side(double side) {
  return std::max(kStep, static_cast<std::uint32_t>(std::lround(side / kStep)) * kStep);
}

// sd-server makes results without `size` as large as the first image, which may have far more pixels than a `size`
// has. Nothing: it is not that large.
std::optional<std::string> smaller_size(const ImageFile& image) {
  const double width = image.width, height = image.height;
  const double scale = std::min(std::sqrt(kUsualPixels / (width * height)), kUsualSide / std::max(width, height));
  if (scale >= 1) return std::nullopt;
  return fmt::format("{}x{}", usual_side(width * scale), usual_side(height * scale));
}

Result<Canonical> read_form(Form form, const protocol::FieldTable& table, bool is_edit) {
  auto out = std::make_shared<Form>();
  const auto body = body_of(form, table);
  auto asked = read(
      body, table, [&](std::string_view name, json::View value) { out->fields.emplace_back(name, form_value(value)); });
  if (!asked) return asked;
  if (auto added = add_files(form, is_edit, *out); !added) return std::unexpected(std::move(added.error()));
  const auto first = read_image_file(out->files.front().bytes->head());
  const auto size = first && out->find("size") == nullptr ? smaller_size(*first) : std::nullopt;
  if (size) out->fields.emplace_back("size", *size);
  out->fields.emplace_back("response_format", "b64_json");
  auto facts = std::make_shared<ImagesAsked>(asked_of(*asked));
  facts->is_generation = false;
  asked->facts = std::move(facts);
  asked->form = std::move(out);
  return asked;
}

// Of a call after `done` images.
std::optional<std::int64_t> seed_of(const ImagesAsked& asked, unsigned done) {
  return asked.seed ? std::optional(*asked.seed + done) : std::nullopt;
}

}  // namespace

const ImagesAsked& asked_of(const Canonical& request) { return *static_cast<const ImagesAsked*>(request.facts.get()); }

Result<Canonical> read_generation(std::string body) {
  std::string canonical;
  json::Writer out(canonical);
  out.begin_object();
  auto asked = read(body, protocol::image_fields(),
                    [&](std::string_view name, json::View value) { out.any_key(name).raw(value.text()); });
  if (!asked) return asked;
  out.field("response_format", "b64_json").end_object();
  asked->body = std::move(canonical);
  return asked;
}

Result<Canonical> read_edit(Form form) { return read_form(std::move(form), protocol::image_edit_fields(), true); }
Result<Canonical> read_variation(Form form) {
  return read_form(std::move(form), protocol::image_variation_fields(), false);
}

std::string call_body(const Canonical& request, unsigned n, unsigned done) {
  auto body = request.body;
  auto more = fmt::format(R"(,"n":{})", n);
  if (const auto seed = seed_of(asked_of(request), done)) more += fmt::format(R"(,"seed":{})", *seed);
  body.insert(body.rfind('}'), more);
  return body;
}

std::shared_ptr<Form> call_form(const Canonical& request, unsigned n, unsigned done) {
  auto form = std::make_shared<Form>(*request.form);
  form->fields.emplace_back("n", std::to_string(n));
  if (const auto seed = seed_of(asked_of(request), done)) form->fields.emplace_back("seed", std::to_string(*seed));
  return form;
}

}  // namespace corral::dialects::images
