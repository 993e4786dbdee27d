#include "backends/files.h"

#include <algorithm>
#include <array>
#include <fstream>
#include <string_view>

#include <boost/asio/post.hpp>
#include <fmt/format.h>

#include "backends/errors.h"

namespace corral::backends {
namespace {

bool begins_as_gguf(const std::filesystem::path& path) {
  std::array<char, 4> magic{};
  std::ifstream file(path, std::ios::binary);
  return file.read(magic.data(), magic.size()) && std::string_view(magic.data(), magic.size()) == "GGUF";
}

std::optional<FileState> look_at(const std::filesystem::path& path) {
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (error || !std::filesystem::exists(status)) return std::nullopt;
  FileState state{.regular = std::filesystem::is_regular_file(status)};
  if (state.regular) {
    state.size = std::filesystem::file_size(path, error);
    state.gguf = begins_as_gguf(path);
  }
  state.changed = std::filesystem::last_write_time(path, error).time_since_epoch().count();
  return state;
}

async::Task<bool> all_of(std::vector<std::shared_ptr<async::Event>> events) {
  for (const auto& event : events) co_await event->wait();
  co_return true;
}

}  // namespace

Files::Files(async::Executor home, async::Timers& timers, FilesOptions options)
    : home_(home), timers_(timers), options_(std::move(options)), state_(std::make_shared<State>()) {}

std::shared_ptr<async::Event> Files::start(const std::filesystem::path& path) {
  auto& looking = state_->looking[path];
  if (looking) return looking;
  const auto done = looking = std::make_shared<async::Event>(home_);
  options_.offload([home = home_, path, weak = std::weak_ptr(state_)] {
    const auto found = look_at(path);
    async::asio::post(home, [path, weak, found] {
      const auto state = weak.lock();
      if (!state) return;
      if (found) {
        state->seen[path] = *found;
      } else {
        state->seen.erase(path);
      }
      if (const auto waiting = state->looking.extract(path)) waiting.mapped()->set();
    });
  });
  return done;
}

async::Task<Result<>> Files::look(std::vector<std::filesystem::path> paths) {
  std::vector<std::shared_ptr<async::Event>> events;
  events.reserve(paths.size());
  for (const auto& path : paths) events.push_back(start(path));
  auto answers = all_of(events);
  const auto answered = co_await async::with_timeout(timers_, options_.patience, std::move(answers));
  if (answered) co_return Result<>();
  const auto silent = std::ranges::find_if(events, [](const auto& event) { return !event->is_set(); });
  const auto& path = paths[static_cast<std::size_t>(silent - events.begin())];
  co_return fail(errc::files_silent, fmt::format("no answer within {} s from the disk of {}",
                                                 options_.patience.count() / 1000, path.native()));
}

std::optional<FileState> Files::seen(const std::filesystem::path& path) const {
  const auto found = state_->seen.find(path);
  return found == state_->seen.end() ? std::nullopt : std::optional(found->second);
}

}  // namespace corral::backends
