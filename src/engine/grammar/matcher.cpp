#include "engine/grammar/matcher.h"

#include <algorithm>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>

#include <fmt/format.h>

namespace corral::engine {
namespace {

using Kind = GrammarSymbol::Kind;

std::uint64_t hash_of(std::span<const std::uint32_t> stacks) {
  std::uint64_t hash = stacks.size();
  for (const auto stack : stacks) hash = (hash ^ stack) * 0x9E3779B97F4A7C15ull + (hash >> 29);
  return hash;
}

// Columns for which a state caches its transitions.
constexpr std::size_t kColumns = 256;

bool is_token(Kind kind) { return kind == Kind::token || kind == Kind::not_token; }

}  // namespace

GrammarMatcher::GrammarMatcher(std::shared_ptr<const Grammar> grammar, const GrammarVocabulary& vocabulary,
                               MatcherLimits limits)
    : grammar_(std::move(grammar)), vocabulary_(vocabulary), limits_(limits) {
  stacks_.push_back({});  // the empty one
  forget_at_ = limits_.kept_stacks;
  ++expansion_;
  for (const auto first : grammar_->alternatives_of(grammar_->root))
    expand(grammar_->symbols[first].ends_sequence() ? kBottom : push(first, kBottom));
  now_.state = make_state();
}

void GrammarMatcher::spend() {
  if (++spent_ <= limits_.steps) return;
  throw std::runtime_error("the grammar is too ambiguous here: simplify it");
}

std::uint32_t GrammarMatcher::push(std::uint32_t symbol, std::uint32_t below) {
  spend();
  return find_or_add(symbol, below);
}

std::uint32_t GrammarMatcher::find_or_add(std::uint32_t symbol, std::uint32_t below) {
  const auto key = std::uint64_t(below) << 32 | symbol;
  const auto [found, added] = stack_ids_.try_emplace(key, static_cast<std::uint32_t>(stacks_.size()));
  if (added) stacks_.push_back({symbol, below});
  return found->second;
}

void GrammarMatcher::expand(std::uint32_t first) {
  const auto& symbols = grammar_->symbols;
  todo_.push_back(first);
  while (!todo_.empty()) {
    const auto stack = todo_.back();
    todo_.pop_back();
    if (seen_.size() <= stack) seen_.resize(stacks_.size());
    if (std::exchange(seen_[stack], expansion_) == expansion_) continue;
    if (stack == kBottom || symbols[stacks_[stack].symbol].kind != Kind::rule) {
      expanded_.push_back(stack);
      if (expanded_.size() > limits_.stacks) {
        todo_.clear();
        throw std::runtime_error(
            fmt::format("the grammar is too ambiguous here (more than {} parses): simplify it", limits_.stacks));
      }
      continue;
    }
    const auto [at, under] = stacks_[stack];
    const auto below = symbols[at + 1].ends_sequence() ? under : push(at + 1, under);
    for (const auto first_of : grammar_->alternatives_of(symbols[at].value)) {
      spend();
      todo_.push_back(symbols[first_of].ends_sequence() ? below : push(first_of, below));
    }
  }
}

std::uint32_t GrammarMatcher::make_state() {
  auto stacks = std::exchange(expanded_, {});
  if (stacks.empty()) return kDead;
  std::ranges::sort(stacks);
  const auto hash = hash_of(stacks);
  for (auto [one, last] = state_ids_.equal_range(hash); one != last; ++one) {
    if (states_[one->second].stacks == stacks) return one->second;
  }
  const auto id = static_cast<std::uint32_t>(states_.size());
  auto& state = states_.emplace_back();
  state.may_end = stacks.front() == kBottom;
  state.has_tokens = std::ranges::any_of(stacks, [&](std::uint32_t stack) {
    return stack != kBottom && is_token(grammar_->symbols[stacks_[stack].symbol].kind);
  });
  held_ += stacks.size();
  state.stacks = std::move(stacks);
  state_ids_.emplace(hash, id);
  return id;
}

std::uint32_t GrammarMatcher::step(std::uint32_t from, std::uint32_t code_point) {
  const auto columns = std::min<std::size_t>(129 + grammar_->boundaries.size(), kColumns);
  const auto column = grammar_->column(code_point);
  if (column < states_[from].next.size()) {
    if (const auto known = states_[from].next[column]; known != kUnknown) return known;
  }
  ++expansion_;
  for (std::size_t i = 0; i < states_[from].stacks.size(); ++i) {
    const auto stack = states_[from].stacks[i];
    spend();
    if (stack == kBottom) continue;
    const auto [at, below] = stacks_[stack];
    if (!grammar_->matches(grammar_->symbols[at], code_point)) continue;
    expand(grammar_->symbols[at + 1].ends_sequence() ? below : push(at + 1, below));
  }
  const auto to = make_state();
  auto& next = states_[from].next;
  if (next.empty()) next.assign(columns, kUnknown);
  if (column < next.size()) next[column] = to;
  return to;
}

GrammarMatcher::Place GrammarMatcher::step(Place place, unsigned char byte) {
  if (place.missing > 0) {
    if ((byte & 0xC0) != 0x80) return {};
    place.value = place.value << 6 | (byte & 0x3Fu);
    if (--place.missing > 0) return place;
    return {.state = step(place.state, place.value)};
  }
  if (byte < 0x80) return {.state = step(place.state, byte)};
  if (byte < 0xC0 || byte >= 0xF8) return {};
  const std::uint8_t length = byte >= 0xF0 ? 4 : byte >= 0xE0 ? 3 : 2;
  place.length = length;
  place.missing = length - 1;
  place.value = byte & (0x7Fu >> length);
  return place;
}

bool GrammarMatcher::can_complete(const Place& place) const {
  if (place.missing == 0) return true;
  auto low = place.value << (place.missing * 6);
  const auto high = low | ((1u << (place.missing * 6)) - 1);
  static constexpr std::uint32_t kSmallest[] = {0, 0, 0x80, 0x800, 0x10000};  // of a character of so many bytes
  low = std::max(low, kSmallest[place.length]);
  if (low > high) return false;
  return std::ranges::any_of(states_[place.state].stacks, [&](std::uint32_t stack) {
    return stack != kBottom && grammar_->matches_any(grammar_->symbols[stacks_[stack].symbol], low, high);
  });
}

std::uint32_t GrammarMatcher::after_token(std::uint32_t from, Token token) {
  if (!states_[from].has_tokens) return kDead;
  ++expansion_;
  for (std::size_t i = 0; i < states_[from].stacks.size(); ++i) {
    const auto stack = states_[from].stacks[i];
    if (stack == kBottom) continue;
    const auto [at, below] = stacks_[stack];
    const auto& symbol = grammar_->symbols[at];
    if (!is_token(symbol.kind)) continue;
    if ((symbol.value == static_cast<std::uint32_t>(token)) != (symbol.kind == Kind::token)) continue;
    expand(grammar_->symbols[at + 1].ends_sequence() ? below : push(at + 1, below));
  }
  return make_state();
}

bool GrammarMatcher::allows(Token token) {
  if (vocabulary_.ends(token)) return may_end();
  const auto text = vocabulary_.piece(token);
  if (text.empty() || text.front() == '\0') return false;
  begin_call();
  if (now_.missing == 0 && after_token(now_.state, token) != kDead) return true;
  auto place = now_;
  for (const char c : text) {
    place = step(place, static_cast<unsigned char>(c));
    if (place.state == kDead) return false;
  }
  return can_complete(place);
}

const std::vector<bool>& GrammarMatcher::allowed() {
  begin_call();
  allowed_.assign(vocabulary_.size(), false);
  for (Token token = 0; static_cast<std::uint32_t>(token) < vocabulary_.size(); ++token) {
    if (vocabulary_.ends(token)) allowed_[static_cast<std::size_t>(token)] = may_end();
  }
  // walk_[n]: position behind the first n bytes of the entry; ends at the first byte without a continuation.
  walk_.assign(1, now_);
  for (const auto& entry : vocabulary_.sorted()) {
    const auto text = vocabulary_.piece(entry.token);
    if (walk_.size() > entry.shared + 1u) walk_.resize(entry.shared + 1u);
    if (walk_.size() < entry.shared + 1u) continue;  // the common prefix has no continuation
    while (walk_.size() <= text.size()) {
      const auto place = step(walk_.back(), static_cast<unsigned char>(text[walk_.size() - 1]));
      if (place.state == kDead) break;
      walk_.push_back(place);
    }
    if (walk_.size() == text.size() + 1 && can_complete(walk_.back()))
      allowed_[static_cast<std::size_t>(entry.token)] = true;
  }
  if (now_.missing > 0 || !states_[now_.state].has_tokens) return allowed_;
  for (const auto stack : states_[now_.state].stacks) {
    if (stack == kBottom) continue;
    const auto& symbol = grammar_->symbols[stacks_[stack].symbol];
    if (!is_token(symbol.kind)) continue;
    for (const auto& entry : vocabulary_.sorted()) {
      if ((symbol.value == static_cast<std::uint32_t>(entry.token)) == (symbol.kind == Kind::token))
        allowed_[static_cast<std::size_t>(entry.token)] = true;
    }
  }
  return allowed_;
}

void GrammarMatcher::accept(Token token) {
  if (vocabulary_.ends(token)) {
    if (!may_end()) throw std::runtime_error("the output ended before the grammar allows it");
    return;
  }
  accept(token, vocabulary_.piece(token));
}

void GrammarMatcher::accept(Token token, std::string_view text) {
  begin_call();
  const auto by_token = now_.missing == 0 ? after_token(now_.state, token) : kDead;
  auto place = now_;
  for (const char c : text) {
    place = step(place, static_cast<unsigned char>(c));
    if (place.state == kDead) break;
  }
  if (by_token != kDead && place.state != kDead && place.missing == 0) {
    ++expansion_;
    for (const auto one : {by_token, place.state}) {
      for (std::size_t i = 0; i < states_[one].stacks.size(); ++i) expand(states_[one].stacks[i]);
    }
    place = {.state = make_state()};
  } else if (place.state == kDead) {
    place = {.state = by_token};
  }
  if (place.state == kDead) throw std::runtime_error(fmt::format("the grammar doesn't allow \"{}\" here", text));
  now_ = place;
}

// Each call has its own step limit. Clears the caches when they are large.
void GrammarMatcher::begin_call() {
  spent_ = 0;
  if (stacks_.size() + held_ > forget_at_) forget();
}

void GrammarMatcher::forget() {
  const auto stacks = std::exchange(stacks_, {Stack{}});
  const auto current = std::move(states_[now_.state].stacks);
  stack_ids_.clear();
  states_.clear();
  state_ids_.clear();
  seen_.clear();
  held_ = 0;
  expansion_ = 1;
  std::vector<std::uint32_t> moved(stacks.size(), kUnknown), path;
  moved[kBottom] = kBottom;
  for (const auto stack : current) {
    for (auto at = stack; moved[at] == kUnknown; at = stacks[at].below) path.push_back(at);
    for (; !path.empty(); path.pop_back()) {
      const auto& [symbol, below] = stacks[path.back()];
      moved[path.back()] = find_or_add(symbol, moved[below]);
    }
    expanded_.push_back(moved[stack]);
  }
  now_.state = make_state();
  // Delays the next clearing, since these entries must stay.
  forget_at_ = std::max<std::size_t>(limits_.kept_stacks, 2 * (stacks_.size() + held_));
}

}  // namespace corral::engine
