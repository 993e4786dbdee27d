#include "cli/terminal/file_bars.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "cli/terminal/format.h"

namespace corral::cli {
namespace {

constexpr Millis kRateWindow{5'000};
constexpr Millis kShortestRate{500};
constexpr std::size_t kMaxBars = 6;
constexpr std::size_t kBarCells = 20;
constexpr std::size_t kWidestName = 34;
constexpr std::size_t kNarrowestName = 12;

// The end of a path distinguishes files of a set, and quantisations.
std::string tail_of(std::string_view path, std::size_t width) {
  std::string name = printable(path.substr(path.rfind('/') + 1));
  if (display_width(name) <= width) return name;
  while (display_width(name) >= width) {
    name.erase(0, 1);
    while (!name.empty() && (static_cast<unsigned char>(name.front()) & 0xC0) == 0x80) name.erase(0, 1);
  }
  return "…" + name;
}

std::string bar_of(double share) {
  const auto full = static_cast<std::size_t>(std::clamp(share, 0.0, 1.0) * kBarCells);
  return std::string(full, '=') + std::string(kBarCells - full, ' ');
}

double share_of(std::uint64_t done, std::uint64_t total) {
  return total > 0 ? static_cast<double>(done) / static_cast<double>(total) : 0;
}

// One row of the display: a file, or all of them.
struct Row {
  std::string name = {};  // the path of the file, or the label for all files
  std::uint64_t done = 0, total = 0;
  std::string pace = {};
};

std::string line_of(const Row& row, std::size_t name_width, bool with_bar) {
  const auto share = share_of(row.done, row.total);
  const auto name = tail_of(row.name, name_width);
  const std::string space(name_width - std::min(name_width, display_width(name)), ' ');
  const auto bar = with_bar ? fmt::format("[{}] ", bar_of(share)) : std::string();
  auto line = fmt::format("{}{}  {}{:>5}  {} of {}  {}", name, space, bar, percent(share), human_bytes(row.done),
                          human_bytes(row.total), row.pace);
  line.erase(line.find_last_not_of(' ') + 1);
  return line;
}

// Rate and time left must be visible: a narrow terminal gets no bars, then shorter names.
std::vector<std::string> lines_for(const std::vector<Row>& rows, std::size_t width) {
  std::size_t name_width = 0;
  for (const auto& row : rows) name_width = std::max(name_width, display_width(tail_of(row.name, kWidestName)));
  std::vector<std::string> lines;
  const auto make = [&](bool with_bar) {
    std::size_t widest = 0;
    lines.clear();
    for (const auto& row : rows) {
      lines.push_back(line_of(row, name_width, with_bar));
      widest = std::max(widest, display_width(lines.back()));
    }
    return widest;
  };
  if (make(true) <= width) return lines;
  const auto widest = make(false);
  if (widest <= width) return lines;
  name_width -= std::min(widest - width, name_width - std::min(name_width, kNarrowestName));
  make(false);
  return lines;
}

std::optional<double> as_number(const auto& count) {
  return count ? std::optional(static_cast<double>(*count)) : std::nullopt;
}

}  // namespace

void Rate::add(MonoTime now, std::uint64_t count) {
  if (!samples_.empty() && count < samples_.back().count) samples_.clear();  // the count was reset
  samples_.push_back({now, count});
  while (samples_.size() > 2 && now - samples_[1].at >= kRateWindow) samples_.pop_front();
}

std::optional<double> Rate::per_second() const {
  if (samples_.size() < 2) return std::nullopt;
  const auto took = std::chrono::duration<double>(samples_.back().at - samples_.front().at).count();
  if (took * 1000 < static_cast<double>(kShortestRate.count())) return std::nullopt;
  return static_cast<double>(samples_.back().count - samples_.front().count) / took;
}

std::string pace_text(std::optional<double> bytes_per_second, std::optional<double> seconds_left) {
  if (!bytes_per_second) return {};
  auto text = fmt::format("{}/s", human_bytes(static_cast<std::uint64_t>(std::max(*bytes_per_second, 0.0))));
  if (seconds_left && *seconds_left >= 0 && *seconds_left < 30 * 86'400.0)
    text += fmt::format(", {} left", human_duration(Millis(std::llround(std::ceil(*seconds_left)) * 1000)));
  return text;
}

std::vector<std::string> FileBars::lines_of(const DownloadProgress& download) {
  const auto now = clock_.now();
  std::vector<const FileProgress*> moving;
  std::size_t whole = 0, later = 0;
  for (const auto& file : download.files) {
    rates_[file.path].add(now, file.done);
    if (file.whole) {
      ++whole;
    } else if (moving.size() < kMaxBars && (file.done > 0 || file.waiting || download.files.size() <= kMaxBars)) {
      moving.push_back(&file);
    } else {
      ++later;
    }
  }
  std::vector<Row> rows;
  for (const auto* file : moving) {
    const auto rate = rates_[file->path].per_second();
    const auto left =
        rate && *rate > 0 ? std::optional(static_cast<double>(file->size - file->done) / *rate) : std::nullopt;
    const auto pace = file->waiting ? "another program downloads it" : pace_text(rate, left);
    rows.push_back({.name = file->path, .done = file->done, .total = file->size, .pace = pace});
  }
  if (download.files.size() > 1) {
    auto pace = pace_text(as_number(download.rate), as_number(download.seconds_left));
    if (whole > 0) pace += fmt::format("{}{} whole", pace.empty() ? "" : ", ", whole);
    if (later > 0) pace += fmt::format("{}{} to come", pace.empty() ? "" : ", ", later);
    rows.push_back({.name = fmt::format("all {} files", download.files.size()),
                    .done = download.done,
                    .total = download.total,
                    .pace = pace});
  }
  return lines_for(rows, terminal_.width - 1);
}

void FileBars::print_tenths(const DownloadProgress& download) {
  if (download.total == 0) return;
  const auto tenths = static_cast<int>(download.share() * 10);
  if (tenths == tenths_) return;
  tenths_ = tenths;
  const auto pace = pace_text(as_number(download.rate), as_number(download.seconds_left));
  const auto line = fmt::format("{:>5}  {} of {}{}{}\n", percent(download.share()), human_bytes(download.done),
                                human_bytes(download.total), pace.empty() ? "" : ", ", pace);
  terminal_.err << line << std::flush;
}

void FileBars::show(const DownloadProgress& download) {
  if (!terminal_.err_tty) return print_tenths(download);
  auto lines = lines_of(download);
  for (auto& line : lines) line = shorten(line, terminal_.width - 1);
  if (lines == shown_ || lines.empty()) return;
  clear();
  for (const auto& line : lines) terminal_.err << line << '\n';
  terminal_.err << std::flush;
  drawn_ = lines.size();
  shown_ = std::move(lines);
}

void FileBars::clear() {
  // Moves to the first of its lines, and clears everything below.
  if (drawn_ > 0) terminal_.err << fmt::format("\r\x1b[{}A\x1b[J", drawn_) << std::flush;
  drawn_ = 0;
  shown_.clear();
}

}  // namespace corral::cli
