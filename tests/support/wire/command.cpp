#include "command.h"

#include <charconv>
#include <cmath>
#include <sstream>

#include <fmt/format.h>

namespace corral::wire {
namespace {

std::expected<double, std::string> number(std::string_view key, std::string_view text, double max) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value) || value < 0 || value > max) {
    return std::unexpected(fmt::format("{}={}: a number from 0 to {} is wanted", key, text, max));
  }
  return value;
}

struct Field {
  std::string_view key;
  double Faults::* place;
  double max;
};
constexpr Field kNumbers[] = {
    {"delay", &Faults::delay_ms, 60'000}, {"jitter", &Faults::jitter_ms, 60'000}, {"loss", &Faults::loss_percent, 100},
    {"late", &Faults::late_percent, 100}, {"late_ms", &Faults::late_ms, 60'000},  {"rate", &Faults::rate_mbit, 1e6},
};

struct Switch {
  std::string_view key;
  bool Faults::* place;
};
constexpr Switch kSwitches[] = {{"cut", &Faults::cut}, {"dials", &Faults::dials}};

std::expected<void, std::string> change(Faults& faults, std::string_view key, std::string_view text) {
  for (const Field& field : kNumbers) {
    if (field.key != key) continue;
    const auto value = number(key, text, field.max);
    if (!value) return std::unexpected(value.error());
    faults.*field.place = *value;
    return {};
  }
  for (const Switch& field : kSwitches) {
    if (field.key != key) continue;
    if (text != "0" && text != "1") return std::unexpected(fmt::format("{}={}: 0 or 1 is wanted", key, text));
    faults.*field.place = text == "1";
    return {};
  }
  return std::unexpected(fmt::format("{}: there is no such fault", key));
}

}  // namespace

Command read_command(std::string_view line) {
  Command command;
  std::istringstream words{std::string(line)};
  words >> command.name;
  for (std::string word; words >> word;) {
    const std::size_t mark = word.find('=');
    if (mark == std::string::npos) {
      command.words.push_back(word);
    } else {
      command.options[word.substr(0, mark)] = word.substr(mark + 1);
    }
  }
  return command;
}

std::expected<Faults, std::string> changed(Faults before, const std::map<std::string, std::string>& options) {
  for (const auto& [key, text] : options) {
    if (const auto done = change(before, key, text); !done) return std::unexpected(done.error());
  }
  return before;
}

std::string text_of(const Counts& counts) {
  return fmt::format("passed={} late={} lost={} cut={} refused={} over={}", counts.passed, counts.late, counts.lost,
                     counts.cut, counts.refused, counts.over);
}

}  // namespace corral::wire
