#include "api/files/file_verifier.h"

#include <algorithm>
#include <exception>
#include <optional>
#include <set>
#include <system_error>
#include <utility>

#include "api/base/errors.h"
#include "async/event.h"
#include "base/log.h"

namespace corral::api {
namespace {

constexpr std::uint64_t kPiece = 1 << 20;  // hash_file() checks for cancellation at this interval

// Result of the thread for the waiter.
struct Outcome {
  std::optional<Result<std::vector<VerifiedModel>>> result;
  std::exception_ptr failure;
};

}  // namespace

VerifyProgress::View VerifyProgress::view() const {
  const MutexLock lock(mutex_);
  return view_;
}

void VerifyProgress::begin(std::uint64_t total) {
  const MutexLock lock(mutex_);
  view_.total = total;
}

void VerifyProgress::at(const ModelName& model, const std::filesystem::path& file) {
  const MutexLock lock(mutex_);
  view_.model = model.value();
  view_.file = file.native();
}

void VerifyProgress::add(std::uint64_t bytes) {
  const MutexLock lock(mutex_);
  view_.done = std::min(view_.done + bytes, view_.total);
}

async::Task<Result<std::vector<VerifiedModel>>> FileVerifier::run(std::vector<models::Catalog::Model> models,
                                                                  bool quarantine,
                                                                  std::shared_ptr<VerifyProgress> progress) {
  if (taken_.exchange(true))
    co_return fail(errc::verification_runs, "a verification for another caller is running: retry when it has finished");
  // Released by the last user: the thread may still work after its caller was cancelled.
  const std::shared_ptr<void> turn(nullptr, [this](void*) { taken_ = false; });
  // Cancelling the caller stops the work.
  const std::shared_ptr<void> until_left(nullptr, [progress](void*) { progress->stop(); });
  const auto executor = co_await async::asio::this_coro::executor;
  const auto done = std::make_shared<async::Event>(executor);
  const auto outcome = std::make_shared<Outcome>();
  pool_.post([this, executor, done, outcome, progress, quarantine, held = turn, all = std::move(models)]() mutable {
    try {
      outcome->result.emplace(work(all, quarantine, *progress));
    } catch (...) {
      outcome->failure = std::current_exception();
    }
    held.reset();
    // Keep no reference to the event here: its loop may end as soon as it is set.
    async::asio::post(executor, [wake = std::move(done)] { wake->set(); });
  });
  co_await done->wait();
  if (outcome->failure) std::rethrow_exception(outcome->failure);
  co_return std::move(*outcome->result);
}

FileVerifier::Verified FileVerifier::work(const std::vector<models::Catalog::Model>& models, bool quarantine,
                                          VerifyProgress& progress) {
  std::uint64_t total = 0;
  for (const auto& model : models) total += model->size.value();
  progress.begin(total);
  std::vector<VerifiedModel> verified;
  std::set<std::filesystem::path> seen;
  for (const auto& model : models) {
    auto& row = verified.emplace_back(model->name);
    for (const auto& file : models::files_of(*model)) {
      if (!seen.insert(file).second) continue;
      progress.at(model->name, file);
      auto check = verifier_.check(file, [&progress] {
        progress.add(kPiece);
        return !progress.stopped();
      });
      if (!check) return verified;  // cancelled: no caller reads the result
      if (check->verdict == models::Verdict::damaged) {
        log::warning("models", "'{}' of '{}' is damaged", file.native(), model->name.value());
        if (quarantine) {
          auto moved = models::quarantine(file);
          if (!moved) return std::unexpected(moved.error());
          check->moved_to = std::move(*moved);
        }
      }
      row.files.push_back(std::move(*check));
    }
    if (auto saved = verifier_.save(); !saved) return std::unexpected(saved.error());
  }
  return verified;
}

}  // namespace corral::api
