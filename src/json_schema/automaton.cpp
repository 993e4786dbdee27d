#include "json_schema/automaton.h"

#include <map>

namespace corral::json_schema {
namespace {

constexpr std::size_t kMaxStates = 4000;

// The states from which an end can be reached.
std::vector<bool> useful(const std::vector<Automaton::State>& states) {
  std::vector<std::vector<std::size_t>> before(states.size());
  std::vector<std::size_t> todo;
  std::vector<bool> found(states.size());
  for (std::size_t from = 0; from < states.size(); ++from) {
    for (const auto& [characters, to] : states[from].next) before[to].push_back(from);
    if (states[from].may_end) {
      found[from] = true;
      todo.push_back(from);
    }
  }
  while (!todo.empty()) {
    const auto at = todo.back();
    todo.pop_back();
    for (const auto from : before[at]) {
      if (!found[from]) {
        found[from] = true;
        todo.push_back(from);
      }
    }
  }
  return found;
}

CharSet joined(const std::vector<CharSet>& classes, const std::vector<std::size_t>& members) {
  std::vector<CharSet::Range> ranges;
  for (const auto one : members) {
    ranges.insert(ranges.end(), classes[one].ranges().begin(), classes[one].ranges().end());
  }
  return CharSet(std::move(ranges));
}

}  // namespace

Automaton Automaton::make(Languages& languages, Language language) {
  const auto classes = languages.classes(language);
  std::map<Language, std::size_t> numbers{{language, 0}};
  std::vector<Language> found{language};
  std::vector<State> states;
  std::map<std::vector<std::size_t>, CharSet> sets;  // of several classes
  for (std::size_t at = 0; at < found.size(); ++at) {
    State state{languages.has_empty(found[at]), {}};
    std::map<std::size_t, std::vector<std::size_t>> next;  // classes, by where they lead
    for (std::size_t one = 0; one < classes.size(); ++one) {
      const auto to = languages.derivative(found[at], classes[one].ranges().front().first);
      if (to == languages.none()) continue;
      const auto [known, fresh] = numbers.emplace(to, found.size());
      if (fresh) found.push_back(to);
      if (found.size() > kMaxStates) throw TooComplex();
      next[known->second].push_back(one);
    }
    for (const auto& [to, members] : next) {
      const auto [set, fresh] = sets.try_emplace(members);
      if (fresh) set->second = joined(classes, members);
      state.next.emplace_back(set->second, to);
    }
    states.push_back(std::move(state));
  }
  return trimmed(std::move(states));
}

Automaton Automaton::trimmed(std::vector<State> states) {
  const auto keep = useful(states);
  Automaton made;
  if (!keep[0]) return made;
  std::vector<std::size_t> renumbered(states.size());
  std::size_t count = 0;
  for (std::size_t at = 0; at < states.size(); ++at) renumbered[at] = keep[at] ? count++ : 0;
  for (std::size_t at = 0; at < states.size(); ++at) {
    if (!keep[at]) continue;
    auto& state = made.states.emplace_back();
    state.may_end = states[at].may_end;
    for (auto& [characters, to] : states[at].next) {
      if (keep[to]) state.next.emplace_back(std::move(characters), renumbered[to]);
    }
  }
  return made;
}

// A state for each of its states and each length, up to the one that makes no difference.
Automaton Automaton::within(std::size_t min, std::size_t max, std::size_t max_states) const {
  if (states.empty()) return {};
  const bool bounded = max != Languages::kUnbounded;
  std::map<std::pair<std::size_t, std::size_t>, std::size_t> numbers{{{0, 0}, 0}};
  std::vector<std::pair<std::size_t, std::size_t>> found{{0, 0}};
  std::vector<State> made;
  for (std::size_t at = 0; at < found.size(); ++at) {
    const auto [from, length] = found[at];
    State state{states[from].may_end && length >= min, {}};
    if (length < max) {
      for (const auto& [characters, to] : states[from].next) {
        const std::pair key(to, bounded ? length + 1 : std::min(length + 1, min));
        const auto [known, fresh] = numbers.emplace(key, found.size());
        if (fresh) found.push_back(key);
        if (found.size() > max_states) throw TooComplex();
        state.next.emplace_back(characters, known->second);
      }
    }
    made.push_back(std::move(state));
  }
  return trimmed(std::move(made));
}

}  // namespace corral::json_schema
