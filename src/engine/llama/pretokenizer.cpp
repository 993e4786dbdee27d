#include "engine/llama/pretokenizer.h"

#include <algorithm>
#include <array>
#include <cctype>

#include <fmt/core.h>

#include "base/large_stack.h"
#include "engine/values/errors.h"

namespace corral::engine {
namespace {

// std::regex takes 192 bytes of stack for each character; other compilers may take more.
constexpr std::size_t kStackPerByte = 512;
// 4 GiB of address space. As text it is more than any context holds.
constexpr std::size_t kMaxStretch = 2 << 20;  // of one letter: 1.4 s and 500 MiB, measured

// The length in bytes of the character of a class that a text begins with; 0: it begins with another one.
using ClassOf = std::size_t (*)(std::string_view text);

std::size_t digit(std::string_view text) { return text.front() >= '0' && text.front() <= '9' ? 1 : 0; }

std::size_t blank(std::string_view text) {
  static constexpr std::string_view kOfAscii = " \t\v\f";
  if (kOfAscii.contains(text.front())) return 1;
  static constexpr std::array<std::string_view, 20> kOthers{
      "\u0085", "\u00a0", "\u1680", "\u2000", "\u2001", "\u2002", "\u2003", "\u2004", "\u2005", "\u2006",
      "\u2007", "\u2008", "\u2009", "\u200a", "\u2028", "\u2029", "\u202f", "\u205f", "\u3000", "\u180e"};
  if (static_cast<unsigned char>(text.front()) < 0x80) return 0;
  const auto* const found = std::ranges::find_if(kOthers, [&](auto one) { return text.starts_with(one); });
  return found == kOthers.end() ? 0 : found->size();
}

// Pre-tokenizers whose time grows with the square of runs of a class.
struct Slow {
  std::string_view name;
  std::string_view characters;
  ClassOf class_of;
  std::size_t max;  // in one run: it takes 30 ms of a core, and one of twice as many four times as long
};
constexpr Slow kSlow[] = {
    {"superbpe", "digits", digit, 1000},      // "(?=(\d{3})+(?!\d))" reads the rest of the run at each of its digits
    {"deepseek-llm", "spaces", blank, 1000},  // "\s+$" does at each space, if a digit follows the run
    {"jais-2", "spaces", blank, 25'000},      // "\s*[\r\n]+" does at every 512th
};

struct Runs {
  std::size_t longest = 0;
  double squares = 0;  // the sum of the squares of those that count
};

// Runs shorter than `counted` take no time that matters: numbers, indentation.
Runs runs_of(std::string_view text, ClassOf class_of, std::size_t counted) {
  Runs runs;
  std::size_t run = 0;
  const auto end_run = [&] {
    runs.longest = std::max(runs.longest, run);
    if (run >= counted) runs.squares += static_cast<double>(run) * static_cast<double>(run);
    run = 0;
  };
  while (!text.empty()) {
    const auto bytes = class_of(text);
    if (bytes > 0) {
      ++run;
    } else if (run > 0) {
      end_run();
    }
    text.remove_prefix(std::max<std::size_t>(1, bytes));
  }
  end_run();
  return runs;
}

}  // namespace

std::size_t longest_stretch(std::string_view text) {
  std::size_t longest = 0, begin = 0;
  for (auto end = text.find('\n'); end != std::string_view::npos; end = text.find('\n', end + 1)) {
    if (end + 1 < text.size() && std::isalnum(static_cast<unsigned char>(text[end + 1])) == 0) continue;
    longest = std::max(longest, end + 1 - begin);
    begin = end + 1;
  }
  return std::max(longest, text.size() - begin);
}

Result<std::size_t> Pretokenizer::stack_for(std::string_view text) const {
  if (name_.empty()) return kOrdinaryStack;
  const auto stretch = longest_stretch(text);
  if (stretch > kMaxStretch) {
    return fail(
        errc::input_too_long,
        fmt::format("the text has a line of {} bytes, at most {} can be tokenized: break the line, or send less",
                    stretch, kMaxStretch));
  }
  for (const auto& slow : kSlow) {
    if (slow.name != name_) continue;
    const auto runs = runs_of(text, slow.class_of, slow.max / 16);
    if (runs.squares <= static_cast<double>(slow.max) * static_cast<double>(slow.max)) continue;
    return fail(errc::input_too_long,
                fmt::format("the text has a run of {} {}, and all such runs together would take the tokenizer of this "
                            "model ('{}') longer than one of {}: shorten or split them",
                            runs.longest, slow.characters, slow.name, slow.max));
  }
  return std::max(kOrdinaryStack, stretch * kStackPerByte);
}

}  // namespace corral::engine
