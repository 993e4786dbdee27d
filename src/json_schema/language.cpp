#include "json_schema/language.h"

#include <algorithm>
#include <set>

namespace corral::json_schema {
namespace {

constexpr std::size_t kMaxExpressions = 100'000;
constexpr std::size_t kMaxParts = 1'000'000;        // of all expressions
constexpr std::size_t kMaxDerivatives = 1'000'000;  // of all expressions
constexpr std::size_t kMaxLookups = 4'000'000;      // of derivatives
constexpr std::size_t kMaxWork = 10'000'000;        // one to two seconds

std::uint32_t less_one(std::uint32_t count) { return count == 0 || count == Languages::kUnbounded ? count : count - 1; }

}  // namespace

Languages::Languages() {
  add({Kind::none, false, {}});
  add({Kind::empty, true, {}});
  all_ = repeat(set(CharSet::all()), 0, kUnbounded);
}

std::size_t Languages::NodeHash::operator()(const Node& node) const {
  std::size_t hash = static_cast<std::size_t>(node.kind);
  const auto mix = [&](std::uint32_t value) { hash = (hash ^ value) * 0x9E3779B97F4A7C15u; };
  mix(node.min);
  mix(node.max);
  for (const auto part : node.parts) mix(part);
  return hash ^ hash >> 32;
}

Language Languages::add(Node node) {
  if (const auto known = ids_.find(node); known != ids_.end()) return known->second;
  if (nodes_.size() >= kMaxExpressions || parts_ + node.parts.size() > kMaxParts) throw TooComplex();
  parts_ += node.parts.size();
  const auto id = static_cast<Language>(nodes_.size());
  ids_.emplace(node, id);
  nodes_.push_back(std::move(node));
  return id;
}

Language Languages::set(CharSet characters) {
  if (characters.empty()) return kNone;
  const auto [at, fresh] = set_ids_.emplace(characters, static_cast<std::uint32_t>(sets_.size()));
  if (fresh) sets_.push_back(std::move(characters));
  return add({Kind::set, false, {}, at->second});
}

Language Languages::text(std::u32string_view characters) {
  auto all = kEmpty;
  for (auto at = characters.size(); at-- > 0;) all = concat(set(CharSet::one(characters[at])), all);
  return all;
}

Language Languages::concat(Language first, Language second) {
  if (first == kNone || second == kNone) return kNone;
  if (first == kEmpty) return second;
  if (second == kEmpty) return first;
  // Always nested to the right, so that equal languages are more often equal expressions.
  if (nodes_[first].kind == Kind::concat) {
    const auto parts = nodes_[first].parts;
    return concat(parts[0], concat(parts[1], second));
  }
  if (first == all_ && second == all_) return all_;
  return add({Kind::concat, has_empty(first) && has_empty(second), {first, second}});
}

// Parts are sorted and unique.
Language Languages::combine(Kind kind, const std::vector<Language>& all) {
  std::set<Language> parts;
  for (const auto part : all) {
    if (nodes_[part].kind == kind) {
      parts.insert(nodes_[part].parts.begin(), nodes_[part].parts.end());
    } else {
      parts.insert(part);
    }
  }
  const bool is_union = kind == Kind::either;
  const auto absorbing = is_union ? all_ : kNone, neutral = is_union ? kNone : all_;
  if (parts.contains(absorbing)) return absorbing;
  parts.erase(neutral);
  if (parts.empty()) return neutral;
  if (parts.size() == 1) return *parts.begin();
  std::vector<Language> list(parts.begin(), parts.end());
  const auto nullable = [this](Language part) { return has_empty(part); };
  return add({kind, is_union ? std::ranges::any_of(list, nullable) : std::ranges::all_of(list, nullable), list});
}

Language Languages::either(Language one, Language other) {
  if (nodes_[one].kind == Kind::set && nodes_[other].kind == Kind::set) {
    return set(sets_[nodes_[one].min] | sets_[nodes_[other].min]);
  }
  return combine(Kind::either, {one, other});
}

Language Languages::either(std::vector<Language> all) {
  std::vector<CharSet::Range> ranges;
  std::erase_if(all, [&](Language one) {
    if (nodes_[one].kind != Kind::set) return false;
    const auto& own = sets_[nodes_[one].min].ranges();
    ranges.insert(ranges.end(), own.begin(), own.end());
    return true;
  });
  all.push_back(set(CharSet(std::move(ranges))));
  return combine(Kind::either, all);
}

Language Languages::both(Language one, Language other) { return combine(Kind::both, {one, other}); }

Language Languages::complement(Language of) {
  if (of == kNone) return all_;
  if (of == all_) return kNone;
  if (nodes_[of].kind == Kind::complement) return nodes_[of].parts[0];
  return add({Kind::complement, !has_empty(of), {of}});
}

Language Languages::repeat(Language of, std::uint32_t min, std::uint32_t max) {
  if (max == 0 || of == kEmpty) return kEmpty;
  if (of == kNone) return min == 0 ? kEmpty : kNone;
  if (min == 1 && max == 1) return of;
  if (has_empty(of)) min = 0;
  if (nodes_[of].kind == Kind::repeat && nodes_[of].min == 0 && nodes_[of].max == kUnbounded) return of;
  return add({Kind::repeat, min == 0, {of}, min, max});
}

Language Languages::multiple(std::uint32_t divisor, std::uint32_t remainder) {
  return add({Kind::multiple, remainder == 0, {}, remainder, divisor});
}

Language Languages::derivative(Language of, char32_t character) {
  if (++lookups_ > kMaxLookups) throw TooComplex();
  const auto key = std::uint64_t(of) << 32 | character;
  if (const auto known = derivatives_.find(key); known != derivatives_.end()) return known->second;
  if (derivatives_.size() >= kMaxDerivatives) throw TooComplex();
  const auto made = derive(of, character);
  derivatives_.emplace(key, made);
  return made;
}

Language Languages::derive(Language of, char32_t character) {
  const auto node = nodes_[of];  // a copy: nodes_ grows
  switch (node.kind) {
    case Kind::none:
    case Kind::empty:
      return kNone;
    case Kind::set:
      return sets_[node.min].contains(character) ? kEmpty : kNone;
    case Kind::concat: {
      const auto goes_on = concat(derivative(node.parts[0], character), node.parts[1]);
      return has_empty(node.parts[0]) ? either(goes_on, derivative(node.parts[1], character)) : goes_on;
    }
    case Kind::either:
    case Kind::both: {
      std::vector<Language> all;
      for (const auto part : node.parts) all.push_back(derivative(part, character));
      return node.kind == Kind::either ? either(std::move(all)) : combine(Kind::both, all);
    }
    case Kind::complement:
      return complement(derivative(node.parts[0], character));
    case Kind::repeat:
      return concat(derivative(node.parts[0], character),
                    repeat(node.parts[0], less_one(node.min), less_one(node.max)));
    case Kind::multiple:
      if (character == U'.') return of;
      if (character < U'0' || character > U'9') return kNone;
      return multiple(node.max, static_cast<std::uint32_t>((10ull * node.min + (character - U'0')) % node.max));
  }
  return kNone;
}

bool Languages::contains(Language language, std::u32string_view text) {
  for (const auto character : text) language = derivative(language, character);
  return has_empty(language);
}

void Languages::spend(std::size_t work) {
  work_ += work;
  if (work_ > kMaxWork) throw TooComplex();
}

std::vector<CharSet> Languages::classes(Language of) {
  std::set<Language> seen{of};
  std::vector<Language> todo{of};
  std::set<CharSet> sets;
  while (!todo.empty()) {
    const auto& node = nodes_[todo.back()];
    todo.pop_back();
    if (node.kind == Kind::set) sets.insert(sets_[node.min]);
    if (node.kind == Kind::multiple) {
      sets.insert(CharSet::one(U'.'));
      for (char32_t digit = U'0'; digit <= U'9'; ++digit) sets.insert(CharSet::one(digit));
    }
    for (const auto part : node.parts) {
      if (seen.insert(part).second) todo.push_back(part);
    }
  }
  std::set<char32_t> starts{0};
  for (const auto& one : sets) {
    for (const auto& [low, high] : one.ranges()) {
      starts.insert(low);
      if (high < kLastCharacter) starts.insert(high + 1);
    }
  }
  spend(seen.size() + starts.size() * sets.size() / 2);
  // Ranges that belong to the same sets are one class.
  std::map<std::vector<bool>, std::vector<CharSet::Range>> classes;
  for (auto at = starts.begin(); at != starts.end(); ++at) {
    std::vector<bool> member;
    for (const auto& one : sets) member.push_back(one.contains(*at));
    const auto next = std::next(at);
    classes[member].emplace_back(*at, next == starts.end() ? kLastCharacter : *next - 1);
  }
  std::vector<CharSet> all;
  for (auto& [member, ranges] : classes) all.emplace_back(std::move(ranges));
  return all;
}

}  // namespace corral::json_schema
