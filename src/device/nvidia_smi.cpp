#include "device/nvidia_smi.h"

#include <array>
#include <charconv>
#include <optional>

#include <fmt/format.h>

#include "base/text.h"
#include "device/pool_match.h"

namespace corral::device {
namespace {

constexpr std::uint64_t kMiB = 1 << 20;
constexpr std::size_t kCauseLines = 2;  // of the program's output in an error
constexpr std::string_view kNoGpu = "No devices were found";

// Takes the last field off `line`; nothing when there is none.
std::optional<std::string_view> take_last(std::string_view& line) {
  const auto comma = line.rfind(',');
  if (comma == std::string_view::npos) return std::nullopt;
  const auto field = trimmed(line.substr(comma + 1), kBlanksOfLine);
  line = line.substr(0, comma);
  return field;
}

std::optional<std::uint64_t> number(std::string_view text) {
  std::uint64_t value = 0;
  const auto* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  return error == std::errc() && stop == end ? std::optional(value) : std::nullopt;
}

// In place of a number of a GPU without memory of its own. Old versions leave the brackets out.
bool is_none(std::string_view text) {
  return text == "[N/A]" || text == "N/A" || text == "[Not Supported]" || text == "Not Supported";
}

// "[GPU is lost]", "[Unknown Error]", "[Insufficient Permissions]", "[GPU requires reset]".
bool is_trouble(std::string_view text) { return text.starts_with('[') && !is_none(text); }

struct Answer {
  MemoryPools pools;
  bool understood = false;   // a line had the requested format
  std::string_view trouble;  // the first failing GPU's message
  std::string_view strange;  // the first line of another format
};

// Takes the first field off `line`, if it is of that sort.
std::string take_first(std::string_view& line, bool (*is_sort)(std::string_view)) {
  const auto comma = line.find(',');
  const auto field = trimmed(line.substr(0, comma), kBlanksOfLine);
  if (comma == std::string_view::npos || !is_sort(field)) return {};
  line = line.substr(comma + 1);
  return std::string(field);
}

// Adds a line with a GPU. False for a line of another format.
bool add_line(std::string_view line, Answer& answer) {
  std::array<std::string_view, 3> fields;  // free, used, total
  for (auto& field : fields) {
    const auto taken = take_last(line);
    if (!taken) return false;
    field = *taken;
  }
  const auto comma = line.find(',');
  const auto index = number(trimmed(line.substr(0, comma), kBlanksOfLine));
  if (!index || comma == std::string_view::npos) return false;
  std::array<std::optional<std::uint64_t>, 3> numbers;
  std::string_view trouble;
  for (std::size_t at = 0; at < fields.size(); ++at) {
    numbers[at] = number(fields[at]);
    if (!numbers[at] && !is_none(fields[at]) && !is_trouble(fields[at])) return false;
    if (is_trouble(fields[at])) trouble = fields[at];
  }
  const auto [free, used, total] = numbers;
  if (total && (free || (used && *used <= *total))) {
    MemoryPool pool{.id = fmt::format("gpu{}", *index), .name = {}, .kind = PoolKind::gpu};
    std::string_view rest = line.substr(comma + 1);
    pool.pci = take_first(rest, [](std::string_view text) { return !pci_address(text).empty(); });
    pool.uuid = take_first(rest, [](std::string_view text) { return text.starts_with("GPU-"); });
    pool.name = trimmed(rest, kBlanksOfLine);
    pool.total = *total * kMiB;
    pool.available = free.value_or(*total - used.value_or(0)) * kMiB;
    answer.pools.push_back(std::move(pool));
  } else if (answer.trouble.empty()) {
    answer.trouble = trouble;
  }
  return true;
}

}  // namespace

Result<MemoryPools> parse_nvidia_smi(std::string_view output) {
  Answer answer;
  for (std::size_t at = 0; at < output.size();) {
    const auto end = std::min(output.find('\n', at), output.size());
    const auto line = trimmed(output.substr(at, end - at), kBlanksOfLine);
    at = end + 1;
    if (line.empty()) continue;
    if (add_line(line, answer)) {
      answer.understood = true;
    } else if (answer.strange.empty()) {
      answer.strange = line;
    }
  }
  // One lost GPU must not hide the others.
  if (answer.pools.empty() && !answer.trouble.empty())
    return fail(errc::failed, fmt::format("can't read the memory of a GPU: {}", answer.trouble));
  if (answer.understood) return std::move(answer.pools);
  if (answer.strange.empty() || answer.strange.starts_with(kNoGpu)) return fail(errc::absent, "no NVIDIA GPU");
  return fail(errc::malformed, fmt::format("unknown output: {}", answer.strange));
}

async::Task<Result<MemoryPools>> NvidiaSmiSource::sample() {
  std::string output;
  proc::ChildSpec spec;
  spec.name = "nvidia-smi";
  spec.argv = {options_.program, "--query-gpu=index,pci.bus_id,uuid,name,memory.total,memory.used,memory.free",
               "--format=csv,noheader,nounits"};
  spec.on_line = [&output](const proc::LogLine& line) {
    output.append(line.text).push_back('\n');  // stdout or stderr for errors depends on the version
  };
  const auto child = co_await spawner_.spawn(std::move(spec));
  if (!child) {
    const bool missing = child.error().code == proc::errc::program_not_found;
    co_return fail(missing ? errc::absent : errc::failed, child.error().message);
  }
  auto end = (*child)->wait();
  const auto status = co_await async::with_timeout(timers_, options_.deadline, std::move(end));
  if (!status) co_return fail(errc::hangs, fmt::format("no answer within {} ms", options_.deadline.count()));
  auto pools = parse_nvidia_smi(output);
  // If a GPU is lost, or there is none, the program prints what it knows and fails.
  const bool conclusive = pools ? !pools->empty() : pools.error().code == errc::absent && output.contains(kNoGpu);
  if (conclusive || *status == proc::ExitStatus::exited(0)) co_return pools;
  co_return fail(errc::failed, fmt::format("{}: {}", status->describe(), (*child)->log().text(kCauseLines)));
}

}  // namespace corral::device
