// Forms with files. What is found in one doesn't depend on the pieces that it comes in, and no byte is told twice.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "dialects/form.h"

namespace {

using corral::dialects::FormParser;

void must(bool fine) {
  if (!fine) std::abort();
}

struct Decoded {
  std::string parts;
  std::size_t bytes = 0;
  bool wrong = false, ended = false;
  friend bool operator==(const Decoded&, const Decoded&) = default;
};

Decoded decoded(std::string_view form, std::size_t size) {
  Decoded all;
  FormParser parser("xyz");
  std::vector<FormParser::Event> events;
  for (std::size_t at = 0; at < form.size() && !all.wrong; at += size) {
    events.clear();
    all.wrong = !parser.feed(form.substr(at, size), events);
    for (const auto& event : events) {
      if (event.what == FormParser::What::part) all.parts += event.name + (event.is_file ? "=file;" : "=;");
      all.parts += event.data;
      all.bytes += event.data.size();
    }
  }
  all.ended = parser.finish().has_value();
  return all;
}

}  // namespace

// The size of a piece, then a form with the boundary "xyz"; the whole of it as a content type, too.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view form(reinterpret_cast<const char*>(data) + 1, size - 1);
  const auto boundary = corral::dialects::boundary_of(form);
  must(!boundary || boundary->size() <= form.size());

  const auto whole = decoded(form, form.size() + 1);
  const auto cut = decoded(form, data[0] % 16 + 1);
  must(whole.bytes <= form.size() && cut.bytes <= form.size());
  must(whole.wrong == cut.wrong);
  must(whole.wrong || whole == cut);
  return 0;
}
