#include "device/nvidia_smi.h"

#include <array>
#include <charconv>
#include <optional>

#include <fmt/format.h>

namespace corral::device {
namespace {

constexpr std::uint64_t kMiB = 1 << 20;
constexpr std::size_t kCauseLines = 2;  // of the program's output in an error
constexpr std::string_view kBlank = " \t\r";

std::string_view trim(std::string_view text) {
  const auto first = text.find_first_not_of(kBlank);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

// Takes the last field off `line`; nothing when there is none.
std::optional<std::string_view> take_last(std::string_view& line) {
  const auto comma = line.rfind(',');
  if (comma == std::string_view::npos) return std::nullopt;
  const auto field = trim(line.substr(comma + 1));
  line = line.substr(0, comma);
  return field;
}

std::optional<std::uint64_t> number(std::string_view text) {
  std::uint64_t value = 0;
  const auto* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  return error == std::errc() && stop == end ? std::optional(value) : std::nullopt;
}

// "[N/A]", "[Not Supported]", "[Insufficient Permissions]", "[GPU is lost]", and without brackets in old versions.
bool is_excuse(std::string_view text) { return text.starts_with('[') || text == "N/A" || text == "Not Supported"; }

// Adds the GPU of a line, if it has memory to tell of. False for a line of another sort.
bool add_line(std::string_view line, MemoryPools& pools) {
  std::array<std::string_view, 3> fields;  // free, used, total
  for (auto& field : fields) {
    const auto taken = take_last(line);
    if (!taken) return false;
    field = *taken;
  }
  const auto comma = line.find(',');
  const auto index = number(trim(line.substr(0, comma)));
  if (!index || comma == std::string_view::npos) return false;
  const auto free = number(fields[0]), used = number(fields[1]), total = number(fields[2]);
  if (!total) return is_excuse(fields[2]);
  if (!free && !is_excuse(fields[0])) return false;
  if (!free && (!used || *used > *total)) return true;
  pools.push_back({fmt::format("gpu{}", *index), std::string(trim(line.substr(comma + 1))), PoolKind::gpu,
                   *total * kMiB, free.value_or(*total - used.value_or(0)) * kMiB});
  return true;
}

}  // namespace

Result<MemoryPools> parse_nvidia_smi(std::string_view output) {
  MemoryPools pools;
  bool understood = false;
  std::string_view strange;
  for (std::size_t at = 0; at < output.size();) {
    const auto end = std::min(output.find('\n', at), output.size());
    const auto line = trim(output.substr(at, end - at));
    at = end + 1;
    if (line.empty()) continue;
    if (add_line(line, pools)) {
      understood = true;
    } else if (strange.empty()) {
      strange = line;
    }
  }
  if (understood) return pools;
  if (strange.empty() || strange.starts_with("No devices")) return fail(errc::absent, "no NVIDIA GPU");
  return fail(errc::malformed, fmt::format("an answer that isn't known: {}", strange));
}

async::Task<Result<MemoryPools>> NvidiaSmiSource::sample() {
  std::string output;
  proc::ChildSpec spec;
  spec.name = "nvidia-smi";
  spec.argv = {options_.program, "--query-gpu=index,name,memory.total,memory.used,memory.free",
               "--format=csv,noheader,nounits"};
  spec.on_line = [&output](const proc::LogLine& line) {
    if (!line.from_stderr) output.append(line.text).push_back('\n');
  };
  const auto child = co_await spawner_.spawn(std::move(spec));
  if (!child) {
    const bool missing = child.error().code == proc::errc::program_not_found;
    co_return fail(missing ? errc::absent : errc::failed, child.error().message);
  }
  auto end = (*child)->wait();
  const auto status = co_await async::with_timeout(timers_, options_.deadline, std::move(end));
  if (!status) co_return fail(errc::hangs, fmt::format("no answer within {} ms", options_.deadline.count()));
  if (*status != proc::ExitStatus::exited(0))
    co_return fail(errc::failed, fmt::format("{}: {}", status->describe(), (*child)->log().text(kCauseLines)));
  co_return parse_nvidia_smi(output);
}

}  // namespace corral::device
