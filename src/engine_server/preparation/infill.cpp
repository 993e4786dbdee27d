#include "engine_server/preparation/infill.h"

#include <algorithm>
#include <iterator>
#include <span>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "engine_server/errors.h"

namespace corral::engine_server {
namespace {

using engine::Token;
using Tokens = std::vector<Token>;

// Tokens around the gap, three quarters of them before it, as llama-server's batch has them.
constexpr std::size_t kWindow = 2048;
// Left for the answer where other pieces fill the context; in a small one a quarter of it.
constexpr std::size_t kAnswer = 256;
// Around the gap: the beginning of a text, and the marks before, behind and in the gap.
constexpr std::size_t kMarks = 4;
// Long texts are cut before tokenizing if few of their tokens could be used.
constexpr std::size_t kBytesPerToken = 8;
constexpr std::size_t kLeastBytes = 64 * 1024;
// Separator of pieces if the vocabulary has no token for it.
constexpr std::string_view kSnippet = "\n\n--- snippet ---\n\n";

enum class Keep { beginning, end };

bool continues_character(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

std::string_view cut_text(std::string_view text, std::size_t tokens, Keep keep) {
  const auto max = std::max(kLeastBytes, tokens * kBytesPerToken);
  if (text.size() <= max) return text;
  auto at = keep == Keep::end ? text.size() - max : max;
  while (at > 0 && continues_character(text[at])) --at;
  return keep == Keep::end ? text.substr(at) : text.substr(0, at);
}

class Builder {
 public:
  Builder(const PromptTokens& tokens, const protocol::Infill& gap, const CancelToken& stop)
      : tokens_(tokens), facts_(tokens.service().facts()), gap_(gap), stop_(stop) {}

  Result<Tokens> make() {
    auto begun = tokens_.read(gap_.begun, {.max = facts_.n_ctx, .add_special = false}, "prompt", stop_);
    if (!begun) return begun;
    const auto window = std::min<std::size_t>(kWindow, facts_.n_ctx / 4 * 3);
    const auto before = window / 4 * 3;
    const auto behind = window / 4 - std::min<std::size_t>(window / 4, 2 + begun->size());
    auto prefix = side(gap_.prefix, before, Keep::end, gap_.whole ? "prompt" : "input_prefix");
    if (!prefix) return prefix;
    auto suffix = side(gap_.suffix, behind, Keep::beginning, gap_.whole ? "suffix" : "input_suffix");
    if (!suffix) return suffix;
    // Other pieces get what the gap and its answer leave of the context.
    const auto answer = std::min<std::size_t>(kAnswer, facts_.n_ctx / 4);
    const auto taken = prefix->size() + begun->size() + suffix->size() + kMarks + answer;
    auto all = gap_.whole ? Result<Tokens>() : extra(facts_.n_ctx - std::min<std::size_t>(facts_.n_ctx, taken));
    if (!all) return all;
    if (facts_.add_bos) all->push_back(facts_.bos);
    all->push_back(facts_.gap.prefix);
    add(*all, *prefix);
    add(*all, *begun);
    all->push_back(facts_.gap.suffix);
    add(*all, *suffix);
    all->push_back(facts_.gap.middle);
    return all;
  }

 private:
  static void add(Tokens& to, std::span<const Token> more) { to.insert(to.end(), more.begin(), more.end()); }
  static void add_front(Tokens& to, std::span<const Token> more) { to.insert(to.begin(), more.begin(), more.end()); }

  Result<Tokens> text_of(std::string_view text, const std::string& param) {
    if (stop_.wanted()) return stopped();
    return tokens_.plain(text, false, false, param);
  }

  // Text on one side of the gap.
  Result<Tokens> side(const protocol::Input& given, std::size_t max, Keep keep, const std::string& param) {
    const auto* const text = gap_.whole ? nullptr : std::get_if<std::string>(&given);
    const PromptTokens::Reading reading{.max = facts_.n_ctx, .add_special = false, .parse_special = false};
    auto all =
        text != nullptr ? text_of(cut_text(*text, max, keep), param) : tokens_.read(given, reading, param, stop_);
    if (!all || gap_.whole || all->size() <= max) return all;
    if (keep == Keep::beginning) {
      all->resize(max);
    } else {
      all->erase(all->begin(), all->end() - static_cast<std::ptrdiff_t>(max));
    }
    return all;
  }

  // The last `max` tokens of the other pieces, each with its name, in the training format of such models. Starts with
  // the last piece, so that pieces that don't fit cost nothing.
  Result<Tokens> extra(std::size_t max) {
    Tokens all;
    const std::string param = "input_extra";
    const auto named = [&](std::string_view name) { return text_of(std::string(name) + "\n", param); };
    const auto put = [&](Token token, Result<Tokens> behind) -> Result<> {
      if (!behind) return std::unexpected(std::move(behind.error()));
      add_front(all, *behind);
      if (token != engine::kNoToken) all.insert(all.begin(), token);
      return {};
    };
    const auto& marks = facts_.gap;
    if (max > 0 && marks.file != engine::kNoToken) {
      if (auto fine = put(marks.file, named("filename")); !fine) return std::unexpected(std::move(fine.error()));
    }
    for (auto chunk = gap_.extra.rbegin(); chunk != gap_.extra.rend() && all.size() < max; ++chunk) {
      auto text = text_of(cut_text(chunk->text, max, Keep::end), param);
      if (auto fine = put(engine::kNoToken, std::move(text)); !fine) return std::unexpected(std::move(fine.error()));
      const bool marked = marks.file != engine::kNoToken;
      const std::string_view name = chunk->filename.empty() ? std::string_view("tmp") : chunk->filename;
      auto head = marked ? named(name) : text_of(kSnippet, param);
      if (auto fine = put(marks.file, std::move(head)); !fine) return std::unexpected(std::move(fine.error()));
    }
    if (all.size() < max && marks.repository != engine::kNoToken) {
      if (auto fine = put(marks.repository, named("myproject")); !fine) return std::unexpected(std::move(fine.error()));
    }
    if (all.size() > max) all.erase(all.begin(), all.end() - static_cast<std::ptrdiff_t>(max));
    return all;
  }

  const PromptTokens& tokens_;
  const engine::ModelFacts& facts_;
  const protocol::Infill& gap_;
  const CancelToken& stop_;
};

}  // namespace

Result<std::vector<Token>> infill_tokens(const PromptTokens& tokens, const protocol::Infill& gap,
                                         const CancelToken& stop) {
  const auto& facts = tokens.service().facts();
  if (!facts.gap.complete()) {
    return fail(errc::no_infill,
                fmt::format("'{}' is not supported by this model, whose vocabulary has no infill tokens: use one that "
                            "was trained for code",
                            gap.whole ? "suffix" : "input_suffix"),
                gap.whole ? "suffix" : "input_suffix");
  }
  return Builder(tokens, gap, stop).make();
}

}  // namespace corral::engine_server
