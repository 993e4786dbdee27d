// Verifies files of models on a thread of its own, for one caller at a time.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "async/offload.h"
#include "async/task.h"
#include "models/catalog.h"
#include "models/content_hash.h"
#include "models/verifier.h"

namespace corral::api {

// How far a verification is. On any thread.
class VerifyProgress {
 public:
  struct View {
    std::string model;
    std::string file;
    std::uint64_t done = 0, total = 0;  // bytes of all files
  };
  View view() const;
  void begin(std::uint64_t total);
  void at(const ModelName& model, const std::filesystem::path& file);
  void add(std::uint64_t bytes);
  void stop() { stop_ = true; }
  bool stopped() const { return stop_; }

 private:
  mutable std::mutex mutex_;
  View view_;
  std::atomic<bool> stop_ = false;
};

struct VerifiedModel {
  ModelName name;
  std::vector<models::FileCheck> files;
};

// On any loop; loops must outlive what runs. The pool, of one thread that nobody else needs, must be told to finish()
// before the desk goes.
class FileVerifier {
 public:
  FileVerifier(std::filesystem::path record, async::ThreadPool& pool)
      : record_(record), verifier_(std::move(record), models::hash_file), pool_(pool) {}

  // The file that keeps what was seen (models/kept_hashes.h).
  const std::filesystem::path& record() const { return record_; }

  // Looks at each file of the models once; files that several models have count for the first. Cancelling ends it
  // within a MiB. With `quarantine` damaged files are moved out of the way. Errors: errc::verification_runs; the
  // system's own, where there are no threads or what was seen can't be kept.
  async::Task<Result<std::vector<VerifiedModel>>> run(std::vector<models::Catalog::Model> models, bool quarantine,
                                                      std::shared_ptr<VerifyProgress> progress);

 private:
  using Verified = Result<std::vector<VerifiedModel>>;
  // On the pool.
  Verified work(const std::vector<models::Catalog::Model>& models, bool quarantine, VerifyProgress& progress);

  const std::filesystem::path record_;
  models::Verifier verifier_;  // of whoever has the turn
  async::ThreadPool& pool_;
  std::atomic<bool> taken_ = false;
};

}  // namespace corral::api
