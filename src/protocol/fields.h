// Fields of request bodies, as tables. A body is checked against its endpoint's table first of all, so that an invalid
// one never loads or evicts a model. One pass over the text; about 1 µs for a usual chat request. Unknown fields are
// ignored, and null means "not given".
//
//   auto peeked = check(body, chat_fields());
//   // 400: 'temperature' must be a number between 0 and 2, not "hot"       (Error::param is "temperature")
//
// Tables are immutable; everything here is safe on every thread.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/error.h"
#include "base/model_type.h"
#include "json/peek.h"

namespace corral::protocol {

// Sets of JSON types. A number may be whole.
enum Kinds : unsigned {
  kString = 1,
  kInteger = 2,
  kNumber = 4,
  kBoolean = 8,
  kArray = 16,
  kObject = 32,
  kAny = 63,
};
constexpr Kinds operator|(Kinds a, Kinds b) { return static_cast<Kinds>(unsigned(a) | unsigned(b)); }

// The place of a value in a body; rendered only for messages ("messages[2].content"). Lives on the stack of the check.
struct Path {
  static constexpr std::size_t kNoIndex = std::numeric_limits<std::size_t>::max();

  const Path* up = nullptr;
  std::string_view name = {};    // of a member of `up`
  std::size_t index = kNoIndex;  // or the number of an element of `up`

  bool root() const { return up == nullptr; }
  std::string text() const;
};

inline constexpr double kUnbounded = std::numeric_limits<double>::infinity();
// As `min`: 0 itself is excluded.
inline constexpr double kAboveZero = std::numeric_limits<double>::denorm_min();

inline constexpr std::size_t kNoLimit = std::numeric_limits<std::size_t>::max();

struct Field {
  std::string_view name;
  Kinds kinds = kAny;
  bool required = false;
  double min = -kUnbounded, max = kUnbounded;  // of a number
  std::size_t min_size = 0;                    // bytes of a string, elements of an array
  std::size_t max_size = kNoLimit;             // elements of an array
  std::size_t max_bytes = kNoLimit;            // of a string, and of each string in an array
  Kinds elements = kAny;                       // of an array
  std::string_view choices = {};               // the allowed strings, "float|base64"; empty: any
  // Checks the content.
  Result<> (*inside)(json::View value, const Path& path) = nullptr;
  std::string_view about = {};    // for docs/requests.md
  std::string_view instead = {};  // advice, for too many or too long ones
};

// The expected form of a value: "a number between 0 and 2".
std::string expectation(const Field& rule);

// Rules for one value.
Result<> check_value(json::View value, const Field& rule, const Path& path);

// The fields of one kind of object, found by name in constant time.
class FieldTable {
 public:
  // Rules between fields; called after all fields are valid.
  using Across = Result<> (*)(json::View object);

  // `fields` must outlive the table; names must differ; at most 127.
  explicit FieldTable(std::span<const Field> fields, Across across = nullptr);

  const Field* find(std::string_view name) const;
  std::span<const Field> fields() const { return fields_; }

  // Checks every member of `object`, which is at `path`.
  Result<> check(json::View object, const Path& path = {}) const;

 private:
  static constexpr std::size_t kSlots = 256;
  static std::size_t slot(std::string_view name);

  std::span<const Field> fields_;
  Across across_;
  std::uint64_t required_[2] = {0, 0};        // one bit per field
  std::array<std::uint8_t, kSlots> index_{};  // field number + 1, 0: free; open addressing
};

// Pictures and sound in the messages of a chat (media.h).
struct Media {
  std::uint32_t pictures = 0, sounds = 0, videos = 0;
  std::uint32_t urls = 0;  // of the pictures: at a URL of the web
  bool canonical = true;   // no picture is written in another form

  bool any() const { return pictures + sounds + videos > 0; }
};

// The members of a body that the router needs.
struct Peeked {
  std::string model;  // empty: not given
  bool stream = false;
  bool include_usage = false;  // stream_options.include_usage
  // sse_ping_interval: silence in a stream before a ping; 0: never; nothing: not given.
  std::optional<Millis> ping_interval = {};
  std::uint64_t context = 0;  // ctx_size: minimum context of the model in tokens; 0: any
  Media media = {};           // of a canonical chat
};

// The value of sse_ping_interval.
std::optional<Millis> ping_interval(json::View seconds);

// Errors: json::errc::malformed; errc::missing_field, wrong_type, bad_value, unsupported_value with Error::param set.
Result<Peeked> check(const std::string& body, const FieldTable& table);
// For callers that have parsed the body already.
Result<Peeked> check(json::View body, const FieldTable& table);

const FieldTable& chat_fields();              // POST chat/completions
const FieldTable& completion_fields();        // POST completions
const FieldTable& native_fields();            // POST completion
const FieldTable& infill_fields();            // POST infill
const FieldTable& embedding_fields();         // POST embeddings
const FieldTable& native_embedding_fields();  // POST embedding
const FieldTable& rerank_fields();            // POST rerank
const FieldTable& tokenize_fields();          // POST tokenize
const FieldTable& detokenize_fields();        // POST detokenize

// For an endpoint that needs a model, and a body without one.
Error missing_model();
// For an endpoint that needs a model of another type.
Error wrong_model_type(std::string_view model, ModelType type, std::string_view endpoint, ModelType needed);

}  // namespace corral::protocol
